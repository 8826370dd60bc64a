"""Hopfield networks (Hopfield 网络)."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.special import erfc
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted, check_weight, generator
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.kernel import kernel
from tercet.core.parallel import each, one_blas_thread
from tercet.core.parameters import ArrayLike, Count, Jobs, Real, Seed, check_parameters
from tercet.core.steps import ConvergenceWarning
from tercet.core.stopping import check_stop
from tercet.core.symbolic_shapes import Sizes
from tercet.core.validation import check_array, target_for_callbacks
from tercet.neural_network._energy.binary_rows import symmetric_weights, two_values

SLACK = 1e-10  # inputs this small beside Σ_j |w_ij| are ties that rounding may have moved from 0
ROWS = 256  # states that one thread recalls at a time


class Recall(NamedTuple):
    """Result of a recall.

    Attributes
    ----------
    states : array of shape (n_samples, n_features)
        The last states.
    energies : array of shape (n_sweeps + 1, n_samples)
        The energy of each state before the first sweep and after each. A state that has settled keeps its energy.
    n_sweeps : array of shape (n_samples,)
        Sweeps of each state until it settled, or all of them.
    settled : array of shape (n_samples,)
        Whether the last sweep changed nothing.

    Examples
    --------
    >>> recall = Hopfield().fit([[1, 1, -1, -1]]).recall([[1, -1, -1, -1]])
    >>> recall.states, recall.settled
    (array([[ 1.,  1., -1., -1.]]), array([ True]))
    """

    states: np.ndarray
    energies: np.ndarray
    n_sweeps: np.ndarray
    settled: np.ndarray


@method(
    zh="Hopfield 网络",
    task="retrieval",
    model="E(s) = -1/2 Σ_ij w_ij s_i s_j + Σ_i t_i s_i, w_ij = w_ji, w_ii = 0; s_i = sign(Σ_j w_ij s_j - t_i)",
    strategy="stored patterns are local minima of the energy",
    algorithms={
        "hebb": "Hebb rule: w_ij = 1/n Σ_μ x_μi x_μj",
        "pseudo-inverse": "projection on the span of the patterns, W = X⁺X",
        "storkey": "Storkey rule: Hebb's less the local fields of the patterns stored before",
    },
    texts=["Pattern Recognition ch. 5, 5.4"],
)
class Hopfield(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Hopfield network: an associative memory that completes noisy patterns.

    Units with states -1 and 1 are connected by symmetric weights. To recall a pattern, the network starts from a
    state and updates one unit after the other, s_i = sign(Σ_j w_ij s_j - t_i); a unit whose input is 0 keeps its
    state. No update raises the energy

        E(s) = -1/2 Σ_ij w_ij s_i s_j + Σ_i t_i s_i

    so that the network settles in a local minimum: a stored pattern, if there are few of them and the start is
    near, or a spurious state (the opposite of a pattern, or a mixture of several).

    Parameters
    ----------
    algorithm : {"hebb", "pseudo-inverse", "storkey"}, default="hebb"
        How patterns become weights. Hebb's rule stores up to about 0.138 n random patterns of n units, Storkey's
        rule more, and the pseudo-inverse any n - 1 patterns that are linearly independent.
    update : {"asynchronous", "synchronous"}, default="asynchronous"
        One unit after the other, or all at once. Synchronous updates may end in a cycle of two states.
    order : {"cyclic", "random"} or array of int, default="cyclic"
        Order of asynchronous updates in a sweep: that of the features, a new random one in each sweep, or a given
        one (unit numbers, each at least once).
    max_sweeps : int, default=100
        The most sweeps of a recall.
    states : {"bipolar", "binary"}, default="bipolar"
        Whether states are -1 and 1, or 0 and 1. With 0 and 1, the thresholds t_i = 1/2 Σ_j w_ij make the updates
        those of states -1 and 1.
    binarize : float, optional
        Values above count as the state 1, others as the lower state. By default X must hold the two states alone.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random order.
    n_jobs : int, optional
        Threads for the recall of many states; the result does not depend on it.

    Attributes
    ----------
    weights_ : array of shape (n_features, n_features)
        The weights w, symmetric with zeros on the diagonal.
    thresholds_ : array of shape (n_features,)
        The thresholds t.
    patterns_ : array of shape (n_patterns, n_features)
        The different stored patterns, in the order of their first appearance.

    Examples
    --------
    >>> patterns = [[1, 1, 1, 1, -1, -1, -1, -1], [1, 1, -1, -1, 1, 1, -1, -1]]
    >>> model = Hopfield().fit(patterns)
    >>> noisy = [[1, 1, 1, -1, -1, -1, -1, -1]]
    >>> model.transform(noisy).astype(int)
    array([[ 1,  1,  1,  1, -1, -1, -1, -1]])
    >>> model.predict(noisy), model.energy(noisy), model.energy(patterns[:1])
    (array([0]), array([-1.5]), array([-3.]))
    """

    sparse_input = False
    streams_instead = "partial_fit with pieces of the rows"
    fitted_shapes: ClassVar[Declarations] = {
        "weights_": Floats("features features", finite=True),
        "thresholds_": Floats("features", finite=True),
        "patterns_": Floats("patterns features", finite=True),
    }
    weights_: np.ndarray
    thresholds_: np.ndarray
    patterns_: np.ndarray
    n_features_in_: int

    def __init__(
        self,
        algorithm: Literal["hebb", "pseudo-inverse", "storkey"] = "hebb",
        *,
        update: Literal["asynchronous", "synchronous"] = "asynchronous",
        order: Literal["cyclic", "random"] | ArrayLike = "cyclic",
        max_sweeps: Count = 100,
        states: Literal["bipolar", "binary"] = "bipolar",
        binarize: Real | None = None,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.algorithm = algorithm
        self.update = update
        self.order = order
        self.max_sweeps = max_sweeps
        self.states = states
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Store patterns.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The patterns; see `binarize`.
        y : ignored
            Accepted for pipelines; nothing is learned from it.
        sample_weight : array of shape (n_samples,), optional
            How strongly each pattern is stored. The pseudo-inverse stores all patterns of positive weight alike.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        self.weights_ = np.zeros((X.shape[1], X.shape[1]))
        self.patterns_ = X[:0]
        self._store(X, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Store more patterns beside those stored before.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The patterns; see `binarize`.
        y : ignored
            Accepted for pipelines; nothing is learned from it.
        sample_weight : array of shape (n_samples,), optional
            How strongly each pattern is stored.

        Returns
        -------
        self
        """
        check_parameters(self)
        first = not hasattr(self, "weights_")
        X = self._check(X, reset=first)
        weight = check_weight(sample_weight, X)
        if first:
            self._fit(X, y, weight)
        else:
            self._store(X, weight)
        return self

    def _store(self, X: np.ndarray, weight: np.ndarray | None) -> None:
        X, weight = (X, None) if weight is None else (X[weight > 0], weight[weight > 0])
        self.patterns_ = first_of_each(np.vstack([self.patterns_, X]))
        signs = X if self._low < 0 else 2.0 * X - 1.0
        if self.algorithm == "hebb":
            self.weights_ = self.weights_ + hebb_weights(signs, weight)
        elif self.algorithm == "storkey":
            self.weights_ = storkey_weights(signs, weight, self.weights_)
        else:
            self.weights_ = projection_weights(
                self.patterns_ if self._low < 0 else 2.0 * self.patterns_ - 1.0
            )
        self.thresholds_ = np.zeros(X.shape[1]) if self._low < 0 else 0.5 * self.weights_.sum(axis=1)

    @property
    def _low(self) -> float:
        """The lower one of the two states."""
        return -1.0 if self.states == "bipolar" else 0.0

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = two_values(super()._check(X, reset=reset), self.binarize, type(self).__name__, self._low)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    def _check_fitted(self, sizes: Sizes) -> None:
        if not np.array_equal(self.weights_, self.weights_.T) or np.diag(self.weights_).any():
            raise ValueError(f"{type(self).__name__}: weights_ is not symmetric with a diagonal of zeros.")

    @classmethod
    def from_weights(cls, weights: Any, thresholds: Any = None, **parameters: Any) -> Self:
        """A network with given weights, whose energy is a function to minimise.

        Parameters
        ----------
        weights : array of shape (n_features, n_features)
            The weights w, symmetric with zeros on the diagonal.
        thresholds : array of shape (n_features,), optional
            The thresholds t; by default 0.
        **parameters
            Parameters of the class.

        Returns
        -------
        Hopfield

        Examples
        --------
        >>> cut = Hopfield.from_weights(
        ...     [[0, -1, -1], [-1, 0, 0], [-1, 0, 0]]
        ... )  # the first unit against the others
        >>> cut.transform([[-1, -1, -1]])
        array([[ 1., -1., -1.]])
        """
        model = cls(**parameters)
        model.weights_ = symmetric_weights(weights)
        n = model.n_features_in_ = len(model.weights_)
        t = np.zeros(n) if thresholds is None else thresholds
        model.thresholds_ = check_array(t, ensure_2d=False, dtype=np.float64, input_name="thresholds").copy()
        if model.thresholds_.shape != (n,):
            raise ValueError(
                f"thresholds must have shape ({n},), as weights say; got {model.thresholds_.shape}."
            )
        model.patterns_ = np.zeros((0, n))
        return model

    def recall(self, X: Any) -> Recall:
        """Update states until they settle.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The first states; see `binarize`.

        Returns
        -------
        Recall
            The last states, the energies after each sweep, the number of sweeps, and whether each state settled.

        Examples
        --------
        >>> model = Hopfield().fit([[1, 1, 1, -1, -1, -1]])
        >>> recall = model.recall([[1, -1, 1, 1, -1, -1]])
        >>> recall.energies.round(2).ravel(), recall.n_sweeps
        (array([ 0.17, -2.5 , -2.5 ]), array([2]))
        """
        check_is_fitted(self)
        check_parameters(self)
        S = self._check(X, reset=False)
        orders = self._orders(S.shape[1])
        parts = [slice(k, k + ROWS) for k in range(0, len(S), ROWS)]
        found = each(self._recalled, [S[part] for part in parts], orders, n_jobs=self.n_jobs)
        length = max(len(part.energies) for part in found)
        energies = [
            np.pad(part.energies, ((0, length - len(part.energies)), (0, 0)), "edge") for part in found
        ]
        return Recall(
            np.vstack([part.states for part in found]),
            np.hstack(energies),
            np.concatenate([part.n_sweeps for part in found]),
            np.concatenate([part.settled for part in found]),
        )

    def _recalled(self, S: np.ndarray, orders: np.ndarray | None) -> Recall:
        """The recall of some states: sweep after sweep, until no state changes."""
        W, t = self.weights_, self.thresholds_
        slack = SLACK * (np.abs(W).sum(axis=1) + np.abs(t))
        S, inputs = S.copy(), S @ W - t
        energies, sweeps = [self._energy(S, inputs)], np.zeros(len(S), dtype=np.int64)
        changes = np.ones(len(S), dtype=np.int64)
        for k in range(self.max_sweeps):
            check_stop()
            sweeps[changes > 0] = k + 1
            if orders is None:
                old = S.copy()
                S[inputs > slack] = 1.0
                S[inputs < -slack] = self._low
                inputs = S @ W - t
                changes = np.not_equal(S, old).sum(axis=1)
            else:
                asynchronous_sweep(S, inputs, W, orders[k % len(orders)], slack, self._low, changes)
            energies.append(self._energy(S, inputs))
            if not changes.any():
                break
        return Recall(S, np.array(energies), sweeps, changes == 0)

    def _orders(self, n: int) -> np.ndarray | None:
        """The orders of the units, a row for each sweep; None where all are updated at once."""
        if self.update == "synchronous":
            return None
        if isinstance(self.order, str):
            if self.order == "cyclic":
                return np.arange(n)[None]
            every = np.broadcast_to(np.arange(n), (self.max_sweeps, n))
            return generator(self.random_state).permuted(every, axis=1)
        order = np.asarray(self.order)
        if (
            order.ndim != 1
            or order.dtype.kind not in "iu"
            or not np.array_equal(np.unique(order), np.arange(n))
        ):
            raise ValueError(
                f"{type(self).__name__}: parameter 'order' must be 'cyclic', 'random' or an array in which each of "
                f"the units 0 to {n - 1} occurs; got {self.order!r}."
            )
        return order.astype(np.int64)[None]

    def _energy(self, S: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """E(s) from the inputs Ws - t."""
        return -0.5 * (S * inputs).sum(axis=1) + 0.5 * (S * self.thresholds_).sum(axis=1)

    def transform(self, X: Any) -> np.ndarray:
        """The states in which the network settles from the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The first states; see `binarize`.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        recall = self.recall(X)
        if not recall.settled.all():
            some = f"{int((~recall.settled).sum())} of {len(recall.settled)}"
            warnings.warn(
                f"{type(self).__name__}: {some} states did not settle in {self.max_sweeps} sweeps. "
                "Raise max_sweeps, or use update='asynchronous'.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return recall.states.astype(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)

    def predict(self, X: Any) -> np.ndarray:
        """The number of the stored pattern that each row recalls.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The first states; see `binarize`.

        Returns
        -------
        array of shape (n_samples,)
            Row numbers of `patterns_`; -1 for a spurious state.
        """
        return self._stored_as(self.transform(X))

    def _stored_as(self, S: np.ndarray) -> np.ndarray:
        places = {row.tobytes(): k for k, row in enumerate(self.patterns_.astype(np.int8))}
        return np.array([places.get(row.tobytes(), -1) for row in S.astype(np.int8)], dtype=np.int64)

    def energy(self, X: Any) -> np.ndarray:
        """Energies E(s) of states.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The states; see `binarize`.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        S = self._check(X, reset=False)
        with one_blas_thread():
            return self._energy(S, S @ self.weights_ - self.thresholds_)

    def is_stable(self, X: Any) -> np.ndarray:
        """Whether no update changes a state: stored patterns should be stable.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The states; see `binarize`.

        Returns
        -------
        array of bool of shape (n_samples,)
        """
        check_is_fitted(self)
        S = self._check(X, reset=False)
        with one_blas_thread():
            inputs = S @ self.weights_ - self.thresholds_
        slack = SLACK * (np.abs(self.weights_).sum(axis=1) + np.abs(self.thresholds_))
        return ~((inputs > slack) & (S < 1.0) | (inputs < -slack) & (S == 1.0)).any(axis=1)

    def spurious_states(self, n_starts: int = 1000) -> np.ndarray:
        """Stable states that are not stored patterns, found from random states.

        Parameters
        ----------
        n_starts : int, default=1000
            Random states to start from.

        Returns
        -------
        array of shape (n_states, n_features)
            The different states found, those reached most often first: opposites of patterns, and mixtures.

        Examples
        --------
        >>> model = Hopfield(random_state=0).fit([[1, 1, 1, -1, -1, -1]])
        >>> model.spurious_states().astype(int)
        array([[-1, -1, -1,  1,  1,  1]])
        """
        check_is_fitted(self)
        rng = generator(self.random_state)
        starts = np.where(rng.random((n_starts, self.n_features_in_)) < 0.5, self._low, 1.0)
        if self.binarize is not None:
            starts = np.where(starts == 1.0, self.binarize + 1.0, self.binarize)
        found = self.recall(starts)
        states = found.states[found.settled & (self._stored_as(found.states) < 0)]
        rows, counts = np.unique(states, axis=0, return_counts=True)
        return rows[np.argsort(-counts, kind="stable")]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def hebb_weights(signs: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Hebb rule: w_ij = 1/n Σ_μ x_μi x_μj, w_ii = 0."""
    weighted = signs if weight is None else signs * weight[:, None].astype(np.float64)
    with one_blas_thread():
        W = weighted.T @ signs / signs.shape[1]
    return symmetric(W)


def storkey_weights(signs: np.ndarray, weight: np.ndarray | None, W: np.ndarray) -> np.ndarray:
    """Storkey rule: w_ij += 1/n (x_i x_j - x_i h_ji - h_ij x_j), h_ij = Σ_{k not i, j} w_ik x_k."""
    for k, x in enumerate(signs):
        check_stop()
        h = (W @ x)[:, None] - W * x
        change = (np.outer(x, x) - h.T * x[:, None] - h * x) / x.size
        W = symmetric(W + (change if weight is None else float(weight[k]) * change))
    return W


def projection_weights(signs: np.ndarray) -> np.ndarray:
    """W = X⁺X, which leaves each pattern as it is, without its diagonal."""
    with one_blas_thread():
        _, values, basis = np.linalg.svd(signs, full_matrices=False)
        basis = basis[values > 1e-10 * values[0]]
        return symmetric(basis.T @ basis)


def symmetric(W: np.ndarray) -> np.ndarray:
    """W without rounding errors of symmetry, and with zeros on the diagonal."""
    W = 0.5 * (W + W.T)
    np.fill_diagonal(W, 0.0)
    return W


def first_of_each(rows: np.ndarray) -> np.ndarray:
    """The different rows in the order of their first appearance."""
    _, first = np.unique(rows, axis=0, return_index=True)
    return rows[np.sort(first)]


@kernel
def asynchronous_sweep(S, inputs, W, order, slack, low, changes):
    """Update the units of each state in turn; `inputs` are Ws - t."""
    for r in range(S.shape[0]):
        changes[r] = 0
        for k in range(order.size):
            i = order[k]
            new = S[r, i]
            if inputs[r, i] > slack[i]:
                new = 1.0
            elif inputs[r, i] < -slack[i]:
                new = low
            if new != S[r, i]:
                step = new - S[r, i]
                S[r, i] = new
                changes[r] += 1
                for j in range(S.shape[1]):
                    inputs[r, j] += W[i, j] * step


@method(
    zh="Hopfield 网络的容量",
    task="theory",
    model="0.138 n patterns with few wrong bits; n / (2 ln n) mostly without, n / (4 ln n) all without",
    texts=["Pattern Recognition ch. 5, 5.4"],
)
def hopfield_capacity(
    n_units: int,
    criterion: Literal["recall", "stable", "all-stable", "simulation"] = "recall",
    *,
    algorithm: Literal["hebb", "pseudo-inverse", "storkey"] = "hebb",
    overlap: float = 0.95,
    n_trials: int = 5,
    random_state: Any = 0,
) -> float:
    """How many random patterns a Hopfield network of n units stores.

    Parameters
    ----------
    n_units : int
        The number of units n, at least 2.
    criterion : {"recall", "stable", "all-stable", "simulation"}, default="recall"
        "recall": 0.138 n, beyond which Hebb's rule leaves no state near a pattern (Amit, Gutfreund and
        Sompolinsky); "stable": n / (2 ln n), up to which nearly each pattern is stable to the last bit;
        "all-stable": n / (4 ln n), up to which nearly always all of them are (McEliece and others);
        "simulation": the largest number for which the states recalled from the patterns agree with them.
    algorithm : {"hebb", "pseudo-inverse", "storkey"}, default="hebb"
        The rule of a simulation; the other criteria are about Hebb's rule.
    overlap : float, default=0.95
        With "simulation": the mean of 1/n Σ_i x_i s_i that is wanted.
    n_trials : int, default=5
        Networks of a simulation for each number of patterns.
    random_state : int, optional
        Seed of a simulation.

    Returns
    -------
    float

    Examples
    --------
    >>> hopfield_capacity(100), round(hopfield_capacity(100, "stable"), 2)
    (13.8, 10.86)
    """
    if isinstance(n_units, bool) or not isinstance(n_units, int | np.integer) or n_units < 2:
        raise ValueError(f"n_units must be an integer of at least 2; got {n_units!r}.")
    if criterion == "recall":
        return round(0.138 * n_units, 12)
    if criterion == "stable":
        return n_units / (2.0 * math.log(n_units))
    if criterion == "all-stable":
        return n_units / (4.0 * math.log(n_units))
    if criterion != "simulation":
        raise ValueError(
            f"criterion must be 'recall', 'stable', 'all-stable' or 'simulation'; got {criterion!r}."
        )
    few, many = 0, n_units + 1  # the first is enough, the last too many
    while many - few > 1:
        middle = (few + many) // 2
        if recalled_overlap(n_units, middle, algorithm, n_trials, generator(random_state)) >= overlap:
            few = middle
        else:
            many = middle
    return float(few)


def recalled_overlap(
    n_units: int, n_patterns: int, algorithm: Any, n_trials: int, rng: np.random.Generator
) -> float:
    """Mean overlap of random patterns with the states that networks recall from them."""
    found = 0.0
    for _ in range(n_trials):
        X = np.where(rng.random((n_patterns, n_units)) < 0.5, -1.0, 1.0)
        states = Hopfield(algorithm).fit(X).recall(X).states
        found += float((X * states).mean()) / n_trials
    return found


@method(
    zh="Hopfield 网络的误码率",
    task="theory",
    model="P(a bit of a stored pattern is unstable) ≈ 1/2 erfc(√(n / (2 (p - 1))))",
    texts=["Pattern Recognition ch. 5, 5.4"],
)
def hopfield_bit_error(n_units: int, n_patterns: int) -> float:
    """Probability that one update changes a bit of a stored random pattern (Hebb's rule).

    The input of a unit is the bit itself and the crosstalk of the other patterns, which is nearly normal with the
    variance (p - 1) / n.

    Parameters
    ----------
    n_units : int
        The number of units n.
    n_patterns : int
        The number of stored patterns p.

    Returns
    -------
    float

    Examples
    --------
    >>> round(hopfield_bit_error(1000, 139), 4)
    0.0036
    """
    for name, value in (("n_units", n_units), ("n_patterns", n_patterns)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")
    return 0.0 if n_patterns == 1 else float(0.5 * erfc(math.sqrt(n_units / (2.0 * (n_patterns - 1)))))
