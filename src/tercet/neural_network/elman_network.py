"""Elman network (Elman 网络): a recurrent network whose context is its own hidden layer one time step before."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from scipy.special import expit

from tercet.core.catalog import method
from tercet.core.estimator import check_weight, generator
from tercet.core.fitted_checks import Floats
from tercet.core.input_errors import Explaining, refuse_containers
from tercet.core.kernel import inner, kernel
from tercet.core.parallel import total
from tercet.core.parameters import Count, Jobs, NonNegative, OpenFraction, Positive, Seed, check_parameters
from tercet.core.row_products import row_products
from tercet.core.rows import read_only
from tercet.core.scaling import LARGE
from tercet.core.validation import check_array
from tercet.optimize import RULES, lbfgs
from tercet.sequence import SequenceEstimator, Sequences

ACTIVATIONS = ("logistic", "tanh", "relu")
Activation = Literal["logistic", "tanh", "relu"]
Solver = Literal["adam", "sgd", "momentum", "lbfgs"]
CHUNK = 4096  # rows of the sequences whose gradient is computed at once
WEIGHTS = (
    "input_weights_",
    "recurrent_weights_",
    "hidden_intercept_",
    "output_weights_",
    "output_intercept_",
)


class RecurrentNetwork(SequenceEstimator):
    """The network of `ElmanNetwork` and `ElmanNetworkClassifier`; a subclass says what its outputs are.

    `_fit` gets checked `Sequences` and targets of shape (n_rows, n_outputs).
    """

    largest_value = LARGE
    streams_instead = "partial_fit with pieces of the sequences"
    output: str  # "identity", "logistic" or "softmax"

    n_units: Any
    activation: Any
    algorithm: Any
    n_steps: Any
    solver: Any
    alpha: Any
    batch_size: Any
    learning_rate: Any
    momentum: Any
    clip: Any
    max_iter: Any
    tol: Any
    n_iter_no_change: Any
    shuffle: Any
    random_state: Any
    n_jobs: Any

    input_weights_: np.ndarray
    recurrent_weights_: np.ndarray
    hidden_intercept_: np.ndarray
    output_weights_: np.ndarray
    output_intercept_: np.ndarray

    fitted_shapes = {
        "input_weights_": Floats("units features", finite=True),
        "recurrent_weights_": Floats("units units", finite=True),
        "hidden_intercept_": Floats("units", finite=True),
        "output_weights_": Floats("outputs units", finite=True),
        "output_intercept_": Floats("outputs", finite=True),
    }

    def _check_fitted(self, sizes: Any) -> None:
        """The averages of the update rule, from which `partial_fit` goes on, have a number for each weight."""
        state = dict(getattr(self, "optimizer_", {"t": 0}))
        weights = sum(np.size(getattr(self, name)) for name in WEIGHTS)
        steps = state.pop("t")
        if not isinstance(steps, int | np.integer) or any(
            np.shape(average) != (weights,) or np.asarray(average).dtype.kind != "f"
            for average in state.values()
        ):
            raise ValueError(
                f"{type(self).__name__}: optimizer_ must hold a whole number t and averages of {weights} numbers."
            )

    def _train(self, X: Sequences, Y: np.ndarray, weight: np.ndarray | None) -> None:
        """Learn all weights, from small random ones."""
        if self.solver == "lbfgs" and self.algorithm == "truncated":
            raise ValueError(
                f"{type(self).__name__}: solver='lbfgs' needs algorithm='bptt': truncated gradients are not the "
                "gradient of the loss. Use 'adam', 'sgd' or 'momentum'."
            )
        self.__dict__.pop("optimizer_", None)
        rng = generator(self.random_state)
        shapes = Shapes(X.shape[1], self.n_units, Y.shape[1])
        theta = shapes.random(rng)
        learn = self._minimise if self.solver == "lbfgs" else self._descend
        theta = learn(X, Y, weight, shapes, theta, rng)
        self.__dict__.update(shapes.attributes(theta))

    def _descend(
        self, X: Any, Y: Any, weight: Any, shapes: Shapes, theta: np.ndarray, rng: Any
    ) -> np.ndarray:
        """Stochastic gradient descent: an update after each batch of sequences."""
        rule, best, first, waiting = self._rule(), np.inf, np.inf, 0
        loop = self.steps(
            self.max_iter, unpack=shapes.attributes, hint="Raise max_iter, tol or learning_rate."
        )
        for step in loop:
            order = rng.permutation(len(X)) if self.shuffle else np.arange(len(X))
            before, (theta, loss) = theta, self._epoch(X, Y, weight, shapes, theta, rule, order)
            self._require_finite(loss, theta, before, shapes, step.count)
            step.report(theta, loss=loss)
            waiting = 0 if loss < best - self.tol else waiting + 1
            best = min(best, loss)
            first = loss if step.index == 0 else first
            if step.converged(waiting >= self.n_iter_no_change and loss <= first):  # else it diverges
                break
        self.optimizer_ = {"t": rule.t, **rule.averages}
        return theta

    def _epoch(
        self, X: Any, Y: Any, weight: Any, shapes: Shapes, theta: np.ndarray, rule: Any, order: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """One pass over the sequences: the weights after it, and the mean loss on the way."""
        sums = np.zeros(2)
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            part = None if weight is None else weight[batch]
            if part is not None and not part.any():
                continue
            error = SequenceError(self, X[batch], X.with_rows(Y)[batch].rows, part, shapes)
            loss, gradient = error.value_and_gradient(theta)
            sums += loss * error.mass, error.mass
            if not math.isfinite(loss):
                break
            theta = rule.step(theta, gradient)
        return theta, float(sums[0] / sums[1])

    def _minimise(
        self, X: Any, Y: Any, weight: Any, shapes: Shapes, theta: np.ndarray, rng: Any
    ) -> np.ndarray:
        """L-BFGS on the loss of all sequences."""

        def steps(limit: int) -> Any:
            return self.steps(limit, unpack=shapes.attributes, hint="Raise max_iter or tol.")

        error = SequenceError(self, X, Y, weight, shapes)
        stop = {"gradient": 1e-2 * self.tol, "value": 1e-2 * self.tol}
        search = "weak-wolfe" if self.activation == "relu" else "wolfe"
        return lbfgs(error, theta, line_search=search, steps=steps, max_iter=self.max_iter, stop=stop).x

    def _rule(self) -> Any:
        """The update rule of the solver."""
        more = {"beta1": self.momentum, "average": False} if self.solver == "momentum" else {}
        return RULES[self.solver](learning_rate=self.learning_rate, clip=self.clip, **more)

    def _require_finite(self, loss: float, theta: Any, before: Any, shapes: Shapes, count: int) -> None:
        """An error where the weights have diverged; the model keeps those of the pass before."""
        if math.isfinite(loss) and np.isfinite(theta).all():
            return
        self.__dict__.update(shapes.attributes(before))
        raise ValueError(
            f"{type(self).__name__}: the loss is not finite in pass {count}; take a smaller learning_rate than "
            f"{self.learning_rate:g}, such as {self.learning_rate / 10:g}, or set clip to limit the norm of "
            f"gradients (here {self.clip!r}). The weights of the pass before are kept."
        )

    def _learn_batch(self, X: Sequences, Y: np.ndarray, weight: np.ndarray | None, first: bool) -> None:
        """One pass over the sequences in their order, from the weights and the optimiser's state so far."""
        if self.solver == "lbfgs":
            raise ValueError(
                f"{type(self).__name__}: partial_fit needs solver to be 'adam', 'sgd' or 'momentum'; got 'lbfgs'."
            )
        shapes = Shapes(X.shape[1], self.n_units, Y.shape[1])
        rule = self._rule()
        if first:
            theta = shapes.random(generator(self.random_state))
        else:
            theta = np.concatenate([getattr(self, name).ravel() for name in WEIGHTS])
            state = dict(getattr(self, "optimizer_", {"t": 0}))
            rule.t, rule.averages = state.pop("t"), state
        before = theta
        theta, loss = self._epoch(X, Y, weight, shapes, theta, rule, np.arange(len(X)))
        self._require_finite(loss, theta, before, shapes, 1)
        self.optimizer_ = {"t": rule.t, **rule.averages}
        self.__dict__.update(shapes.attributes(theta))

    def _given_batch(
        self, X: Any, y: Any, lengths: Any, sample_weight: Any
    ) -> tuple[Sequences, Any, np.ndarray | None, bool]:
        """Checked sequences, targets and weights of a `partial_fit`, and whether it is the first."""
        check_parameters(self)
        first = not hasattr(self, "input_weights_")
        X, y = self._check(Sequences.of(X, lengths), y, reset=first)
        return X, y, check_weight(sample_weight, X), first

    def hidden_states(self, X: Any, lengths: Any = None) -> Any:
        """The values h_t of the hidden units.

        Parameters
        ----------
        X : list of sequences, or table of shape (n_rows, n_features)
            The sequences.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.

        Returns
        -------
        states : list of arrays of shape (length, n_units), or array of shape (n_rows, n_units)
        """
        X = self._given(X, lengths)
        return X.like_given(self._states(X))

    def _states(self, X: Sequences) -> np.ndarray:
        H = row_products(X.rows, self.input_weights_).astype(np.float64) + self.hidden_intercept_
        recur(H, *self._recurrence(X.borders))
        return H

    def _recurrence(self, borders: np.ndarray) -> tuple[Any, ...]:
        """Arguments of the kernels for the recurrent layer: W, the borders of sequences and the number of f."""
        W = np.ascontiguousarray(self.recurrent_weights_)
        return read_only(W), read_only(borders), ACTIVATIONS.index(self.activation)

    def _outputs(self, X: Any, lengths: Any) -> tuple[Sequences, np.ndarray]:
        """The sequences, and the outputs y_t of all rows, of the type of the rows."""
        X = self._given(X, lengths)
        scores = row_products(self._states(X), self.output_weights_) + self.output_intercept_
        return X, output_values(scores, self.output).astype(X.dtype, copy=False)


