"""Mixtures over categories (潜在类别模型): naive Bayes whose classes nobody has seen."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.columns import Columns, MixedColumns
from tercet.core.fitted_checks import Each, Items, Sizes
from tercet.core.functions import softmax
from tercet.core.kernel import kernel
from tercet.core.parameters import ArrayLike, Count, Jobs, NonNegative, Seed
from tercet.core.streams import is_streamed
from tercet.mixture.discrete_mixture import Decay, DiscreteMixture, InitParams, ProbabilityTables, logarithm

BLOCK = 4096  # rows that are coded together


@method(
    zh="潜在类别模型",
    task="clustering",
    approach="generative",
    model="P(x) = Σ_c π_c Π_j P(x_j | c), the class c hidden",
    strategy="maximum likelihood (alpha = 0) or maximum posterior probability",
    loss="log",
    convex=False,
    algorithms={
        "em": "E: posterior probabilities of the classes; M: expected counts divided by their sums",
        "hard": "classification EM: each row assigned to its most probable class, then counts",
        "squarem": "EM accelerated by squared extrapolation (SQUAREM)",
    },
    texts=["Li ch. 9, exercise 9.4, 9.1.4", "watermelon notes ch. 5, eq. 5.14, 5.15"],
    peers=["stepmix.StepMix", "poLCA"],
)
class CategoricalMixture(DiscreteMixture, MixedColumns):
    """Unsupervised naive Bayes (latent classes): groups of rows of categories.

    P(x) = Σ_c π_c Π_j P(x_j | c), with tables that EM learns: P(x_j = a | c) = (n_cja + α) / (n_cj + α S_j), where
    n_cj is the expected number of rows of class c in which column j is known, n_cja of those with the value a, and
    S_j the number of values of the column. Values are strings, numbers, or a frame's categories. A missing value
    (None, NaN) takes no part, nor does one that was not there to learn from. Where a row is impossible in all
    classes, they are equally probable.

    Parameters
    ----------
    n_components : int, default=1
        The number of classes.
    alpha : float, default=1.0
        Pseudo-count of each value: 0 is maximum likelihood, 1 Laplace's smoothing.
    weight_prior : float, default=0.0
        Pseudo-count of each class.
    categories : "auto" or list of lists, default="auto"
        For each column the values that it can have, or None to learn them.
    tol : float, default=1e-3
        Stop when the objective, for a row on average, rises by less.
    max_iter : int, default=100
        The most passes of one start.
    n_init : int, default=1
        How many starts to try; the best end is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        The start: clusters of k-means; rows chosen by k-means++; random responsibilities; random rows.
    weights_init : array of shape (n_components,), optional
        The first weights π.
    probs_init : list of arrays of shape (n_components, n_categories), optional
        The first tables.
    algorithm : {"em", "hard", "squarem"}, default="em"
        EM; classification EM; EM with squared extrapolation (SQUAREM), for overlapping components.
    learning_decay : float, default=0.7
        How fast batches lose weight against those before, in `partial_fit`.
    random_state : int, optional
        Decides what is drawn.
    warm_start : bool, default=False
        Whether a fit begins where the last one ended.
    verbose : int, default=0
        Print a line for each `verbose_interval` passes.
    verbose_interval : int, default=10
        How many passes lie between two lines.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    weights_ : array of shape (n_components,)
        The weights π of the classes.
    probs_ : list of arrays of shape (n_components, n_categories)
        For each column the probability of each value in each class.
    categories_ : list of arrays
        The values of each column, in the order of its table.
    labels_ : array of shape (n_samples,)
        The most probable component of each row.
    converged_ : bool
        Whether the best start met the stopping rule.
    lower_bound_ : float
        The mean log-likelihood (plus log-prior) of the best start, before its last M step.
    lower_bounds_ : list of float
        The same for all passes of the best start.
    n_batches_, seen_weight_ : int, float
        The batches learned from (a fit is one), and the weight of their rows.

    Examples
    --------
    >>> X = [
    ...     ["red", "S"],
    ...     ["red", "S"],
    ...     ["red", "M"],
    ...     ["blue", "L"],
    ...     ["blue", "L"],
    ...     ["blue", "M"],
    ...     ["blue", "L"],
    ... ]
    >>> model = CategoricalMixture(2, alpha=0.1, random_state=0).fit(X)
    >>> labels = model.predict([["red", None], [None, "L"]])
    >>> bool(labels[0] == model.labels_[0]), bool(labels[1] == model.labels_[3])
    (True, True)
    """

    def __init__(
        self,
        n_components: Count = 1,
        *,
        alpha: NonNegative = 1.0,
        weight_prior: NonNegative = 0.0,
        categories: Literal["auto"] | list | tuple = "auto",
        tol: NonNegative = 1e-3,
        max_iter: Count = 100,
        n_init: Count = 1,
        init_params: InitParams = "kmeans",
        weights_init: ArrayLike | None = None,
        probs_init: list | tuple | None = None,
        algorithm: Literal["em", "hard", "squarem"] = "em",
        learning_decay: Decay = 0.7,
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
        verbose_interval: Count = 10,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.weight_prior = weight_prior
        self.categories = categories
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.probs_init = probs_init
        self.algorithm = algorithm
        self.learning_decay = learning_decay
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.n_jobs = n_jobs

    sparse_input = False
    streaming = True
    fitted_shapes = {
        "probs_": Each("components values*@", "features"),
        "_sums": Items(("components", "all_values* components")),
    }

    def _categorical(self, columns: Columns) -> list[bool]:
        return [True] * len(columns.values)

    def _sizes(self) -> np.ndarray:
        return np.array([0 if values is None else len(values) for values in self.categories_], dtype=np.int64)

    def _components(self, n_features: int) -> CategoricalComponents:
        hard = self.algorithm == "hard"
        return CategoricalComponents(self.n_components, self.alpha, self.weight_prior, hard, self._sizes())

    def _encoded(self, X: Any, weight: np.ndarray | None, *, learning: bool = False) -> Any:
        if learning:
            X = self._forget_weightless(X, weight)
        if is_streamed(X):
            return X.map(partial(codes, sizes=self._sizes()), width=X.shape[1], dtype=np.int32)
        return codes(X, self._sizes())

    def _streamed_labels(self, X: Any, weight: Any, rng: np.random.Generator) -> Any:
        if self.init_params.startswith("k"):
            width = max(int(self._sizes().sum()), 1)
            X = X.map(partial(_dense_indicators, width=width), width=width, dtype=np.float64)
        return super()._streamed_labels(X, weight, rng)

    def _initial_responsibilities(
        self, X: Any, weight: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        if self.init_params.startswith("k"):  # by distances, which codes have not
            X = indicators(X, int(self._sizes().sum()))
        return super()._initial_responsibilities(X, weight, rng)

    def _continues_last_fit(self, n_features: int) -> bool:
        if not self.warm_start or not hasattr(self, "converged_"):
            return False
        return [np.shape(part) for part in self.probs_] == [(self.n_components, s) for s in self._sizes()]

    def _attributes(self, theta: Any) -> dict[str, Any]:
        borders = np.cumsum(self._sizes())[:-1]
        return {**theta, "probs_": [np.array(part.T) for part in np.split(theta["probs_"], borders)]}

    def _theta(self) -> dict[str, Any]:
        sizes, k = self._sizes(), len(self.weights_)
        if [np.shape(part) for part in self.probs_] != [(k, size) for size in sizes]:  # a forged file, say
            raise ValueError(f"{type(self).__name__}: the tables probs_ do not fit weights_ and categories_.")
        table = np.concatenate([np.asarray(part, dtype=np.float64).T for part in self.probs_])
        return {
            "weights_": np.asarray(self.weights_, dtype=np.float64),
            "probs_": np.ascontiguousarray(table),
        }

    def _check_fitted(self, sizes: Sizes) -> None:
        if "all_values" in sizes and sizes["all_values"] != self._sizes().sum():
            raise ValueError(f"{type(self).__name__}: _sums do not fit the values of categories_.")

    def _given_probs(self, shape: tuple[int, ...]) -> np.ndarray:
        sizes = self._sizes()
        if len(self.probs_init) != sizes.size:
            raise ValueError(
                f"{type(self).__name__}: probs_init must have a table for each of {sizes.size} columns; "
                f"got {len(self.probs_init)}."
            )
        tables = [
            self._given(f"probs_init[{j}]", part, (self.n_components, int(size)), axis=1)
            for j, (part, size) in enumerate(zip(self.probs_init, sizes))
        ]
        return np.ascontiguousarray(np.concatenate([table.T for table in tables]))

    def _n_parameters(self) -> int:
        return len(self.weights_) * (1 + int(np.maximum(self._sizes() - 1, 0).sum())) - 1

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows: a class for each in proportion to the weights, then values from its tables.

        Returns
        -------
        X : array of shape (n_samples, n_features)
            Numbers if all columns hold numbers, else objects.
        y : array of shape (n_samples,)
            The class of each row, in ascending order.
        """
        drawn, y = super().sample(n_samples)
        known: Any
        known = [np.array([np.nan]) if not n else self.categories_[j] for j, n in enumerate(self._sizes())]
        kind = np.float64 if all(values.dtype.kind == "f" for values in known) else object
        return np.column_stack([values[at].astype(kind) for values, at in zip(known, drawn.T)]), y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


