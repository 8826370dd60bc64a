"""Deep belief networks (深度信念网络): stacked restricted Boltzmann machines."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted, generator
from tercet.core.fitted_checks import Declarations, Each, Having
from tercet.core.functions import sigmoid
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, CountOrZero, NonNegative, Positive, Seed
from tercet.core.scaling import LARGE
from tercet.core.symbolic_shapes import Sizes
from tercet.core.validation import check_array, target_for_callbacks
from tercet.neural_network.bernoulli_rbm import BernoulliRBM, Momentum, count, random_numbers
from tercet.neural_network.gaussian_rbm import GaussianRBM

Visible = Literal["auto", "bernoulli", "gaussian"]
MONITORED = 500  # rows whose reconstruction error is computed after each layer
GAUSSIAN_RATE = 0.1  # the learning rate of real features, as a share of that of binary ones
PRETRAINING = {
    "cd": "layer by layer, each a restricted Boltzmann machine learned by contrastive divergence",
    "pcd": "layer by layer, by persistent contrastive divergence",
}


@method(
    zh="深度信念网络",
    task="dimensionality reduction",
    approach="generative",
    model="P(x, h_1, ..., h_L) = P(x | h_1) ... P(h_{L-2} | h_{L-1}) P(h_{L-1}, h_L), "
    "the last a restricted Boltzmann machine",
    strategy="each layer: maximum likelihood of the hidden probabilities of the layer below",
    convex=False,
    algorithms=PRETRAINING,
    texts=["watermelon notes ch. 3, 3.6"],
)
class DeepBeliefNetwork(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Deep belief network: restricted Boltzmann machines stacked on each other, learned layer by layer.

    The first machine learns from the features, each other one from the hidden probabilities of the one below. No
    target is needed; `DBNClassifier` and `DBNRegressor` go on with back-propagation. The initial weights of a
    layer are normal with the variance 1 / n of n units below.

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(100, 100)
        The hidden units of each layer.
    visible : {"auto", "bernoulli", "gaussian"}, default="auto"
        Units of the features: binary, for features from 0 to 1; or Gaussian, for real features. "auto" looks at the
        features.
    learning_rate : float, default=0.1
        Step size of the machines; a tenth of it in a first layer of Gaussian units.
    batch_size : int, default=10
        Rows of a mini-batch.
    n_iter : int, default=10
        Passes over the data for each layer.
    algorithm : {"cd", "pcd"}, default="cd"
        Contrastive divergence, or persistent contrastive divergence.
    n_gibbs_steps : int, default=1
        Gibbs steps for each update.
    momentum : float, default=0.0
        Share of the previous update that is added to the next one.
    weight_decay : float, default=0.0
        Strength of the penalty weight_decay / 2 · Σ w².
    verbose : int, default=0
        Print a line for each pass of each layer.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random number generator.

    Attributes
    ----------
    rbms_ : list of BernoulliRBM or GaussianRBM
        The machines, from the features upwards.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    >>> model = DeepBeliefNetwork((8, 2), n_iter=1000, random_state=0).fit(X)
    >>> (
    ...     model.transform(X).shape,
    ...     model.inverse_transform(model.transform(X)).round().astype(int).tolist() == X,
    ... )
    ((4, 2), True)
    """

    largest_value = LARGE
    relative_weights = True
    batch_rounding = 1e-9  # layers are products by BLAS
    streams_instead = "partial_fit of BernoulliRBM with pieces of the rows"
    fitted_shapes: ClassVar[Declarations] = {"rbms_": Each(Having({}, ("transform",)), "layers")}
    rbms_: list[Any]
    n_features_in_: int

    def __init__(
        self,
        hidden_layer_sizes: Count | tuple | list = (100, 100),
        *,
        visible: Visible = "auto",
        learning_rate: Positive = 0.1,
        batch_size: Count = 10,
        n_iter: CountOrZero = 10,
        algorithm: Literal["cd", "pcd"] = "cd",
        n_gibbs_steps: Count = 1,
        momentum: Momentum = 0.0,
        weight_decay: NonNegative = 0.0,
        verbose: int | bool = 0,
        random_state: Seed = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.visible = visible
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_iter = n_iter
        self.algorithm = algorithm
        self.n_gibbs_steps = n_gibbs_steps
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the layers, from the features upwards.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : ignored
            Accepted for pipelines; nothing is learned from it.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row; only their ratios count.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        rng, below = generator(self.random_state), X
        self.rbms_ = []
        sizes = layer_sizes(self)
        for step in self.steps(len(sizes), name="layer"):
            rbm = self._machine(step.index, sizes[step.index], below, int(rng.integers(2**31 - 1)))
            rbm.fit(below, sample_weight=sample_weight)
            self.rbms_.append(rbm)
            error = reconstruction_error(rbm, below)
            below = rbm.transform(below)
            step.report(reconstruction_error=error, rbms_=list(self.rbms_))

    def _machine(self, layer: int, size: int, X: Any, seed: int) -> BernoulliRBM:
        """The machine of a layer, not fitted yet."""
        options: dict[str, Any] = {
            "learning_rate": self.learning_rate,
            "batch_size": self.batch_size,
            "n_iter": self.n_iter,
            "algorithm": self.algorithm,
            "n_gibbs_steps": self.n_gibbs_steps,
            "momentum": self.momentum,
            "weight_decay": self.weight_decay,
            "init_scale": 1.0 / np.sqrt(X.shape[1]),
            "verbose": self.verbose,
            "random_state": seed,
        }
        if layer == 0 and (self.visible == "gaussian" or (self.visible == "auto" and not is_share(X))):
            return GaussianRBM(size, **{**options, "learning_rate": GAUSSIAN_RATE * self.learning_rate})
        return BernoulliRBM(size, **options)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    def _check_fitted(self, sizes: Sizes) -> None:
        width = self.n_features_in_
        for k, rbm in enumerate(self.rbms_):
            if not isinstance(rbm, BernoulliRBM) or rbm.n_features_in_ != width:
                raise ValueError(f"{type(self).__name__}: layer {k} is no machine of {width} visible units.")
            width = rbm.components_.shape[0]

    @property
    def _n_features_out(self) -> int:
        return self.rbms_[-1].components_.shape[0]

    @property
    def coefs_(self) -> list[np.ndarray]:
        """Weights of the layers as a feedforward network has them, of shape (units below, units)."""
        return [
            (rbm.components_ / rbm.sigma_ if isinstance(rbm, GaussianRBM) else rbm.components_).T
            for rbm in self.rbms_
        ]

    @property
    def intercepts_(self) -> list[np.ndarray]:
        """Biases of the hidden units of each layer."""
        return [rbm.intercept_hidden_ for rbm in self.rbms_]

    def transform(self, X: Any) -> np.ndarray:
        """Probabilities of the hidden units of the last layer.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        return upwards(self._check(X, reset=False), self.coefs_, self.intercepts_)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Features that hidden units of the last layer stand for: probabilities, layer by layer downwards.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            Hidden units of the last layer: samples or probabilities.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        found = check_array(X, dtype=(np.float64, np.float32))
        for rbm in reversed(self.rbms_):
            found = rbm.inverse_transform(found)
        return found

    def sample(self, n_samples: int = 1, n_steps: int = 1000) -> np.ndarray:
        """Draw rows from the model: Gibbs sampling of the last machine, then a draw of each layer given that above.

        Parameters
        ----------
        n_samples : int, default=1
            The number of rows to draw.
        n_steps : int, default=1000
            Gibbs steps of the last machine.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        count("n_samples", n_samples)
        found, rng = self.rbms_[-1].sample(n_samples, n_steps), random_numbers(self.random_state)
        for rbm in reversed(self.rbms_[:-1]):
            found = rbm._sample_visibles(found, rng)
        return found.astype(self.rbms_[0].components_.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def layer_sizes(model: Any) -> list[int]:
    """The hidden units of each layer."""
    given = model.hidden_layer_sizes
    sizes = list(given) if isinstance(given, tuple | list) else [given]
    whole = all(
        isinstance(size, int | np.integer) and not isinstance(size, bool) and size > 0 for size in sizes
    )
    if not sizes or not whole:
        raise ValueError(
            f"{type(model).__name__}: parameter 'hidden_layer_sizes' must be an integer of at least 1, or several "
            f"of them; got {given!r}."
        )
    return [int(size) for size in sizes]


def is_share(X: Any) -> bool:
    """Whether all features are from 0 to 1."""
    values = X.data if sparse.issparse(X) else X
    return bool(values.size == 0 or (values.min() >= 0 and values.max() <= 1))


def upwards(X: Any, coefs: list[np.ndarray], intercepts: list[np.ndarray]) -> Any:
    """Activations of logistic layers, h = σ(x W + b)."""
    hidden = X
    with one_blas_thread():
        for coef, bias in zip(coefs, intercepts):
            hidden = sigmoid(np.asarray(hidden @ coef) + bias)
    return hidden


def reconstruction_error(rbm: BernoulliRBM, X: Any) -> float:
    """Mean squared difference between some rows and their reconstructions from hidden probabilities."""
    some = X[:: -(-X.shape[0] // MONITORED)]
    rows = some.toarray() if sparse.issparse(some) else some
    return float(((rows - rbm.inverse_transform(rbm.transform(some))) ** 2).mean())
