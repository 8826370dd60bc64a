"""Classifier of a fine-tuned deep belief network (深度信念网络分类器)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Classifier
from tercet.core.functions import sigmoid, softmax
from tercet.neural_network.deep_belief_network import PRETRAINING
from tercet.neural_network.fine_tuned_network import FineTunedNetwork
from tercet.neural_network.multilayer_perceptron import MLPClassifier


@method(
    zh="深度信念网络分类器",
    task="classification",
    model="P(c | x) = softmax(h_L W + b), h_l = σ(h_{l-1} W_l + b_l), h_0 = x",
    strategy="layers: maximum likelihood of what is below, without labels; then mean cross-entropy + alpha/2 Σ w²",
    convex=False,
    algorithms=PRETRAINING,
    texts=["watermelon notes ch. 3, 3.6"],
)
class DBNClassifier(FineTunedNetwork, Classifier):
    """Classifier of a deep belief network that is fine-tuned by back-propagation.

    First a `DeepBeliefNetwork` learns its layers without labels; then an output layer is added, and the network is
    trained as a multilayer perceptron of logistic units that starts from these weights.

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
        How back-propagation moves the weights: `solver` of `MLPClassifier`.
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
    classes_ : array of shape (n_classes,)
        The labels.
    coefs_ : list of arrays
        Weights of each layer, of shape (units below, units).
    intercepts_ : list of arrays
        Biases of each layer.
    network_ : fitted DeepBeliefNetwork
        The network before fine-tuning.
    n_iter_ : int
        Epochs of fine-tuning.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DBNClassifier((20, 20), max_iter=100, tol=0, random_state=0)
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     score = model.fit(X, y).score(X, y)
    >>> bool(score > 0.9)
    True
    """

    _kind = MLPClassifier
    streams_instead = "MLPClassifier"
    classes_: np.ndarray

    def _n_outputs(self, y: np.ndarray) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _epoch(self, network: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        network.partial_fit(X, y, sample_weight=weight, classes=np.arange(len(self.classes_)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        array of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        outputs = self._outputs(X)
        if outputs.shape[1] > 1:
            return softmax(outputs)
        p = sigmoid(outputs)
        return np.hstack([1.0 - p, p])

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