class CategoricalComponents(ProbabilityTables):
    """Classes with a table for each column, all in one: a row for each value, a column for each class."""

    def __init__(self, k: int, alpha: float, weight_prior: float, hard: bool, sizes: np.ndarray) -> None:
        super().__init__(k, alpha, weight_prior, hard)
        self.sizes = sizes
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.column = np.repeat(np.arange(sizes.size), sizes)

    def log_joint(self, X: np.ndarray, theta: Any) -> np.ndarray:
        out = np.tile(logarithm(theta["weights_"]), (len(X), 1))
        add_entries(X, logarithm(theta["probs_"]), out)
        return np.ascontiguousarray(out.T)

    def statistics(self, X: np.ndarray, shares: np.ndarray, theta: Any) -> tuple[Any, ...]:
        table = np.zeros((int(self.sizes.sum()), len(shares)))
        add_shares(X, np.ascontiguousarray(shares.T, dtype=np.float64), table)
        return shares.sum(axis=1), table

    def probabilities(self, counts: tuple[Any, ...], alpha: float) -> np.ndarray:
        table = counts[0] + alpha
        some = self.sizes > 0
        whole = np.zeros((self.sizes.size, table.shape[1]))
        whole[some] = np.add.reduceat(table, self.starts[some], axis=0)
        even = np.repeat(1.0 / self.sizes[some], self.sizes[some])[:, None] * np.ones(table.shape[1])
        return np.divide(table, whole[self.column], out=even, where=whole[self.column] > 0)

    def unpack(self, vector: np.ndarray) -> dict[str, Any]:
        k = self.n_components
        p = np.exp(vector[k:].reshape(-1, k))
        if not np.isfinite(p).all():
            raise ValueError("a leap too far")
        return {"weights_": softmax(vector[:k]), "probs_": self.probabilities((p,), 0.0)}

    def draw(self, theta: Any, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        out = np.zeros((int(counts.sum()), self.sizes.size), dtype=np.int64)
        ends = np.cumsum(counts)
        for j, size in enumerate(self.sizes):
            if not size:
                continue
            table = theta["probs_"][self.starts[j] : self.starts[j] + size]
            for c, (end, n) in enumerate(zip(ends, counts)):
                out[end - n : end, j] = rng.choice(size, size=n, p=table[:, c] / table[:, c].sum())
        return out


def codes(X: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Places of values in the table of all columns; -1 for what is missing or was not there to learn from."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if sizes.size else sizes
    found = np.empty(X.shape, dtype=np.int32)
    for i in range(0, len(X), BLOCK):
        part = X[i : i + BLOCK]
        found[i : i + BLOCK] = np.where((part >= 0) & (part < sizes), part + starts, -1)
    return found


def indicators(found: np.ndarray, width: int) -> sparse.csr_array:
    """A column for each value: 1 where a row has it."""
    known = found >= 0
    borders = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    if borders[-1] < 2**31:  # the usual width: another would compile the kernels of k-means again
        borders = borders.astype(np.int32)
    return sparse.csr_array((np.ones(borders[-1]), found[known], borders), shape=(len(found), max(width, 1)))


def _dense_indicators(found: np.ndarray, width: int) -> np.ndarray:
    return indicators(found, width).toarray()


@kernel
def add_entries(found, table, out):
    """Add the rows of a table that the codes of each row name; -1 names none."""
    for i in range(found.shape[0]):
        row, score = found[i], out[i]
        for j in range(row.size):
            if row[j] >= 0:
                entry = table[row[j]]
                for c in range(score.size):
                    score[c] += entry[c]


@kernel
def add_shares(found, shares, table):
    """Add the shares of each row to the rows of a table that its codes name."""
    for i in range(found.shape[0]):
        row, share = found[i], shares[i]
        for j in range(row.size):
            if row[j] >= 0:
                entry = table[row[j]]
                for c in range(share.size):
                    entry[c] += share[c]
