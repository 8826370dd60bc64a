"""RBF network (径向基函数网络): a weighted sum of Gaussian functions of the distance to centres."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import Estimator, Regressor, check_is_fitted, generator
from tercet.core.fitted_checks import Floats
from tercet.core.kernel import implement, kernel, verb
from tercet.core.parallel import Chunks, each, total
from tercet.core.parameters import Count, Jobs, NonNegative, OpenFraction, Positive, Seed
from tercet.core.row_products import row_products
from tercet.core.rows import Dense, Rows, Sparse, read_only, rows
from tercet.core.scaling import LARGE
from tercet.core.steps import ConvergenceWarning
from tercet.neural_network.output_weights import chunk_rows, output_weights
from tercet.optimize import Momentum, minimize

Centers = Literal["kmeans", "random", "all"] | list | tuple | np.ndarray
Width = Literal["nearest", "spread"] | Positive | list | tuple | np.ndarray
Learned = Literal["weights", "widths", "centers"]


class RBFLayer(Estimator):
    """The network of `RBFNetwork` and `RBFNetworkClassifier`; a subclass says what its outputs mean."""

    largest_value = LARGE
    multi_output = False

    n_units: Any
    centers: Any
    width: Any
    beta: Any
    algorithm: Any
    learn: Any
    alpha: Any
    fit_intercept: Any
    learning_rate: Any
    momentum: Any
    max_iter: Any
    tol: Any
    random_state: Any
    n_jobs: Any

    centers_: np.ndarray
    beta_: np.ndarray
    weights_: np.ndarray
    intercept_: Any

    fitted_shapes = {
        "centers_": Floats("units features", finite=True),
        "beta_": Floats("units", finite=True, low=0.0),
    }

    def _fit_network(self, X: Any, Y: np.ndarray, weight: np.ndarray | None, flat: bool = False) -> None:
        """Centres, widths and weights for targets of shape (n_samples, n_outputs); `flat`: y was a vector."""
        if weight is not None and not weight.all():  # a row of weight 0 is neither a centre nor counts
            here = np.flatnonzero(weight)
            X, Y, weight = X[here], Y[here], weight[here]
        C = self._choose_centers(X, weight)
        beta = self._choose_beta(C)
        columns = len(C) + 1 + Y.shape[1]
        chunks = Chunks(X, Y, weight, rows=chunk_rows(columns))
        W, b = np.zeros((Y.shape[1], len(C))), np.zeros(Y.shape[1])
        if self.algorithm == "lstsq" or self.learn != "weights":
            W, b = output_weights(
                activations, chunks, C, beta, n_outputs=Y.shape[1], alpha=self.alpha,
                fit_intercept=self.fit_intercept, n_jobs=self.n_jobs,
            )  # fmt: skip
        if self.algorithm == "lstsq":
            self.n_iter_ = 1
            self.__dict__.update(network_attributes(C, beta, W, b, flat))
        else:
            error = NetworkError(self, chunks, weight, (C, beta, W, b), flat)
            descend = self._gradient_descent if self.algorithm == "gd" else self._lbfgs
            self.__dict__.update(error.attributes(descend(error)))

    def _gradient_descent(self, error: NetworkError) -> np.ndarray:
        """Back-propagation: steps against the gradient of the error over all rows."""
        theta = error.start
        rate = error.safe_rate() if self.learning_rate is None else self.learning_rate
        rule = Momentum(rate, beta1=self.momentum, average=False)
        loss, gradient = error.value_and_gradient(theta)
        loop = self.steps(
            self.max_iter, unpack=error.attributes, hint="Raise max_iter, tol or learning_rate."
        )
        for step in loop:
            last, before = theta, loss
            theta = rule.step(theta, gradient)
            loss, gradient = error.value_and_gradient(theta)
            if not (math.isfinite(loss) and np.isfinite(gradient).all()):
                self.__dict__.update(error.attributes(last))
                raise ValueError(
                    f"{type(self).__name__}: the loss is not finite in pass {step.count} of gradient descent; "
                    f"take a smaller learning_rate than {rate:.3g}, such as {rate / 10:.3g}, or a smaller momentum "
                    f"than {self.momentum!r}, or scale the targets. The weights of the pass before are kept."
                )
            step.report(theta, loss=loss)
            if step.converged(abs(before - loss) <= self.tol * max(before, np.finfo(float).tiny)):
                break
        return theta

    def _lbfgs(self, error: NetworkError) -> np.ndarray:
        """The same error by L-BFGS."""
        steps = functools.partial(self.steps, unpack=error.attributes, hint="Raise max_iter or tol.")
        start = max(error.value(error.start), np.finfo(float).tiny)
        stop = {"gradient": 1e-3 * self.tol * start, "value": self.tol * start}
        return minimize(error, error.start, method="lbfgs", steps=steps, max_iter=self.max_iter, stop=stop).x

    def _choose_centers(self, X: Any, weight: np.ndarray | None) -> np.ndarray:
        """Centres c_i: given, all rows, rows drawn at random, or the means of k-means clusters."""
        if not isinstance(self.centers, str):
            return self._given_centers(X.shape[1])
        n = X.shape[0]
        rng = generator(self.random_state)
        if self.centers == "all":
            chosen = np.arange(n)
        elif self.centers == "random" or self.n_units >= n:
            share = None if weight is None else weight / weight.sum(dtype=np.float64)
            chosen = np.sort(rng.choice(n, min(self.n_units, n), replace=False, p=share))
        else:
            return self._cluster_means(X, weight, rng)
        C = X[chosen]
        C = C.toarray() if sparse.issparse(C) else C
        return np.unique(C.astype(np.float64), axis=0)  # equal centres would be one column twice

    def _cluster_means(self, X: Any, weight: np.ndarray | None, rng: Any) -> np.ndarray:
        from tercet.cluster import KMeans

        clusters = KMeans(self.n_units, random_state=int(rng.integers(2**31)), n_jobs=self.n_jobs or 1)
        with warnings.catch_warnings():  # fewer distinct rows than clusters: there are fewer units then
            warnings.simplefilter("ignore", ConvergenceWarning)
            clusters.fit(X, sample_weight=weight)
        return np.unique(clusters.cluster_centers_.astype(np.float64), axis=0)

    def _given_centers(self, n_features: int) -> np.ndarray:
        C = np.array(self.centers, dtype=np.float64)
        if C.ndim != 2 or not len(C) or C.shape[1] != n_features or not (np.abs(C) < LARGE).all():
            raise ValueError(
                f"{type(self).__name__}: centers must be 'kmeans', 'random', 'all', or an array of finite numbers "
                f"of shape (n_units, {n_features}); got an array of shape {C.shape}."
            )
        return C

    def _choose_beta(self, C: np.ndarray) -> np.ndarray:
        """β_i = 1 / r_i²: given by `beta`, or from the widths r_i."""
        q = len(C)
        if self.beta is not None:
            return self._one_per_unit("beta", self.beta, q)
        if not isinstance(self.width, str):
            return self._one_per_unit("beta", 1.0 / self._one_per_unit("width", self.width, q) ** 2, q)
        squares = center_distances(C, self.n_jobs)
        if self.width == "spread":  # one width for all: r² = (largest distance)² / q
            r2 = np.full(q, float(squares.max()) / q)
        else:  # twice the mean square of the distances to the two nearest centres
            near = np.sort(squares, axis=1)[:, 1:3]
            r2 = 2 * near.mean(axis=1) if q > 1 else np.zeros(1)
        with np.errstate(divide="ignore", over="ignore"):
            beta = 1.0 / r2
        return np.where(np.isfinite(beta), beta, 1.0)  # a single centre, or squares that vanish

    def _one_per_unit(self, name: str, given: Any, q: int) -> np.ndarray:
        values = np.asarray(given, dtype=np.float64)
        if values.shape not in ((), (q,)) or not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(
                f"{type(self).__name__}: {name} must be a positive number, or one for each of the {q} centres; "
                f"got {given!r}."
            )
        return np.broadcast_to(values, (q,)).copy()

    def hidden_activations(self, X: Any) -> np.ndarray:
        """The values ρ(x, c_i) = exp(-β_i |x - c_i|²) of the hidden units.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        activations : array of shape (n_samples, n_units)
        """
        check_is_fitted(self)
        return activations(self._check(X, reset=False), self.centers_, self.beta_)

    def _network_values(self, X: Any) -> np.ndarray:
        """φ(x) of checked rows, of the type of the rows."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        chunks = Chunks(X, rows=chunk_rows(len(self.beta_)))
        found = each(
            _values, chunks, self.centers_, self.beta_, self.weights_, self.intercept_, n_jobs=self.n_jobs
        )
        return np.concatenate(found).astype(X.dtype, copy=False)


