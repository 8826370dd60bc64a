"""Layered perceptrons with a fixed first layer (Rosenblatt 的多层感知器方案)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted, generator
from tercet.core.fitted_checks import Each, OneOf, Sizes
from tercet.core.folds import take_rows
from tercet.core.memory import available
from tercet.core.parameters import Count, Fraction, Jobs, Positive, Real, Seed
from tercet.core.row_products import row_scores
from tercet.linear_model import Perceptron
from tercet.neural_network.threshold_network import ThresholdNetwork, check_layers, layer_outputs


@method(
    zh="固定第一层的多层感知器",
    task="classification",
    model="y = θ(Σ_j v_j θ(Σ_i w_ij x_i + w_0j) + v_0), w fixed",
    strategy="that of the perceptron, in the space of the hidden outputs",
    loss="perceptron",
    convex=False,
    algorithms="a first layer given or drawn at random; the perceptron rule for the last unit",
    texts=["Pattern Recognition ch. 5, eq. 5-16, 5.4.2"],
)
class LayeredPerceptron(Perceptron):
    """Layered perceptron with fixed hidden units: only the last unit is learned, by the perceptron rule.

    The hidden units are threshold logic units. They map each row to a vector of zeros and ones, and a perceptron
    separates the classes there. How well it can depends on the hidden units: they may be given, or drawn at random.
    More than two classes: one output unit for each against the rest.

    Parameters
    ----------
    hidden : {"random", "bisectors"} or ThresholdNetwork, default="random"
        The hidden units. "random" draws hyperplanes of random directions between random rows, "bisectors" the
        perpendicular bisectors between random rows of different classes. A given network may have several layers.
    n_hidden : int, default=100
        Number of hidden units to draw.
    output : {"binary", "sign"}, default="binary"
        Whether the outputs of drawn hidden units are 0 and 1 or -1 and 1; a given network has its own.
    at_zero : float, default=0.0
        The output of a drawn unit at 0 between off (0) and on (1).
    max_iter : int, default=1000
        The most passes of the perceptron rule.
    tol : float or None, default=1e-3
        Stop when the mean loss of a pass has not fallen by tol for `n_iter_no_change` passes. None is the text's
        rule: go on until a pass without mistakes.
    n_iter_no_change : int, default=5
        See `tol`.
    shuffle : bool, default=True
        Visit the rows in a new random order in each pass. False is the order of the data.
    eta0 : float, default=1.0
        The step of the perceptron rule.
    on_plane : {"mistake", "positive", "negative"}, default="mistake"
        What w·h + b = 0 counts as in the output unit, as in `Perceptron`.
    variant : {"plain", "averaged", "pocket"}, default="plain"
        The output unit to keep, as in `Perceptron`.
    class_weight : dict or "balanced", optional
        Weights of the classes; they multiply eta0.
    n_jobs : int, optional
        Threads for the output units of several classes. The result does not depend on it.
    random_state : int, default=0
        Seed of the hidden units and of the orders of the rows.

    Attributes
    ----------
    hidden_weights_, hidden_thresholds_ : lists of arrays of shape (n_inputs, n_units) and (n_units,)
        The fixed layers.
    hidden_output_, hidden_at_zero_ : str, float
        The outputs of their units.
    coef_, intercept_ : arrays of shape (n_outputs, n_units) and (n_outputs,)
        The output units; there is one for two classes.
    n_iter_, t_ : int
        Passes made, and 1 + rows visited.

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]

    No perceptron learns XOR. Two fixed units, x1 + x2 > 0.5 and x1 + x2 > 1.5, make it separable:

    >>> hidden = ThresholdNetwork([[[1, 1], [1, 1]]], [[0.5, 1.5]])
    >>> model = LayeredPerceptron(hidden, shuffle=False).fit(X, y)
    >>> model.hidden_outputs(X).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    >>> model.predict(X)
    array([0, 1, 1, 0])
    """

    def __init__(
        self,
        hidden: Literal["random", "bisectors"] | ThresholdNetwork = "random",
        *,
        n_hidden: Count = 100,
        output: Literal["binary", "sign"] = "binary",
        at_zero: Fraction = 0.0,
        max_iter: Count = 1000,
        tol: Real | None = 1e-3,
        n_iter_no_change: Count = 5,
        shuffle: bool = True,
        eta0: Positive = 1.0,
        on_plane: Literal["mistake", "positive", "negative"] = "mistake",
        variant: Literal["plain", "averaged", "pocket"] = "plain",
        class_weight: dict | Literal["balanced"] | None = None,
        n_jobs: Jobs = None,
        random_state: Seed = 0,
    ) -> None:
        self.hidden = hidden
        self.n_hidden = n_hidden
        self.output = output
        self.at_zero = at_zero
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.eta0 = eta0
        self.on_plane = on_plane
        self.variant = variant
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Perceptron's other parameters
    penalty, fit_intercept, form, order = None, True, "primal", "cyclic"
    early_stopping, warm_start, record, verbose = False, False, False, 0

    hidden_weights_: list[np.ndarray]
    hidden_thresholds_: list[np.ndarray]
    streams_instead = "MLPClassifier, or partial_fit with pieces of the rows"
    fitted_shapes = {
        "coef_": "planes units",
        "hidden_weights_": Each("...", "layers"),
        "hidden_thresholds_": Each("...", "layers"),
        "hidden_output_": OneOf(("binary", "sign")),
        "hidden_at_zero_": "",
    }

    def _check_fitted(self, sizes: Sizes) -> None:
        """The layers of a loaded model fit the features, each other and the output units."""
        W, _ = check_layers(type(self).__name__, self.hidden_weights_, self.hidden_thresholds_)
        if (W[0].shape[0], W[-1].shape[1]) != (sizes["features"], sizes["units"]):
            raise ValueError(
                f"{type(self).__name__}: hidden_weights_ lead from {W[0].shape[0]} inputs to {W[-1].shape[1]} "
                f"units; expected {sizes['features']} and {sizes['units']}."
            )

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self._fix_hidden_units(X, y, sample_weight)
        super()._fit(X, y, sample_weight)

    def _hyperplanes(self, X: Any, y: np.ndarray, weight: Any, *start: Any) -> list[Any]:
        """The output units at their start: hyperplanes in the space of the hidden outputs."""
        if "hidden_weights_" not in vars(self):  # the first batch of `partial_fit`
            self._fix_hidden_units(X, y, weight)
        return super()._hyperplanes(self._hidden_outputs(X), y, weight, *start)

    def _fix_hidden_units(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Set the layers below the output units."""
        name, d = type(self).__name__, X.shape[1]
        if isinstance(self.hidden, ThresholdNetwork):
            W, theta = check_layers(name, self.hidden.weights, self.hidden.thresholds)
            if W[0].shape[0] != d:
                raise ValueError(
                    f"{name}: parameter 'hidden' must be a network with as many inputs as X has columns, {d}; "
                    f"got {self.hidden!r}."
                )
            output, at_zero = self.hidden.output, self.hidden.at_zero
        else:
            self._check_memory(X)
            rng = generator(self.random_state).spawn(1)[0]
            draw = bisectors if self.hidden == "bisectors" and self.classes_.size > 1 else random_hyperplanes
            one, t = draw(X, y, weight, self.n_hidden, rng)
            W, theta, output, at_zero = [one], [t], self.output, self.at_zero
        self.hidden_weights_ = [np.ascontiguousarray(w, dtype=X.dtype) for w in W]
        self.hidden_thresholds_ = [t.astype(X.dtype) for t in theta]
        self.hidden_output_, self.hidden_at_zero_ = output, float(at_zero)

    def _check_memory(self, X: Any) -> None:
        """Refuse more hidden units than there is memory for: their weights, their rows and their outputs."""
        needed, left = 8 * self.n_hidden * (X.shape[0] + 4 * X.shape[1]), available()
        if needed > left:
            raise ValueError(
                f"{type(self).__name__}: n_hidden={self.n_hidden} needs about {needed / 1e9:.3g} GB of memory; "
                f"there are {left / 1e9:.3g} GB. Take fewer hidden units."
            )

    def hidden_outputs(self, X: Any) -> np.ndarray:
        """The outputs of the hidden units, which the output units read.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        H : array of shape (n_samples, n_units)
        """
        check_is_fitted(self)
        return self._hidden_outputs(self._check(X, reset=False))

    def _hidden_outputs(self, X: Any) -> np.ndarray:
        layers = self.hidden_weights_, self.hidden_thresholds_
        return layer_outputs(X, *layers, self.hidden_output_, self.hidden_at_zero_)[-1]

    def decision_function(self, X: Any) -> np.ndarray:
        """Weighted sums of the output units: of shape (n_samples,) for two classes, else (n_samples, n_classes).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        scores : array
            Positive means the second class when there are two.
        """
        scores = row_scores(self.hidden_outputs(X), self.coef_, self.intercept_)
        return scores.ravel() if scores.shape[1] == 1 else scores