@method(
    zh="Elman 网络",
    task="sequence regression",
    model="h_t = f(U x_t + W h_t-1 + b), y_t = g(V h_t + c), h_0 = 0",
    strategy="Σ_t |y_t - target_t|² / 2 + alpha |weights|² / 2",
    loss="squared",
    convex=False,
    algorithms={
        "bptt": "back-propagation through time over whole sequences",
        "truncated": "back-propagation through n_steps time steps; Elman's own algorithm for one",
    },
    texts=["watermelon notes ch. 3, sec. 3.5"],
)
class ElmanNetwork(RecurrentNetwork):
    """Elman network: a recurrent network that predicts numbers at each time step of a sequence.

        h_t = f(U x_t + W h_{t-1} + b),    y_t = g(V h_t + c),    h_0 = 0

    The hidden layer gets its own values of the time step before as context. The gradient of the squared error is
    found by back-propagation through time, over the whole sequence or over its last steps.

    Parameters
    ----------
    n_units : int, default=16
        The number of hidden units.
    activation : {"logistic", "tanh", "relu"}, default="tanh"
        The function f of the hidden units.
    output : {"identity", "logistic"}, default="identity"
        The function g of the outputs; "logistic" needs targets from 0 to 1.
    algorithm : {"bptt", "truncated"}, default="bptt"
        How far errors are propagated back: to the beginning of the sequence, or through `n_steps` time steps.
    n_steps : int, default=1
        The time steps of "truncated"; with 1, Elman's algorithm, the context is an input like any other.
    solver : {"adam", "sgd", "momentum", "lbfgs"}, default="adam"
        The optimiser: an update rule after each batch of sequences, or L-BFGS on all of them.
    alpha : float, default=0.0
        Strength of the L2 penalty on all weights.
    batch_size : int, default=32
        Sequences in a batch.
    learning_rate : float, default=0.01
        The step length of "adam", "sgd" and "momentum".
    momentum : float, default=0.9
        The share of the last step that "momentum" adds to the next one.
    clip : float, optional, default=1.0
        The largest norm of a gradient; a longer one is shortened to it. None for no limit. Not for "lbfgs".
    max_iter : int, default=200
        The most passes over the sequences.
    tol : float, default=1e-4
        The least decrease of the loss that counts.
    n_iter_no_change : int, default=10
        Converged when the loss has not decreased in so many passes ("lbfgs" ends when it falls by less than a
        hundredth of `tol`).
    shuffle : bool, default=True
        Whether the sequences are visited in random order.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the first weights and of the order of sequences.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    input_weights_ : array of shape (n_units, n_features)
        U.
    recurrent_weights_ : array of shape (n_units, n_units)
        W.
    hidden_intercept_ : array of shape (n_units,)
        b.
    output_weights_ : array of shape (n_outputs, n_units)
        V.
    output_intercept_ : array of shape (n_outputs,)
        c.
    single_output_ : bool
        Whether the targets were single numbers, so that predictions are.
    optimizer_ : dict
        The state of the update rule, from which the next `partial_fit` continues.
    n_iter_ : int
        Passes made.
    history_ : dict
        The mean loss of each pass.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.integers(0, 2, (8, 1)).astype(float) for _ in range(100)]
    >>> y = [x[:, 0].cumsum() % 2 for x in X]  # the parity of the ones so far
    >>> model = ElmanNetwork(8, learning_rate=0.03, max_iter=300, random_state=0).fit(X, y)
    >>> model.predict([[[1], [0], [1], [1]]])[0].round().astype(int).tolist()
    [1, 1, 0, 1]
    """

    def __init__(
        self,
        n_units: Count = 16,
        *,
        activation: Activation = "tanh",
        output: Literal["identity", "logistic"] = "identity",
        algorithm: Literal["bptt", "truncated"] = "bptt",
        n_steps: Count = 1,
        solver: Solver = "adam",
        alpha: NonNegative = 0.0,
        batch_size: Count = 32,
        learning_rate: Positive = 0.01,
        momentum: OpenFraction = 0.9,
        clip: Positive | None = 1.0,
        max_iter: Count = 200,
        tol: NonNegative = 1e-4,
        n_iter_no_change: Count = 10,
        shuffle: bool = True,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_units = n_units
        self.activation = activation
        self.output = output
        self.algorithm = algorithm
        self.n_steps = n_steps
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.clip = clip
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Sequences, y: Sequences, sample_weight: np.ndarray | None) -> None:
        self._refuse_out_of_range(y.rows)
        self.single_output_ = y.rows.ndim == 1
        self._train(X, y.rows.reshape(len(y.rows), -1), sample_weight)

    def _refuse_out_of_range(self, Y: np.ndarray) -> None:
        if self.output == "logistic" and (Y.min() < 0 or Y.max() > 1):
            raise ValueError(
                f"ElmanNetwork: y must be in [0, 1], the range of logistic outputs; it holds numbers from "
                f"{Y.min():g} to {Y.max():g}. Scale the targets, or use output='identity'."
            )

    def _check(self, X: Any, y: Any = None, *, reset: bool = True) -> Any:
        if y is None:
            raise ValueError("ElmanNetwork requires y to be passed, but the target y is None.")
        X = self._rows(X, reset=reset)
        return X, X.with_rows(targets_like(y, X))

    def partial_fit(self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None) -> Self:
        """One pass over further sequences, which continues from the weights so far.

        Parameters
        ----------
        X : list of sequences, or table of shape (n_rows, n_features)
            The sequences, visited in their order.
        y : list of arrays, or array of shape (n_rows,) or (n_rows, n_outputs)
            The targets.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.
        sample_weight : array of shape (n_sequences,), optional
            Weight of each sequence.

        Returns
        -------
        self
        """
        X, y, weight, first = self._given_batch(X, y, lengths, sample_weight)
        self._refuse_out_of_range(y.rows)
        Y = y.rows.reshape(len(y.rows), -1)
        if first:
            self.single_output_ = y.rows.ndim == 1
        elif Y.shape[1] != len(self.output_intercept_):
            raise ValueError(
                f"ElmanNetwork: y has {Y.shape[1]} outputs; expected {len(self.output_intercept_)}, as in the "
                "first call."
            )
        self._learn_batch(X, Y, weight, first)
        return self

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The outputs y_t.

        Parameters
        ----------
        X : list of sequences, or table of shape (n_rows, n_features)
            The sequences.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.

        Returns
        -------
        y : list of arrays, or array of shape (n_rows,) or (n_rows, n_outputs)
            A list for a list of sequences.
        """
        X, values = self._outputs(X, lengths)
        return X.like_given(values[:, 0] if self.single_output_ else values)

    def score(self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None) -> float:
        """R² over all time steps.

        Parameters
        ----------
        X : list of sequences, or table of shape (n_rows, n_features)
            The sequences.
        y : list of arrays, or array of shape (n_rows,) or (n_rows, n_outputs)
            The true targets.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.
        sample_weight : array of shape (n_sequences,), optional
            Weight of each sequence.

        Returns
        -------
        r2 : float
        """
        from sklearn.metrics import r2_score

        X, values = self._outputs(X, lengths)
        weight = check_weight(sample_weight, X, relative=True)
        by_row = None if weight is None else np.repeat(weight, X.lengths)
        true = targets_like(y, X)
        return float(r2_score(true, values[:, 0] if true.ndim == 1 else values, sample_weight=by_row))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


@method(
    zh="Elman 网络的前向计算",
    task="function",
    model="h_t = f(U x_t + W h_t-1 + b), y_t = g(V h_t + c), h_0 = 0",
    texts=["watermelon notes ch. 3, sec. 3.5"],
)
def elman_forward(
    X: Any, U: Any, W: Any, b: Any, V: Any, c: Any, *, activation: str = "logistic", output: str = "identity"
) -> tuple[np.ndarray, np.ndarray]:
    """Hidden states and outputs of an Elman network with given weights, for one sequence.

    Parameters
    ----------
    X : array of shape (length, n_features)
        The inputs x_t.
    U, W, b : arrays of shape (n_units, n_features), (n_units, n_units) and (n_units,)
        Weights of the inputs and of the context, and the biases of the hidden units.
    V, c : arrays of shape (n_outputs, n_units) and (n_outputs,)
        Weights and biases of the outputs.
    activation : {"logistic", "tanh", "relu"}, default="logistic"
        The function f of the hidden units.
    output : {"identity", "logistic", "softmax"}, default="identity"
        The function g of the outputs.

    Returns
    -------
    H : array of shape (length, n_units)
        The hidden states h_t.
    Y : array of shape (length, n_outputs)
        The outputs y_t.

    Examples
    --------
    >>> U, W, b = [[0.5], [-0.3]], [[0.1, 0.2], [0.0, -0.4]], [0.0, 0.1]
    >>> H, Y = elman_forward([[1.0], [0.5]], U, W, b, [[1.0, -1.0]], [0.2])
    >>> H.round(6)
    array([[0.622459, 0.450166],
           [0.599235, 0.442736]])
    >>> Y[:, 0].round(6)
    array([0.372293, 0.356499])
    """
    if activation not in ACTIVATIONS or output not in ("identity", "logistic", "softmax"):
        raise ValueError(
            f"activation must be one of {', '.join(map(repr, ACTIVATIONS))} and output 'identity', 'logistic' or "
            f"'softmax'; got {activation!r} and {output!r}."
        )
    functions = {"logistic": expit, "tanh": np.tanh, "relu": lambda z: np.maximum(z, 0.0)}
    X, U, W, b, V, c = (np.asarray(part, dtype=np.float64) for part in (X, U, W, b, V, c))
    d, q, k = X.shape[-1] if X.ndim else 0, b.size, c.size
    wanted = {"X": (X, (len(X) if X.ndim else 0, d)), "U": (U, (q, d)), "W": (W, (q, q)), "b": (b, (q,))}
    for name, (part, shape) in {**wanted, "V": (V, (k, q)), "c": (c, (k,))}.items():
        if part.shape != shape:
            raise ValueError(f"elman_forward: {name} has the shape {part.shape}; expected {shape}.")
    h, states = np.zeros(len(b)), []
    for x in X:
        h = functions[activation](U @ x + W @ h + b)
        states.append(h)
    H = np.array(states)
    return H, output_values(H @ V.T + c, output)


class Shapes:
    """The weights U, W, b, V and c of a network as one vector."""

    def __init__(self, n_features: int, n_units: int, n_outputs: int) -> None:
        d, q, k = n_features, n_units, n_outputs
        self.shapes = ((q, d), (q, q), (q,), (k, q), (k,))
        self.borders = np.cumsum([0, *(math.prod(shape) for shape in self.shapes)])

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """First weights: uniform, by the number of inputs of each unit; biases are 0."""
        q, d = self.shapes[0]
        limits = (1 / math.sqrt(d), 1 / math.sqrt(q), 0.0, 1 / math.sqrt(q), 0.0)
        return np.concatenate(
            [limit * rng.uniform(-1, 1, shape).ravel() for limit, shape in zip(limits, self.shapes)]
        )

    def unpack(self, theta: np.ndarray) -> Iterator[np.ndarray]:
        """U, W, b, V and c."""
        for shape, start, stop in zip(self.shapes, self.borders[:-1], self.borders[1:]):
            yield theta[start:stop].reshape(shape)

    def attributes(self, theta: np.ndarray) -> dict[str, Any]:
        """The fitted attributes."""
        return {name: part.copy() for name, part in zip(WEIGHTS, self.unpack(theta))}


class SequenceError:
    """The mean loss of some sequences per time step, with its gradient, as an objective of `minimize`."""

    def __init__(
        self, model: RecurrentNetwork, X: Sequences, Y: np.ndarray, weight: np.ndarray | None, shapes: Shapes
    ) -> None:
        self.X, self.Y, self.shapes = X, Y, shapes
        by_row = None if weight is None else np.repeat(weight.astype(np.float64), X.lengths)
        self.weight, self.mass = by_row, float(X.borders[-1]) if by_row is None else float(by_row.sum())
        self.alpha, self.n_jobs = model.alpha, model.n_jobs
        self.layer = ACTIVATIONS.index(model.activation), model.output
        self.depth = 0 if model.algorithm == "bptt" else model.n_steps

    def value(self, theta: np.ndarray) -> float:
        return self.value_and_gradient(theta)[0]

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(theta)[1]

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss and its gradient (or the truncated one)."""
        weights = tuple(self.shapes.unpack(theta))
        loss, *parts = total(
            back_propagation_through_time, self.X.chunks(CHUNK), self.X, self.Y, self.weight, weights,
            self.layer, self.depth, n_jobs=self.n_jobs,
        )  # fmt: skip
        gradient = np.concatenate([part.ravel() for part in parts]) / self.mass + self.alpha * theta
        return loss / self.mass + self.alpha / 2 * float(theta @ theta), gradient


