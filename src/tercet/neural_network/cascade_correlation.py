"""Cascade-correlation (级联相关网络): a network that adds its hidden units one at a time."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.special import expit

from tercet.core.catalog import method
from tercet.core.estimator import Estimator, Regressor, check_is_fitted, generator
from tercet.core.fitted_checks import Floats
from tercet.core.functions import log_softmax, softmax
from tercet.core.kernel import inner, kernel
from tercet.core.parallel import Chunks, each, total
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Seed
from tercet.core.row_products import row_scores
from tercet.core.rows import read_only, row_dot, rows, transposed_times
from tercet.core.scaling import LARGE
from tercet.core.steps import Steps
from tercet.neural_network.output_weights import chunk_rows, output_weights
from tercet.optimize import minimize

ACTIVATIONS = ("tanh", "logistic", "gaussian")
Activation = Literal["tanh", "logistic", "gaussian"]
DENSE = 1 << 16  # numbers up to which sparse rows are made dense
GROWTH, QUICKPROP_RATE = 1.75, 0.5  # the largest ratio of two steps, and the rate of the gradient term


class CascadeNetwork(Estimator):
    """The network of `CascadeCorrelation` and `CascadeCorrelationClassifier`.

    A subclass says how outputs are trained: `outputs.train(H, W, b)` gives W, b, the loss and the errors E.
    """

    largest_value = LARGE

    max_units: Any
    n_candidates: Any
    activation: Any
    algorithm: Any
    max_iter: Any
    patience: Any
    candidate_tol: Any
    tol: Any
    n_iter_no_change: Any
    target_loss: Any
    random_state: Any
    n_jobs: Any

    hidden_weights_: np.ndarray
    hidden_intercept_: np.ndarray
    output_weights_: np.ndarray
    output_intercept_: np.ndarray

    fitted_shapes = {
        "hidden_intercept_": Floats("units*", finite=True),
        "hidden_weights_": Floats("units* inputs*", finite=True),
        "output_weights_": Floats("outputs inputs*", finite=True),
        "output_intercept_": Floats("outputs", finite=True),
    }

    def _check_fitted(self, sizes: Any) -> None:
        expected = self.n_features_in_ + len(self.hidden_intercept_)
        for name in ("hidden_weights_", "output_weights_"):
            if getattr(self, name).shape[1] != expected:
                raise ValueError(
                    f"{type(self).__name__}: {name} has {getattr(self, name).shape[1]} columns; expected "
                    f"{expected}, for the features and the hidden units."
                )

    def _grow(self, X: Any, outputs: Outputs, weight: np.ndarray | None) -> None:
        """Train the outputs, install the best of a pool of candidates, and begin again."""
        rng, (n, d) = generator(self.random_state), X.shape
        X = outputs.X
        inputs = StandardizedInputs.of(X, weight, self.n_jobs)
        hidden = np.zeros((0, d)), np.zeros(0)
        H = np.empty((n, 0))  # values of the hidden units
        W, b = np.zeros((outputs.count, d)), np.zeros(outputs.count)
        E, loss = np.zeros((n, outputs.count)), np.inf
        attributes: dict[str, Any] = {}
        improvement = Patience(self.tol, self.n_iter_no_change)
        for step in self.steps(self.max_units + 1, name="unit"):  # unit 0 stands for the inputs alone
            correlation = np.nan
            if step.index:
                pool = CandidatePool(self, X, H, E, weight, inputs)
                found = pool.best(rng)
                if found is None:  # no candidate correlates with the errors: they are constant
                    step.report(loss=loss, correlation=0.0, **attributes)
                    step.converged(True)
                    break
                correlation, w, bias, values = found
                hidden = install(hidden, w, bias)
                H = np.column_stack([H, values])
                W = np.column_stack([W, np.zeros(outputs.count)])
            W, b, loss, E = outputs.train(H, W, b, inputs)
            if not (math.isfinite(loss) and np.isfinite(W).all()):
                raise ValueError(
                    f"{type(self).__name__}: the loss is not finite with {step.index} hidden units; scale the "
                    "features and targets, or raise alpha. The network before that unit is kept."
                )
            attributes = dict(zip(ATTRIBUTES, (*hidden, W, b)))
            self.__dict__.update(attributes)
            step.report(loss=loss, correlation=correlation, **attributes)
            enough = loss <= self.target_loss or improvement.exhausted(loss)
            if enough and step.converged(True):
                break

    def hidden_activations(self, X: Any) -> np.ndarray:
        """The values of the hidden units, in the order in which they were installed.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        activations : array of shape (n_samples, n_units)
        """
        check_is_fitted(self)
        return self._hidden_values(self._check(X, reset=False))

    def _hidden_values(self, X: Any) -> np.ndarray:
        H = np.empty((X.shape[0], len(self.hidden_intercept_)))
        d = X.shape[1]
        cascade_values(
            rows(X), read_only(np.ascontiguousarray(self.hidden_weights_[:, :d])),
            read_only(np.ascontiguousarray(self.hidden_weights_[:, d:])), read_only(self.hidden_intercept_),
            ACTIVATIONS.index(self.activation), H,
        )  # fmt: skip
        return H

    def _network_outputs(self, X: Any) -> np.ndarray:
        """The net inputs of the output units, of shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        H = self._hidden_values(X)
        stack: Any = sparse.hstack if sparse.issparse(X) else np.hstack
        table = stack([X, H])
        table = table.tocsr() if sparse.issparse(table) else table
        scores = row_scores(table, self.output_weights_, self.output_intercept_, refuse=type(self).__name__)
        return scores.astype(X.dtype, copy=False)


