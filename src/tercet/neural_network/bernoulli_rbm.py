"""Restricted Boltzmann machines of binary units (受限 Boltzmann 机)."""

from __future__ import annotations

import time
import warnings
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from scipy.linalg import get_blas_funcs
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted, check_weight
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.functions import log_sum_exp, sigmoid, softplus
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, CountOrZero, NonNegative, Positive, Range, Seed, check_parameters
from tercet.core.scaling import LARGE, largest
from tercet.core.stopping import check_stop
from tercet.core.validation import check_array, target_for_callbacks
from tercet.neural_network._energy.binary_states import state_blocks
from tercet.neural_network._energy.chain_warnings import warn_of_disagreement

Momentum = Annotated[float, Range(0.0, 1.0, "[)")]
MONITORED = 500  # rows whose pseudo-likelihood is computed after each pass
CHUNK = 1024  # rows of a matrix product outside of learning


@method(
    zh="受限 Boltzmann 机",
    task="density estimation",
    approach="generative",
    model="P(v, h) ∝ exp(Σ_ij h_j w_ji v_i + Σ_j c_j h_j + Σ_i b_i v_i), v_i and h_j in {0, 1}",
    strategy="maximum likelihood of P(v) = exp(-F(v)) / Z, F(v) = -b·v - Σ_j log(1 + exp(c_j + w_j·v))",
    convex=False,
    algorithms={
        "pcd": "persistent contrastive divergence: Gibbs chains that go on from batch to batch",
        "cd": "contrastive divergence: k Gibbs steps from each row",
    },
    texts=["watermelon notes ch. 3, 3.5.6", "Pattern Recognition ch. 5, 5.4"],
    peers=["sklearn.neural_network.BernoulliRBM"],
)
class BernoulliRBM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Restricted Boltzmann machine with binary visible and binary hidden units.

    Visible units v_i are the features, hidden units h_j explain their correlations, and weights w_ji connect each
    hidden with each visible unit. Given one layer, the units of the other are independent:

        P(h_j = 1 | v) = σ(c_j + Σ_i w_ji v_i),   P(v_i = 1 | h) = σ(b_i + Σ_j w_ji h_j)

    Learning follows the gradient of the log-likelihood, Δw_ji = η (<h_j v_i>_data - <h_j v_i>_model). Contrastive
    divergence (CD-k) estimates the second mean after k Gibbs steps that start from the data; persistent contrastive
    divergence from `batch_size` Gibbs chains that are never restarted. Features between 0 and 1 are taken as
    probabilities. With the same seed the default algorithm gives the weights of scikit-learn's class, up to
    rounding, where `batch_size` divides the number of rows; scikit-learn divides the sum over all chains by the
    number of rows of a shorter batch.

    Parameters
    ----------
    n_components : int, default=256
        The number of hidden units.
    learning_rate : float, default=0.1
        Step size η; values from 0.001 to 1 are reasonable.
    batch_size : int, default=10
        Rows of a mini-batch, and number of persistent chains.
    n_iter : int, default=10
        Passes over the data.
    verbose : int, default=0
        Print a line for each pass.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random number generator: initial weights, Gibbs sampling, and the flipped features of
        `score_samples`.
    algorithm : {"pcd", "cd"}, default="pcd"
        Persistent contrastive divergence, or contrastive divergence.
    n_gibbs_steps : int, default=1
        Gibbs steps k for each update.
    reconstruction : {"samples", "probabilities"}, default="samples"
        Whether Gibbs steps draw the visible units, or take their probabilities. Hidden units are always drawn, and
        the last ones enter the update as probabilities.
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
        The biases b of the visible units.
    h_samples_ : array of shape (batch_size, n_components)
        Hidden units of the persistent chains.
    n_iter_ : int
        Passes made by `fit`.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    >>> model = BernoulliRBM(2, batch_size=4, n_iter=2000, random_state=0).fit(X)
    >>> bool(model.log_likelihood(X).mean() > -1.0)  # at best log 1/2; of independent units -2.77
    True
    >>> model.transform(X).round().tolist() == model.transform(X[::-1])[::-1].round().tolist()
    True
    """

    largest_value = LARGE
    relative_weights = True
    batch_rounding = 1e-9  # matrix products by BLAS
    streams_instead = "partial_fit with pieces of the rows"
    width_checked_attributes = ("components_",)
    fitted_shapes: ClassVar[Declarations] = {
        "components_": Floats("components features", finite=True),
        "intercept_hidden_": Floats("components", finite=True),
        "intercept_visible_": Floats("features", finite=True),
        "h_samples_": Floats("chains components", finite=True),
    }
    components_: np.ndarray
    intercept_hidden_: np.ndarray
    intercept_visible_: np.ndarray
    h_samples_: np.ndarray
    random_state_: np.random.RandomState
    n_features_in_: int

    def __init__(
        self,
        n_components: Count = 256,
        *,
        learning_rate: Positive = 0.1,
        batch_size: Count = 10,
        n_iter: CountOrZero = 10,
        verbose: int | bool = 0,
        random_state: Seed = None,
        algorithm: Literal["pcd", "cd"] = "pcd",
        n_gibbs_steps: Count = 1,
        reconstruction: Literal["samples", "probabilities"] = "samples",
        momentum: Momentum = 0.0,
        weight_decay: NonNegative = 0.0,
        init_scale: Positive = 0.01,
    ) -> None:
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_iter = n_iter
        self.verbose = verbose
        self.random_state = random_state
        self.algorithm = algorithm
        self.n_gibbs_steps = n_gibbs_steps
        self.reconstruction = reconstruction
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.init_scale = init_scale

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the weights from rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The training data, from 0 to 1; other values give a warning.
        y : ignored
            Accepted for pipelines; nothing is learned from it.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row in the log-likelihood; only their ratios count.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        rng = random_numbers(self.random_state)
        self._warn_of_range(X)
        self._start(X, rng, sample_weight)
        weight = None if sample_weight is None else sample_weight / sample_weight.mean(dtype=np.float64)
        updates = Updates(self, rng, min(self.batch_size, X.shape[0]))
        begin = time.time()
        for step in self.steps(self.n_iter):
            kept = self._copies()
            with one_blas_thread():
                for start in range(0, X.shape[0], self.batch_size):
                    batch = slice(start, start + self.batch_size)
                    updates.of_batch(X[batch], None if weight is None else weight[batch])
            check_stop()
            self._refuse_divergence(kept)
            step.report(**self._measures(X), **self._learned())
            if self.verbose:
                end = time.time()
                said = f"pseudo-likelihood = {self.score_samples(X).mean():.2f}, time = {end - begin:.2f}s"
                print(f"[{type(self).__name__}] Iteration {step.count}, {said}")
                begin = end

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One update from a batch of rows. `momentum` does not reach from call to call.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The batch, from 0 to 1; other values give a warning.
        y : ignored
            Accepted for pipelines; nothing is learned from it.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row; 1 is a row without a weight.

        Returns
        -------
        self
        """
        check_parameters(self)
        first = not hasattr(self, "components_")
        X = self._check(X, reset=first)
        weight = check_weight(sample_weight, X)
        self._warn_of_range(X)
        if not hasattr(self, "random_state_"):
            self.random_state_ = random_numbers(self.random_state)
        if first:
            self._start(X, self.random_state_, weight)
        kept = self._copies()
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            Updates(self, self.random_state_, X.shape[0]).of_batch(X, weight)
        self._refuse_divergence(kept)
        return self

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    def _start(self, X: Any, rng: np.random.RandomState, sample_weight: np.ndarray | None = None) -> None:
        """Small random weights, biases of zero, and chains whose hidden units are all off."""
        self.__dict__.pop("h_samples_", None)
        start = rng.normal(0, self.init_scale, (self.n_components, X.shape[1]))
        self.components_ = start.astype(X.dtype, copy=False)
        self.intercept_hidden_ = np.zeros(self.n_components, dtype=X.dtype)
        self.intercept_visible_ = np.zeros(X.shape[1], dtype=X.dtype)
        if self.algorithm == "pcd":
            self.h_samples_ = np.zeros((self.batch_size, self.n_components), dtype=X.dtype)

    def _warn_of_range(self, X: Any) -> None:
        """Other values than probabilities are accepted for compatibility with scikit-learn."""
        values = X.data if sparse.issparse(X) else X
        if values.size and (values.min() < 0 or values.max() > 1):
            warnings.warn(
                f"{type(self).__name__}: X holds values from {values.min():g} to {values.max():g}; binary units "
                "need values from 0 to 1. Scale the features with MinMaxScaler, or use GaussianRBM.",
                UserWarning,
                stacklevel=2,
            )

    def _learned(self) -> dict[str, np.ndarray]:
        names = ("components_", "intercept_hidden_", "intercept_visible_", "h_samples_")
        return {name: vars(self)[name] for name in names if name in vars(self)}

    def _copies(self) -> dict[str, np.ndarray]:
        """Copies of the learned arrays, which updates change in place."""
        return {name: array.copy() for name, array in self._learned().items()}

    def _refuse_divergence(self, kept: dict[str, np.ndarray]) -> None:
        # below it energies and their sums are finite
        most = float(np.finfo(self.components_.dtype).max) ** 0.5
        finite = all(np.isfinite(array).all() for array in self._learned().values())
        if finite and max(largest(self.components_), largest(self.intercept_hidden_)) < most:
            return
        self.__dict__.update(kept)
        raise ValueError(
            f"{type(self).__name__}: the weights grew beyond floating-point numbers with learning_rate="
            f"{self.learning_rate:g}. Take a smaller learning_rate, such as {self.learning_rate / 10:g}, or scale "
            "the features of X. The last finite weights are kept."
        )

    def _measures(self, X: Any) -> dict[str, float]:
        """Measures of `history_`: the pseudo-likelihood of some rows, of which one feature each is flipped."""
        some = np.arange(0, X.shape[0], -(-X.shape[0] // MONITORED))
        flipped = some % X.shape[1]
        return {"pseudo_likelihood": float(self._pseudo_likelihood(X[some], flipped).mean())}

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    @classmethod
    def from_weights(
        cls, components: Any, intercept_hidden: Any = None, intercept_visible: Any = None, **parameters: Any
    ) -> Self:
        """A machine with given weights.

        Parameters
        ----------
        components : array of shape (n_components, n_features)
            The weights.
        intercept_hidden : array of shape (n_components,), optional
            Biases of the hidden units; by default 0.
        intercept_visible : array of shape (n_features,), optional
            Biases of the visible units; by default 0.
        **parameters
            Parameters of the class.

        Returns
        -------
        BernoulliRBM

        Examples
        --------
        >>> BernoulliRBM.from_weights([[2.0, -1.0]]).transform([[1, 0], [1, 1]]).round(3).ravel()
        array([0.881, 0.731])
        """
        weights = np.array(check_array(components, dtype=np.float64, input_name="components"), order="C")
        model = cls(weights.shape[0], **parameters)
        model.n_features_in_ = weights.shape[1]
        model.components_ = weights
        model.intercept_hidden_ = bias("intercept_hidden", intercept_hidden, weights.shape[0])
        model.intercept_visible_ = bias("intercept_visible", intercept_visible, weights.shape[1])
        return model

    def transform(self, X: Any) -> np.ndarray:
        """Probabilities of the hidden units, P(h_j = 1 | v).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Visible units.

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        return self._mean_hiddens(self._check(X, reset=False))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Probabilities of the visible units, P(v_i = 1 | h).

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            Hidden units: samples or probabilities.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        hidden = check_array(X, dtype=(np.float64, np.float32))
        if hidden.shape[1] != self.components_.shape[0]:
            raise ValueError(
                f"{type(self).__name__}: X has {hidden.shape[1]} columns; expected {self.components_.shape[0]}, "
                "one for each hidden unit."
            )
        return self._mean_visibles(hidden)

    def _mean_hiddens(self, v: Any) -> np.ndarray:
        """P(h = 1 | v)."""
        return sigmoid(self._hidden_input(v))

    def _hidden_input(self, v: Any) -> np.ndarray:
        """c_j + w_j·v for each hidden unit."""
        with one_blas_thread():
            return np.asarray(v @ self.components_.T) + self.intercept_hidden_

    def _sample_hiddens(self, v: Any, rng: np.random.RandomState) -> np.ndarray:
        p = self._mean_hiddens(v)
        return rng.uniform(size=p.shape) < p

    def _mean_visibles(self, h: np.ndarray) -> np.ndarray:
        """P(v = 1 | h)."""
        with one_blas_thread():
            return sigmoid(h @ self.components_ + self.intercept_visible_)

    def _sample_visibles(self, h: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        p = self._mean_visibles(h)
        return rng.uniform(size=p.shape) < p

    def gibbs(self, v: Any) -> np.ndarray:
        """One Gibbs step: draw the hidden units given the visible ones, and these given the hidden units.

        Parameters
        ----------
        v : array or sparse matrix of shape (n_samples, n_features)
            Visible units to start from.

        Returns
        -------
        array of shape (n_samples, n_features)
            The new visible units. Each call draws other numbers.
        """
        check_is_fitted(self)
        if not hasattr(self, "random_state_"):
            self.random_state_ = random_numbers(self.random_state)
        v = self._check(v, reset=False)
        return self._sample_visibles(self._sample_hiddens(v, self.random_state_), self.random_state_)

    def sample(self, n_samples: int = 1, n_steps: int = 1000) -> np.ndarray:
        """Draw visible units from the model, each by a Gibbs chain of its own.

        Parameters
        ----------
        n_samples : int, default=1
            The number of rows to draw.
        n_steps : int, default=1000
            Gibbs steps of each chain, which starts from random hidden units. A warning says so where the chains
            disagree and need more.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        count("n_samples", n_samples)
        count("n_steps", n_steps)
        rng = random_numbers(self.random_state)
        h = rng.uniform(size=(max(n_samples, 4), self.components_.shape[0])) < 0.5
        watched = np.empty((len(h), min((n_steps + 1) // 2, 500), 2))  # of the second half
        with np.errstate(over="ignore"):
            for k in range(n_steps):
                check_stop()
                v = self._sample_visibles(h, rng)
                h = self._sample_hiddens(v, rng)
                if k >= n_steps - watched.shape[1]:
                    watched[:, k - n_steps] = np.column_stack([self._free_energy(v), h.sum(axis=1)])
        warn_of_disagreement(self, watched, "the free energy or the active units", "n_steps")
        return v[:n_samples].astype(self.components_.dtype)

    def free_energy(self, X: Any) -> np.ndarray:
        """F(v) = -log Σ_h exp(-E(v, h)) of each row: the smaller, the more probable.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Visible units.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._free_energy(self._check(X, reset=False))

    def _free_energy(self, v: Any) -> np.ndarray:
        """F(v) = -b·v - Σ_j log(1 + exp(c_j + w_j·v))."""
        return self._visible_energy(v) - softplus(self._hidden_input(v)).sum(axis=1)

    def _visible_energy(self, v: Any) -> np.ndarray:
        """The terms of the energy that do not depend on hidden units."""
        with one_blas_thread():
            return -(v @ self.intercept_visible_)

    def score_samples(self, X: Any) -> np.ndarray:
        """Pseudo-likelihood of each row: n_features · log P(v_i | all others), for one feature i drawn at random.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Visible units, 0 or 1.

        Returns
        -------
        array of shape (n_samples,)
            `log_likelihood` gives the exact value for machines with few units.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        flipped = random_numbers(self.random_state).randint(0, X.shape[1], X.shape[0])
        chunks = [slice(k, k + CHUNK) for k in range(0, X.shape[0], CHUNK)]
        return np.concatenate([self._pseudo_likelihood(X[chunk], flipped[chunk]) for chunk in chunks])

    def _pseudo_likelihood(self, v: Any, flipped: np.ndarray) -> np.ndarray:
        """n log σ(F(v') - F(v)), where v' has one feature flipped."""
        old = np.asarray(v[np.arange(v.shape[0]), flipped]).ravel()
        change = 1 - 2 * old
        inputs = self._hidden_input(v)
        with np.errstate(over="ignore", invalid="ignore"):
            hidden = softplus(inputs).sum(axis=1)
            inputs += change[:, None] * self.components_.T[flipped]
            rise = hidden - softplus(inputs).sum(axis=1) - change * self.intercept_visible_[flipped]
        return -v.shape[1] * np.logaddexp(0, -rise)

    def log_partition(self) -> float:
        """log Z, Z = Σ_v Σ_h exp(-E(v, h)), summed over all states of the smaller layer (at most 20 units).

        Returns
        -------
        float
        """
        check_is_fitted(self)
        W, b, c = (np.asarray(part, dtype=np.float64) for part in self._parameters())
        if W.shape[0] <= W.shape[1] or not self._sums_visible_states:
            blocks = state_blocks(W.shape[0], type(self).__name__, "log_partition")
            terms = [self._log_sum_visible(h @ W, b) + h @ c for h in blocks]
        else:
            blocks = state_blocks(W.shape[1], type(self).__name__, "log_partition")
            terms = [v @ b + softplus(v @ W.T + c).sum(axis=1) for v in blocks]
        return float(log_sum_exp([float(log_sum_exp(term)) for term in terms]))

    _sums_visible_states: ClassVar[bool] = True  # visible units have finitely many states

    def _parameters(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """W, b, c."""
        return self.components_, self.intercept_visible_, self.intercept_hidden_

    def _log_sum_visible(self, inputs: np.ndarray, b: np.ndarray) -> np.ndarray:
        """log Σ_v exp(b·v + inputs·v)."""
        return softplus(inputs + b).sum(axis=1)

    def log_likelihood(self, X: Any) -> np.ndarray:
        """Exact log P(v) = -F(v) - log Z of each row, for machines of at most 20 hidden or 20 visible units.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Visible units; for a machine of binary units 0 or 1.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        self._check_visible(X)
        return -self._free_energy(X) - self.log_partition()

    def _check_visible(self, X: Any) -> None:
        values = X.data if sparse.issparse(X) else X
        wrong = values[(values != 0) & (values != 1)]
        if wrong.size:
            raise ValueError(
                f"{type(self).__name__}: X must have the values 0 and 1 only, whose probabilities add up to 1; "
                f"got {wrong.flat[0]:g}."
            )

    def gradient(self, X: Any, samples: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Estimate of the gradient of the mean log-likelihood, <·>_data - <·>_model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.
        samples : array of shape (n_draws, n_features)
            Visible units of the model: draws of `sample`, or what Gibbs steps from the data lead to.

        Returns
        -------
        components, intercept_hidden, intercept_visible : arrays
            Gradients with respect to the fitted attributes of these names.

        Examples
        --------
        >>> model = BernoulliRBM.from_weights([[0.0, 0.0]])
        >>> model.gradient([[1, 0]], samples=[[1, 1]])
        (array([[ 0. , -0.5]]), array([0.]), array([ 0., -1.]))
        """
        check_is_fitted(self)
        data, model = (self._check(rows, reset=False) for rows in (X, samples))
        data, model = (rows.toarray() if sparse.issparse(rows) else rows for rows in (data, model))
        h_data, h_model = self._mean_hiddens(data), self._mean_hiddens(model)
        with one_blas_thread():
            weights = h_data.T @ data / len(data) - h_model.T @ model / len(model)
        return (
            weights,
            h_data.mean(axis=0) - h_model.mean(axis=0),
            data.mean(axis=0) - model.mean(axis=0),
        )

    # Steps of the updates that depend on the kind of visible units; subclasses override them.

    def _visible_rows(self, X: Any, out: np.ndarray) -> None:
        """Write a batch into the buffer."""
        out[...] = X.toarray() if sparse.issparse(X) else X

    def _visible_in_place(self, inputs: np.ndarray, rng: np.random.RandomState) -> None:
        """Replace the inputs from the hidden units by visible units: samples or probabilities."""
        inputs += self.intercept_visible_
        sigmoid_in_place(inputs)
        if self.reconstruction == "samples":
            np.less(rng.random_sample(inputs.shape), inputs, out=inputs)

    def _move_visible_bias(self, change: np.ndarray) -> None:
        self.intercept_visible_ += change

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Updates:
    """Updates of a machine from one batch after the other, in arrays that are allocated once.

    The data and the model's samples are rows of one array, so that one matrix product gives the hidden
    probabilities of both, and another adds the difference of their correlations to the weights.
    """

    def __init__(self, model: BernoulliRBM, rng: np.random.RandomState, batch_size: int) -> None:
        self.model, self.rng = model, rng
        self.W = model.components_
        self.persistent = model.algorithm == "pcd"
        self.h = (
            model.h_samples_ if self.persistent else np.empty((batch_size, self.W.shape[0]), self.W.dtype)
        )
        size = batch_size + len(self.h)
        self.V = np.empty((size, self.W.shape[1]), dtype=self.W.dtype)
        self.P = np.empty((size, self.W.shape[0]), dtype=self.W.dtype)
        self.factors = np.empty(size, dtype=self.W.dtype)
        (self.gemm,) = get_blas_funcs(("gemm",), (self.W,))
        self.velocity = np.zeros_like(self.W) if model.momentum else None
        self.bias_velocity = [np.zeros_like(model.intercept_hidden_), np.zeros_like(model.intercept_visible_)]

    def of_batch(self, X: Any, weight: np.ndarray | None) -> None:
        """One update: the data's means (positive phase) against the model's (negative phase)."""
        n = X.shape[0]
        m = len(self.h) if self.persistent else n
        end = n + m
        h = self.h[:m]
        self.model._visible_rows(X, self.V[:n])
        if not self.persistent:
            self.hidden(0, n)
            self.draw_hidden(self.P[:n], h)
        for k in range(self.model.n_gibbs_steps):
            if k:
                self.hidden(n, end)
                self.draw_hidden(self.P[n:end], h)
            np.dot(h, self.W, out=self.V[n:end])
            self.model._visible_in_place(self.V[n:end], self.rng)
        self.hidden(0 if self.persistent else n, end)
        if self.persistent:
            self.draw_hidden(self.P[n:end], h)
        self.factors[:n] = 1.0 if weight is None else weight
        if weight is None or self.persistent:
            self.factors[n:end] = -(n if weight is None else float(weight.sum())) / m
        else:
            np.negative(self.factors[:n], out=self.factors[n:end])
        self.move(self.V[:end], self.P[:end], self.factors[:end], float(self.model.learning_rate) / n)

    def hidden(self, start: int, end: int) -> None:
        """P = σ(V Wᵀ + c) for some of the rows."""
        P = self.P[start:end]
        np.dot(self.V[start:end], self.W.T, out=P)
        P += self.model.intercept_hidden_
        sigmoid_in_place(P)

    def draw_hidden(self, P: np.ndarray, h: np.ndarray) -> None:
        np.less(self.rng.random_sample(P.shape), P, out=h)

    def move(self, V: np.ndarray, P: np.ndarray, factors: np.ndarray, rate: float) -> None:
        """Add rate · Σ_i factor_i p_i v_iᵀ to the weights, and the like to the biases."""
        model, decay = self.model, float(self.model.learning_rate * self.model.weight_decay)
        biases = [rate * (factors @ units).astype(np.float64) for units in (P, V)]
        P *= factors[:, None]
        # Wᵀ += Vᵀ P, all of them in Fortran order
        if self.velocity is None:
            self.gemm(rate, V.T, P.T, beta=1.0 - decay, c=self.W.T, trans_b=1, overwrite_c=1)
        else:
            self.gemm(rate, V.T, P.T, beta=model.momentum, c=self.velocity.T, trans_b=1, overwrite_c=1)
            if decay:
                self.velocity -= decay * self.W
            self.W += self.velocity
            for bias, old in zip(biases, self.bias_velocity):
                old *= model.momentum
                old += bias
            biases = self.bias_velocity
        model.intercept_hidden_ += biases[0]
        model._move_visible_bias(biases[1])


def sigmoid_in_place(x: np.ndarray) -> None:
    """σ(x) in place of x; the caller silences the overflow of exp, which gives the right 0."""
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    np.reciprocal(x, out=x)


def random_numbers(random_state: Any) -> np.random.RandomState:
    """The numbers of scikit-learn's class for the same seed; a Generator gives those of its own stream."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    return check_random_state(random_state)


def bias(name: str, value: Any, size: int) -> np.ndarray:
    """Biases as an array of the given size; zeros where there are none."""
    if value is None:
        return np.zeros(size)
    found = check_array(value, ensure_2d=False, dtype=np.float64, input_name=name)
    if found.shape != (size,):
        raise ValueError(
            f"{name} must have shape ({size},), one bias for each unit; got shape {found.shape}."
        )
    return found.copy()


def count(name: str, value: Any) -> None:
    """Raise an error unless a value is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")
