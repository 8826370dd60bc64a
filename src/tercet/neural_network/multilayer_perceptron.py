"""Multilayer perceptrons (多层感知机): feedforward networks trained by back-propagation."""

from __future__ import annotations

import functools
import warnings
from itertools import pairwise
from numbers import Real
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from tercet.core.catalog import method
from tercet.core.estimator import Classifier, Estimator, Regressor, check_weight, distinct
from tercet.core.fitted_checks import Each, Floats, OneOf, Whole
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import (
    INF,
    Count,
    Fraction,
    NonNegative,
    OpenFraction,
    Positive,
    Range,
    Seed,
    check_parameters,
)
from tercet.core.scoring import rejection_label
from tercet.core.steps import QUIET, ConvergenceWarning
from tercet.core.streams import is_streamed
from tercet.core.validation import check_is_fitted, check_structure, finite_predictions
from tercet.neural_network._mlp.epochs import (
    AccumulatedBPEpochs,
    Adam,
    MiniBatchEpochs,
    Momentum,
    StandardBPEpochs,
)
from tercet.neural_network._mlp.network import Layout, network_outputs
from tercet.neural_network._mlp.objective import Penalty, WholeObjective
from tercet.neural_network.back_propagation import check_target_range
from tercet.neural_network.initial_weights import Initial, initial_weights
from tercet.neural_network.output_coding import OutputCode
from tercet.optimize import lbfgs

Hidden = Literal["identity", "logistic", "tanh", "relu"]
Solver = Literal["lbfgs", "sgd", "adam", "bp", "accumulated-bp"]
BelowOne = Annotated[float, Range(0, 1, "[)")]
Infinity = Annotated[float, Range(INF, INF)]
VALUE_TOL = 2.2e-9  # decrease of the objective at which L-BFGS stops, as in SciPy
MOST_PARAMETERS = 2**31 - 1
LEAST_RATE = 1e-6  # learning rate at which "adaptive" stops
LEAST_RISE = 0.01  # share of the first loss by which the last one must exceed it to count as divergence
NOT_FINITE = (
    "Solver produced non-finite parameter weights. The input data may contain large values and need to be "
    "preprocessed."
)
CURVES = ("loss_curve_", "validation_scores_", "best_loss_", "best_validation_score_", "t_")
ALGORITHMS = {
    "adam": "mini-batches, with steps scaled by averages of past gradients",
    "sgd": "mini-batches with momentum",
    "lbfgs": "L-BFGS on the whole objective",
    "bp": "standard back-propagation: each row moves the weights",
    "accumulated-bp": "back-propagation of the mean error: one update per epoch",
}
TEXTS = [
    "watermelon notes ch. 3, eq. 3.3-3.13",
    "Pattern Recognition ch. 5, sec. 5.4, eq. 5-17 to 5-29",
    "Studies ML ch. 5, eq. 5.3-5.17",
]


