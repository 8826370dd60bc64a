"""Adaptive resonance for binary rows (ART1 网络)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Clusterer, check_is_fitted
from tercet.core.fitted_checks import Indices
from tercet.core.kernel import inner, kernel
from tercet.core.parameters import Count, Range, Real, check_parameters
from tercet.core.rows import read_only
from tercet.core.steps import stopped_early

Vigilance = Annotated[float, Range(0, 1, "(]")]
AboveOne = Annotated[float, Range(1, float("inf"), "()")]
WORD = 64  # features in a word


@method(
    zh="ART1 网络",
    task="clustering",
    model="each row belongs to the category of largest score |T ∧ x| L / (L - 1 + |T|) with |T ∧ x| / |x| >= ρ",
    strategy="categories whose templates share at least the part ρ of the ones of each of their rows",
    algorithms="fast learning: the template of the category that a row joins loses the ones that the row lacks",
    texts=["watermelon notes ch. 3, sec. 3.5"],
)
class ART1(Clusterer):
    """Adaptive resonance theory for binary rows: categories that grow in number as rows come that fit none.

    Category j has a binary template T_j. A row x tries the categories in the order of their scores,
    L |T_j ∧ x| / (L - 1 + |T_j|), where |.| is the number of ones. The first one that passes the vigilance test
    |T_j ∧ x| / |x| >= ρ is in resonance: the row joins it, and T_j becomes T_j ∧ x. If none passes, x becomes the
    template of a new category. A vigilance near 1 gives many fine categories, a low one few coarse ones.

    By default each row is seen once, as in a stream. A template may then lose ones after a row has joined it, so
    that `predict` can give the row another category, or -1. With more passes (`max_iter`), templates reach a state
    that no row changes any more, since they only lose ones. A row without ones passes only the test of an empty
    template.

    Parameters
    ----------
    vigilance : float, default=0.5
        The vigilance ρ, in (0, 1].
    L : float, default=2.0
        The constant of the score, greater than 1. Near 1 the score is the share of the template's ones that the row
        has; large values prefer templates with many ones in common.
    max_categories : int, optional
        The most categories. When there are so many, rows that fit none get the label -1.
    max_iter : int, default=1
        The most passes. The fit ends earlier, when a pass has changed nothing.
    binarize : float, optional
        Values above count as 1, others as 0. By default X must hold zeros and ones.

    Attributes
    ----------
    templates_ : array of shape (n_categories, n_features)
        The templates, of zeros and ones.
    labels_ : array of shape (n_samples,)
        The category that each row joined in the last pass; -1 where there was none. After a pass that has changed
        nothing, it is what `predict` says.
    n_iter_ : int
        Passes made.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 0]]
    >>> model = ART1(vigilance=0.3).fit(X)
    >>> model.labels_, model.templates_
    (array([0, 0, 1, 1, 0], dtype=int32), array([[1, 0, 0, 0],
           [0, 0, 1, 1]], dtype=int8))
    >>> model.predict([[0, 1, 0, 0]])
    array([-1], dtype=int32)
    """

    def __init__(
        self,
        vigilance: Vigilance = 0.5,
        *,
        L: AboveOne = 2.0,
        max_categories: Count | None = None,
        max_iter: Count = 1,
        binarize: Real | None = None,
    ) -> None:
        self.vigilance = vigilance
        self.L = L
        self.max_categories = max_categories
        self.max_iter = max_iter
        self.binarize = binarize

    sparse_input = False
    streams_instead = "BernoulliMixture, or partial_fit with pieces of the rows"
    width_checked_attributes: ClassVar[tuple[str, ...]] = ("templates_",)
    fitted_shapes = {"templates_": Indices("categories features", below="2")}
    templates_: np.ndarray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the categories of the rows X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows, of zeros and ones.
        y : ignored
            Nothing is learned from it; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: None, sample_weight: np.ndarray | None) -> None:
        words, d = self._words(X), X.shape[1]
        templates, labels = words[:0].copy(), np.full(len(X), -1, dtype=np.int32)

        def fitted(state: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
            return {"templates_": unpacked(state[0], d), "labels_": state[1]}

        for step in self.steps(self.max_iter, unpack=fitted, hint="Raise max_iter."):
            labels = labels.copy()
            templates, changes = self._pass(words, d, templates, labels)
            step.report((templates, labels), changes=changes, n_categories=len(templates))
            if self.max_iter > 1 and step.converged(changes == 0):
                break
        self.__dict__.update(fitted((templates, labels)))

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Let each row of a batch join a category, or found one.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The batch, of zeros and ones.
        y : ignored

        Returns
        -------
        self
        """
        check_parameters(self)
        first = not hasattr(self, "templates_")
        X = self._check(X, reset=first)
        words, d = self._words(X), X.shape[1]
        templates = words[:0].copy() if first else packed(self.templates_)
        labels = np.full(len(X), -1, dtype=np.int32)
        templates, _ = self._pass(words, d, templates, labels)
        self.templates_, self.labels_ = unpacked(templates, d), labels
        return self

    def _pass(
        self, words: np.ndarray, d: int, templates: np.ndarray, labels: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """One pass over the rows; the templates after it, and how many templates and labels have changed."""
        needed, most = needed_ones(d, self.vigilance), self.max_categories or len(words) + len(templates)
        table = templates.copy()
        start = changes = 0
        count = len(templates)
        while True:  # each round ends where the table of templates is full
            room = np.zeros((min(most, max(2 * count, 16)), words.shape[1]), dtype=np.uint64)
            room[:count] = table[:count]
            start, count, more = resonance_pass(
                read_only(words), start, needed, float(self.L), count, most, room, labels
            )
            table, changes = room, changes + more
            if start == len(words):
                return table[:count].copy(), int(changes)

    def _words(self, X: np.ndarray) -> np.ndarray:
        """The rows as bits in words."""
        if self.binarize is not None:
            return packed(self.binarize < X)
        odd = (X != 0) & (X != 1)
        if odd.any():
            i, j = np.argwhere(odd)[0]
            raise ValueError(
                f"ART1: X must hold zeros and ones; row {i} has {X[i, j]:.6g} in column {j}. Set binarize to a "
                "threshold, or use FuzzyART for values from 0 to 1."
            )
        return packed(X != 0)

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Find the categories of the rows X, and return the category of each."""
        self.fit(X)
        return self.predict(X) if stopped_early(self) else self.labels_

    def predict(self, X: Any) -> np.ndarray:
        """The category of largest score that passes the vigilance test, without learning; -1 where none does."""
        check_is_fitted(self)
        check_parameters(self)
        X = self._check(X, reset=False)
        labels = np.empty(len(X), dtype=np.int32)
        needed = needed_ones(X.shape[1], self.vigilance)
        resonant_categories(
            read_only(self._words(X)), read_only(packed(self.templates_)), needed, float(self.L), labels
        )
        return labels


def needed_ones(d: int, vigilance: float) -> np.ndarray:
    """For each number of ones of a row, how many of them a template must have: the least m with m / n >= ρ.

    Examples
    --------
    >>> needed_ones(5, 0.6)
    array([0, 1, 2, 2, 3, 3])
    """
    n = np.arange(d + 1)
    m = np.ceil(vigilance * n).astype(np.int64)
    m -= (m > 0) & ((m - 1) / np.maximum(n, 1) >= vigilance)  # the product may be rounded up
    return m + (m / np.maximum(n, 1) < vigilance) * (n > 0)


def packed(bits: np.ndarray) -> np.ndarray:
    """Rows of zeros and ones as bits in words of 64."""
    n, d = bits.shape
    table = np.zeros((n, -(-d // WORD) * WORD), dtype=bool)
    table[:, :d] = bits
    return np.packbits(table, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def unpacked(words: np.ndarray, d: int) -> np.ndarray:
    """Bits in words as rows of zeros and ones.

    Examples
    --------
    >>> unpacked(packed(np.array([[1, 0, 1]])), 3)
    array([[1, 0, 1]], dtype=int8)
    """
    octets = np.ascontiguousarray(words.astype("<u8")).view(np.uint8).reshape(len(words), -1)
    return np.unpackbits(octets, axis=1, count=d, bitorder="little").astype(np.int8)


@inner
def ones(word):
    """How many bits of a word are 1."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = word + (word >> np.uint64(8))
    word = word + (word >> np.uint64(16))
    word = word + (word >> np.uint64(32))
    return np.int64(word & np.uint64(0x7F))


@inner
def resonant(x, templates, sizes, count, needed, L):
    """The category of largest score that passes the vigilance test; ties go to the first; -1 where there is none.

    The test does not depend on the order of the categories: the best of those that pass is the first that does.
    """
    size = 0
    for k in range(x.size):
        size += ones(x[k])
    best, most = -1, -1.0
    for j in range(count):
        common = 0
        for k in range(x.size):
            common += ones(x[k] & templates[j, k])
        if common < needed[size] or (size == 0 and sizes[j] > 0):
            continue
        score = L * common / (L - 1.0 + sizes[j])
        if score > most:
            best, most = j, score
    return best


@kernel
def resonance_pass(words, start, needed, L, count, most, templates, labels):
    """Let the rows from `start` on join categories, or found them, up to a row for which the table is full.

    Returns that row, the number of categories, and how many templates and labels have changed.
    """
    sizes = np.zeros(templates.shape[0], np.int64)
    for j in range(count):
        for k in range(words.shape[1]):
            sizes[j] += ones(templates[j, k])
    changes = 0
    for i in range(start, words.shape[0]):
        x = words[i]
        j = resonant(x, templates, sizes, count, needed, L)
        if j < 0 and count < most:
            if count == templates.shape[0]:
                return i, count, changes
            j = count
            count += 1
            for k in range(x.size):
                templates[j, k] = x[k]
                sizes[j] += ones(x[k])
            changes += 1
        elif j >= 0:
            before = sizes[j]
            sizes[j] = 0
            for k in range(x.size):
                templates[j, k] &= x[k]
                sizes[j] += ones(templates[j, k])
            changes += 1 if sizes[j] != before else 0
        changes += 1 if labels[i] != j else 0
        labels[i] = j
    return words.shape[0], count, changes


@kernel
def resonant_categories(words, templates, needed, L, labels):
    """The category of each row, without learning."""
    sizes = np.zeros(templates.shape[0], np.int64)
    for j in range(templates.shape[0]):
        for k in range(words.shape[1]):
            sizes[j] += ones(templates[j, k])
    for i in range(words.shape[0]):
        labels[i] = resonant(words[i], templates, sizes, templates.shape[0], needed, L)