def random_hyperplanes(
    X: Any, y: np.ndarray, weight: np.ndarray | None, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Hyperplanes w·x = θ of random directions through random points between two rows.

    Features count alike, whatever their units. (A hyperplane through a row itself would leave its side to
    rounding.)
    """
    counts = np.arange(y.size) if weight is None else np.flatnonzero(weight)
    low, high = (_dense(getattr(X[counts], end)(axis=0)).ravel() for end in ("min", "max"))
    span = np.where(high > low, high.astype(np.float64) - low, 1.0)
    a, b = (_dense(take_rows(X, _draw(y.size, weight, count, rng))).astype(np.float64) for _ in "ab")
    W = rng.standard_normal((count, X.shape[1])) / np.maximum(
        span, 1e-300 if X.dtype == np.float64 else 1e-30
    )
    points = a + rng.random((count, 1)) * (b - a)
    return W.T, np.einsum("ij,ij->i", W, points)


def bisectors(
    X: Any, y: np.ndarray, weight: np.ndarray | None, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Perpendicular bisectors w·x = θ of random pairs of rows of different classes."""
    one = _draw(y.size, weight, count, rng)
    other = np.empty_like(one)
    mass = np.ones(y.size) if weight is None else weight
    for label in np.unique(y[one]):
        here = y[one] == label
        other[here] = _draw(y.size, np.where(y == label, 0.0, mass), int(here.sum()), rng)
    a, b = (_dense(take_rows(X, rows)).astype(np.float64) for rows in (one, other))
    W = a - b
    return W.T, np.einsum("ij,ij->i", W, (a + b) / 2)


def _draw(n: int, weight: np.ndarray | None, count: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of rows, drawn by their weights."""
    if weight is None or not weight.any():
        return rng.integers(n, size=count)
    share = weight / weight.max()
    return rng.choice(n, size=count, p=share / share.sum())


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)
