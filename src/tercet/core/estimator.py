"""The base of every estimator: input checks, the course of a fit, labels and weights.

A family's class says what its parameters may be in the signature of `__init__` (see `core.parameters`) and
writes `_fit(X, y, sample_weight)`, which gets checked data: X a float array or a CSR matrix, y numbers (for a
classifier the indices into `classes_`), sample_weight an array or None.
"""

from __future__ import annotations

import functools
import numbers
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_random_state

from tercet.core.fitted_checks import Declarations, FittedAttributes, Labels, Sizes, Whole, check_fitted
from tercet.core.input_errors import Broken, Explaining, blamed_magnitude
from tercet.core.parameters import blamed_parameter, check_parameters
from tercet.core.public_names import PublicPickle
from tercet.core.row_sums import class_masses, times_class_weight
from tercet.core.sample_weights import check_weight
from tercet.core.scaling import largest
from tercet.core.scoring import AccuracyScoring, R2Scoring
from tercet.core.source_fits import (
    goes_elsewhere,
    learn_streamed,
    note_source,
    open_source,
    stream_predictions,
    streamed,
)
from tercet.core.sources import RowSource
from tercet.core.steps import QUIET, Iterative, fitted_attributes, running_fit, with_callbacks
from tercet.core.streams import is_streamed
from tercet.core.validation import (
    are_numbers,
    check_is_fitted,
    refuse_large,
    refuse_negative,
    target_for_callbacks,
    tidy,
    validate_data,
)

NO_TARGET = object()
# Fitted attributes that predictions are computed from.
MODEL_NUMBERS = (
    "coef_", "intercept_", "dual_coef_", "means_", "covariances_", "precisions_", "cluster_centers_", "centroids_",
    "theta_", "var_", "scalings_", "bandwidth_",
)  # fmt: skip


