"""RBF network for classification (径向基函数网络分类器): one output for each class."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Classifier
from tercet.core.fitted_checks import Floats
from tercet.core.parameters import Count, Jobs, NonNegative, OpenFraction, Positive, Seed
from tercet.neural_network.rbf_network import Centers, Learned, RBFLayer, Width


@method(
    zh="径向基函数网络分类器",
    task="classification",
    approach="discriminative",
    model="class with the largest φ_k(x) = Σ_i w_ki exp(-β_i |x - c_i|²) + b_k; two classes: φ(x) > 1/2",
    strategy="Σ_i s_i |y_i - φ(x_i)|² + alpha |w|², y_i the one-of-C code of the class",
    loss="squared",
    convex=True,
    algorithms={
        "lstsq": "centres and widths first, then the weights by least squares (QR)",
        "gd": "gradient descent with momentum (back-propagation) on weights, widths and centres",
        "lbfgs": "L-BFGS on the same gradient",
    },
    texts=["watermelon notes ch. 3, sec. 3.5, eq. 3.14", "Pattern Recognition ch. 5, eq. 5-34, 5-35"],
)
class RBFNetworkClassifier(RBFLayer, Classifier):
    """Radial basis function network whose outputs are trained on one-of-C codes of the classes.

    The network is that of `RBFNetwork`. Two classes have one output with the targets 0 and 1 and the threshold 1/2;
    more have an output each, and the largest one decides. Least squares makes the outputs estimates of the
    probabilities of the classes.

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
    class_weight : dict or "balanced", optional
        Weights of the classes; "balanced" is inverse to their share of the sample weights.
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
    classes_ : array of shape (n_classes,)
        The classes, in order.
    centers_ : array of shape (n_units, n_features)
        The centres c_i.
    beta_ : array of shape (n_units,)
        The β_i; the widths are 1 / sqrt(beta_).
    weights_ : array of shape (n_outputs, n_units)
        The weights w_ki of each output; two classes have one output.
    intercept_ : array of shape (n_outputs,)
        The biases b_k.
    n_iter_ : int
        Passes made; 1 for "lstsq".
    history_ : dict
        The loss of each pass of "gd" (`loss`) and "lbfgs" (`fun`).

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "other", "other", "same"]
    >>> model = RBFNetworkClassifier(centers=[[0, 0], [1, 1]], beta=1.0).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'other', 'other', 'same']
    >>> model.predict_proba([[0.0, 0.7]]).round(2)
    array([[0.47, 0.53]])
    """

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
        class_weight: dict | Literal["balanced"] | None = None,
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
        self.class_weight = class_weight
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    streams_instead = "MLPClassifier"
    fitted_shapes = {
        "weights_": Floats("outputs units", finite=True),
        "intercept_": Floats("outputs", finite=True),
    }

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = self._balance(self.class_weight, y, sample_weight)
        k = self.classes_.size
        codes = (y[:, None] == np.arange(k)).astype(np.float64)  # one of C
        self._fit_network(X, codes[:, 1:] if k == 2 else codes, weight)

    def _check_fitted(self, sizes: Any) -> None:
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        if len(self.weights_) != outputs:
            raise ValueError(
                f"RBFNetworkClassifier: weights_ has {len(self.weights_)} rows; expected {outputs} for "
                f"{len(self.classes_)} classes."
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """The outputs of the network; for two classes φ(x) - 1/2, which is positive for the second.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
        """
        values = self._network_values(X)
        return values[:, 0] - values.dtype.type(0.5) if values.shape[1] == 1 else values

    def predict_proba(self, X: Any) -> np.ndarray:
        """The outputs as probabilities: cut to [0, 1] for two classes, else negative ones set to 0, and normalised.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        values = self._network_values(X)
        if values.shape[1] == 1:
            p = np.clip(values, 0, 1)
            return np.concatenate([1 - p, p], axis=1)
        none = values.max(axis=1) <= 0  # no output is positive: what they have above the smallest one
        values[none] -= values[none].min(axis=1, keepdims=True)
        p = np.maximum(values, 0)
        mass = p.sum(axis=1, keepdims=True)
        return np.divide(p, mass, out=np.full_like(p, 1 / p.shape[1]), where=mass > 0)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row: of the largest output, or by the threshold 1/2.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]