def back_propagation_through_time(
    span: tuple[int, int], X: Sequences, Y: np.ndarray, weight: Any, weights: Any, layer: Any, depth: int
) -> tuple[Any, ...]:
    """The loss of some sequences, and its derivatives by U, W, b, V and c.

    Parameters
    ----------
    span : (from, to)
        Which sequences.
    depth : int
        The time steps that errors go back; 0 for all.
    """
    U, W, b, V, c = weights
    activation, output = layer
    start, stop = X.borders[span[0]], X.borders[span[1]]
    borders = read_only(X.borders[span[0] : span[1] + 1] - start)
    rows = X.rows[start:stop]
    H = np.ascontiguousarray(rows @ U.T + b, dtype=np.float64)
    recur(H, read_only(np.ascontiguousarray(W)), borders, activation)
    losses, slopes = output_errors(H @ V.T + c, Y[start:stop], output)
    if weight is not None:
        losses, slopes = weight[start:stop] * losses, weight[start:stop, None] * slopes
    delta = slopes @ V  # derivatives by h_t through y_t alone; then by the net input of h_t
    propagate_back(delta, read_only(H), read_only(np.ascontiguousarray(W.T)), borders, activation, depth)
    context = np.zeros_like(H)
    context[1:] = H[:-1]
    context[borders[:-1]] = 0.0  # h_0 of each sequence
    by_inputs = np.asarray(rows.T @ delta).T
    return (
        float(losses.sum()), by_inputs, delta.T @ context, delta.sum(axis=0), slopes.T @ H, slopes.sum(axis=0)
    )  # fmt: skip


