"""Deep belief networks that back-propagation fine-tunes: what the classifier and the regressor share."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from tercet.core.estimator import Estimator, check_is_fitted, generator
from tercet.core.fitted_checks import Declarations, Each, Floats, Having
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, CountOrZero, NonNegative, Positive, Seed
from tercet.core.scaling import LARGE
from tercet.core.symbolic_shapes import Sizes
from tercet.neural_network.deep_belief_network import DeepBeliefNetwork, Visible, layer_sizes, upwards
from tercet.neural_network.multilayer_perceptron import NOT_FINITE, warn_of_risen_loss


class FineTunedNetwork(Estimator):
    """Base of the classifier and the regressor: pre-training of the layers, then back-propagation."""

    largest_value = LARGE
    relative_weights = True
    batch_rounding = 1e-9  # layers are products by BLAS
    fitted_shapes: ClassVar[Declarations] = {
        "coefs_": Each(Floats("inputs@ units@", finite=True), "layers"),
        "intercepts_": Each(Floats("units@", finite=True), "layers"),
        "network_": Having({}, ("transform",)),
    }
    n_features_in_: int
    coefs_: list[np.ndarray]
    intercepts_: list[np.ndarray]
    network_: DeepBeliefNetwork

    def __init__(
        self,
        hidden_layer_sizes: Count | tuple | list = (100, 100),
        *,
        visible: Visible = "auto",
        pretraining_rate: Positive = 0.1,
        pretraining_batch_size: Count = 10,
        pretraining_iter: CountOrZero = 10,
        algorithm: Literal["cd", "pcd"] = "cd",
        n_gibbs_steps: Count = 1,
        solver: Literal["adam", "sgd"] = "adam",
        alpha: NonNegative = 1e-4,
        learning_rate: Positive = 0.01,
        batch_size: Count | Literal["auto"] = "auto",
        max_iter: Count = 200,
        tol: NonNegative = 1e-4,
        n_iter_no_change: Count = 10,
        verbose: int | bool = 0,
        random_state: Seed = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.visible = visible
        self.pretraining_rate = pretraining_rate
        self.pretraining_batch_size = pretraining_batch_size
        self.pretraining_iter = pretraining_iter
        self.algorithm = algorithm
        self.n_gibbs_steps = n_gibbs_steps
        self.solver = solver
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        layer_sizes(self)
        rng = generator(self.random_state)
        weight = None if sample_weight is None else sample_weight / sample_weight.mean(dtype=np.float64)
        self.network_ = self._pretrained(X, weight, int(rng.integers(2**31 - 1)))
        network, least, idle = self._perceptron(y, int(rng.integers(2**31 - 1))), np.inf, 0
        self.coefs_, self.intercepts_ = self._in_units(*network.init)
        for step in self.steps(self.max_iter):
            try:
                self._epoch(network, X, y, weight)
            except ValueError as error:
                if NOT_FINITE not in str(error):
                    raise
                raise ValueError(
                    f"{type(self).__name__}: the weights are not finite in epoch {step.count}; take a smaller "
                    f"learning_rate than {self.learning_rate:g}, such as {self.learning_rate / 10:g}, or scale the "
                    "features. The weights of the epoch before are kept."
                ) from None
            self.coefs_, self.intercepts_ = self._in_units(network.coefs_, network.intercepts_)
            if self.verbose:
                print(f"[{type(self).__name__}] epoch {step.count}, loss = {network.loss_:.6f}")
            step.report(loss=network.loss_, coefs_=self.coefs_, intercepts_=self.intercepts_)
            idle = idle + 1 if network.loss_ > least - self.tol else 0
            least = min(least, network.loss_)
            if step.converged(idle > self.n_iter_no_change):
                warn_of_risen_loss(self, step, network.loss_curve_, "learning_rate")
                break
        self.n_iter_ = step.count

    def _pretrained(self, X: Any, weight: np.ndarray | None, seed: int) -> DeepBeliefNetwork:
        """Layer by layer, without the target."""
        return DeepBeliefNetwork(
            self.hidden_layer_sizes,
            visible=self.visible,
            learning_rate=self.pretraining_rate,
            batch_size=self.pretraining_batch_size,
            n_iter=self.pretraining_iter,
            algorithm=self.algorithm,
            n_gibbs_steps=self.n_gibbs_steps,
            verbose=self.verbose,
            random_state=seed,
        ).fit(X, sample_weight=weight)

    def _perceptron(self, y: np.ndarray, seed: int) -> Any:
        """A multilayer perceptron that starts from the layers, with an output layer of zeros."""
        coefs, intercepts, outputs = self.network_.coefs_, self.network_.intercepts_, self._n_outputs(y)
        start = (
            [*coefs, np.zeros((coefs[-1].shape[1], outputs))],
            [*intercepts, np.zeros(outputs)],
        )
        return self._kind(
            hidden_layer_sizes=tuple(layer_sizes(self)),
            activation="logistic",
            solver=self.solver,
            alpha=self.alpha,
            learning_rate_init=self.learning_rate,
            batch_size=self.batch_size,
            tol=0.0,
            n_iter_no_change=np.inf,
            random_state=seed,
            init=start,
        )

    _kind: ClassVar[Any]

    def _in_units(self, coefs: list[np.ndarray], intercepts: list[np.ndarray]) -> Any:
        """The layers with outputs in the units of the target."""
        return list(coefs), list(intercepts)

    def _n_outputs(self, y: np.ndarray) -> int:
        raise NotImplementedError

    def _epoch(self, network: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        raise NotImplementedError

    def _outputs(self, X: Any) -> np.ndarray:
        """Inputs of the output units."""
        check_is_fitted(self)
        hidden = upwards(self._check(X, reset=False), self.coefs_[:-1], self.intercepts_[:-1])
        with one_blas_thread():
            return hidden @ self.coefs_[-1] + self.intercepts_[-1]

    def _check_fitted(self, sizes: Sizes) -> None:
        width = self.n_features_in_
        for k, (coef, bias) in enumerate(zip(self.coefs_, self.intercepts_, strict=True)):
            if coef.shape[0] != width or bias.shape != coef.shape[1:]:
                raise ValueError(f"{type(self).__name__}: layer {k} of coefs_ has the shape {coef.shape}.")
            width = coef.shape[1]