class MultilayerPerceptron(Estimator):
    """Base of the classifier and the regressor: the network, its objective and how it is trained."""

    multi_output = True
    batch_rounding = 1e-9  # layers are products by BLAS
    streaming = True

    hidden_layer_sizes: Any
    activation: str
    solver: str
    alpha: float
    batch_size: Any
    learning_rate: str
    learning_rate_init: float
    power_t: float
    max_iter: int
    loss: str
    shuffle: bool
    random_state: Any
    tol: float
    verbose: Any
    warm_start: bool
    momentum: float
    nesterovs_momentum: bool
    early_stopping: bool
    validation_fraction: float
    beta_1: float
    beta_2: float
    epsilon: float
    n_iter_no_change: float
    max_fun: int
    init: Any
    error_weight: float | None
    target_loss: float | None
    weight_tol: float | None
    switch_below: float | None

    coefs_: list[np.ndarray]
    intercepts_: list[np.ndarray]
    n_layers_: int
    n_outputs_: int
    out_activation_: str
    loss_: float
    loss_curve_: Any
    best_loss_: Any
    validation_scores_: Any
    best_validation_score_: Any
    t_: int
    _seed: int
    _updates: dict[str, Any]
    fitted_shapes = {
        "coefs_": Each(Floats("inputs@ units@", finite=True), "layers"),
        "intercepts_": Each(Floats("units@", finite=True), "layers"),
        "n_layers_": Whole(low=2),
        "n_outputs_": Whole(low=1),
        "out_activation_": OneOf(("identity", "logistic", "tanh", "softmax", "exp")),
        "t_": Whole(),
        "best_loss_": lambda model: None if model.early_stopping else Floats(""),
        "best_validation_score_": lambda model: Floats("") if model.early_stopping else None,
        "_no_improvement_count": Whole(),
    }

    def _check_fitted(self, sizes: Any) -> None:
        if "coefs_" in vars(self):
            self._layout(np.float64)

    def _streaming_refusal(self) -> str:
        instead = (
            "Use 'lbfgs' or 'accumulated-bp', 'adam' or 'sgd' with shuffle=False, or partial_fit on batches."
        )
        if self.solver == "lbfgs":
            return ""
        if self.early_stopping:
            return "early_stopping=True draws the rows to validate on. Set early_stopping=False."
        if self.solver == "bp":
            return f"solver='bp' visits single rows. {instead}"
        if self.solver == "accumulated-bp" and self.switch_below is not None:
            return "switch_below goes on with standard back-propagation, which visits single rows. Set it to None."
        if self.solver in ("adam", "sgd") and self.shuffle:
            return f"shuffle=True visits the rows in a random order. {instead}"
        return ""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network on rows X with targets y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The training data; scale the features first.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            The targets: labels, several 0/1 labels per row, or numbers.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row; a weight of 2 is equivalent to repeating the row. For "adam", "sgd", "bp" and the
            epochs after `switch_below` this holds in expectation: the loss of a batch is divided by its number of
            rows times the mean weight of all rows. (scikit-learn divides by the sum of the weights in the batch.)

        Returns
        -------
        self
        """
        kept = vars(self) if self.warm_start and "coefs_" in vars(self) else {}
        self._continued = {name: kept[name] for name in CURVES if name in kept}
        try:
            return self._learn(X, y, sample_weight)
        finally:
            del self._continued

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        T = self._targets(y)
        rng = random_stream(self.random_state)
        layout, flat = self._network(X, T, rng, go_on=bool(self.warm_start))
        for name in (*CURVES, *(() if self._continued else ("loss_", "_updates"))):
            self.__dict__.pop(name, None)
        self.t_ = int(self._continued.get("t_", 0))
        if self.solver == "lbfgs":
            flat = self._minimise(layout, flat, X, T, sample_weight)
        else:
            self._begin_curves(self._continued)
            with one_blas_thread():
                flat = self._train(layout, flat, X, T, sample_weight, rng)
        self.__dict__.update(self._fitted(layout, flat))

    def _train(
        self, layout: Layout, flat: np.ndarray, X: Any, T: np.ndarray, weight: Any, rng: np.random.RandomState
    ) -> np.ndarray:
        """Epochs of updates, until the loss or the validation score no longer improves."""
        X, T, weight, held = self._hold_out(X, T, weight, rng)
        epochs = self._epochs(layout, X, T, weight)
        best, order = flat, np.arange(X.shape[0])
        for step in self.steps(
            self.max_iter,
            unpack=lambda state: self._fitted(layout, state),
            hint="Raise max_iter or learning_rate_init, or scale the features.",
        ):
            before = flat.copy()
            order = order[rng.permutation(order.size)] if self.shuffle else order
            loss = epochs.run(flat, order if self.shuffle else None)
            if not (np.isfinite(loss) and np.isfinite(flat).all()):
                flat = self._diverged(step, layout, before)
                break
            self.loss_, self.t_ = loss, self.t_ + order.size
            self.loss_curve_.append(self.loss_)
            measures = {"loss": self.loss_}
            if held is not None:
                measures["validation_score"] = self._validate(layout, flat, *held)
            if self.verbose:
                print(f"Iteration {step.count}, " + ", ".join(f"{k} = {v:.8f}" for k, v in measures.items()))
            if self._improves(measures) and held is not None:
                best = flat.copy()
            step.report(flat.copy(), **measures)
            epochs = self._switched(epochs, layout, X, T, weight)
            if step.converged(self._stops(epochs.rule, flat, before)):
                if self._no_improvement_count > self.n_iter_no_change:
                    warn_of_risen_loss(self, step, self.loss_curve_, "learning_rate_init")
                break
        self._updates = epochs.rule.state
        return best if held is not None else flat

    def _minimise(self, layout: Layout, flat: np.ndarray, X: Any, T: Any, weight: Any) -> np.ndarray:
        """L-BFGS on the whole objective."""
        objective = WholeObjective(layout, self._penalty(layout), X, T, weight)

        loop = functools.partial(
            self.steps,
            unpack=lambda theta: self._fitted(layout, theta),
            hint="Raise max_iter or tol, or scale the features.",
        )
        try:
            found = lbfgs(
                objective, flat, tol=self.tol, max_iter=self.max_iter,
                line_search="weak-wolfe" if self.activation == "relu" else "wolfe",
                stop={"gradient": self.tol, "value": VALUE_TOL}, steps=loop,
                callback=lambda step: objective.calls >= self.max_fun,
            )  # fmt: skip
        except ValueError:
            if np.isfinite(objective.value(flat)):
                raise
            raise ValueError(
                f"{type(self).__name__}: the loss at the initial weights is not finite. The input data may contain "
                "large values and need to be preprocessed."
            ) from None
        if objective.calls >= self.max_fun and not found.success:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_fun={self.max_fun} evaluations. Raise max_fun or "
                "tol, or scale the features.",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.loss_ = float(found.fun)
        return found.x.astype(layout.dtype)

    def _network(
        self, X: Any, T: np.ndarray, rng: np.random.RandomState, *, go_on: bool
    ) -> tuple[Layout, np.ndarray]:
        """The layout and the parameters to begin with: drawn, given, or those of the last fit."""
        sizes = [X.shape[1], *self._hidden_sizes(), T.shape[1]]
        self.n_layers_, self.n_outputs_ = len(sizes), T.shape[1]
        self.out_activation_, loss = self._output()
        layout = Layout(sizes, self.activation, self.out_activation_, loss, X.dtype)
        if layout.n_parameters > MOST_PARAMETERS:
            raise ValueError(
                f"{type(self).__name__}: hidden_layer_sizes={self.hidden_layer_sizes!r} asks for "
                f"{layout.n_parameters:,} weights; at most {MOST_PARAMETERS:,} are possible."
            )
        if go_on and "coefs_" in vars(self):
            shapes = [np.shape(coef) for coef in self.coefs_]
            if shapes != layout.shapes:
                raise ValueError(
                    f"{type(self).__name__}: the network that was fitted before has layers of the shapes {shapes}; "
                    f"hidden_layer_sizes={self.hidden_layer_sizes!r}, X and y ask for {layout.shapes}. Set "
                    "warm_start=False to begin anew."
                )
            return layout, layout.flat(self.coefs_, self.intercepts_)
        start = initial_weights(self.init, sizes, self.activation, rng, type(self).__name__)
        return layout, layout.flat(*start)

    def _hidden_sizes(self) -> list[int]:
        """Units of the hidden layers."""
        given = self.hidden_layer_sizes
        sizes = list(given) if hasattr(given, "__iter__") else [given]
        whole = all(isinstance(size, Real) and not isinstance(size, bool) and size % 1 == 0 for size in sizes)
        if not whole or any(size <= 0 for size in sizes):
            raise ValueError(
                f"{type(self).__name__}: hidden_layer_sizes must be > 0, got {sizes}. Give a whole number of units "
                "for each hidden layer."
            )
        return [int(size) for size in sizes]

    def _penalty(self, layout: Layout) -> Penalty:
        return Penalty(self.alpha, self.error_weight, layout)

    def _epochs(self, layout: Layout, X: Any, T: Any, weight: Any, updates: Any = None) -> Any:
        """The epochs of this solver; `updates` restores the momentum and the averages of an earlier call."""
        penalty, n, rate = self._penalty(layout), layout.n_parameters, self.learning_rate_init
        if self.solver == "adam":
            rule: Any = Adam(n, layout.dtype, rate, self.beta_1, self.beta_2, self.epsilon)
        else:
            nesterov = self.solver == "sgd" and self.nesterovs_momentum
            rule = Momentum(n, layout.dtype, rate, self.momentum, nesterov)
        if updates is not None and all(np.shape(updates.get(name)) == (n,) for name in rule.arrays):
            rule.state = {**updates, **{name: updates[name].astype(layout.dtype) for name in rule.arrays}}
            if self.learning_rate == "constant":  # it may have been set to another number since
                rule.state["learning_rate"] = float(rate)
        if self.solver == "bp":
            return StandardBPEpochs(layout, penalty, rule, X, T, weight)
        if self.solver == "accumulated-bp":
            return AccumulatedBPEpochs(layout, penalty, rule, X, T, weight)
        return MiniBatchEpochs(layout, penalty, rule, X, T, weight, self._batch_rows(X.shape[0]))

    def _batch_rows(self, n: int) -> int:
        """Rows of a mini-batch."""
        if self.batch_size == "auto":
            return min(200, n)
        if self.batch_size > n:
            warnings.warn(
                "Got `batch_size` less than 1 or larger than sample size. It is going to be clipped",
                UserWarning,
                stacklevel=2,
            )
        return int(min(self.batch_size, n))

    def _switched(self, epochs: Any, layout: Layout, X: Any, T: Any, weight: Any) -> Any:
        """Standard in place of accumulated back-propagation, once the error falls by less than `switch_below`."""
        if self.switch_below is None or not isinstance(epochs, AccumulatedBPEpochs):
            return epochs
        curve = self.loss_curve_[-2:]
        if len(curve) < 2 or curve[0] - curve[1] >= self.switch_below * abs(curve[0]):
            return epochs
        return StandardBPEpochs(layout, self._penalty(layout), epochs.rule, X, T, weight)

    def _hold_out(self, X: Any, T: np.ndarray, weight: Any, rng: np.random.RandomState) -> Any:
        """Rows to train on, and rows to validate on where `early_stopping` asks for them."""
        if not self.early_stopping:
            return X, T, weight, None
        two: Any = T if T.dtype == bool and T.shape[1] == 1 else None
        rest, out = train_test_split(
            np.arange(X.shape[0]),
            random_state=rng,
            test_size=self.validation_fraction,
            stratify=two,
        )
        if len(out) < 2:
            raise ValueError(
                "The validation set is too small. Increase 'validation_fraction' or the size of your dataset."
            )
        parts: Any = [(None, None) if rows is None else (rows[rest], rows[out]) for rows in (X, T, weight)]
        (X, held_X), (T, held_T), (weight, held_weight) = parts
        return X, T, weight, (held_X, held_T, held_weight)

    def _validate(self, layout: Layout, flat: np.ndarray, X: Any, T: np.ndarray, weight: Any) -> float:
        """The score on the rows held out; NaN where outputs are not finite."""
        found = network_outputs(layout, *layout.views(flat), X)
        score = float("nan") if not np.isfinite(found).all() else self._score_outputs(found, T, weight)
        self.validation_scores_.append(score)
        return score

    def _begin_curves(self, earlier: dict[str, Any]) -> None:
        """Empty curves, or those of the earlier fit that this one goes on with."""
        self._no_improvement_count = 0 if not earlier else getattr(self, "_no_improvement_count", 0)
        self.loss_curve_ = list(earlier.get("loss_curve_", []))
        scores, best = earlier.get("validation_scores_"), earlier.get("best_validation_score_")
        self.validation_scores_ = list(scores or []) if self.early_stopping else None
        self.best_validation_score_ = (-np.inf if best is None else best) if self.early_stopping else None
        least = earlier.get("best_loss_")
        self.best_loss_ = None if self.early_stopping else (np.inf if least is None else least)

    def _improves(self, measures: dict[str, float]) -> bool:
        """Whether this epoch is the best so far; counts epochs that bring no improvement of at least tol."""
        if self.early_stopping:
            score, best = measures["validation_score"], self.best_validation_score_
            is_better, is_idle = score > best, score < best + self.tol
            self.best_validation_score_ = score if is_better else best
        else:
            loss, least = measures["loss"], self.best_loss_
            is_better, is_idle = loss < least, loss > least - self.tol
            self.best_loss_ = loss if is_better else least
        self._no_improvement_count = self._no_improvement_count + 1 if is_idle else 0
        return bool(is_better)

    def _stops(self, rule: Any, flat: np.ndarray, before: np.ndarray) -> bool:
        """Whether training is over after this epoch; sets the learning rate of the next one."""
        if self.learning_rate == "invscaling" and isinstance(rule, Momentum):
            # updates; those of "sgd" are counted by their rows, as in scikit-learn
            t = rule.state["t"] if self.solver == "accumulated-bp" else self.t_
            rule.state["learning_rate"] = float(self.learning_rate_init) / (t + 1) ** self.power_t
        if self.target_loss is not None and self.loss_ <= self.target_loss:
            return True
        if self.weight_tol is not None and np.abs(flat - before).max(initial=0.0) <= self.weight_tol:
            return True
        if self._no_improvement_count <= self.n_iter_no_change:
            return False
        what = "Validation score" if self.early_stopping else "Training loss"
        said = f"{what} did not improve more than tol={self.tol:f} for {self.n_iter_no_change} consecutive epochs."
        if self.learning_rate != "adaptive" or not isinstance(rule, Momentum):
            ending = " Stopping."
        elif rule.state["learning_rate"] <= LEAST_RATE:
            ending = " Learning rate too small. Stopping."
        else:
            rule.state["learning_rate"] /= 5.0
            self._no_improvement_count = 0
            ending = f" Setting learning rate to {rule.state['learning_rate']:f}"
        if self.verbose:
            print(said + ending)
        return ending.endswith("Stopping.")

    def _diverged(self, step: Any, layout: Layout, before: np.ndarray) -> np.ndarray:
        """The weights before an epoch whose loss is not finite; an error where there is no earlier epoch."""
        if self.early_stopping:
            self.validation_scores_.append(float("nan"))
        if step.count == 1:
            self.__dict__.update(self._fitted(layout, before), n_iter_=0)
            raise ValueError(
                f"{type(self).__name__}: {NOT_FINITE} A smaller learning_rate_init than "
                f"{self.learning_rate_init:g}, such as {self.learning_rate_init / 10:g}, may help, too."
            )
        step.hint = smaller_rate("learning_rate_init", self.learning_rate_init)
        step.warn(
            f"diverged in epoch {step.count}: the loss is not finite. The weights of the epoch before are kept"
        )
        return before

    def _fitted(self, layout: Layout, flat: np.ndarray) -> dict[str, Any]:
        """The fitted attributes that a vector of parameters stands for."""
        coefs, intercepts = layout.views(np.array(flat, dtype=layout.dtype))
        return {"coefs_": [c.copy() for c in coefs], "intercepts_": [b.copy() for b in intercepts]}

    def _layout(self, dtype: Any) -> Layout:
        """The layout of the fitted network, whose layers must fit each other."""
        shapes = [np.shape(coef) for coef in self.coefs_]
        chained = all(len(shape) == 2 for shape in shapes) and all(
            above[0] == below[1] for below, above in pairwise(shapes)
        )
        biases = [np.shape(bias) for bias in self.intercepts_]
        if not shapes or not chained or biases != [shape[1:] for shape in shapes]:
            raise ValueError(
                f"{type(self).__name__}: coefs_ and intercepts_ have the shapes {shapes} and {biases}, which are "
                "not those of layers that follow each other."
            )
        if shapes[0][0] != self.n_features_in_ or shapes[-1][1] != self.n_outputs_:
            raise ValueError(
                f"{type(self).__name__}: coefs_ lead from {shapes[0][0]} inputs to {shapes[-1][1]} outputs; "
                f"expected {self.n_features_in_} and {self.n_outputs_}."
            )
        sizes = [shapes[0][0], *(shape[1] for shape in shapes)]
        return Layout(sizes, self.activation, self.out_activation_, "squared_error", dtype)

    def _outputs(self, X: Any) -> np.ndarray:
        """The outputs of the last layer."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        layout = self._layout(np.result_type(X.dtype, self.coefs_[0].dtype))
        X = X.astype(layout.dtype, copy=False)
        parts = layout.views(layout.flat(self.coefs_, self.intercepts_))
        with one_blas_thread(), np.errstate(**QUIET):
            return finite_predictions(network_outputs(layout, *parts, X), type(self).__name__)

    @property
    def thresholds_(self) -> list[np.ndarray]:
        """The thresholds of the units as the texts write them: minus the biases."""
        return [-bias for bias in self.intercepts_]

    def _partial(self, X: Any, T: np.ndarray, weight: Any) -> Self:
        """One epoch over a batch, from where the last call ended."""
        if self.early_stopping:
            raise ValueError(f"{type(self).__name__}: partial_fit does not support early_stopping=True.")
        rng = random_stream(self.random_state)
        first = "coefs_" not in vars(self)
        layout, flat = self._network(X, T, rng, go_on=not first)
        if first or "loss_curve_" not in vars(self):
            self.t_ = int(vars(self).get("t_", 0))
            self._begin_curves({})
        if self.t_ and "_seed" in vars(self):  # not the first permutation again
            rng = np.random.RandomState([self._seed, self.t_ % 2**32])
        order = rng.permutation(X.shape[0]) if self.shuffle else None
        if "_seed" not in vars(self):
            self._seed = int(rng.randint(2**31 - 1))
        epochs = self._epochs(layout, X, T, weight, vars(self).get("_updates"))
        before = flat.copy()
        with one_blas_thread(), np.errstate(**QUIET):
            loss = epochs.run(flat, order)
        if not (np.isfinite(loss) and np.isfinite(flat).all()):
            raise ValueError(
                f"{type(self).__name__}: {NOT_FINITE} A smaller learning_rate_init than "
                f"{self.learning_rate_init:g}, such as {self.learning_rate_init / 10:g}, may help, too."
            )
        self.loss_, self.n_iter_, self.t_ = loss, 1, self.t_ + X.shape[0]
        self.loss_curve_.append(loss)
        if self.verbose:
            print(f"Iteration 1, loss = {loss:.8f}")
        self._improves({"loss": loss})
        self._stops(epochs.rule, flat, before)
        self._updates = epochs.rule.state
        self.__dict__.update(self._fitted(layout, flat))
        return self


