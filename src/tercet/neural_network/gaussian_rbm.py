"""Restricted Boltzmann machines of Gaussian visible units (高斯-伯努利受限 Boltzmann 机)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.parameters import Count, CountOrZero, NonNegative, Positive, Seed
from tercet.neural_network.bernoulli_rbm import BernoulliRBM, Momentum


@method(
    zh="高斯-伯努利受限 Boltzmann 机",
    task="density estimation",
    approach="generative",
    model="P(v, h) ∝ exp(Σ_ij h_j w_ji v_i / σ_i + Σ_j c_j h_j - Σ_i (v_i - b_i)² / (2σ_i²)), "
    "v_i real, h_j in {0, 1}",
    strategy="maximum likelihood of P(v) = exp(-F(v)) / Z",
    convex=False,
    algorithms={
        "pcd": "persistent contrastive divergence: Gibbs chains that go on from batch to batch",
        "cd": "contrastive divergence: k Gibbs steps from each row",
    },
    texts=["watermelon notes ch. 3, 3.5.6"],
)
class GaussianRBM(BernoulliRBM):
    """Restricted Boltzmann machine with real visible units and binary hidden units.

    Given the hidden units, each feature is normal; given the features, hidden units are independent:

        v_i | h ~ N(b_i + σ_i Σ_j w_ji h_j, σ_i²),   P(h_j = 1 | v) = σ(c_j + Σ_i w_ji v_i / σ_i)

    So P(v) is a mixture of 2^n_components normal distributions, which share the variances σ_i². The
    visible biases b start at the means of the features.

    Parameters
    ----------
    n_components : int, default=256
        The number of hidden units.
    sigma : {"std"} or float, default="std"
        Standard deviation σ of the features given the hidden units: that of each feature in the data, or one number
        for all. It is not learned.
    learning_rate : float, default=0.01
        Step size η. Real features need a smaller one than binary features.
    batch_size : int, default=10
        Rows of a mini-batch, and number of persistent chains.
    n_iter : int, default=10
        Passes over the data.
    verbose : int, default=0
        Print a line for each pass.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random number generator.
    algorithm : {"pcd", "cd"}, default="cd"
        Persistent contrastive divergence, or contrastive divergence.
    n_gibbs_steps : int, default=1
        Gibbs steps k for each update.
    reconstruction : {"samples", "probabilities"}, default="samples"
        Whether Gibbs steps draw the visible units, or take their means.
    momentum : float, default=0.0
        Share of the previous update that is added to the next one.
    weight_decay : float, default=0.0
        Strength of the penalty weight_decay / 2 · Σ w².
    init_scale : float, default=0.01
        Standard deviation of the initial weights, which are normal.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The weights w.
    intercept_hidden_ : array of shape (n_components,)
        The biases c of the hidden units.
    intercept_visible_ : array of shape (n_features,)
        The biases b of the visible units, in the units of the features.
    sigma_ : array of shape (n_features,)
        The standard deviations σ_i.
    h_samples_ : array of shape (batch_size, n_components)
        Hidden units of the persistent chains.
    n_iter_ : int
        Passes made by `fit`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.where(rng.random((500, 1)) < 0.5, -1, 1) + 0.3 * rng.normal(size=(500, 2))
    >>> model = GaussianRBM(1, sigma=0.3, n_iter=20, random_state=0).fit(X)
    >>> hidden = model.transform([[-1, -1], [1, 1]]).ravel()
    >>> bool(abs(hidden[0] - hidden[1]) > 0.9)
    True
    """

    fitted_shapes: ClassVar[Declarations] = {"sigma_": Floats("features", finite=True, low=1e-300)}
    _sums_visible_states = False
    sigma_: np.ndarray

    def __init__(
        self,
        n_components: Count = 256,
        *,
        sigma: Positive | Literal["std"] = "std",
        learning_rate: Positive = 0.01,
        batch_size: Count = 10,
        n_iter: CountOrZero = 10,
        verbose: int | bool = 0,
        random_state: Seed = None,
        algorithm: Literal["pcd", "cd"] = "cd",
        n_gibbs_steps: Count = 1,
        reconstruction: Literal["samples", "probabilities"] = "samples",
        momentum: Momentum = 0.0,
        weight_decay: NonNegative = 0.0,
        init_scale: Positive = 0.01,
    ) -> None:
        super().__init__(
            n_components,
            learning_rate=learning_rate,
            batch_size=batch_size,
            n_iter=n_iter,
            verbose=verbose,
            random_state=random_state,
            algorithm=algorithm,
            n_gibbs_steps=n_gibbs_steps,
            reconstruction=reconstruction,
            momentum=momentum,
            weight_decay=weight_decay,
            init_scale=init_scale,
        )
        self.sigma = sigma

    def _start(self, X: Any, rng: np.random.RandomState, sample_weight: np.ndarray | None = None) -> None:
        super()._start(X, rng, sample_weight)
        mean, variance = column_moments(X, sample_weight)
        self.intercept_visible_[:] = mean
        deviation = np.sqrt(variance) if self.sigma == "std" else np.full(len(mean), self.sigma)
        self.sigma_ = np.where(deviation > 1e-150, deviation, 1.0).astype(X.dtype)

    def _warn_of_range(self, X: Any) -> None:
        return None

    def _learned(self) -> dict[str, np.ndarray]:
        return {**super()._learned(), **({"sigma_": self.sigma_} if "sigma_" in vars(self) else {})}

    def _measures(self, X: Any) -> dict[str, float]:
        """Measures of `history_`: the mean squared reconstruction error of some rows, in units of σ²."""
        some = np.linspace(0, X.shape[0] - 1, min(X.shape[0], 500)).astype(int)
        rows = X[some].toarray() if sparse.issparse(X) else X[some]
        error = (rows - self._mean_visibles(self._mean_hiddens(rows))) / self.sigma_
        return {"reconstruction_error": float((error**2).mean())}

    @classmethod
    def from_weights(
        cls,
        components: Any,
        intercept_hidden: Any = None,
        intercept_visible: Any = None,
        *,
        sigma: float = 1.0,
        **parameters: Any,
    ) -> Any:
        """A machine with given weights.

        Parameters
        ----------
        components : array of shape (n_components, n_features)
            The weights.
        intercept_hidden : array of shape (n_components,), optional
            Biases of the hidden units; by default 0.
        intercept_visible : array of shape (n_features,), optional
            Biases of the visible units; by default 0.
        sigma : float, default=1.0
            Standard deviation of all features given the hidden units.
        **parameters
            Parameters of the class.

        Returns
        -------
        GaussianRBM

        Examples
        --------
        >>> GaussianRBM.from_weights([[2.0, 0.0]], sigma=0.5).inverse_transform([[1]])
        array([[1., 0.]])
        """
        model = super().from_weights(
            components, intercept_hidden, intercept_visible, sigma=sigma, **parameters
        )
        model.sigma_ = np.full(model.n_features_in_, float(sigma))
        return model

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Means of the visible units given hidden units, b_i + σ_i Σ_j w_ji h_j.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            Hidden units: samples or probabilities.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        return super().inverse_transform(X)

    def score_samples(self, X: Any) -> np.ndarray:
        """-F(v) of each row: the log of its density but for the constant log Z, which all rows share.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Visible units.

        Returns
        -------
        array of shape (n_samples,)
            `log_likelihood` subtracts log Z for machines with few hidden units.
        """
        return -self.free_energy(X)

    def gradient(self, X: Any, samples: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Estimate of the gradient of the mean log-likelihood, <·>_data - <·>_model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.
        samples : array of shape (n_draws, n_features)
            Visible units of the model.

        Returns
        -------
        components, intercept_hidden, intercept_visible : arrays
            Gradients with respect to the fitted attributes of these names.
        """
        weights, hidden, visible = super().gradient(X, samples)
        return weights / self.sigma_, hidden, visible / self.sigma_**2

    def _hidden_input(self, v: Any) -> np.ndarray:
        return np.asarray(v @ (self.components_ / self.sigma_).T) + self.intercept_hidden_

    def _mean_visibles(self, h: np.ndarray) -> np.ndarray:
        return (h @ self.components_) * self.sigma_ + self.intercept_visible_

    def _sample_visibles(self, h: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        mean = self._mean_visibles(h)
        return mean + self.sigma_ * rng.standard_normal(mean.shape)

    def _visible_energy(self, v: Any) -> np.ndarray:
        rows = v.toarray() if sparse.issparse(v) else v
        return 0.5 * (((rows - self.intercept_visible_) / self.sigma_) ** 2).sum(axis=1)

    def _log_sum_visible(self, inputs: np.ndarray, b: np.ndarray) -> np.ndarray:
        """log ∫ exp(inputs·v/σ - (v - b)² / (2σ²)) dv."""
        sigma = self.sigma_.astype(np.float64)
        constant = np.log(sigma).sum() + 0.5 * sigma.size * np.log(2.0 * np.pi)
        return (inputs * (0.5 * inputs + b / sigma)).sum(axis=1) + constant

    def _check_visible(self, X: Any) -> None:
        return None

    # The updates work with v / σ.

    def _visible_rows(self, X: Any, out: np.ndarray) -> None:
        np.divide(X.toarray() if sparse.issparse(X) else X, self.sigma_, out=out)

    def _visible_in_place(self, inputs: np.ndarray, rng: np.random.RandomState) -> None:
        inputs += self.intercept_visible_ / self.sigma_
        if self.reconstruction == "samples":
            inputs += rng.standard_normal(inputs.shape)

    def _move_visible_bias(self, change: np.ndarray) -> None:
        self.intercept_visible_ += self.sigma_ * change


def column_moments(X: Any, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the columns, in double precision."""
    if sparse.issparse(X):
        found = mean_variance_axis(X.astype(np.float64), axis=0, weights=weight)
        return found[0], found[1]
    mean = np.average(X, axis=0, weights=weight)
    return mean, np.average((X - mean) ** 2, axis=0, weights=weight)