ATTRIBUTES = ("hidden_weights_", "hidden_intercept_", "output_weights_", "output_intercept_")


@method(
    zh="级联相关网络",
    task="regression",
    model="y = W [x, V] + b, V_k = f(u_k·[x, V_1 ... V_k-1] + a_k)",
    strategy="squared error + alpha |W|² for the outputs; covariance with their errors for hidden units",
    loss="squared",
    convex=False,
    algorithms={
        "lbfgs": "candidates trained by L-BFGS",
        "quickprop": "candidates trained by Fahlman's quickprop",
    },
    texts=["watermelon notes ch. 3, sec. 3.5"],
)
class CascadeCorrelation(CascadeNetwork, Regressor):
    """Cascade-correlation network (Fahlman and Lebiere 1990): hidden units are added one at a time.

    The network starts without hidden units. After its outputs are trained, a pool of candidate units is trained to
    have the largest sum of covariances with the remaining errors,

        S = Σ_o |Σ_p s_p (V_p - V̄)(E_po - Ē_o)|,

    where V_p is the value of the candidate for row p and E_po the error of output o. The best one is installed: its
    weights are frozen, and it becomes an input of the outputs and of all later units. Then the outputs are trained
    again. The size of the network needs no choice, but small samples are easily overfitted: limit `max_units`, or
    hold out rows by `tercet.EarlyStopping`. The outputs are linear, and their weights a least-squares solution.

    Parameters
    ----------
    max_units : int, default=10
        The most hidden units.
    n_candidates : int, default=8
        The candidates for each unit, which start from different random weights.
    activation : {"tanh", "logistic", "gaussian"}, default="tanh"
        The function f of the hidden units; "gaussian" is exp(-z²/2).
    algorithm : {"lbfgs", "quickprop"}, default="lbfgs"
        How candidates are trained.
    alpha : float, default=1e-4
        Strength of the L2 penalty on the weights of the outputs.
    max_iter : int, default=100
        The most passes for the training of a candidate.
    patience : int, default=12
        A candidate is ready when S has not risen by the part `candidate_tol` of itself in so many passes.
    candidate_tol : float, default=0.01
        The least relative increase of S that counts.
    tol : float, default=1e-4
        The least relative decrease of the loss that counts, from one unit to the next.
    n_iter_no_change : int, default=2
        No more units are added when the loss has not decreased for so many units in a row.
    target_loss : float, default=0.0
        No more units are added when the loss is at most this.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the first weights of the candidates.
    n_jobs : int, optional
        Threads, which train candidates side by side. The result does not depend on it.

    Attributes
    ----------
    hidden_weights_ : array of shape (n_units, n_features + n_units)
        Weights of the features and of the earlier units in each hidden unit; those of later units are 0.
    hidden_intercept_ : array of shape (n_units,)
        The biases of the hidden units.
    output_weights_ : array of shape (n_outputs, n_features + n_units)
        Weights of the features and the hidden units in the outputs.
    output_intercept_ : array of shape (n_outputs,)
        The biases of the outputs.
    single_output_ : bool
        Whether y was a vector, so that predictions are.
    n_iter_ : int
        The number of times that the outputs were trained, one more than units.
    history_ : dict
        For each number of units the loss, the mean of half the squared error, and `correlation`, the S of the unit
        that was installed.

    Examples
    --------
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> model = CascadeCorrelation(max_units=6, random_state=0).fit(X, y)
    >>> len(model.hidden_intercept_), model.score(X, y) > 0.95
    (6, True)
    """

    multi_output = True
    largest_target = LARGE
    streams_instead = "MLPRegressor"

    def __init__(
        self,
        max_units: CountOrZero = 10,
        *,
        n_candidates: Count = 8,
        activation: Activation = "tanh",
        algorithm: Literal["lbfgs", "quickprop"] = "lbfgs",
        alpha: NonNegative = 1e-4,
        max_iter: Count = 100,
        patience: Count = 12,
        candidate_tol: NonNegative = 0.01,
        tol: NonNegative = 1e-4,
        n_iter_no_change: Count = 2,
        target_loss: NonNegative = 0.0,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.max_units = max_units
        self.n_candidates = n_candidates
        self.activation = activation
        self.algorithm = algorithm
        self.alpha = alpha
        self.max_iter = max_iter
        self.patience = patience
        self.candidate_tol = candidate_tol
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.target_loss = target_loss
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self.single_output_ = y.ndim == 1
        Y = y[:, None] if y.ndim == 1 else y
        self._grow(X, LinearOutputs(X, Y, sample_weight, self.alpha, self.n_jobs), sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """The outputs of the network.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        """
        values = self._network_outputs(X)
        return values[:, 0] if self.single_output_ else values


@method(
    zh="候选单元的相关性",
    task="function",
    model="S = Σ_o |Σ_p s_p (V_p - V̄)(E_po - Ē_o)|",
    texts=["watermelon notes ch. 3, sec. 3.5"],
)
def candidate_correlation(V: Any, E: Any, sample_weight: Any = None) -> float:
    """The score S of a candidate unit of cascade-correlation.

    Parameters
    ----------
    V : array of shape (n_samples,)
        The values of the candidate.
    E : array of shape (n_samples,) or (n_samples, n_outputs)
        The errors of the outputs.
    sample_weight : array of shape (n_samples,), optional
        Weight of each row, in the means as well as in the sum; 2 is equivalent to repeating the row.

    Returns
    -------
    S : float

    Examples
    --------
    >>> round(
    ...     candidate_correlation([0.2, 0.8, 0.5, 0.9], [[0.3, -0.2], [-0.3, 0.1], [0.2, 0.0], [0.4, -0.5]]),
    ...     6,
    ... )
    0.13
    """
    V, E = np.asarray(V, dtype=np.float64), np.asarray(E, dtype=np.float64)
    if V.ndim != 1 or E.ndim not in (1, 2) or len(E) != len(V):
        raise ValueError(
            f"candidate_correlation: V has the shape {V.shape} and E {E.shape}; expected a value of V and a "
            "row of E for each sample."
        )
    E = E.reshape(len(V), -1)
    s = np.ones(len(V)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    centred = E - np.average(E, axis=0, weights=s)
    return float(np.abs((s * (V - np.average(V, weights=s))) @ centred).sum())


def install(
    hidden: tuple[np.ndarray, np.ndarray], w: np.ndarray, bias: float
) -> tuple[np.ndarray, np.ndarray]:
    """The hidden units with one more, whose weights of features and earlier units are frozen from now on."""
    W, b = hidden
    wider = np.zeros((len(b) + 1, w.size + 1))
    wider[:-1, :-1] = W
    wider[-1, :-1] = w
    return wider, np.append(b, bias)


class Patience:
    """Counts passes in a row without a relative decrease of `least`; `limit` of them are too many."""

    def __init__(self, least: float, limit: int) -> None:
        self.least, self.limit = least, limit
        self.best, self.waiting = np.inf, 0

    def exhausted(self, value: float) -> bool:
        """Whether the limit is reached with this value."""
        if value < self.best - self.least * abs(self.best) or self.best == np.inf:
            self.best, self.waiting = value, 0
        else:
            self.waiting += 1
        return self.waiting >= self.limit


class TrainingPhase(Steps):
    """The passes of one training phase of a candidate or of the outputs. A phase that does not converge gives no
    warning: the next unit corrects the remaining errors."""

    def warn(self, reason: str) -> None:
        pass


class StandardizedInputs:
    """Training in standardised features without changing the data: weights u of standardised features are
    u / scale for the features themselves, and their mean goes into the bias."""

    def __init__(self, mean: np.ndarray, scale: np.ndarray) -> None:
        self.mean, self.scale = mean, scale

    @classmethod
    def of(cls, X: Any, weight: np.ndarray | None, n_jobs: int | None) -> StandardizedInputs:
        chunks = Chunks(X, weight)
        mass, sums = total(_first_moments, chunks, n_jobs=n_jobs)
        mean = sums / mass
        variance = total(_second_moments, chunks, mean, n_jobs=n_jobs) / mass
        scale = np.sqrt(np.maximum(variance, 0.0))
        return cls(mean, np.where(scale > 1e-12 * np.abs(mean), scale, 1.0))

    def raw(self, u: np.ndarray, bias: Any) -> tuple[np.ndarray, Any]:
        """Weights and bias for the features as they are."""
        w = u / self.scale
        return w, bias - w @ self.mean

    def gradient(self, by_weights: np.ndarray, by_bias: Any) -> np.ndarray:
        """Derivatives by u from those by raw weights and bias."""
        return (by_weights - np.multiply.outer(by_bias, self.mean)) / self.scale


def _first_moments(chunk: Any) -> tuple[float, np.ndarray]:
    X, weight = chunk
    s = np.ones(X.shape[0]) if weight is None else weight.astype(np.float64)
    return float(s.sum()), np.asarray(transposed_times(X, s.astype(X.dtype)), dtype=np.float64)


def _second_moments(chunk: Any, mean: np.ndarray) -> np.ndarray:
    X, weight = chunk
    s = np.ones(X.shape[0]) if weight is None else weight.astype(np.float64)
    if sparse.issparse(X):  # entries that are not stored are 0
        squares = X.multiply(X).T @ s - 2 * mean * (X.T @ s)
        return np.asarray(squares, dtype=np.float64).ravel() + s.sum() * mean**2
    return s @ (X - mean) ** 2


class CandidatePool:
    """Candidates for the next hidden unit, trained side by side to maximise S."""

    def __init__(
        self, model: CascadeNetwork, X: Any, H: np.ndarray, E: np.ndarray, weight: Any, inputs: Any
    ) -> None:
        self.model, self.X, self.H, self.inputs = model, X, H, inputs
        self.weight = np.ones(len(E)) if weight is None else weight.astype(np.float64)
        self.errors = E - np.average(E, axis=0, weights=self.weight)  # E - Ē
        squares = self.weight @ self.errors**2
        self.bound = math.sqrt(self.weight.sum()) * float(
            np.sqrt(squares).sum()
        )  # of S, for values in [-1, 1]

    def best(self, rng: np.random.Generator) -> tuple[float, np.ndarray, float, np.ndarray] | None:
        """S, weights, bias and values of the best candidate; None where all have S = 0."""
        d, q = self.X.shape[1], self.H.shape[1]
        starts = rng.normal(size=(self.model.n_candidates, 1 + d + q))
        starts[:, 1:] /= math.sqrt(d + q)
        if not (self.bound > 0 and math.isfinite(self.bound)):
            return None
        found = each(self.train, list(starts), n_jobs=self.model.n_jobs)
        scores = [self.value_and_gradient(theta)[0] for theta in found]
        theta = found[int(np.argmin(scores))]
        if not min(scores) < 0:
            return None
        w, bias = self.inputs.raw(theta[1 : 1 + d], theta[0])
        V, _ = self.values(theta)
        return -min(scores) * self.bound, np.concatenate([w, theta[1 + d :]]), float(bias), V

    def train(self, theta: np.ndarray) -> np.ndarray:
        """The weights of one candidate, from its start."""
        model = self.model
        patience = Patience(model.candidate_tol, model.patience)

        def steps(limit: int) -> Steps:
            return TrainingPhase(limit, watch=lambda step: patience.exhausted(step.measures["fun"]))

        if model.algorithm == "lbfgs":
            return minimize(self, theta, steps=steps, max_iter=model.max_iter).x
        rule, best, least = Quickprop(), theta, np.inf
        for step in steps(model.max_iter):
            value, gradient = self.value_and_gradient(theta)
            if value < least:
                best, least = theta, value
            step.report(theta, fun=value)
            theta = rule.step(theta, gradient)
        return best

    def values(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values f(z) of a candidate, and the slopes f'(z)."""
        d = self.X.shape[1]
        w, bias = self.inputs.raw(theta[1 : 1 + d], theta[0])
        return activation_and_slope(self.model.activation, self.X @ w + self.H @ theta[1 + d :] + bias)

    def value(self, theta: np.ndarray) -> float:
        return self.value_and_gradient(theta)[0]

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(theta)[1]

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """-S as a part of its bound, and the gradient by bias, standardised features and earlier units."""
        V, slopes = self.values(theta)
        covariances = (self.weight * V) @ self.errors  # V̄ may be left out: the weighted errors sum to 0
        delta = self.weight * slopes * (self.errors @ np.sign(covariances)) / -self.bound
        by_bias = delta.sum()
        by_features = self.inputs.gradient(transposed_times(self.X, delta), by_bias)
        gradient = np.concatenate([[by_bias], by_features, self.H.T.dot(delta)])
        return -float(np.abs(covariances).sum()) / self.bound, gradient


class Quickprop:
    """Fahlman's update (1988): each weight goes to the minimum of the parabola through its last two slopes.

    A step is at most 1.75 times the last one; the gradient is added while the slope keeps its sign.
    """

    def __init__(self) -> None:
        self.slope: Any = None
        self.move: Any = None

    def step(self, theta: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """The weights after a step, for the slopes (derivatives) at theta."""
        if self.slope is None:
            self.move = -QUICKPROP_RATE * slope
        else:
            same = slope * self.slope > 0
            limit = GROWTH * np.abs(self.move)
            with np.errstate(divide="ignore", invalid="ignore"):
                parabola = slope / (self.slope - slope) * self.move
            # where the slope does not decrease, the parabola has no minimum ahead: take the largest step allowed
            ahead = np.where(
                same & (np.abs(slope) >= np.abs(self.slope)), np.sign(self.move) * limit, parabola
            )
            ahead = np.clip(np.nan_to_num(ahead), -limit, limit)
            self.move = ahead - np.where(same | (self.move == 0), QUICKPROP_RATE * slope, 0.0)
        self.slope = slope
        return theta + self.move


class Outputs:
    """The output units, trained on features and hidden units."""

    count: int

    def __init__(self, X: Any, weight: np.ndarray | None, n_jobs: int | None) -> None:
        if sparse.issparse(X) and X.shape[0] * X.shape[1] <= DENSE:
            X = X.toarray()
        self.X = X if sparse.issparse(X) else np.ascontiguousarray(X)  # the same bits for any layout
        self.weight, self.n_jobs = weight, n_jobs

    def train(
        self, H: np.ndarray, W: np.ndarray, b: np.ndarray, inputs: StandardizedInputs
    ) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        """Weights, biases, the loss and the errors E, from the weights and biases before."""
        raise NotImplementedError


class LinearOutputs(Outputs):
    """Linear outputs: their weights are a least-squares solution."""

    def __init__(self, X: Any, Y: np.ndarray, weight: Any, alpha: float, n_jobs: int | None) -> None:
        super().__init__(X, weight, n_jobs)
        self.Y, self.alpha, self.count = Y, alpha, Y.shape[1]

    def train(self, H: np.ndarray, W: np.ndarray, b: np.ndarray, inputs: Any) -> Any:
        width = W.shape[1] + 1 + self.count
        chunks = Chunks(self.X, H, self.Y, self.weight, rows=chunk_rows(width))
        tables = [((X, values), Y, weight) for X, values, Y, weight in chunks]
        W, b = output_weights(
            _side_by_side, tables, n_outputs=self.count, alpha=self.alpha, n_jobs=self.n_jobs
        )
        d = self.X.shape[1]
        E = self.Y - (self.X @ W[:, :d].T + H @ W[:, d:].T + b)
        loss = 0.5 * float(np.average((E**2).sum(axis=1), weights=self.weight))
        return W, b, loss, E


def _side_by_side(chunk: Any) -> np.ndarray:
    X, H = chunk
    return np.hstack([X.toarray() if sparse.issparse(X) else X, H])


class LogisticOutputs(Outputs):
    """Softmax outputs (a single logistic one for two classes): cross-entropy, minimised by L-BFGS."""

    def __init__(
        self, X: Any, codes: np.ndarray, weight: Any, alpha: float, max_iter: int, n_jobs: int | None
    ) -> None:
        super().__init__(X, weight, n_jobs)
        self.codes, self.max_iter = codes, max_iter
        self.mass = float(len(codes) if weight is None else weight.sum(dtype=np.float64))
        self.alpha = alpha / self.mass
        self.count = 1 if codes.shape[1] == 2 else codes.shape[1]

    def train(self, H: np.ndarray, W: np.ndarray, b: np.ndarray, inputs: StandardizedInputs) -> Any:
        d, shape = self.X.shape[1], W.shape
        chunks = Chunks(self.X, H, self.codes, self.weight)

        def unpack(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            U, c = theta[: W.size].reshape(shape), theta[W.size :]
            raw, bias = inputs.raw(U[:, :d], c)
            return np.hstack([raw, U[:, d:]]), bias

        def loss_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
            U = theta[: W.size].reshape(shape)
            loss, by_features, by_units, by_bias = total(
                _cross_entropy, chunks, *unpack(theta), n_jobs=self.n_jobs
            )
            G = np.hstack([inputs.gradient(by_features, by_bias), by_units]) / self.mass + self.alpha * U
            value = loss / self.mass + self.alpha / 2 * float((U * U).sum())
            return value, np.concatenate([G.ravel(), by_bias / self.mass])

        U = np.hstack([W[:, :d] * inputs.scale, W[:, d:]])
        start = np.concatenate([U.ravel(), b + W[:, :d] @ inputs.mean])
        found = minimize(
            loss_and_gradient, start, jac=True, steps=TrainingPhase, max_iter=self.max_iter, tol=1e-5
        )
        W, b = unpack(found.x)
        scores = self.X @ W[:, :d].T + H @ W[:, d:].T + b
        return W, b, float(found.fun), (self.codes - softmax(with_reference(scores)))[:, -self.count :]


def _cross_entropy(chunk: Any, W: np.ndarray, b: np.ndarray) -> tuple[Any, ...]:
    """Cross-entropy of a chunk, and its derivatives by the weights of features and of units, and by the biases."""
    X, H, codes, weight = chunk
    d = X.shape[1]
    logs = log_softmax(with_reference(X @ W[:, :d].T + H @ W[:, d:].T + b))
    losses, slopes = -(codes * logs).sum(axis=1), (np.exp(logs) - codes)[:, -len(b) :]
    if weight is not None:
        losses, slopes = weight * losses, weight[:, None] * slopes
    by_features = np.asarray(X.T @ slopes).T
    return float(losses.sum()), by_features, slopes.T @ H, slopes.sum(axis=0)


def with_reference(scores: np.ndarray) -> np.ndarray:
    """Scores of all classes; of two, the first one has the score 0.

    Examples
    --------
    >>> with_reference(np.array([[2.0]]))
    array([[0., 2.]])
    """
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores


def activation_and_slope(name: str, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f(z) and f'(z) of hidden units.

    Examples
    --------
    >>> activation_and_slope("logistic", np.zeros(1))
    (array([0.5]), array([0.25]))
    """
    if name == "tanh":
        f = np.tanh(z)
        return f, 1 - f * f
    if name == "logistic":
        f = expit(z)
        return f, f * (1 - f)
    f = np.exp(-0.5 * z * z)
    return f, -z * f


@kernel
def cascade_values(X: Any, by_features: Any, by_units: Any, bias: Any, activation: Any, H: Any) -> None:
    """H[i, k], the value of unit k for row i: each unit sees the features and the units before it."""
    for i in range(H.shape[0]):
        for k in range(H.shape[1]):
            z = bias[k] + row_dot(X, i, by_features[k])
            for j in range(k):
                z += by_units[k, j] * H[i, j]
            H[i, k] = activated(z, activation)


@inner
def activated(z: float, activation: int) -> float:
    """f(z), for the number of f in `ACTIVATIONS`.

    Examples
    --------
    >>> activated(0.0, 0), activated(0.0, 1), activated(0.0, 2)
    (0.0, 0.5, 1.0)
    """
    if activation == 0:
        return math.tanh(z)
    if activation == 1:
        return 0.5 + 0.5 * math.tanh(0.5 * z)  # the logistic function, which does not overflow like this
    return math.exp(-0.5 * z * z)