@method(
    zh="多层感知机",
    task="classification",
    model="f(x) = f_L(... f_2(f_1(x W_1 + b_1) W_2 + b_2) ...), P(c | x) from the outputs",
    strategy="mean cross-entropy or squared error of the outputs + penalty on the weights",
    convex=False,
    algorithms=ALGORITHMS,
    texts=TEXTS,
    peers=["sklearn.neural_network.MLPClassifier"],
)
class MLPClassifier(MultilayerPerceptron, Classifier):
    """Multilayer perceptron for classification: layers of units f(w·x - theta), trained by back-propagation.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(100,)
        Units of each hidden layer; an empty sequence is a network without hidden layers.
    activation : {"identity", "logistic", "tanh", "relu"}, default="relu"
        Activation of the hidden units; relu has the derivative 0 at 0.
    solver : {"lbfgs", "sgd", "adam", "bp", "accumulated-bp"}, default="adam"
        "sgd" and "adam" move the weights after every mini-batch, and "lbfgs" minimises the whole objective.
        "bp" is the standard back-propagation of the texts: each row k moves the weights by -learning_rate dE_k/dw.
        "accumulated-bp" moves them once per epoch, along the gradient of the mean error (1/m) Σ E_k.
    alpha : float, default=0.0001
        Strength of the penalty alpha / (2m) Σ w² on the weights, with m the rows (of a mini-batch).
    batch_size : int or "auto", default="auto"
        Rows of a mini-batch; "auto" is min(200, n_samples).
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        The step size of "sgd", "bp" and "accumulated-bp": `learning_rate_init`; divided by (t + 1)^power_t after t
        updates ("sgd": after t rows, as in scikit-learn); or divided by 5 whenever the loss has not improved for
        `n_iter_no_change` epochs.
    learning_rate_init : float, default=0.001
        The step size; the texts' eta.
    power_t : float, default=0.5
        See `learning_rate`.
    max_iter : int, default=200
        The most epochs, or iterations of "lbfgs".
    shuffle : bool, default=True
        Visit the rows in a new random order in each epoch; False is the order of the data.
    random_state : int, RandomState, Generator or None
        Seed of the initial weights, of the order of the rows and of the choice of validation rows. The same number
        gives the same network as in scikit-learn ("lbfgs" apart, whose line search is another one).
    tol : float, default=1e-4
        The least improvement of the loss (or validation score) that counts; for "lbfgs", the largest gradient at
        the end.
    verbose : int or bool, default=False
        Print a line for each epoch.
    warm_start : bool, default=False
        Begin with the weights of the last fit.
    momentum : float, default=0.9
        Of "sgd", "bp" and "accumulated-bp": the part of the last change of the weights that is added to the next,
        dw ← momentum dw - learning_rate dE/dw. Set it to 0 for the texts' rule without momentum.
    nesterovs_momentum : bool, default=True
        Whether the momentum of "sgd" is Nesterov's.
    early_stopping : bool, default=False
        Hold out `validation_fraction` of the rows, stop when their score has not improved by tol for
        `n_iter_no_change` epochs, and keep the best weights.
    validation_fraction : float, default=0.1
        See `early_stopping`.
    beta_1, beta_2, epsilon : float, default=0.9, 0.999 and 1e-8
        Decay rates of Adam's averages of the gradient and its square, and the number added to the root.
    n_iter_no_change : int or inf, default=10
        The most epochs in a row without an improvement of tol.
    max_fun : int, default=15000
        The most evaluations of the objective by "lbfgs".
    loss : {"log_loss", "squared_error"}, default="log_loss"
        Error of a row: cross-entropy, or half the squared error of the outputs, as in the texts.
    output : {"auto", "softmax", "one-of-c", "binary"}, default="auto"
        Code of the classes. "softmax": a node for each class, with outputs that sum to one. "one-of-c": a logistic
        node for each class. "binary": a logistic node for each digit of the number of the class, ceil(log2 C) in
        all. "auto" is one logistic node for two classes, a logistic node for each of several labels, and else
        "softmax" for log_loss and "one-of-c" for squared_error. For one network per class, give an `MLPClassifier`
        to `tercet.multiclass.OneVsRestClassifier`.
    threshold : float, default=0.5
        Output above which a node says 1 (one node, binary digits and several labels).
    reject : float or pair (low, high), optional
        Rows to reject: those with less than this margin between the two largest probabilities, or those with an
        output between low and high, say (0.3, 0.7), where outputs are read by a threshold.
    reject_label : int, float or str, optional
        What `predict` says of rejected rows; by default -1 (or a smaller number, if that is a class), or "reject"
        where the classes are strings. `score` counts them as errors.
    init : {"glorot", "he", "unit"}, float or pair (coefs, intercepts), default="glorot"
        Initial weights: uniform in ±sqrt(6 / (inputs + outputs) of the layer), with 2 in place of 6 for logistic
        units; uniform in ±sqrt(6 / inputs) with biases of 0; weights and thresholds uniform in (0, 1); uniform in
        (-init, init), such as 0.3; or lists of arrays.
    error_weight : float, optional
        The lambda of the objective lambda mean E_k + (1 - lambda) Σ w² over weights and thresholds, which then
        takes the place of the penalty with alpha.
    target_loss, weight_tol : float, optional
        Stop when the loss of an epoch is no more than `target_loss`, or when no weight changes by more than
        `weight_tol` in an epoch.
    switch_below : float, optional
        With "accumulated-bp", go on with standard back-propagation once the error of an epoch has fallen by less
        than this part of it. From there on, weights of rows equal repeated rows only in expectation.

    Attributes
    ----------
    coefs_, intercepts_ : lists of arrays of shape (n_in, n_out) and (n_out,)
        Weights and biases of each layer.
    thresholds_ : list of arrays of shape (n_out,)
        The thresholds of the texts, -intercepts_.
    classes_ : array of shape (n_classes,)
    n_layers_, n_outputs_, out_activation_ : int, int and str
        Layers with inputs and outputs, output units, and their activation.
    loss_, best_loss_, loss_curve_ : float, float and list of float
        The objective in the last epoch, the least of all (None with `early_stopping`), and that of each epoch. The
        last two are not there with "lbfgs".
    validation_scores_, best_validation_score_ : list of float and float
        Scores of the rows held out; None without `early_stopping`.
    n_iter_, t_ : int
        Epochs made, and rows seen.

    Notes
    -----
    E_k has the factor 1/2 of the texts: 1/2 Σ_j (yhat_j - y_j)², summed over outputs. An update of "bp" uses
    dE_k/dw, one of "accumulated-bp" the mean of these over the rows: with the same learning_rate_init an epoch of
    "bp" moves about m times as far. A loss that is not finite stops the fit with a warning and keeps the
    weights of the epoch before; in the first epoch it is an error, and the model keeps its initial weights, or with
    `warm_start` those of the last fit. A loss that has risen above that of the first epoch when the fit ends gives
    a warning, too.

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = MLPClassifier(4, "tanh", solver="lbfgs", random_state=0).fit(X, y)
    >>> model.predict(X)
    array([0, 1, 1, 0])
    >>> model = MLPClassifier(
    ...     2,
    ...     "logistic",
    ...     solver="bp",
    ...     loss="squared_error",
    ...     init=1.0,
    ...     momentum=0.0,
    ...     alpha=0.0,
    ...     learning_rate_init=1.0,
    ...     max_iter=5000,
    ...     tol=0.0,
    ...     target_loss=0.005,
    ...     random_state=1,
    ... )
    >>> model.fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """

    def __init__(
        self,
        hidden_layer_sizes: Count | tuple | list | np.ndarray = (100,),
        activation: Hidden = "relu",
        *,
        solver: Solver = "adam",
        alpha: NonNegative = 0.0001,
        batch_size: Count | Literal["auto"] = "auto",
        learning_rate: Literal["constant", "invscaling", "adaptive"] = "constant",
        learning_rate_init: Positive = 0.001,
        power_t: NonNegative = 0.5,
        max_iter: Count = 200,
        shuffle: bool = True,
        random_state: Seed = None,
        tol: NonNegative = 1e-4,
        verbose: int | bool = False,
        warm_start: bool = False,
        momentum: Fraction = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: BelowOne = 0.1,
        beta_1: BelowOne = 0.9,
        beta_2: BelowOne = 0.999,
        epsilon: Positive = 1e-8,
        n_iter_no_change: Count | Infinity = 10,
        max_fun: Count = 15000,
        loss: Literal["log_loss", "squared_error"] = "log_loss",
        output: Literal["auto", "softmax", "one-of-c", "binary"] = "auto",
        threshold: OpenFraction = 0.5,
        reject: Fraction | tuple | list | None = None,
        reject_label: int | float | str | None = None,
        init: Initial = "glorot",
        error_weight: Fraction | None = None,
        target_loss: NonNegative | None = None,
        weight_tol: NonNegative | None = None,
        switch_below: NonNegative | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.max_fun = max_fun
        self.loss = loss
        self.output = output
        self.threshold = threshold
        self.reject = reject
        self.reject_label = reject_label
        self.init = init
        self.error_weight = error_weight
        self.target_loss = target_loss
        self.weight_tol = weight_tol
        self.switch_below = switch_below

    def _encode(self, y: Any) -> np.ndarray:
        """Indices of the classes, or a matrix of 0 and 1 for several labels per row."""
        y = y.toarray() if sparse.issparse(y) else np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if y.ndim == 2:
            check_classification_targets(y)
            if type_of_target(y) != "multilabel-indicator":
                raise ValueError(
                    f"{type(self).__name__}: y with several columns must hold 0 and 1 (several labels per row); "
                    f"got {type_of_target(y)!r}."
                )
            classes, index = np.arange(y.shape[1]), y
        else:
            classes, index = distinct(y)
        known = vars(self).get("classes_") if self.warm_start and "coefs_" in vars(self) else None
        if known is not None and not np.array_equal(known, classes):
            raise ValueError(
                "warm_start can only be used where `y` has the same classes as in the previous call to fit. "
                f"Previously got {known}, `y` has {classes}"
            )
        self.classes_ = classes
        self._is_multilabel = y.ndim == 2
        return index

    def _check_fitted(self, sizes: Any) -> None:
        super()._check_fitted(sizes)
        if not isinstance(self._is_multilabel, bool):
            raise ValueError(
                f"{type(self).__name__}: whether rows have several labels must be True or False."
            )
        nodes, activation = self._code().words.shape[1], self._output()[0]
        if (nodes, activation) != (self.n_outputs_, self.out_activation_):
            raise ValueError(
                f"{type(self).__name__}: {len(self.classes_)} classes need {nodes} {activation} outputs; it "
                f"has {self.n_outputs_} {self.out_activation_} outputs."
            )

    def _code(self) -> OutputCode:
        """How classes are coded at the outputs."""
        n = len(self.classes_)
        if self._is_multilabel:
            return OutputCode("labels", n)
        if self.output != "auto":
            return OutputCode(self.output, n)
        if n <= 2:
            return OutputCode("single", n)
        return OutputCode("softmax" if self.loss == "log_loss" else "one-of-c", n)

    def _output(self) -> tuple[str, str]:
        return "softmax" if self._code().kind == "softmax" else "logistic", self.loss

    def _targets(self, y: Any) -> Any:
        if is_streamed(y):
            self._is_multilabel = False
        self._check_reject()
        code = self._code()
        return (
            y.map(code.targets, width=code.words.shape[1], dtype=bool) if is_streamed(y) else code.targets(y)
        )

    def _check_reject(self) -> None:
        """Refuse a reject option that the outputs cannot serve."""
        if self.reject is None:
            return
        kind, name = self._code().kind, type(self).__name__
        if kind == "labels":
            raise ValueError(f"{name}: reject is not possible where rows have several labels.")
        if isinstance(self.reject, tuple | list):
            pair = list(self.reject)
            numbers = len(pair) == 2 and all(isinstance(v, float | int | np.number) for v in pair)
            if not numbers or not 0 <= pair[0] < pair[1] <= 1:
                raise ValueError(
                    f"{name}: reject must be a number or a pair 0 <= low < high <= 1; got {pair}."
                )
            if kind not in ("single", "binary"):
                raise ValueError(
                    f"{name}: reject=(low, high) is for outputs that are read by a threshold (one node, or "
                    "output='binary'); use a number, the least margin between the two largest outputs."
                )
        rejection_label(self.classes_, self.reject_label, name)

    def _score_outputs(self, outputs: np.ndarray, T: np.ndarray, weight: Any) -> float:
        code = self._code()
        truth = code.decide(T.astype(float), 0.5)
        return float(accuracy_score(truth, code.decide(outputs, self.threshold), sample_weight=weight))

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, or `reject_label` where the outputs do not decide.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        labels : array of shape (n_samples,) or (n_samples, n_labels)
        """
        outputs, code = self._outputs(X), self._code()
        decided = code.decide(outputs, self.threshold)
        if code.kind == "labels":
            return decided
        labels = self.classes_[decided]
        if self.reject is None:
            return labels
        self._check_reject()  # it may have been set after fit
        label = rejection_label(self.classes_, self.reject_label, type(self).__name__)
        return with_rejected(labels, code.rejected(outputs, self.reject), label)

    def _rejected(self, predicted: np.ndarray) -> np.ndarray | None:
        if self.reject is None:
            return None
        return predicted == rejection_label(self.classes_, self.reject_label, type(self).__name__)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, from the outputs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
            In the order of `classes_`; for several labels per row, the probability of each label.
        """
        return self._code().probabilities(self._outputs(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        log_proba : array of shape (n_samples, n_classes)
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(proba)

    @available_if(lambda self: self.solver != "lbfgs")
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Self:
        """One epoch over a batch of rows, from where the last call ended.

        The first call gives the network of scikit-learn for the same `random_state`; later calls do so with
        shuffle=False, else they draw a new order of the rows, where scikit-learn repeats the first one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The batch.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Its labels.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row.
        classes : array, optional
            All classes that will ever come; required in the first call.

        Returns
        -------
        self
        """
        check_parameters(self)
        check_structure(X)  # a source has no labels to look at
        first_call = "classes_" not in vars(self)
        several = type_of_target(y).startswith("multilabel")
        if several:
            first_call = "coefs_" not in vars(self)
            X, y = self._check(X, y, reset=first_call)
            if first_call:
                index = self._encode(y)
            else:
                index = np.asarray(y)
        else:
            if self._first_call(classes):
                self._is_multilabel = False
            X, index = self._check_batch(X, y, first=first_call)
        return self._partial(X, self._targets(index), check_weight(sample_weight, X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def random_stream(random_state: Any) -> np.random.RandomState:
    """The stream of random numbers that scikit-learn's networks draw from: the same seed gives the same network."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(2**31 - 1))
    return check_random_state(random_state)


def smaller_rate(name: str, rate: float) -> str:
    """What to change where a fit has diverged."""
    return f"Take a smaller {name} than {rate:g}, such as {rate / 10:g}, or scale the features."


def warn_of_risen_loss(model: Any, step: Any, losses: list[float], rate: str) -> None:
    """Warn of a fit that ends above the loss of its first epoch; `rate` names the learning rate."""
    first, last = losses[0], losses[-1]
    if last - first > max(model.tol, LEAST_RISE * abs(first)):
        step.hint = smaller_rate(rate, getattr(model, rate))
        step.warn(f"diverged: the loss rose from {first:.6g} in the first epoch to {last:.6g}")


def with_rejected(labels: np.ndarray, rejected: np.ndarray, label: Any) -> np.ndarray:
    """Labels with another one in the rejected rows; objects, where the types differ."""
    if not rejected.any():
        return labels
    other = np.asarray([label])
    alike = other.dtype.kind in "US" if labels.dtype.kind in "US" else other.dtype.kind == labels.dtype.kind
    found = labels.astype(np.result_type(labels, other) if alike else object)
    found[rejected] = label
    return found


@method(
    zh="多层感知机回归",
    task="regression",
    model="f(x) = f_L(... f_2(f_1(x W_1 + b_1) W_2 + b_2) ...)",
    strategy="mean squared error or Poisson deviance of the outputs + penalty on the weights",
    convex=False,
    algorithms=ALGORITHMS,
    texts=TEXTS,
    peers=["sklearn.neural_network.MLPRegressor"],
)
class MLPRegressor(MultilayerPerceptron, Regressor):
    """Multilayer perceptron for regression: layers of units f(w·x - theta), trained by back-propagation.

    Parameters
    ----------
    loss : {"squared_error", "poisson"}, default="squared_error"
        Error of a row: half the squared error, or half the Poisson deviance of exponential outputs.
    hidden_layer_sizes : int or sequence of int, default=(100,)
        Units of each hidden layer; an empty sequence is a network without hidden layers.
    activation : {"identity", "logistic", "tanh", "relu"}, default="relu"
        Activation of the hidden units; relu has the derivative 0 at 0.
    solver : {"lbfgs", "sgd", "adam", "bp", "accumulated-bp"}, default="adam"
        "sgd" and "adam" move the weights after every mini-batch, and "lbfgs" minimises the whole objective.
        "bp" is the standard back-propagation of the texts: each row k moves the weights by -learning_rate dE_k/dw.
        "accumulated-bp" moves them once per epoch, along the gradient of the mean error (1/m) Σ E_k.
    alpha : float, default=0.0001
        Strength of the penalty alpha / (2m) Σ w² on the weights, with m the rows (of a mini-batch).
    batch_size : int or "auto", default="auto"
        Rows of a mini-batch; "auto" is min(200, n_samples).
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        The step size of "sgd", "bp" and "accumulated-bp": `learning_rate_init`; divided by (t + 1)^power_t after t
        updates ("sgd": after t rows, as in scikit-learn); or divided by 5 whenever the loss has not improved for
        `n_iter_no_change` epochs.
    learning_rate_init : float, default=0.001
        The step size; the texts' eta.
    power_t : float, default=0.5
        See `learning_rate`.
    max_iter : int, default=200
        The most epochs, or iterations of "lbfgs".
    shuffle : bool, default=True
        Visit the rows in a new random order in each epoch; False is the order of the data.
    random_state : int, RandomState, Generator or None
        Seed of the initial weights, of the order of the rows and of the choice of validation rows. The same number
        gives the same network as in scikit-learn ("lbfgs" apart, whose line search is another one).
    tol : float, default=1e-4
        The least improvement of the loss (or validation score) that counts; for "lbfgs", the largest gradient at
        the end.
    verbose : int or bool, default=False
        Print a line for each epoch.
    warm_start : bool, default=False
        Begin with the weights of the last fit.
    momentum : float, default=0.9
        Of "sgd", "bp" and "accumulated-bp": the part of the last change of the weights that is added to the next,
        dw ← momentum dw - learning_rate dE/dw. Set it to 0 for the texts' rule without momentum.
    nesterovs_momentum : bool, default=True
        Whether the momentum of "sgd" is Nesterov's.
    early_stopping : bool, default=False
        Hold out `validation_fraction` of the rows, stop when their score has not improved by tol for
        `n_iter_no_change` epochs, and keep the best weights.
    validation_fraction : float, default=0.1
        See `early_stopping`.
    beta_1, beta_2, epsilon : float, default=0.9, 0.999 and 1e-8
        Decay rates of Adam's averages of the gradient and its square, and the number added to the root.
    n_iter_no_change : int or inf, default=10
        The most epochs in a row without an improvement of tol.
    max_fun : int, default=15000
        The most evaluations of the objective by "lbfgs".
    output : {"auto", "identity", "logistic", "tanh"}, default="auto"
        Activation of the outputs, whose range the targets must not leave; "auto" is identity, or exp for poisson.
        The texts have logistic outputs.
    init : {"glorot", "he", "unit"}, float or pair (coefs, intercepts), default="glorot"
        Initial weights: uniform in ±sqrt(6 / (inputs + outputs) of the layer), with 2 in place of 6 for logistic
        units; uniform in ±sqrt(6 / inputs) with biases of 0; weights and thresholds uniform in (0, 1); uniform in
        (-init, init), such as 0.3; or lists of arrays.
    error_weight : float, optional
        The lambda of the objective lambda mean E_k + (1 - lambda) Σ w² over weights and thresholds, which then
        takes the place of the penalty with alpha.
    target_loss, weight_tol : float, optional
        Stop when the loss of an epoch is no more than `target_loss`, or when no weight changes by more than
        `weight_tol` in an epoch.
    switch_below : float, optional
        With "accumulated-bp", go on with standard back-propagation once the error of an epoch has fallen by less
        than this part of it. From there on, weights of rows equal repeated rows only in expectation.

    Attributes
    ----------
    coefs_, intercepts_ : lists of arrays of shape (n_in, n_out) and (n_out,)
        Weights and biases of each layer.
    thresholds_ : list of arrays of shape (n_out,)
        The thresholds of the texts, -intercepts_.
    n_layers_, n_outputs_, out_activation_ : int, int and str
        Layers with inputs and outputs, output units, and their activation.
    loss_, best_loss_, loss_curve_ : float, float and list of float
        The objective in the last epoch, the least of all (None with `early_stopping`), and that of each epoch. The
        last two are not there with "lbfgs".
    validation_scores_, best_validation_score_ : list of float and float
        Scores of the rows held out; None without `early_stopping`.
    n_iter_, t_ : int
        Epochs made, and rows seen.

    Notes
    -----
    E_k has the factor 1/2 of the texts: 1/2 Σ_j (yhat_j - y_j)², summed over outputs. An update of "bp" uses
    dE_k/dw, one of "accumulated-bp" the mean of these over the rows: with the same learning_rate_init an epoch of
    "bp" moves about m times as far. A loss that is not finite stops the fit with a warning and keeps the
    weights of the epoch before; in the first epoch it is an error, and the model keeps its initial weights, or with
    `warm_start` those of the last fit. A loss that has risen above that of the first epoch when the fit ends gives
    a warning, too.

    With several outputs, scikit-learn follows the gradient of this sum, too, but its `loss_` is the mean over the
    outputs, so `tol` may stop its epochs earlier, and its "lbfgs" gets a value and a gradient that do not belong
    together. Here both are those of the sum.

    Examples
    --------
    >>> X = np.linspace(-2, 2, 50)[:, None]
    >>> model = MLPRegressor(hidden_layer_sizes=10, activation="tanh", solver="lbfgs", random_state=0)
    >>> model.fit(X, X.ravel() ** 2).score(X, X.ravel() ** 2) > 0.999
    True
    """

    def __init__(
        self,
        loss: Literal["squared_error", "poisson"] = "squared_error",
        hidden_layer_sizes: Count | tuple | list | np.ndarray = (100,),
        activation: Hidden = "relu",
        *,
        solver: Solver = "adam",
        alpha: NonNegative = 0.0001,
        batch_size: Count | Literal["auto"] = "auto",
        learning_rate: Literal["constant", "invscaling", "adaptive"] = "constant",
        learning_rate_init: Positive = 0.001,
        power_t: NonNegative = 0.5,
        max_iter: Count = 200,
        shuffle: bool = True,
        random_state: Seed = None,
        tol: NonNegative = 1e-4,
        verbose: int | bool = False,
        warm_start: bool = False,
        momentum: Fraction = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: BelowOne = 0.1,
        beta_1: BelowOne = 0.9,
        beta_2: BelowOne = 0.999,
        epsilon: Positive = 1e-8,
        n_iter_no_change: Count | Infinity = 10,
        max_fun: Count = 15000,
        output: Literal["auto", "identity", "logistic", "tanh"] = "auto",
        init: Initial = "glorot",
        error_weight: Fraction | None = None,
        target_loss: NonNegative | None = None,
        weight_tol: NonNegative | None = None,
        switch_below: NonNegative | None = None,
    ) -> None:
        self.loss = loss
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.max_fun = max_fun
        self.output = output
        self.init = init
        self.error_weight = error_weight
        self.target_loss = target_loss
        self.weight_tol = weight_tol
        self.switch_below = switch_below

    def _output(self) -> tuple[str, str]:
        if self.loss == "poisson":
            if self.output != "auto":
                raise ValueError(
                    f"MLPRegressor: loss='poisson' has exponential outputs; output={self.output!r} must be 'auto'."
                )
            return "exp", "poisson"
        return "identity" if self.output == "auto" else self.output, self.loss

    def _targets(self, y: Any) -> Any:
        if is_streamed(y):
            return y.map(self._targets, width=1 if y.ndim == 1 else y.shape[1])
        T = y.reshape(len(y), -1)
        out, _ = self._output()
        change = "Use loss='squared_error'" if out == "exp" else "Scale the targets, or use output='identity'"
        check_target_range(T, out, f"{change}.", f"{type(self).__name__}: ")
        return T

    def _encode(self, y: Any) -> np.ndarray:
        if np.ndim(y) == 2 and np.shape(y)[1] == 1:
            y = column_or_1d(y, warn=True)
        return super()._encode(y)

    def _score_outputs(self, outputs: np.ndarray, T: np.ndarray, weight: Any) -> float:
        return float(r2_score(T, outputs, sample_weight=weight))

    def predict(self, X: Any) -> np.ndarray:
        """The outputs of the network.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        """
        found = self._outputs(X)
        return found.ravel() if found.shape[1] == 1 else found

    @available_if(lambda self: self.solver != "lbfgs")
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """One epoch over a batch of rows, from where the last call ended.

        The first call gives the network of scikit-learn for the same `random_state`; later calls do so with
        shuffle=False, else they draw a new order of the rows, where scikit-learn repeats the first one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The batch.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Its targets.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row.

        Returns
        -------
        self
        """
        check_parameters(self)
        X, y = self._check(X, y, reset="coefs_" not in vars(self))
        weight = check_weight(sample_weight, X)
        return self._partial(X, self._targets(self._encode(y)), weight)