def output_values(scores: np.ndarray, output: str) -> np.ndarray:
    """g of the net inputs of the outputs.

    Examples
    --------
    >>> output_values(np.array([[0.0, 0.0]]), "softmax")
    array([[0.5, 0.5]])
    """
    from tercet.core.functions import softmax

    if output == "softmax":
        return softmax(scores)
    return expit(scores) if output == "logistic" else scores


def output_errors(scores: np.ndarray, Y: np.ndarray, output: str) -> tuple[np.ndarray, np.ndarray]:
    """The loss of each row, and its derivatives by the net inputs of the outputs.

    Half the squared error, or cross-entropy of one-of-C codes Y for "softmax".
    """
    from tercet.core.functions import log_softmax

    if output == "softmax":
        logs = log_softmax(scores)
        return -(Y * logs).sum(axis=1), np.exp(logs) - Y
    values = output_values(scores, output)
    errors = values - Y
    slopes = errors * values * (1 - values) if output == "logistic" else errors
    return 0.5 * (errors * errors).sum(axis=1), slopes


def targets_like(y: Any, X: Sequences) -> np.ndarray:
    """Targets of all rows, of shape (n_rows,) or (n_rows, n_outputs), from one table or one for each sequence."""
    if isinstance(y, Sequences):
        return y.rows
    refuse_containers(y=y)
    if sparse.issparse(y):
        raise TypeError(f"y must be numbers in a list or an array; got a sparse matrix of shape {y.shape}.")
    n = int(X.borders[-1])
    if isinstance(y, list | tuple) and X.listed and len(y) == len(X) and (np.ndim(y[0]) > 0 or len(y) != n):
        with Explaining(y=y):
            parts = [np.asarray(part, dtype=np.float64) for part in y]
        for s, (part, length) in enumerate(zip(parts, X.lengths)):
            if part.shape[:1] != (length,):
                raise ValueError(f"Sequence {s} has {length} rows, but targets of shape {part.shape}.")
        if len({part.shape[1:] for part in parts}) > 1:
            raise ValueError("y: the targets of all sequences must have the same number of outputs.")
        y = np.concatenate(parts)
    Y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    if Y.ndim not in (1, 2) or len(Y) != n:
        raise ValueError(
            f"y must have a target for each row of X: {n} rows in {len(X)} sequences; got the shape {Y.shape}."
        )
    if not (np.abs(Y) < LARGE).all():
        raise ValueError(
            f"y holds numbers up to {np.abs(Y).max():.3g}; must be below {LARGE:g}. Scale the targets."
        )
    return np.require(Y, np.float64, ["C", "W"])