class Estimator(FittedAttributes, PublicPickle, Iterative, BaseEstimator):
    """What all estimators share."""

    sparse_input: ClassVar[bool] = True
    multi_output: ClassVar[bool] = False
    positive_only: ClassVar[bool] = False  # features must not be negative
    missing_input: ClassVar[bool] = False  # NaN is data: a value that is not known
    encodes_rows: ClassVar[bool] = False  # `_check` makes codes of values: callbacks get rows as they came
    largest_value: ClassVar[float] = (
        np.inf
    )  # of X: `core.scaling.LARGE` where squares or sums of values are taken
    # Only the ratios of sample weights count: their sum may be any number. Elsewhere it is limited, since weights
    # stand beside a penalty, a prior or numbers of rows there, or are a part of what is learned.
    relative_weights: ClassVar[bool] = False
    # Relative difference that a prediction may have with the batch it is made in. Nonzero where predictions are
    # matrix products by BLAS, which rounds by the shape of the whole product.
    batch_rounding: ClassVar[float] = 0.0
    streaming: ClassVar[bool] = False  # `_fit` gets to its data through `Chunks` alone (docs/streaming.md)
    streams_instead: ClassVar[str] = ""
    streams_sparse: ClassVar[bool] = True  # whether rows of a source may be sparse, where they may in memory
    streams_missing: ClassVar[bool] = True  # whether NaN in a source is data, where it is in memory
    streams_arrays: ClassVar[bool] = (
        True  # whether an engine of other machines learns from arrays in memory, too
    )
    row_attributes: ClassVar[tuple[str, ...]] = ()  # fitted attributes with a value for every row
    # Fitted arrays of shape (m, n_features) that kernels read at predict.
    width_checked_attributes: ClassVar[tuple[str, ...]] = ()
    # What kernels rely on in the attributes of a loaded model (see `core.fitted_checks`).
    fitted_shapes: ClassVar[Declarations] = {
        "n_features_in_": Whole("features", 1),
        "classes_": Labels("classes"),
    }

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        stream_predictions(cls)

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        """The names of the parameters. Every `clone` asks for them, an ensemble's fit hundreds of times."""
        return super()._get_param_names()

    @with_callbacks
    def _learn(self, X: Any, y: Any = None, sample_weight: Any = None, **more: Any) -> Self:
        """The course of every fit: check, hold out what callbacks ask for, learn (`more` is for `_fit`)."""
        check_parameters(self)
        # codes mean nothing to callbacks; and what was given need not be something to take rows from
        given = X if self.encodes_rows else None
        weight = None
        source = X if isinstance(X, RowSource) else None
        if source is not None:
            X, y, sample_weight, features = self._open_source(source, y, sample_weight)
            if is_streamed(getattr(X, "rows", X)):  # of sequences
                return learn_streamed(self, X, y, sample_weight, features, **more)
        try:
            X, y = self._check(X, y)
            weight = check_weight(sample_weight, X, relative=self.relative_weights)
            # What overflows on the way is no news to a user; what is learned is checked.
            with running_fit(self, X, y, weight, given) as (X, y, weight), np.errstate(**QUIET):
                data = X, self._encode(y), weight
                self._fit(*(streamed(self, *data) if goes_elsewhere(self, X) else data), **more)
        except Broken as error:
            blamed = blamed_parameter(self, error) or blamed_magnitude(error, X=X, y=y, sample_weight=weight)
            if blamed is None:
                raise
            raise blamed from error
        self._check_learned()
        if source is not None:
            note_source(self, features)
        return self

    def _open_source(self, *given: Any) -> Any:
        return open_source(self, *given)

    def _check_streamed(self, X: Any) -> Any:
        """Streamed rows as `_fit` takes them, as `_check` gives arrays: codes of categories, say."""
        return X

    def _streaming_refusal(self) -> str:
        """Why these parameters do not allow learning from a source, and what does; "" where they do."""
        return ""

    def _check_learned(self) -> None:
        """An error where what was learned is no number: there is no model then."""
        learned = vars(self)
        for name in MODEL_NUMBERS:
            if are_numbers(learned.get(name), infinite=name == "intercept_"):  # of a class of prior 0, say
                continue
            for fitted in fitted_attributes(self):
                delattr(self, fitted)
            raise ValueError(
                f"{type(self).__name__}: {name} is beyond floating-point numbers. The numbers of the data "
                "are too large, too small, or too different in size: scale the features and the targets."
            )

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no _fit(X, y, sample_weight).")

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        """X (and y, when it is given) as float arrays or CSR, or an error that says what is wrong."""
        options: dict[str, Any] = {
            "accept_sparse": "csr" if self.sparse_input else False,
            "dtype": (np.float64, np.float32),
            "ensure_all_finite": "allow-nan" if self.missing_input else True,
            "reset": reset,
        }
        if y is NO_TARGET or (y is None and not self.__sklearn_tags__().target_tags.required):
            X, target = validate_data(self, X, **options), None
        else:
            numeric = isinstance(self, RegressorMixin)
            options.update(multi_output=self.multi_output, y_numeric=numeric)
            X, target = validate_data(self, X, y, **options)
        if self.positive_only:
            refuse_negative(X, type(self).__name__)
        if self.largest_value < np.inf:
            refuse_large(X, self.largest_value, type(self).__name__)
        if not reset:
            self._check_widths(X.shape[1])
        X = tidy(X)
        return X if y is NO_TARGET else (X, target)

    def _check_widths(self, width: int) -> None:
        """Kernels check no bounds: an array of another width (in a forged file, say) must not get to them."""
        for name in self.width_checked_attributes:
            shape = np.shape(getattr(self, name))
            if len(shape) != 2 or not shape[0] or shape[1] != width:
                raise ValueError(
                    f"{type(self).__name__}: {name} has the shape {shape}; expected are {width} columns, as X has."
                )

    def _encode(self, y: Any) -> Any:
        return y

    def _check_fitted(self, sizes: Sizes) -> None:
        """Conditions on the attributes of a loaded model that `fitted_shapes` cannot say; `sizes` are what it
        found. A ValueError refuses the model."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        check_fitted(self)

    def __copy__(self) -> Self:
        # not by `__setstate__`: a callback is shown copies in the middle of a fit, of which not all is new
        other = type(self).__new__(type(self))
        state: Any = self.__getstate__()
        other.__dict__.update(state)
        return other

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.sparse_input
        tags.input_tags.positive_only = self.positive_only
        tags.input_tags.allow_nan = self.missing_input
        tags.target_tags.multi_output = self.multi_output
        return tags


class Classifier(AccuracyScoring, Estimator):
    """A method that learns classes: `classes_`, and labels as indices for `_fit`.

    Where `multi_output` is true, y may have several columns: then `classes_` is a list, and so is what is learned.
    """

    classes_: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X with labels y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array of shape (n_samples,)
            The labels: any numbers or strings.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _encode(self, y: Any) -> np.ndarray:
        if np.ndim(y) == 2:
            with Explaining(y=y):
                check_classification_targets(y)
            pairs = [distinct(np.asarray(y)[:, k]) for k in range(np.shape(y)[1])]
            self.classes_ = [classes for classes, _ in pairs]
            return np.column_stack([index for _, index in pairs])
        self.classes_, index = distinct(y)
        if self.classes_.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes; "
                f"the data contains only one class: {self.classes_.tolist()[0]!r}."
            )
        return index

    def _first_call(self, classes: Any) -> bool:
        """Whether this is the first `partial_fit`, which has to name all classes there will ever be."""
        known = getattr(self, "classes_", None)
        if known is None:
            if classes is None:
                raise ValueError(
                    f"{type(self).__name__}: classes must be passed on the first call to partial_fit."
                )
            self._encode(np.asarray(classes))
            return True
        if classes is not None and not np.array_equal(known, np.unique(classes)):
            raise ValueError(
                f"{type(self).__name__}: classes={classes!r} is not the same as on last call "
                f"to partial_fit, which had {known!r}."
            )
        return False

    def _check_batch(self, X: Any, y: Any, *, first: bool) -> tuple[Any, np.ndarray]:
        """A batch, its labels as indices into the classes that the first call named."""
        try:
            X, y = self._check(X, y, reset=first)
            strange = np.setdiff1d(y, self.classes_)
            if strange.size:
                raise ValueError(
                    f"{type(self).__name__}: y holds {strange[:3].tolist()}; "
                    f"the classes are {self.classes_.tolist()}."
                )
        except ValueError:
            if first:
                del self.classes_  # nothing was learned: the next call is the first again
            raise
        return X, np.searchsorted(self.classes_, y)

    def _balance(
        self, class_weight: Any, index: np.ndarray, weight: np.ndarray | None, *, weighed: bool = True
    ) -> np.ndarray | None:
        """Sample weights multiplied by the weights of their classes.

        "balanced" is inverse to a class's share of the sample weights, so that 2 is as good as having a row twice;
        without `weighed`, to its share of the rows, as in scikit-learn's trees, Perceptron and RidgeClassifier.
        """
        if class_weight is None:
            return weight
        if isinstance(class_weight, dict):
            by_class = self._given_weights(class_weight)
        else:
            n = self.classes_.size if is_streamed(index) else int(index.max(initial=-1)) + 1
            k = np.count_nonzero(class_masses(index, None, n))
            mass = class_masses(index, weight if weighed else None, n)
            by_class = np.divide(mass.sum(), k * mass, out=np.zeros(mass.size), where=mass > 0)
        return times_class_weight(by_class, index, weight)

    def _given_weights(self, class_weight: dict[Any, Any]) -> np.ndarray:
        """The weights that a dict gives to the classes; 1 where it is silent. Classes that are not here may be
        named: a fold of a cross-validation need not have them all."""
        classes = self.classes_.tolist()
        values = [class_weight.get(label, 1.0) for label in classes]
        good = [isinstance(v, numbers.Real) and 0 <= float(v) < np.inf for v in values]
        if not all(good) or not any(values) or not set(class_weight) & set(classes):
            raise ValueError(
                f"{type(self).__name__}: class_weight must give some of the classes {classes} weights that are "
                f"finite, not negative and not all zero; got {class_weight!r}."
            )
        return np.asarray(values, dtype=np.float64)


class Regressor(R2Scoring, Estimator):
    """A method that learns numbers."""

    # Of y: sums of a few must be numbers; `core.scaling.LARGE` where their squares must be, too.
    largest_target: ClassVar[float] = 1e304

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X with targets y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array of shape (n_samples,)
            The targets.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _encode(self, y: Any) -> np.ndarray:
        with Explaining(y=y):
            # a read-only array would make kernels compile once more
            y = np.require(y, np.float64, ["C", "W"])
        if (most := largest(y)) > self.largest_target:
            raise ValueError(
                f"{type(self).__name__}: y holds numbers up to {most:.3g}; allowed are at most "
                f"{self.largest_target:g}. Scale the targets."
            )
        return y


class Clusterer(ClusterMixin, Estimator):
    """A method that groups rows: `labels_`. It learns nothing from a target, but callbacks may score by it."""

    labels_: np.ndarray

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None


def distinct(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes among labels, in order, and each label's index among them."""
    y = np.asarray(y)
    if y.dtype.kind in "iu" and y.ndim == 1 and y.size:
        low, high = int(y.min()), int(y.max())
        if high - low < 2 * y.size + 1024:  # a table of what is there: no need to sort millions of labels
            wide = y if y.dtype.kind == "u" else y.astype(np.int64, copy=False)  # int8 could overflow
            offset = (wide - wide.dtype.type(low)).astype(np.intp, copy=False)
            here = np.bincount(offset, minlength=1) > 0
            classes = np.flatnonzero(here).astype(wide.dtype) + wide.dtype.type(low)
            return classes.astype(y.dtype), (np.cumsum(here) - 1)[offset]
    with Explaining(y=y):
        check_classification_targets(y)
        classes, index = np.unique(y, return_inverse=True)
    return classes, index.reshape(-1)


def generator(random_state: Any) -> np.random.Generator:
    """A NumPy Generator from what scikit-learn calls a random_state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


__all__ = [
    "Classifier",
    "Clusterer",
    "Estimator",
    "Regressor",
    "check_is_fitted",
    "check_weight",
    "generator",
]
