"""Latent Dirichlet allocation (潜在狄利克雷分配): topics as distributions over words, with Dirichlet priors."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats, Whole
from tercet.core.parameters import (
    ArrayLike,
    Count,
    CountOrZero,
    Fraction,
    Jobs,
    NonNegative,
    Positive,
    Range,
    Seed,
    check_parameters,
)
from tercet.topic._variational.corpus import Corpus, Posterior, Topics
from tercet.topic._variational.streamed_corpus import StreamedCorpus
from tercet.topic.gibbs_run import GibbsRun, repeated
from tercet.topic.lda_batches import corpora, mini_batches, streamed_step, streaming_refusal
from tercet.topic.lda_inference import LDAInference
from tercet.topic.prior_input import checked_prior, prior_table, random_numbers, seeded
from tercet.topic.variational_priors import minka_alpha, newton_alpha, symmetric_eta

Offset = Annotated[float, Range(1.0, np.inf, "[)")]


@method(
    zh="潜在狄利克雷分配",
    task="topic model",
    model="θ_d ~ Dir(α), φ_k ~ Dir(η); each word of document d: z ~ Mult(θ_d), w ~ Mult(φ_z)",
    strategy="posterior of θ, z and φ: evidence lower bound (ELBO), or samples of p(z|w)",
    algorithms={
        "batch": "variational EM: E step over all documents, then λ = η + expected counts",
        "online": "stochastic variational inference: λ moves by a shrinking step after each mini-batch",
        "gibbs": "collapsed Gibbs sampling: a new topic for each word in turn, given those of all others",
    },
    texts=[
        "Li ch. 20, Alg 20.1, 20.2, 20.4, 20.5",
        "Li ch. 22, Table 22.1",
        "Machine Learning in Depth ch. 5, 5.14-5.15, 5.18",
        "watermelon notes ch. 12, eq. 12.24-12.26",
    ],
    peers=["sklearn.decomposition.LatentDirichletAllocation", "gensim.models.LdaModel", "tomotopy.LDAModel"],
)
class LatentDirichletAllocation(LDAInference):
    """Latent Dirichlet allocation: documents are mixtures of topics, topics are distributions over words.

    Each topic draws its words' probabilities φ_k ~ Dirichlet(η), each document its topics' θ_d ~ Dirichlet(α); each
    word has a hidden topic z ~ θ_d and is drawn from φ_z. Variational inference fits q(θ_d) = Dirichlet(γ_d),
    q(φ_k) = Dirichlet(λ_k) and q(z) to the posterior by raising the evidence lower bound

        ELBO = E_q[log p(w, z, θ, φ)] - E_q[log q(z, θ, φ)] <= log p(w)

    With the same seed the numbers are those of scikit-learn's class of this name (with its `n_jobs=1`).

    Gibbs sampling integrates θ and φ out and draws the topic of each word in turn given those of all others,
    p(z_i = k | z_-i, w) ∝ (n_kw + η_w) / Σ_w (n_kw + η_w) · (n_dk + α_k), so that after some sweeps z is a sample
    of the posterior. It takes whole counts, and needs some hundred sweeps (`max_iter`).

    Parameters
    ----------
    n_components : int, default=10
        The number of topics K.
    doc_topic_prior : float or array of shape (n_components,), optional
        α, above 0 (gensim: alpha); by default 1 / n_components.
    topic_word_prior : float or array of shape (n_features,) or (n_components, n_features), optional
        η, above 0 (gensim: eta; Li Hang: β); by default 1 / n_components. An array gives words priors of their own.
    learning_method : {"batch", "online", "gibbs"}, default="batch"
        How `fit` learns: by variational inference, from all documents in each pass or from mini-batches; or by
        collapsed Gibbs sampling.
    learning_decay : float, default=0.7
        κ: the step of mini-batch t is (learning_offset + t)^-κ. Above 0.5, the steps converge.
    learning_offset : float, default=10.0
        τ0, at least 1: makes the first steps smaller.
    max_iter : int, default=10
        Passes over the documents; with "gibbs" sweeps, of which there should be some hundred.
    batch_size : int, default=128
        Documents of a mini-batch.
    evaluate_every : int, default=-1
        Compute the perplexity of the training documents after every so many passes; 0 or less: not at all. With
        "gibbs" log p(w, z) as well, which else comes every ten sweeps.
    total_samples : float, default=1e6
        Documents there are in all, for `partial_fit`.
    perp_tol : float, default=0.1
        Stop when an evaluation changes the perplexity by less; "gibbs" makes all its sweeps.
    mean_change_tol : float, default=0.001
        A document's E step ends when the mean change of its γ is smaller.
    max_doc_update_iter : int, default=100
        The most updates of a document in an E step; with "gibbs" the sweeps over a document in `transform`.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    verbose : int, default=0
        Print a line for each pass.
    random_state : int, RandomState, Generator or None, default=None
        Decides the random starts of λ and γ.
    prior_update : {"newton", "minka"}, optional
        Learn α, one number for each topic: by Newton's method or Minka's fixed point, after each M step; with
        "gibbs" see `prior_interval`.
    seed_words : dict of int to list, optional
        Words that a topic should have: for its number, names or column numbers of words.
    seed_weight : float, default=10.0
        Pseudo-counts that seed words add to η, and to the start.
    shards : int, default=1
        With "gibbs": 1 draws the topics of all words one after the other. More is the number of parts that the
        documents are cut into, to be drawn at the same time by `n_jobs` threads; a part hears of the others'
        changes after each sweep. The result depends on it, not on `n_jobs`.
    burn_in : int, optional
        With "gibbs": sweeps before priors are learned and samples kept; by default half of `max_iter`.
    thin : int, optional
        With "gibbs": keep a sample after every so many sweeps since the burn-in, and average their counts; by
        default the last sweep alone.
    prior_interval : int, default=10
        With "gibbs": sweeps from one update of the priors to the next.
    word_prior_update : bool, default=False
        Learn η, one number for all topics and words, after each M step; with "gibbs" see `prior_interval`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        λ: pseudo-counts of words in topics; with "gibbs" n_kw + η_w. `topic_word_distribution()` gives P(w|z).
    exp_dirichlet_component_ : array of shape (n_components, n_features)
        exp(E[log φ]).
    n_batch_iter_ : int
        Number of M steps and 1.
    n_iter_ : int
        Passes over the documents.
    bound_ : float
        The perplexity of the training documents, from the bound; with "gibbs" from θ and φ of the last sweep.
    doc_topic_prior_ : float or array of shape (n_components,)
        α.
    topic_word_prior_ : float or array
        η.
    random_state_ : RandomState
        The random numbers, as they go on in `partial_fit`.
    vocabulary_ : dict of str to int
        The columns of words, where X was lists of tokens.

    Examples
    --------
    >>> from tercet.topic import LatentDirichletAllocation
    >>> documents = [["ship", "sea"], ["sea", "wave", "ship"], ["tree", "leaf"], ["leaf", "wood", "tree"]]
    >>> model = LatentDirichletAllocation(2, random_state=0).fit(documents)
    >>> sorted(sorted(words) for words in model.top_words(2))
    [['leaf', 'tree'], ['sea', 'ship']]
    >>> model.transform([["wave", "ship"], []]).round(2)
    array([[0.83, 0.17],
           [0.5 , 0.5 ]])
    """

    empty_corpus = True  # topics are then those of the prior
    streaming = True
    fitted_shapes: ClassVar[Declarations] = {
        "components_": Floats("components features", finite=True, low=0.0),
        "exp_dirichlet_component_": Floats("components features", finite=True, low=0.0),
        "n_batch_iter_": Whole("", 1),
        "bound_": "",
        "doc_topic_prior_": lambda model: Floats(
            "components" if np.ndim(model.doc_topic_prior_) else "", finite=True, low=1e-300
        ),
        "topic_word_prior_": lambda model: Floats(
            ("", "features", "components features")[min(np.ndim(model.topic_word_prior_), 2)],
            finite=True,
            low=1e-300,
        ),
    }
    n_batch_iter_: int
    n_iter_: int
    bound_: float
    random_state_: np.random.RandomState

    def __init__(
        self,
        n_components: Count = 10,
        *,
        doc_topic_prior: Positive | ArrayLike | None = None,
        topic_word_prior: Positive | ArrayLike | None = None,
        learning_method: Literal["batch", "online", "gibbs"] = "batch",
        learning_decay: Fraction = 0.7,
        learning_offset: Offset = 10.0,
        max_iter: CountOrZero = 10,
        batch_size: Count = 128,
        evaluate_every: int = -1,
        total_samples: Positive = 1e6,
        perp_tol: NonNegative = 1e-1,
        mean_change_tol: NonNegative = 1e-3,
        max_doc_update_iter: CountOrZero = 100,
        n_jobs: Jobs = None,
        verbose: int | bool = 0,
        random_state: Seed = None,
        prior_update: Literal["newton", "minka"] | None = None,
        seed_words: dict | None = None,
        seed_weight: Positive = 10.0,
        shards: Count = 1,
        burn_in: CountOrZero | None = None,
        thin: Count | None = None,
        prior_interval: Count = 10,
        word_prior_update: bool = False,
    ) -> None:
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learning_method = learning_method
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.evaluate_every = evaluate_every
        self.total_samples = total_samples
        self.perp_tol = perp_tol
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.prior_update = prior_update
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.shards = shards
        self.burn_in = burn_in
        self.thin = thin
        self.prior_interval = prior_interval
        self.word_prior_update = word_prior_update

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the topics of documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), lists of tokens, or lists of (word, count)
            The documents: counts of words, tokens, or gensim's bags of words.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each document counts; 2 is as good as having it twice, but for what is drawn. "gibbs" takes
            whole numbers only.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: Any, y: None, sample_weight: Any) -> None:
        if self.learning_method == "gibbs":
            self._fit_gibbs(repeated(X, sample_weight))
        else:
            self._fit_variational(X, sample_weight)

    def _fit_gibbs(self, X: Any) -> None:
        """Collapsed Gibbs sampling (Alg 20.2): a new topic for each word in turn, given those of all others."""
        self._set_priors(X.shape[1])
        run = GibbsRun(self, X)
        for step in self.steps(self.max_iter, unpack=lambda _: self._attributes(run.pseudocounts(), X.dtype)):
            run.sweep()
            run.learn_priors(step.count)
            run.keep_sample(step.count)
            measures = run.measures(step.count)
            if self.verbose:
                said = "".join(f", {name.replace('_', '-')}: {value:.4f}" for name, value in measures.items())
                print(f"iteration: {step.count} of max_iter: {self.max_iter}{said}")
            step.report(run, **measures)
            self.n_iter_ += 1
        self.__dict__.update(self._attributes(run.pseudocounts(), X.dtype))
        self.bound_ = run.sampler.perplexity()

    def _streaming_refusal(self) -> str:
        return streaming_refusal(self)

    def _fit_variational(self, X: Any, sample_weight: np.ndarray | None) -> None:
        """Variational EM (Alg 20.5), over all documents at a time or over mini-batches."""
        whole, topics = self.learning_method == "batch", self._start(X.shape[1])
        corpus, batches = corpora(self, X, sample_weight)
        perplexity = np.nan
        loop = self.steps(self.max_iter, unpack=lambda table: self._attributes(table, X.dtype))
        for step in loop:
            measures: dict[str, float] = {}
            for batch in batches:
                if isinstance(batch, StreamedCorpus):
                    measures["elbo"] = streamed_step(self, topics, batch)
                    continue
                posterior = self._e_step(topics, batch)
                if whole:
                    measures["elbo"] = self._bound(topics, batch, posterior)
                self._m_step(topics, batch, posterior, corpus.size, online=not whole)
            evaluate = self.evaluate_every > 0 and step.count % self.evaluate_every == 0
            if evaluate:
                before, perplexity = perplexity, self._perplexity_of(topics, corpus)
                measures["perplexity"] = perplexity
            if self.verbose:
                said = f", perplexity: {perplexity:.4f}" if evaluate else ""
                print(f"iteration: {step.count} of max_iter: {self.max_iter}{said}")
            step.report(topics.keep(), **measures)
            if evaluate and abs(before - perplexity) < self.perp_tol:
                break
            self.n_iter_ += 1
        self.__dict__.update(self._attributes(topics.pseudocounts, X.dtype, topics.word_topic))
        self.bound_ = self._perplexity_of(topics, corpus)

    def _set_priors(self, n_features: int) -> np.ndarray:
        """Set α and η; what seed words add to η."""
        self.random_state_ = random_numbers(self.random_state)
        self.n_batch_iter_, self.n_iter_ = 1, 0
        K = self.n_components
        self.doc_topic_prior_ = checked_prior("doc_topic_prior", self.doc_topic_prior, 1.0 / K, [(K,)])
        eta = checked_prior(
            "topic_word_prior", self.topic_word_prior, 1.0 / K, [(n_features,), (K, n_features)]
        )
        if self.word_prior_update and (self.seed_words or np.ndim(eta)):
            raise ValueError(
                "LatentDirichletAllocation: word_prior_update=True learns one number for all words; it takes "
                "neither seed_words nor an array as topic_word_prior."
            )
        if not self.seed_words:
            self.topic_word_prior_ = eta
            return np.zeros((K, 1))
        seeds = self.seed_weight * seeded(self.seed_words, K, self.words())
        self.topic_word_prior_ = np.broadcast_to(eta, seeds.shape) + seeds
        return seeds

    def _start(self, n_features: int) -> Topics:
        """Priors and random λ."""
        seeds = self._set_priors(n_features)
        start = self.random_state_.gamma(100.0, 0.01, (self.n_components, n_features)) + seeds
        return Topics(start.T, prior_table(self.topic_word_prior_, self.n_components), self.n_jobs)

    def _e_step(self, topics: Topics, batch: Corpus) -> Posterior:
        """γ of each document, from a random start (Alg 20.4)."""
        gamma = self.random_state_.gamma(100.0, 0.01, (batch.shape[0], topics.totals.size))
        return self._infer(batch, topics.word_topic, gamma, ratios=True)

    def _m_step(
        self, topics: Topics, batch: Corpus, posterior: Posterior, total: float, *, online: bool
    ) -> None:
        """λ = η + expected counts; online, a step towards it; and α, if it is learned."""
        weight = 1.0
        if not online:
            topics.update(batch, posterior)
        else:
            weight = float((self.learning_offset + self.n_batch_iter_) ** -self.learning_decay)
            scale = float(total) / batch.size if batch.size else 0.0
            topics.update(batch, posterior, 1.0 - weight, weight, scale)
        if self.prior_update is not None and batch.size:
            alpha = self._alpha(topics.totals.size)
            fit = {"newton": newton_alpha, "minka": minka_alpha}[self.prior_update]
            learned = fit(posterior.gamma, alpha, sample_weight=batch.weight)
            self.doc_topic_prior_ = (1.0 - weight) * alpha + weight * learned
        if self.word_prior_update:
            eta = symmetric_eta(topics.mean_log(), topics.pseudocounts.shape[0])
            self.topic_word_prior_ = (1.0 - weight) * self.topic_word_prior_ + weight * eta
            topics.set_prior(prior_table(self.topic_word_prior_, topics.totals.size))
        self.n_batch_iter_ += 1

    def _attributes(self, table: np.ndarray, dtype: Any, expected: Any = None) -> dict[str, Any]:
        """Fitted attributes from λ, which has a row for each word, and exp(E[log φ]), if that is known."""
        if expected is None:
            prior = prior_table(self.topic_word_prior_, table.shape[1])
            expected = Topics(table, prior, self.n_jobs).word_topic
        return {
            "components_": np.array(table.T, dtype=dtype, order="C"),
            "exp_dirichlet_component_": np.array(expected.T, dtype=dtype, order="C"),
            "doc_topic_prior_": self.doc_topic_prior_,
            "topic_word_prior_": self.topic_word_prior_,
        }

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more documents, in mini-batches, as with `learning_method="online"`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), lists of tokens, or lists of (word, count)
            The documents; words that the first call did not have are left out.
        y : ignored
            There for pipelines.

        Returns
        -------
        self
        """
        check_parameters(self)
        first = not hasattr(self, "components_")
        X = self._check(X, reset=first)
        topics = self._start(X.shape[1]) if first else self._topics()
        for corpus in mini_batches(X, None, self.batch_size):
            posterior = self._e_step(topics, corpus)
            self._m_step(topics, corpus, posterior, self.total_samples, online=True)
        dtype = X.dtype if first else self.components_.dtype
        self.__dict__.update(self._attributes(topics.pseudocounts, dtype, topics.word_topic))
        return self