@kernel
def recur(H: Any, W: Any, borders: Any, activation: Any) -> None:
    """h_t = f(z_t + W h_{t-1}), in the place of z_t, the part of the net input that does not depend on h."""
    for s in range(borders.size - 1):
        for t in range(borders[s], borders[s + 1]):
            h = H[t]
            if t > borders[s]:
                before = H[t - 1]
                for i in range(h.size):
                    w = W[i]
                    z = 0.0
                    for j in range(w.size):
                        z += w[j] * before[j]
                    h[i] += z
            for i in range(h.size):
                h[i] = activated(h[i], activation)


@kernel
def propagate_back(D: Any, H: Any, W: Any, borders: Any, activation: Any, depth: Any) -> None:
    """Derivatives by the net inputs of hidden units, in the place of those by h_t through y_t alone.

    W is transposed here: row i has the weights from unit i to all units of the next time step. With `depth` > 0
    errors go back so many time steps: parts[j] holds the errors of time t + j.
    """
    q = H.shape[1]
    parts = np.zeros((max(depth, 1), q))
    for s in range(borders.size - 1):
        parts[:] = 0.0
        for t in range(borders[s + 1] - 1, borders[s] - 1, -1):
            if depth > 0:
                for j in range(depth - 1, 0, -1):
                    for i in range(q):
                        parts[j, i] = slope_of(H[t, i], activation) * dot(W[i], parts[j - 1])
                for i in range(q):
                    parts[0, i] = slope_of(H[t, i], activation) * D[t, i]
                for i in range(q):
                    D[t, i] = parts[0, i]
                    for j in range(1, depth):
                        D[t, i] += parts[j, i]
            else:
                for i in range(q):
                    error = D[t, i]
                    if t + 1 < borders[s + 1]:
                        error += dot(W[i], D[t + 1])
                    D[t, i] = slope_of(H[t, i], activation) * error


@inner
def dot(w: Any, x: Any) -> float:
    """w'x.

    Examples
    --------
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    np.float64(11.0)
    """
    total = 0.0
    for j in range(w.size):
        total += w[j] * x[j]
    return total


@inner
def activated(z: float, activation: int) -> float:
    """f(z), for the number of f in `ACTIVATIONS`.

    Examples
    --------
    >>> activated(0.0, 0), activated(0.0, 1), activated(-1.0, 2)
    (0.5, 0.0, 0.0)
    """
    if activation == 0:
        return 0.5 + 0.5 * math.tanh(0.5 * z)  # the logistic function, which does not overflow like this
    if activation == 1:
        return math.tanh(z)
    return max(z, 0.0)


@inner
def slope_of(h: float, activation: int) -> float:
    """f'(z) from h = f(z).

    Examples
    --------
    >>> slope_of(0.5, 0), slope_of(0.0, 1), slope_of(0.0, 2)
    (0.25, 1.0, 0.0)
    """
    if activation == 0:
        return h * (1.0 - h)
    if activation == 1:
        return 1.0 - h * h
    return 1.0 if h > 0.0 else 0.0
