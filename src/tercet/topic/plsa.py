"""Probabilistic latent semantic analysis (概率潜在语义分析)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted, generator
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Jobs, NonNegative, OpenFraction, Range, Seed
from tercet.core.sources import RowSource
from tercet.core.steps import ConvergenceWarning, Steps
from tercet.core.streams import is_streamed
from tercet.topic._plsa.expectation import Expectation
from tercet.topic._plsa.factors import Factors, Start, attributes, first_factors, normalize_topics, tempered
from tercet.topic._plsa.weighted_counts import in_safe_unit, split_words
from tercet.topic.base import TopicModel
from tercet.topic.plsa_steps import CooccurrenceModel, sample_documents, to_cooccurrence
from tercet.topic.plsa_streamed_fit import (
    NO_DOCUMENTS,
    fit_streamed,
    likelihood_of_source,
    perplexity_of,
    streaming_refusal,
)
from tercet.topic.plsa_tempering import tempered_em


@method(
    zh="概率潜在语义分析",
    task="topic model",
    approach="generative",
    model="P(w,d) = P(d) Σ_z P(z|d) P(w|z), or Σ_z P(z) P(w|z) P(d|z)",
    strategy="maximum likelihood with hidden topics",
    algorithms={
        "generative": "E: P(z|w,d) ∝ P(w|z) P(z|d); M: P(w|z) and P(z|d) from the expected counts",
        "cooccurrence": "E: P(z|w,d) ∝ P(z) P(w|z) P(d|z); M: P(z), P(w|z) and P(d|z) from the expected counts",
    },
    texts=[
        "Li ch. 18, Alg 18.1",
        "Li ch. 22, Table 22.1",
        "Li ch. 22, Table 22.3",
        "Machine Learning in Depth ch. 5, sec. 5.3.4",
    ],
    peers=["enstop.PLSA", "sklearn.decomposition.NMF"],
)
class PLSA(TopicModel):
    """Probabilistic latent semantic analysis: documents are mixtures of topics, topics distributions over words.

    Maximises Σ_dw n(d,w) log Σ_z P(z|d) P(w|z) by EM (Algorithm 18.1; `plsa_step` is a step of it in plain form). A
    pass goes once over the counts that are not zero. The log-likelihood never falls, and ends at a local maximum,
    which depends on the start.

    Parameters
    ----------
    n_components : int, default=10
        The number of topics.
    model : {"generative", "cooccurrence"}, default="generative"
        P(d) P(z|d) P(w|z), or the symmetric P(z) P(w|z) P(d|z). They are the same model (Exercise 18.1): from
        starts that are equal, their passes are.
    beta : float in (0, 1] or "held-out", default=1.0
        Tempered EM against overfitting: E steps with [P(w|z) P(z|d)]^β (with P(z) [P(w|z) P(d|z)]^β in the
        co-occurrence model). "held-out" begins with 1 and lowers β whenever the likelihood of words that are held
        out of the documents stops rising, until lower β do not help any more.
    beta_decay : float, default=0.9
        What β is multiplied by then.
    validation_fraction : float, default=0.1
        The part of the words that is held out with `beta="held-out"`.
    max_iter : int, default=200
        The most passes of one start.
    tol : float, default=1e-4
        Stop when a pass raises the log-likelihood per word by less; 0 makes all passes.
    n_init : int, default=1
        How many random starts to try; the one with the highest likelihood is kept.
    components_init : array of shape (n_components, n_features), optional
        P(w|z) to start from; by default drawn at random.
    doc_topic_init : array of shape (n_documents, n_components), optional
        P(z|d) to start from, or P(d|z) with `model="cooccurrence"`; by default all topics are equal.
    topic_weights_init : array of shape (n_components,), optional
        P(z) to start from, with `model="cooccurrence"`.
    max_doc_update_iter : int, default=200
        The most passes over a new document in `transform`.
    mean_change_tol : float, default=1e-4
        Stop there when P(z|d) changes by less, in the mean over the topics.
    random_state : int, optional
        Decides what is drawn.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        P(w|z). All zero in the column of a word that no document has.
    doc_topic_ : array of shape (n_documents, n_components)
        P(z|d) of the training documents; P(z) for one without words, or without weight.
    topic_weights_ : array of shape (n_components,)
        P(z).
    document_weights_ : array of shape (n_documents,)
        P(d), the share of a document in all words.
    log_likelihood_ : float
        Σ n(d,w) log P(w|d) of the training documents; of P(w,d) with `model="cooccurrence"`.
    beta_ : float
        The β that was used last.
    vocabulary_ : dict of str to int
        The column of each word, where the documents were lists of tokens.
    n_iter_ : int
        Passes of the start that was kept.

    Examples
    --------
    >>> documents = [["cat", "dog", "cat"], ["dog", "cat"], ["star", "sun", "sun"], ["sun", "star"]]
    >>> model = PLSA(2, random_state=0).fit(documents)
    >>> sorted(map(sorted, model.top_words(2)))
    [['cat', 'dog'], ['star', 'sun']]
    >>> model.transform([["cat", "sun", "unheard-of"]]).round(2)
    array([[0.5, 0.5]])
    """

    relative_weights = True
    streaming = True
    row_attributes = ("doc_topic_", "document_weights_")
    fitted_shapes: ClassVar[Declarations] = {
        "doc_topic_": Floats("documents components", finite=True, low=0.0),
        "topic_weights_": Floats("components", finite=True, low=0.0),
        "document_weights_": Floats("documents", finite=True, low=0.0),
        "log_likelihood_": "",
        "beta_": Floats("", finite=True, low=0.0),
    }
    doc_topic_: np.ndarray
    topic_weights_: np.ndarray
    document_weights_: np.ndarray
    log_likelihood_: float
    beta_: float

    def __init__(
        self,
        n_components: Count = 10,
        *,
        model: Literal["generative", "cooccurrence"] = "generative",
        beta: Annotated[float, Range(0, 1, "(]")] | Literal["held-out"] = 1.0,
        beta_decay: OpenFraction = 0.9,
        validation_fraction: OpenFraction = 0.1,
        max_iter: Count = 200,
        tol: NonNegative = 1e-4,
        n_init: Count = 1,
        components_init: list | tuple | np.ndarray | None = None,
        doc_topic_init: list | tuple | np.ndarray | None = None,
        topic_weights_init: list | tuple | np.ndarray | None = None,
        max_doc_update_iter: Count = 200,
        mean_change_tol: NonNegative = 1e-5,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.model = model
        self.beta = beta
        self.beta_decay = beta_decay
        self.validation_fraction = validation_fraction
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.components_init = components_init
        self.doc_topic_init = doc_topic_init
        self.topic_weights_init = topic_weights_init
        self.max_doc_update_iter = max_doc_update_iter
        self.mean_change_tol = mean_change_tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn topics from documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features), list of documents, or source
            Counts of words, which may be fractional; or lists of tokens, or gensim's bags of words. Of a source,
            P(z|d) is kept in temporary files where memory is short, or on the workers of a cluster; there is no
            `doc_topic_` then.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        sample_weight : array of shape (n_documents,), optional
            How much each document counts; 2 is as good as having it twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        if is_streamed(X):
            fit_streamed(self, X, sample_weight)
            return
        dtype, rng = X.dtype, generator(self.random_state)
        watcher = None
        if self.beta == "held-out":
            X, held_out = split_words(X, self.validation_fraction, rng)
            held_out, _ = in_safe_unit(held_out, sample_weight)
            watcher = Expectation(held_out, self.n_components, all_cores(self.n_jobs), learns=False)
        counts, unit = in_safe_unit(X, sample_weight)
        if not counts.nnz:
            raise ValueError("PLSA: sample_weight is zero for every document that has words.")
        engine = Expectation(counts, self.n_components, all_cores(self.n_jobs))
        words = np.asarray(counts.sum(axis=1)).ravel()
        given = Start(self.components_init, self.doc_topic_init, self.topic_weights_init)

        def fitted(state: tuple[Factors, float]) -> dict[str, Any]:
            return {**attributes(state[0], self.n_components, words, dtype), "beta_": state[1]}

        best: tuple[float, tuple[Factors, float], Steps] | None = None
        for loop in self._restarts(fitted):
            start = first_factors(engine, counts.shape, given, rng, joint=self.model == "cooccurrence")
            judge, learn = (
                (engine, self._em) if watcher is None else (watcher, functools.partial(tempered_em, self))
            )
            state = learn(engine, judge, start, (float(words.sum()), unit), loop)
            value = float(judge.log_likelihoods(*state[0])[0].sum())
            if best is None or value > best[0]:
                best = value, state, loop
        assert best is not None
        _, state, loop = best
        likelihood = float(engine.log_likelihoods(*state[0])[0].sum()) * unit
        self.__dict__.update(fitted(state), log_likelihood_=likelihood, n_iter_=loop.count)

    def _streaming_refusal(self) -> str:
        return streaming_refusal(self)

    def _em(
        self,
        engine: Expectation,
        judge: Expectation,
        factors: Factors,
        sizes: tuple[float, float],
        loop: Steps,
    ) -> tuple[Factors, float]:
        """EM from one start (Alg 18.1); `sizes` are the number of words, and its unit."""
        mass, unit = sizes
        beta, before = float(self.beta), -np.inf
        room = factors.room()
        for step in loop:
            value = self._step(engine, factors, room, mass, beta)
            factors, room = room, factors  # what is overwritten next is not what was reported last
            step.report((factors, beta), log_likelihood=value * unit)
            if self.tol > 0 and step.converged(value - before < self.tol * mass):
                break
            before = value
        return factors, beta

    def _step(self, engine: Expectation, factors: Factors, out: Factors, mass: float, beta: float) -> float:
        """E step and M step, into `out`; the log-likelihood before them."""
        joint = self.model == "cooccurrence"
        theta, phi = tempered(factors, beta, joint=joint)
        value, _ = engine.expect(theta, phi, out.theta, out.phi, mass if joint else 0.0)
        normalize_topics(out.phi, otherwise=factors.phi)
        return value if beta == 1 else float(engine.log_likelihoods(*factors)[0].sum())

    def _restarts(self, fitted: Any) -> Iterable[Steps]:
        """The loops of EM: one, or one inside each of several starts."""
        if self.n_init == 1 or self.components_init is not None:
            yield self.steps(self.max_iter, unpack=fitted, hint="Raise max_iter or tol.")
            return
        for start in self.steps(self.n_init, name="start", inner=self.max_iter):
            yield start.steps(self.max_iter, unpack=fitted, hint="Raise max_iter or tol.")

    def transform(self, X: Any) -> np.ndarray:
        """P(z|d) of documents, by EM with P(w|z) and β as they were learned (folding in).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features), or list of documents
            Each document is a problem of its own. Words that were not seen in training are left out.

        Returns
        -------
        doc_topic : array of shape (n_documents, n_components)
            P(z) for a document without words.
        """
        check_is_fitted(self)
        counts = self._check(X, reset=False)
        return self._folded(counts)[0].astype(counts.dtype, copy=False)

    def _folded(self, X: Any) -> tuple[np.ndarray, Expectation, np.ndarray, np.ndarray]:
        """P(z|d) of documents; the engine, and P(z|d) and P(w|z) as it has them."""
        k = len(self.components_)
        engine = Expectation(in_safe_unit(X)[0], k, all_cores(self.n_jobs), learns=False)
        phi = engine.padded(np.asarray(self.components_, dtype=np.float64).T)
        theta = engine.padded(np.full((X.shape[0], k), 1.0 / k))
        ends = self.max_doc_update_iter, self.mean_change_tol * k
        seen, settled = engine.fold_in(theta, phi, *ends, float(self.beta_))
        if not settled and self.mean_change_tol > 0:
            warnings.warn(
                f"{type(self).__name__}: max_doc_update_iter={self.max_doc_update_iter} passes were too few for "
                "some documents. Raise it, or mean_change_tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        theta[~(seen > 0), :k] = self.topic_weights_
        return theta[:, :k].copy(), engine, theta, phi

    def score(self, X: Any, y: Any = None) -> float:
        """The log-likelihood of documents, Σ n(d,w) log P(w|d), with P(z|d) from folding in.

        P(d) is left out, as in the text. So are words that were not seen in training.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features), list of documents, or source
            The documents.
        y : ignored

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        if isinstance(X, RowSource):
            return likelihood_of_source(self, X)[0]
        X = self._check(X, reset=False)
        _, engine, theta, phi = self._folded(X)
        return float(engine.log_likelihoods(theta, phi)[0].sum()) * in_safe_unit(X)[1]

    def perplexity(self, X: Any, held_out: Any = None) -> float:
        """exp(-Σ n(d,w) log P(w|d) / Σ n(d,w)): among how many words a word of these documents is as hard to guess.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features), list of documents, or source
            The documents, from which P(z|d) is learned.
        held_out : documents of the same form, optional
            The words to guess (document completion): X and `held_out` are two parts of each document. By default
            those of X, which P(z|d) has been fitted to.

        Returns
        -------
        perplexity : float
            Words that were not seen in training are left out.
        """
        check_is_fitted(self)
        if isinstance(X, RowSource):
            if held_out is not None:
                raise TypeError(
                    "PLSA.perplexity(source) takes no held_out: load the documents (`to_arrays`)."
                )
            return perplexity_of(self, *likelihood_of_source(self, X))
        X = self._check(X, reset=False)
        _, engine, theta, phi = self._folded(X)
        if held_out is not None:
            words = self._check(held_out, reset=False)
            if words.shape[0] != X.shape[0]:
                raise ValueError(
                    f"held_out has {words.shape[0]} documents, and X {X.shape[0]}: they must be parts of the same."
                )
            engine = Expectation(
                in_safe_unit(words)[0], len(self.components_), all_cores(self.n_jobs), learns=False
            )
        likelihoods, seen = engine.log_likelihoods(theta, phi)
        return perplexity_of(self, likelihoods.sum(), seen.sum())

    def cooccurrence(self) -> CooccurrenceModel:
        """P(z), P(w|z) and P(d|z) of the training documents: the matrix form U' Σ' V'ᵀ of the model (18.8).

        Returns
        -------
        CooccurrenceModel
        """
        check_is_fitted(self, "doc_topic_", msg=NO_DOCUMENTS)
        return to_cooccurrence(self.document_weights_, self.doc_topic_, self.components_)

    def sample(self, n_documents: int = 1, n_words: Any = 100, random_state: Any = None) -> sparse.csr_array:
        """Draw documents from the model: d ~ P(d), and for each word z ~ P(z|d), then w ~ P(w|z).

        Parameters
        ----------
        n_documents : int, default=1
            How many documents.
        n_words : int or array of int of shape (n_documents,), default=100
            Their lengths.
        random_state : int, optional
            Decides what is drawn.

        Returns
        -------
        counts : CSR array of shape (n_documents, n_features)
        """
        check_is_fitted(self, "doc_topic_", msg=NO_DOCUMENTS)
        rng, weights = generator(random_state), np.asarray(self.document_weights_, dtype=np.float64)
        drawn = rng.choice(weights.size, size=n_documents, p=weights / weights.sum())
        return sample_documents(self.doc_topic_[drawn], self.components_, n_words, rng)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
