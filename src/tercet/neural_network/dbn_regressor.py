"""Regressor of a fine-tuned deep belief network (深度信念网络回归)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Regressor
from tercet.core.validation import finite_predictions
from tercet.neural_network.deep_belief_network import PRETRAINING
from tercet.neural_network.fine_tuned_network import FineTunedNetwork
from tercet.neural_network.multilayer_perceptron import MLPRegressor


@method(
    zh="深度信念网络回归",
    task="regression",
    model="f(x) = h_L W + b, h_l = σ(h_{l-1} W_l + b_l), h_0 = x",
    strategy="layers: maximum likelihood of what is below, without targets; then mean squared error + alpha/2 Σ w²",
    convex=False,
    algorithms=PRETRAINING,
    texts=["watermelon notes ch. 3, 3.6"],
)
class DBNRegressor(FineTunedNetwork, Regressor):
    """Regressor of a deep belief network that is fine-tuned by back-propagation.

    First a `DeepBeliefNetwork` learns its layers without targets; then a linear output layer is added, and the
    network is trained as a multilayer perceptron of logistic units that starts from these weights. Targets are
    standardised for it.

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(100, 100)
        The hidden units of each layer.
    visible : {"auto", "bernoulli", "gaussian"}, default="auto"
        Units of the features in pre-training: binary, for features from 0 to 1; or Gaussian, for real features.
        "auto" looks at the features.
    pretraining_rate : float, default=0.1
        Step size of pre-training; a tenth of it in a first layer of Gaussian units.
    pretraining_batch_size : int, default=10
        Rows of a mini-batch in pre-training.
    pretraining_iter : int, default=10
        Passes over the data for each layer in pre-training.
    algorithm : {"cd", "pcd"}, default="cd"
        Contrastive divergence, or persistent contrastive divergence.
    n_gibbs_steps : int, default=1
        Gibbs steps for each update in pre-training.
    solver : {"adam", "sgd"}, default="adam"
        How back-propagation moves the weights: `solver` of `MLPRegressor`.
    alpha : float, default=1e-4
        Strength of the L2 penalty in fine-tuning.
    learning_rate : float, default=0.01
        Step size of fine-tuning.
    batch_size : int or "auto", default="auto"
        Rows of a mini-batch in fine-tuning; "auto" is min(200, n_samples).
    max_iter : int, default=200
        The most epochs of fine-tuning.
    tol : float, default=1e-4
        Stop when the loss has not improved by tol for more than `n_iter_no_change` epochs.
    n_iter_no_change : int, default=10
        See `tol`.
    verbose : int, default=0
        Print a line for each pass.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random number generator.

    Attributes
    ----------
    coefs_ : list of arrays
        Weights of each layer, of shape (units below, units); those of the last one in the units of y.
    intercepts_ : list of arrays
        Biases of each layer.
    network_ : fitted DeepBeliefNetwork
        The network before fine-tuning.
    n_iter_ : int
        Epochs of fine-tuning.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 2))
    >>> y = np.sin(3 * X[:, 0]) + X[:, 1]
    >>> model = DBNRegressor(30, learning_rate=0.02, batch_size=30, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _kind = MLPRegressor
    streams_instead = "MLPRegressor"

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self._centre = float(np.average(y, weights=sample_weight))
        spread = float(np.sqrt(np.average((y - self._centre) ** 2, weights=sample_weight)))
        self._spread = spread if spread > 0 else 1.0
        super()._fit(X, (y - self._centre) / self._spread, sample_weight)
        del self._centre, self._spread

    def _in_units(self, coefs: list[np.ndarray], intercepts: list[np.ndarray]) -> Any:
        return (
            [*coefs[:-1], coefs[-1] * coefs[-1].dtype.type(self._spread)],
            [*intercepts[:-1], intercepts[-1] * self._spread + self._centre],
        )

    def _n_outputs(self, y: np.ndarray) -> int:
        return 1

    def _epoch(self, network: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        network.partial_fit(X, y, sample_weight=weight)

    def predict(self, X: Any) -> np.ndarray:
        """The target of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        array of shape (n_samples,)
        """
        return finite_predictions(self._outputs(X)[:, 0], type(self).__name__)
