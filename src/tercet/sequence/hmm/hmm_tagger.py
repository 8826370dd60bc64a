"""HMM tagger (隐马尔可夫模型标注): labels for sequences of arbitrary symbols."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tercet.core.catalog import method
from tercet.core.estimator import check_weight
from tercet.core.parallel import each
from tercet.core.parameters import Count, Jobs, NonNegative
from tercet.optimize import em
from tercet.sequence._chain.k_best import k_best
from tercet.sequence.base import SequenceEstimator
from tercet.sequence.crf.constraints import masks_of
from tercet.sequence.hmm.e_step import Passes, log, only_known
from tercet.sequence.hmm.tagger_em import Completion, Counts, shares
from tercet.sequence.text.sequences import Sequences
from tercet.sequence.text.tokens import encode, label_codes, labels_of, tokens, vocabulary

ROWS = 1 << 16  # symbols in a chunk
GUESS = 0.01  # added to what is counted before EM begins, so that nothing is impossible at first


@method(
    zh="隐马尔可夫模型标注器",
    task="sequence labelling",
    approach="generative",
    model="labels are the hidden states of a Markov chain, symbols are what they show",
    strategy="maximum likelihood (MLE or MAP, with pseudo-counts) of symbols and known labels",
    algorithms={
        "viterbi": "the most probable sequence of labels",
        "map": "the most probable label of each symbol by itself",
    },
    texts=["000 ch. 10, sec. 10.1.1, 10.3.1, eq. 10.30, 10.31"],
    peers=["nltk.tag.hmm.HiddenMarkovModelTagger"],
)
class HMMTagger(SequenceEstimator):
    """Labels sequences of symbols by a hidden Markov model whose states are the labels.

    Where all labels are known, the chances of labels and symbols are counted; where some are not (None, or -1
    among whole numbers), whether single ones or those of whole sequences, EM fills them in.

    Parameters
    ----------
    alpha : float, default=0.01
        What is added to every count (Lidstone): 0 is maximum likelihood, 1 is Laplace's rule.
    unseen : {"smooth", "suffix", "error"}, default="smooth"
        What a symbol that was not in the training data is taken for: a rare symbol; a rare symbol with the same
        last letters (of strings); or a mistake.
    rare : int, default=1
        A symbol that comes up to so often is rare.
    suffix_length : int, default=4
        How many last letters count.
    algorithm : {"viterbi", "map"}, default="viterbi"
        How `predict` chooses: the best path as a whole, or the best label for each symbol.
    constraints : str, dict or array of shape (n_labels, n_labels), optional
        Which label may follow which when predicting, as for `CRF`.
    n_iter : int, default=20
        The most passes of EM, where labels are unknown.
    tol : float, default=1e-4
        EM ends when the log-likelihood for each symbol rises by less.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    classes_ : list
        The labels, sorted.
    symbols_ : list
        The symbols, sorted.
    startprob_ : array of shape (n_classes,)
        The chance of each label at the start.
    transmat_ : array of shape (n_classes, n_classes)
        The chance of each label after each other.
    emissionprob_ : array of shape (n_classes, n_symbols)
        The chance of each symbol with each label.
    unseenprob_ : array of shape (n_classes,)
        The chance that a label comes with an unseen symbol; with `emissionprob_` each row sums to one.
    suffixes_ : list
        The known last letters, where `unseen` is "suffix".
    suffixprob_ : array of shape (n_suffixes, n_classes)
        The chance of each label of a rare symbol that ends so.

    Examples
    --------
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"]]
    >>> HMMTagger().fit(X, y).predict([["a", "dog", "sings"]])
    [['D', 'N', 'V']]
    """

    symbols: ClassVar[bool] = True
    sparse_input = False
    implementation: ClassVar[str] = "scaling"

    def __init__(
        self,
        alpha: NonNegative = 0.01,
        *,
        unseen: Literal["smooth", "suffix", "error"] = "smooth",
        rare: Count = 1,
        suffix_length: Count = 4,
        algorithm: Literal["viterbi", "map"] = "viterbi",
        constraints: Any = None,
        n_iter: Count = 20,
        tol: NonNegative = 1e-4,
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.unseen = unseen
        self.rare = rare
        self.suffix_length = suffix_length
        self.algorithm = algorithm
        self.constraints = constraints
        self.n_iter = n_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, lengths: Any = None, sample_weight: Any = None) -> Self:
        """Learn from sequences of symbols and their labels.

        Parameters
        ----------
        X : list of sequences
            Hashable symbols of any kind; None is one that is not known. With `lengths`, one flat list.
        y : list of sequences
            The label of each symbol, None where it is not known; None for a whole sequence of which none is known.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one flat list.
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts; 2 is as good as having the sequence twice.

        Returns
        -------
        self
        """
        return self._learn(tokens(X, lengths), y, sample_weight)

    def _check(self, X: Any, y: Any = None, *, reset: bool = True) -> Any:
        if y is None:
            raise ValueError("HMMTagger requires y to be passed, but the target y is None.")
        return X, y if isinstance(y, Sequences) else X.with_rows(labels_of(y, X))

    def _fit(self, X: Sequences, y: Sequences, weight: np.ndarray | None) -> None:
        if weight is not None and not weight.all():  # a sequence without weight is not there at all
            here = np.flatnonzero(weight)
            X, y, weight = X[here], y[here], weight[here]
        self.classes_, states = label_codes(y)
        masks_of(self.constraints, self.classes_)  # what is wrong with them is said before the work
        self.symbols_ = vocabulary(X)
        codes = X.with_rows(encode(X, self.symbols_)[0])
        known = np.logical_and.reduceat(states >= 0, X.borders[:-1])
        counts = self._count(codes, states, weight, known)
        if not known.all():
            counts = self._fill(codes, states, weight, ~known, counts)
        self.__dict__.update(self._estimate(*counts))

    def _count(
        self, X: Sequences, states: np.ndarray, weight: np.ndarray | None, known: np.ndarray
    ) -> Counts:
        """How often labels come first, after each other, and with each symbol, in sequences that are labelled."""
        n, m = len(self.classes_), len(self.symbols_)
        by_row = np.repeat(known * (1.0 if weight is None else weight), X.lengths)
        first = X.borders[:-1]
        states = np.maximum(states, 0)
        start = np.bincount(states[first], by_row[first], n)
        after = np.ones(states.size, dtype=bool)
        after[first] = False
        pairs = states[:-1] * n + states[1:]
        trans = np.bincount(pairs, by_row[1:] * after[1:], n * n).reshape(n, n)
        words = np.bincount(X.rows * n + states, by_row, (m + 1) * n).reshape(m + 1, n)[:m]
        return start, trans, words

    def _fill(
        self,
        X: Sequences,
        states: np.ndarray,
        weight: np.ndarray | None,
        chosen: np.ndarray,
        counts: Counts,
    ) -> Counts:
        """Expected counts where labels are missing, by EM; labelled sequences are counted once for all."""
        which = np.flatnonzero(chosen)
        data = Passes(
            self, X[which], X.with_rows(states)[which].rows, None if weight is None else weight[which]
        )
        model = Completion(data, counts, self.alpha)
        first = model.chances([count + GUESS for count in counts])
        loop = self.steps(
            self.n_iter, unpack=lambda _: self._estimate(*model.latest), hint="Raise n_iter or tol."
        )
        per = float(X.lengths.sum() if weight is None else X.lengths @ weight)
        em(model, data.X.chunks(ROWS), first, loop, tol=self.tol, per=per, n_jobs=self.n_jobs)
        return model.latest

    def _estimate(self, start: np.ndarray, trans: np.ndarray, words: np.ndarray) -> dict[str, Any]:
        """Counts to chances, with a share for what was never seen: as much as rare symbols have."""
        rarely = np.flatnonzero(words.sum(axis=1) <= self.rare)
        some = self.unseen != "error"
        unseen = words[rarely].sum(axis=0) * some
        table = shares(np.column_stack([words.T + self.alpha, unseen + self.alpha * some]))
        endings = self._endings(words, rarely, shares(unseen, self.alpha)) if self.unseen == "suffix" else {}
        return {
            "classes_": self.classes_,
            "symbols_": self.symbols_,
            "startprob_": shares(start, self.alpha),
            "transmat_": shares(trans, self.alpha),
            "emissionprob_": np.ascontiguousarray(table[:, :-1]),
            "unseenprob_": table[:, -1].copy(),
            "suffixes_": list(endings),
            "suffixprob_": np.array(list(endings.values())).reshape(-1, len(start)),
        }

    def _endings(self, words: np.ndarray, rarely: np.ndarray, overall: np.ndarray) -> dict[str, np.ndarray]:
        """Chances of labels by the last letters of rare strings; a longer ending takes a shorter one for one more
        symbol."""
        counts: dict[str, Any] = {}
        for k in rarely:
            word = self.symbols_[k]
            if isinstance(word, str):
                for size in range(1, min(self.suffix_length, len(word)) + 1):
                    counts[word[-size:]] = counts.get(word[-size:], 0.0) + words[k]
        found = {"": overall}
        for ending in sorted(counts, key=lambda ending: (len(ending), ending)):
            found[ending] = (counts[ending] + found[ending[1:]]) / (counts[ending].sum() + 1.0)
        return found

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The labels of each sequence.

        Parameters
        ----------
        X : list of sequences
            The symbols.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one flat list.

        Returns
        -------
        list of lists
            Labels; one flat list with `lengths`.
        """
        passes, theta = self._passes(X, lengths)
        if self.algorithm == "viterbi":
            path = np.concatenate([p for _, p in self._each(passes.decode, passes, theta)])
        else:
            path = self._posteriors(passes, theta).argmax(axis=1)
        return passes.X.like_given(self._named(path))

    def predict_proba(self, X: Any, lengths: Any = None) -> Any:
        """The chance of each label for each symbol.

        Parameters
        ----------
        X : list of sequences
            The symbols.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one flat list.

        Returns
        -------
        list of arrays of shape (length, n_classes)
            In the order of `classes_`; one array of all rows with `lengths`.
        """
        passes, theta = self._passes(X, lengths)
        return passes.X.like_given(self._posteriors(passes, theta))

    def predict_marginals(self, X: Any, lengths: Any = None) -> Any:
        """The same as dicts: for each sequence a list with {label: chance} for each symbol."""
        passes, theta = self._passes(X, lengths)
        rows = [dict(zip(self.classes_, row)) for row in self._posteriors(passes, theta).tolist()]
        return passes.X.like_given(rows)

    def k_best(self, X: Any, k: int = 5, lengths: Any = None) -> list[list[tuple[list[Any], float]]]:
        """The k best label sequences of each sequence, best first.

        Parameters
        ----------
        X : list of sequences
            The symbols.
        k : int, default=5
            How many; fewer are given where fewer can be.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one flat list.

        Returns
        -------
        list, for each sequence, of lists of (labels, log-probability)
            The probability is that of the labels, given the symbols.
        """
        passes, theta = self._passes(X, lengths)
        start, trans, table = (log(theta[name]) for name in ("startprob_", "transmat_", "table"))
        totals = np.concatenate(self._each(passes.score, passes, theta))
        found = []
        for codes, total in zip(passes.X, totals.tolist()):
            scores, paths = k_best(start, trans, table[codes], k)
            found.append([(self._named(path), score - total) for path, score in zip(paths, scores.tolist())])
        return found

    def score(self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None) -> float:
        """The share of symbols that get their own label, among those whose label is known."""
        X = tokens(X, lengths)
        wanted = y.rows if isinstance(y, Sequences) else labels_of(y, X)
        got = self.predict(X)
        flat = [label for labels in got for label in labels] if X.listed else got
        weight = check_weight(sample_weight, X)
        by_row = np.ones(len(flat)) if weight is None else np.repeat(weight, X.lengths)
        known = np.array([not (label is None or label != label) for label in wanted], dtype=bool)
        if not (known * by_row).any():
            raise ValueError("y has no known label to compare with.")
        right = np.array([a == b for a, b in zip(flat, wanted)], dtype=bool)
        return float((by_row * right)[known].sum() / by_row[known].sum())

    def _passes(self, X: Any, lengths: Any) -> tuple[Passes, dict[str, np.ndarray]]:
        """Coded sequences, and the chances with a row of `table` for every code."""
        check_is_fitted(self)
        theta = self._tables()
        X = tokens(X, lengths)
        codes, strange = encode(X, self.symbols_)
        if strange and self.unseen == "error":
            row = int(np.flatnonzero(codes > len(self.symbols_))[0])
            s = int(np.searchsorted(X.borders, row, side="right")) - 1
            raise ValueError(
                f"HMMTagger: {X.rows[row]!r}, symbol {row - X.borders[s]} of sequence {s}, was not in the training "
                "data (unseen='error')."
            )
        rows = [self.emissionprob_.T, np.ones((1, len(self.classes_))), self._unseen(strange)]
        theta["table"] = np.ascontiguousarray(np.concatenate(rows))
        if self.constraints is not None:
            begin, go, end = masks_of(self.constraints, self.classes_)
            theta["startprob_"], theta["transmat_"] = theta["startprob_"] * begin, theta["transmat_"] * go
            codes[X.borders[1:] - 1] += len(theta["table"])  # last symbols are codes of their own
            theta["table"] = np.concatenate([theta["table"], theta["table"] * end])
        return Passes(self, X.with_rows(codes)), theta

    def _unseen(self, strange: list[Any]) -> np.ndarray:
        """The chance of each label to come with each unseen symbol; where rare symbols tell nothing, all alike."""
        n = len(self.classes_)
        usual = self.unseenprob_ if self.unseenprob_.any() else np.ones(n)
        table = np.tile(usual, (len(strange), 1))
        if len(self.suffixes_):
            index = {ending: k for k, ending in enumerate(self.suffixes_)}
            overall = np.where(self.suffixprob_[0] > 0, self.suffixprob_[0], 1.0)
            for row, word in zip(table, strange):
                if isinstance(word, str):
                    sizes = range(min(self.suffix_length, len(word)), -1, -1)
                    ending = next(e for e in (word[len(word) - size :] for size in sizes) if e in index)
                    row *= self.suffixprob_[index[ending]] / overall
        return table

    def _tables(self) -> dict[str, np.ndarray]:
        """The chances, whose shapes kernels count on."""
        n, m = len(self.classes_), len(self.symbols_)
        shapes = {
            "startprob_": (n,),
            "transmat_": (n, n),
            "emissionprob_": (n, m),
            "unseenprob_": (n,),
            "suffixprob_": (len(self.suffixes_), n),
        }
        for name, shape in shapes.items():
            if np.shape(getattr(self, name)) != shape:
                raise ValueError(
                    f"HMMTagger: {name} has the shape {np.shape(getattr(self, name))}; expected is {shape}."
                )
        return {
            name: np.ascontiguousarray(getattr(self, name), dtype=np.float64) for name in list(shapes)[:2]
        }

    def _scaled_likelihood(self, rows: np.ndarray, theta: Any, states: Any) -> tuple[np.ndarray, None]:
        return only_known(theta["table"][rows], states, 0.0), None

    def _log_likelihood(self, rows: np.ndarray, theta: Any) -> np.ndarray:
        return log(theta["table"][rows])

    def _posteriors(self, passes: Passes, theta: dict[str, np.ndarray]) -> np.ndarray:
        return np.concatenate([gamma for _, gamma, _ in self._each(passes.smooth, passes, theta)])

    def _each(self, function: Any, passes: Passes, theta: dict[str, np.ndarray]) -> list[Any]:
        return each(function, passes.X.chunks(ROWS), theta, n_jobs=self.n_jobs)

    def _named(self, path: np.ndarray) -> list[Any]:
        return np.fromiter(self.classes_, dtype=object, count=len(self.classes_))[path].tolist()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = False, True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


__all__ = ["HMMTagger"]
