"""HMM tagger (隐马尔可夫模型标注): labels for sequences of arbitrary symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tercet.core.catalog import method
from tercet.core.estimator import check_weight
from tercet.core.fitted_checks import Floats, Labels
from tercet.core.parallel import each, total
from tercet.core.parameters import Count, Jobs, NonNegative
from tercet.optimize import check_ascent
from tercet.sequence.base import SequenceEstimator, Sequences
from tercet.sequence.crf.constraints import masks_of
from tercet.sequence.hmm.categorical_hmm import add_symbol_counts
from tercet.sequence.hmm.em import Emissions, EStep, Theta, log, mask_known_states
from tercet.sequence.k_best import k_best
from tercet.sequence.text.tokens import encode, label_codes, labels_of, tokens, vocabulary

ROWS = 1 << 16  # symbols in a chunk
GUESS = 0.01  # added to the counts before EM begins, so that nothing is impossible at first

Counts = tuple[
    np.ndarray, ...
]  # of first labels (N,), of pairs of labels (N, N), of symbols with labels (M, N)


@method(
    zh="隐马尔可夫模型标注器",
    task="sequence labelling",
    approach="generative",
    model="labels are the hidden states of a Markov chain, symbols are their emissions",
    strategy="maximum likelihood (MLE or MAP, with pseudo-counts) of symbols and known labels",
    algorithms={
        "viterbi": "the most probable sequence of labels",
        "map": "the most probable label of each symbol by itself",
    },
    texts=["Li ch. 10, sec. 10.1.1, 10.3.1, eq. 10.30, 10.31"],
    peers=["nltk.tag.hmm.HiddenMarkovModelTagger"],
)
class HMMTagger(SequenceEstimator):
    """Labels sequences of symbols by a hidden Markov model whose states are the labels.

    Where all labels are known, the probabilities are relative frequencies; where some are not (None, or -1
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
        π: the probability of each label at the start.
    transmat_ : array of shape (n_classes, n_classes)
        A: the probability of each label after each other.
    emissionprob_ : array of shape (n_classes, n_symbols)
        B: the probability of each symbol, given the label.
    unseenprob_ : array of shape (n_classes,)
        The probability of an unseen symbol, given the label; with `emissionprob_` each row sums to one.
    suffixes_ : list
        The known suffixes, where `unseen` is "suffix".
    suffixprob_ : array of shape (n_suffixes, n_classes)
        The probability of each label of a rare symbol with this suffix.

    Examples
    --------
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"]]
    >>> HMMTagger().fit(X, y).predict([["a", "dog", "sings"]])
    [['D', 'N', 'V']]
    """

    symbols: ClassVar[bool] = True
    sparse_input = False

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

    fitted_shapes = {
        "symbols_": Labels("symbols*"),
        "startprob_": Floats("classes", finite=True, low=0.0),
        "transmat_": Floats("classes classes", finite=True, low=0.0),
        "emissionprob_": Floats("classes symbols*", finite=True, low=0.0),
        "unseenprob_": Floats("classes", finite=True, low=0.0),
        "suffixes_": Labels("suffixes*"),
        "suffixprob_": Floats("suffixes* classes", finite=True, low=0.0),
    }

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
        masks_of(self.constraints, self.classes_)  # raises errors before the work
        self.symbols_ = vocabulary(X)
        codes = X.with_rows(encode(X, self.symbols_)[0])
        known = np.logical_and.reduceat(states >= 0, X.borders[:-1])
        counts = self._label_counts(codes, states, weight, known)
        if not known.all():
            counts = self._baum_welch(codes, states, weight, ~known, counts)
        self.__dict__.update(self._estimate(*counts))

    def _label_counts(
        self, X: Sequences, states: np.ndarray, weight: np.ndarray | None, known: np.ndarray
    ) -> Counts:
        """Counts of first labels, transitions and symbols in the labelled sequences (10.30), (10.31)."""
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

    def _baum_welch(
        self,
        X: Sequences,
        states: np.ndarray,
        weight: np.ndarray | None,
        hidden: np.ndarray,
        counts: Counts,
    ) -> Counts:
        """Expected counts of the sequences in which labels are hidden, by EM, on top of the counts of the
        others."""
        which = np.flatnonzero(hidden)
        labels = X.with_rows(states)[which].rows
        e_step = EStep(SymbolTable("HMMTagger"), X[which], labels, None if weight is None else weight[which])
        chunks, mass = e_step.X.chunks(ROWS), float(X.lengths.sum() if weight is None else X.lengths @ weight)
        loop = self.steps(
            self.n_iter, unpack=lambda counts: self._estimate(*counts), hint="Raise n_iter or tol."
        )
        theta, before, latest = self._probabilities([count + GUESS for count in counts]), -np.inf, counts
        for step in loop:
            likelihood, *expected = total(e_step.expected_counts, chunks, theta, n_jobs=self.n_jobs)  # E
            value = float(likelihood + self._log_prior(counts, theta)) / mass
            check_ascent(before, value)
            latest = tuple(a + b for a, b in zip(counts, expected))
            theta = self._probabilities(latest)  # M
            step.report(latest, log_likelihood=value)
            if step.converged(value - before < self.tol):
                break
            before = value
        return latest

    def _probabilities(self, counts: Any) -> Theta:
        """Smoothed counts as π, A and B, whose transpose gets a last row for a symbol that is not known."""
        start, trans, words = counts
        return {
            "startprob_": smoothed(start, self.alpha),
            "transmat_": smoothed(trans, self.alpha),
            "table": np.concatenate([smoothed(words.T, self.alpha).T, np.ones((1, len(start)))]),
        }

    def _log_prior(self, counts: Counts, theta: Theta) -> float:
        """Σ (count + alpha) log p: the labelled sequences are pseudo-counts to the others."""
        value = 0.0
        for count, p in zip(counts, (theta["startprob_"], theta["transmat_"], theta["table"][:-1])):
            weight = count + self.alpha
            value += float((weight * np.log(np.where(weight > 0, p, 1.0))).sum())
        return value

    def _estimate(self, start: np.ndarray, trans: np.ndarray, words: np.ndarray) -> dict[str, Any]:
        """Probabilities from counts; an unseen symbol is as probable as all rare ones together."""
        rare_symbols = np.flatnonzero(words.sum(axis=1) <= self.rare)
        some = self.unseen != "error"
        unseen = words[rare_symbols].sum(axis=0) * some
        table = smoothed(np.column_stack([words.T + self.alpha, unseen + self.alpha * some]))
        suffixes = (
            self._suffix_probabilities(words, rare_symbols, smoothed(unseen, self.alpha))
            if self.unseen == "suffix"
            else {}
        )
        return {
            "classes_": self.classes_,
            "symbols_": self.symbols_,
            "startprob_": smoothed(start, self.alpha),
            "transmat_": smoothed(trans, self.alpha),
            "emissionprob_": np.ascontiguousarray(table[:, :-1]),
            "unseenprob_": table[:, -1].copy(),
            "suffixes_": list(suffixes),
            "suffixprob_": np.array(list(suffixes.values())).reshape(-1, len(start)),
        }

    def _suffix_probabilities(
        self, words: np.ndarray, rare_symbols: np.ndarray, overall: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Probabilities of labels by the suffixes of rare strings; those of a shorter suffix count as one more
        symbol of a longer one."""
        counts: dict[str, Any] = {}
        for k in rare_symbols:
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
        e_step, theta = self._given_model(X, lengths)
        if self.algorithm == "viterbi":
            path = np.concatenate([p for _, p in self._each(e_step.decode, e_step, theta)])
        else:
            path = self._posteriors(e_step, theta).argmax(axis=1)
        return e_step.X.like_given(self._named(path))

    def predict_proba(self, X: Any, lengths: Any = None) -> Any:
        """The posterior probability of each label for each symbol.

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
        e_step, theta = self._given_model(X, lengths)
        return e_step.X.like_given(self._posteriors(e_step, theta))

    def predict_marginals(self, X: Any, lengths: Any = None) -> Any:
        """The same as dicts: for each sequence a list with {label: probability} for each symbol."""
        e_step, theta = self._given_model(X, lengths)
        rows = [dict(zip(self.classes_, row)) for row in self._posteriors(e_step, theta).tolist()]
        return e_step.X.like_given(rows)

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
        e_step, theta = self._given_model(X, lengths)
        start, trans, table = (log(theta[name]) for name in ("startprob_", "transmat_", "table"))
        totals = np.concatenate(self._each(e_step.score, e_step, theta))
        found = []
        for codes, log_total in zip(e_step.X, totals.tolist()):
            scores, paths = k_best(start, trans, table[codes], k)
            found.append(
                [(self._named(path), score - log_total) for path, score in zip(paths, scores.tolist())]
            )
        return found

    def score(self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None) -> float:
        """Accuracy: the share of symbols with the right label, among those whose label is known."""
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

    def _given_model(self, X: Any, lengths: Any) -> tuple[EStep, Theta]:
        """Coded sequences, and the parameters with a row of `table` for every code."""
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
        return EStep(SymbolTable("HMMTagger"), X.with_rows(codes)), theta

    def _unseen(self, strange: list[Any]) -> np.ndarray:
        """The probability of each unseen symbol (rows) given each label; uniform where no rare symbol was seen."""
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
        """π and A, checked with all other tables, whose shapes kernels rely on."""
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

    def _posteriors(self, e_step: EStep, theta: Theta) -> np.ndarray:
        return np.concatenate([gamma for _, gamma, _ in self._each(e_step.smooth, e_step, theta)])

    def _each(self, function: Any, e_step: EStep, theta: Theta) -> list[Any]:
        return each(function, e_step.X.chunks(ROWS), theta, n_jobs=self.n_jobs)

    def _named(self, path: np.ndarray) -> list[Any]:
        return np.fromiter(self.classes_, dtype=object, count=len(self.classes_))[path].tolist()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = False, True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


@dataclass
class SymbolTable(Emissions):
    """Emission probabilities of coded symbols: `table` (M, N) in theta has a row for each code."""

    params: str = ""

    def scaled_likelihood(self, rows: Any, theta: Theta, states: Any) -> tuple[np.ndarray, None]:
        return mask_known_states(theta["table"][rows], states, 0.0), None

    def log_likelihood(self, rows: Any, theta: Theta) -> np.ndarray:
        return log(theta["table"][rows])

    def statistics(self, rows: Any, posterior: np.ndarray, theta: Theta) -> tuple[Any, ...]:
        """Expected counts of the symbols, without the last code, of symbols that are not known."""
        counts = np.zeros(theta["table"].shape)
        add_symbol_counts(rows.astype(np.int64), posterior, counts)
        return (counts[:-1],)


def smoothed(counts: np.ndarray, alpha: float = 0.0) -> np.ndarray:
    """(count + alpha) / their sum along the last axis (Lidstone); uniform where there is nothing to count."""
    counts = counts + alpha
    total = counts.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, counts / total, 1.0 / counts.shape[-1])