@method(
    zh="径向基函数网络",
    task="regression",
    model="φ(x) = Σ_i w_i exp(-β_i |x - c_i|²) + b",
    strategy="Σ_i s_i |y_i - φ(x_i)|² + alpha |w|²",
    loss="squared",
    convex=True,
    algorithms={
        "lstsq": "centres and widths first, then the weights by least squares (QR)",
        "gd": "gradient descent with momentum (back-propagation) on weights, widths and centres",
        "lbfgs": "L-BFGS on the same gradient",
    },
    texts=["watermelon notes ch. 3, sec. 3.5, eq. 3.14", "Pattern Recognition ch. 5, eq. 5-34, 5-35"],
)
class RBFNetwork(RBFLayer, Regressor):
    """Radial basis function network: a linear output layer over Gaussian functions of distances to centres.

        φ(x) = Σ_i w_i exp(-β_i |x - c_i|²) + b,    β_i = 1 / r_i²

    Centres and widths are chosen first; the weights are then a linear least-squares problem. With `algorithm="gd"`
    or `"lbfgs"` they are trained by back-propagation, together with the widths and centres where `learn` says so.
    With all rows as centres the network interpolates the targets. The features must have comparable scales: scale
    them first.

    Parameters
    ----------
    n_units : int, default=10
        The number of hidden units, for `centers="kmeans"` and `"random"`. Equal centres are one unit.
    centers : {"kmeans", "random", "all"} or array of shape (n_units, n_features), default="kmeans"
        The centres: means of k-means clusters, rows drawn at random, all rows, or the given points.
    width : {"nearest", "spread"}, float or array of shape (n_units,), default="nearest"
        The widths r_i. "nearest" gives each unit the root of twice the mean squared distance to its two nearest
        centres; "spread" is one width for all, the largest distance between centres over the root of their number,
        which is narrow where there are many features.
    beta : float or array of shape (n_units,), optional
        The β_i, instead of the widths.
    algorithm : {"lstsq", "gd", "lbfgs"}, default="lstsq"
        How the weights are found: by least squares, or by gradient descent or L-BFGS on the mean squared error.
    learn : {"weights", "widths", "centers"}, default="widths"
        What "gd" and "lbfgs" learn: the weights alone, from zero; the widths, too; or the centres as well as both.
        With widths and centres they start from the least-squares weights.
    alpha : float, default=0.0
        Strength of the L2 penalty on the weights.
    fit_intercept : bool, default=True
        Whether there is a bias b.
    learning_rate : float, optional
        The step length of "gd"; by default the reciprocal of the mean of 1 + Σ_i ρ(x, c_i)².
    momentum : float, default=0.9
        The share of the last step of "gd" that is added to the next one.
    max_iter : int, default=200
        The most passes of "gd" and "lbfgs".
    tol : float, default=1e-5
        They end when the loss falls by less than this part of itself.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the choice of centres.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    centers_ : array of shape (n_units, n_features)
        The centres c_i.
    beta_ : array of shape (n_units,)
        The β_i; the widths are 1 / sqrt(beta_).
    weights_ : array of shape (n_units,) or (n_outputs, n_units)
        The weights w_i.
    intercept_ : float or array of shape (n_outputs,)
        The bias b.
    n_iter_ : int
        Passes made; 1 for "lstsq".
    history_ : dict
        The loss of each pass of "gd" (`loss`) and "lbfgs" (`fun`).

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]  # XOR
    >>> model = RBFNetwork(centers=[[0, 0], [1, 1]], beta=1.0).fit(X, y)
    >>> model.weights_.round(4), round(model.intercept_, 4)
    (array([-2.5027, -2.5027]), 2.8413)
    >>> abs(model.predict(X) - y).max() < 1e-12
    np.True_
    """

    multi_output = True
    largest_target = LARGE
    streams_instead = "MLPRegressor"

    def __init__(
        self,
        n_units: Count = 10,
        *,
        centers: Centers = "kmeans",
        width: Width = "nearest",
        beta: Positive | list | tuple | np.ndarray | None = None,
        algorithm: Literal["lstsq", "gd", "lbfgs"] = "lstsq",
        learn: Learned = "widths",
        alpha: NonNegative = 0.0,
        fit_intercept: bool = True,
        learning_rate: Positive | None = None,
        momentum: OpenFraction | Literal[0] = 0.9,
        max_iter: Count = 200,
        tol: NonNegative = 1e-5,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_units = n_units
        self.centers = centers
        self.width = width
        self.beta = beta
        self.algorithm = algorithm
        self.learn = learn
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    fitted_shapes = {
        "weights_": Floats("units | outputs units", finite=True),
        "intercept_": lambda model: "outputs" if np.ndim(model.weights_) == 2 else "",
    }

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        flat = y.ndim == 1
        self._fit_network(X, y[:, None] if flat else y, sample_weight, flat)

    def predict(self, X: Any) -> np.ndarray:
        """The outputs φ(x).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._network_values(X)


class NetworkError:
    """Half the mean squared error of an RBF network with its gradient, as an objective of `minimize`.

    The variables are the weights and biases and, where they are learned, log β (so that β stays positive) and the
    centres.
    """

    def __init__(
        self, model: RBFLayer, chunks: Any, weight: np.ndarray | None, network: Any, flat: bool
    ) -> None:
        self.flat = flat
        self.chunks, self.n_jobs = chunks, model.n_jobs
        C, beta, W, b = network
        self.fixed = C, beta
        self.shape, self.intercept = W.shape, model.fit_intercept
        self.learned = {"weights": 0, "widths": 1, "centers": 2}[model.learn]
        n = chunks.borders[-1]
        self.mass = float(n) if weight is None else float(weight.sum(dtype=np.float64))
        self.alpha = model.alpha / self.mass
        parts = [W.ravel(), b, np.log(beta), C.ravel()][: 2 + self.learned]
        self.start = np.concatenate(parts)

    def unpack(self, theta: np.ndarray) -> tuple[np.ndarray, ...]:
        """Centres, β, weights and biases."""
        k, q = self.shape
        (C, beta), at = self.fixed, k * q + k
        if self.learned:
            beta = np.exp(theta[at : at + q])
        if self.learned > 1:
            C = theta[at + q :].reshape(C.shape)
        return C, beta, theta[: k * q].reshape(k, q), theta[k * q : at]

    def attributes(self, theta: np.ndarray) -> dict[str, Any]:
        """The fitted attributes of a model with these variables."""
        C, beta, W, b = self.unpack(theta.copy())
        return network_attributes(C, beta, W, b, self.flat)

    def value(self, theta: np.ndarray) -> float:
        return self.value_and_gradient(theta)[0]

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(theta)[1]

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        C, beta, W, b = self.unpack(theta)
        loss, *parts = total(error_statistics, self.chunks, C, beta, W, b, self.learned, n_jobs=self.n_jobs)
        dW, db, *rest = parts
        gradient = [dW + self.mass * self.alpha * W, db * self.intercept, *rest]
        value = loss / self.mass + self.alpha / 2 * float((W * W).sum())
        return value, np.concatenate([part.ravel() for part in gradient]) / self.mass

    def safe_rate(self) -> float:
        """The reciprocal of a bound of the curvature in the weights, the mean of 1 + |ρ(x)|²."""
        square = total(_mean_square, self.chunks, *self.fixed, n_jobs=self.n_jobs)
        return 1.0 / (1.0 + float(square) / self.mass + self.alpha)


def network_attributes(
    C: np.ndarray, beta: np.ndarray, W: np.ndarray, b: np.ndarray, flat: bool
) -> dict[str, Any]:
    """The fitted attributes; of a single output without an axis of outputs where y was a vector."""
    weights, intercept = (W[0], float(b[0])) if flat else (W, b)
    return {"centers_": C, "beta_": beta, "weights_": weights, "intercept_": intercept}


def error_statistics(chunk: Any, C: Any, beta: Any, W: Any, b: Any, learned: int) -> tuple[Any, ...]:
    """Half the squared error of a chunk, and its derivatives by W, b, log β and C (as far as they are learned)."""
    X, Y, weight = chunk
    D = squared_distances(X, C)
    with np.errstate(over="ignore"):  # exp(-inf) is the right 0
        P = np.exp(-beta * D)
    E = P @ W.T + b - Y
    S = E if weight is None else weight[:, None] * E  # weighted residuals
    found: list[Any] = [0.5 * float((S * E).sum()), S.T @ P, S.sum(axis=0)]
    if learned:
        slopes = (S @ W) * P  # derivative by log ρ(x, c_i)
        found.append(-beta * (slopes * np.where(P > 0, D, 0.0)).sum(axis=0))
    if learned > 1:
        moments = np.asarray(X.T @ slopes).T  # Σ_x slope x
        found.append(2 * beta[:, None] * (moments - slopes.sum(axis=0)[:, None] * C))
    return tuple(found)


def _mean_square(chunk: Any, C: Any, beta: Any) -> float:
    X, _, weight = chunk
    squares = (activations(X, C, beta) ** 2).sum(axis=1)
    return float(squares.sum() if weight is None else squares @ weight)


def _values(chunk: Any, C: Any, beta: Any, W: Any, b: Any) -> np.ndarray:
    return row_products(activations(chunk[0], C, beta), W) + b


def activations(X: Any, C: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """ρ(x, c_i) = exp(-β_i |x - c_i|²) of all rows and centres.

    Examples
    --------
    >>> activations(np.array([[0.0], [1.0]]), np.array([[0.0]]), np.array([1.0])).round(4)
    array([[1.    ],
           [0.3679]])
    """
    P = squared_distances(X, C)
    with np.errstate(over="ignore"):  # exp(-inf) is the right 0
        P *= -beta
    return np.exp(P, out=P)


def squared_distances(X: Any, C: np.ndarray) -> np.ndarray:
    """|x - c|² of all rows x of X and all rows c of C, from the differences themselves, which cancel nothing."""
    out = np.zeros((X.shape[0], len(C)))
    columns = read_only(np.ascontiguousarray(C.T, dtype=np.float64))
    add_squared_distances(rows(X), columns, read_only((columns * columns).sum(axis=0)), out)
    return out


def center_distances(C: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Squared distances between all centres, of shape (n_units, n_units)."""
    blocks = Chunks(C, rows=chunk_rows(len(C)))
    return np.concatenate(each(lambda block: squared_distances(block[0], C), blocks, n_jobs=n_jobs))


@kernel
def add_squared_distances(X: Any, C: Any, squares: Any, out: Any) -> None:
    """out[i, k] += |x_i - c_k|²; the centres are columns of C (n_features, n_units), with squared lengths."""
    for i in range(out.shape[0]):
        add_row_distances(X, i, C, squares, out[i])


@verb
def add_row_distances(X: Rows, i: int, C: np.ndarray, squares: np.ndarray, out: np.ndarray) -> None:
    """out += squared distances of row i from all columns of C."""
    if isinstance(X, Sparse):
        s = slice(X.indptr[i], X.indptr[i + 1])
        x, Z = X.data[s].astype(np.float64)[:, None], C[X.indices[s]]
        out += np.maximum(squares + ((x - Z) ** 2 - Z**2).sum(axis=0), 0.0)
    else:
        out += ((X.values[i].astype(np.float64)[:, None] - C) ** 2).sum(axis=0)


@implement(add_row_distances)
def _add_row_distances(X: Any, i: Any, C: Any, squares: Any, out: Any) -> Any:
    if getattr(X, "instance_class", None) is Dense:

        def dense(X: Any, i: Any, C: Any, squares: Any, out: Any) -> None:
            row = X.values[i]
            for j in range(row.size):
                x, c = np.float64(row[j]), C[j]
                for k in range(out.size):
                    gap = x - c[k]
                    out[k] += gap * gap

        return dense

    def compressed(X: Any, i: Any, C: Any, squares: Any, out: Any) -> None:
        values = X.data[X.indptr[i] : X.indptr[i + 1]]
        at = X.indices[X.indptr[i] : X.indptr[i + 1]]
        for k in range(out.size):
            out[k] += squares[k]
        for s in range(values.size):
            x, c = np.float64(values[s]), C[np.uint64(at[s])]
            for k in range(out.size):
                out[k] += (x - c[k]) * (x - c[k]) - c[k] * c[k]
        for k in range(out.size):
            out[k] = max(out[k], 0.0)

    return compressed
