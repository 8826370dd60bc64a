"""Categories as shrunken means of the target (目标编码)."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import type_of_target

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, check_is_fitted, distinct
from tercet.core.fitted_checks import Each, Floats, Labels, OneOf
from tercet.core.folds import Folds
from tercet.core.input_errors import Explaining, shown
from tercet.core.parameters import NonNegative, Seed
from tercet.core.validation import indexable
from tercet.feature.encoding.base import CategoryEncoder
from tercet.feature.encoding.cross_fitting import cross_fitting_folds
from tercet.feature.encoding.target_statistics import Target, leave_one_out

TARGETS = ("binary", "multiclass", "continuous")
HALF_ROW = 0.5  # added to both classes of a category whose rows all have one


@method(
    zh="目标编码",
    task="feature extraction",
    model="x -> λ mean(y | category) + (1 − λ) mean(y), or its weight of evidence",
    strategy="empirical Bayes: λ = n / (n + σ²_category / σ²)",
    algorithms="statistics of the other folds in fit_transform (cross fitting), or of all other rows",
    texts=["Machine Learning in Depth ch. 3"],
    peers=["sklearn.preprocessing.TargetEncoder", "category_encoders.TargetEncoder"],
)
class TargetEncoder(CategoryEncoder):
    """Encode each category by the shrunken mean of the target over its rows.

    With several classes there is a column for each class. `fit_transform` encodes every training row by statistics
    of other rows only (cross fitting), so that no target leaks into its own row; `fit(X, y).transform(X)` uses all
    rows. In a pipeline the training rows go through `fit_transform`, later ones through `transform`.

    Parameters
    ----------
    categories : "auto" or list of arrays, default="auto"
        The categories of each column; by default those of the data.
    target_type : {"auto", "continuous", "binary", "multiclass"}, default="auto"
        What y is; by default it is inferred.
    smooth : "auto" or float, default="auto"
        Rows that the overall mean counts for in each category; "auto" is the empirical Bayes estimate.
    cv : int, splitter, iterable or "loo", default=5
        The folds of `fit_transform`; each row must be in one test fold. "loo" leaves only the row itself out.
    shuffle : bool, default="deprecated"
        Whether rows are shuffled before they are split, where cv is a number.
    random_state : int, default="deprecated"
        Decides how rows are shuffled.
    statistic : {"mean", "woe"}, default="mean"
        The mean itself, or for classes the weight of evidence, logit(mean of the category) - logit(mean): with
        smooth=0 the logarithm of the odds ratio. Half a row of each class keeps it finite.

    Attributes
    ----------
    categories_ : list of arrays
        The categories of each column.
    encodings_ : list of arrays
        The encodings of the categories of each column; with several classes those of class k of column j are at
        j * n_classes + k.
    target_type_ : str
        What y is.
    target_mean_ : float or array of shape (n_classes,)
        The mean of the target, which unknown categories get (0 as weight of evidence).
    classes_ : array, or None
        The classes, of which the second is 1 when there are two.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> X, y = [["a"], ["a"], ["a"], ["b"], ["b"], ["b"]], [1, 1, 0, 0, 0, 1]
    >>> model = TargetEncoder(smooth=1.0).fit(X, y)
    >>> model.encodings_
    [array([0.625, 0.375])]
    >>> TargetEncoder(smooth=1.0, cv="loo").fit_transform(X, y).ravel().round(2).tolist()
    [0.47, 0.47, 0.87, 0.53, 0.53, 0.13]
    """

    def __init__(
        self,
        categories: Literal["auto"] | list[Any] = "auto",
        target_type: Literal["auto", "continuous", "binary", "multiclass"] = "auto",
        smooth: Literal["auto"] | NonNegative = "auto",
        cv: Any = 5,
        shuffle: bool | Literal["deprecated"] = "deprecated",
        random_state: Seed | Literal["deprecated"] = "deprecated",
        *,
        statistic: Literal["mean", "woe"] = "mean",
    ) -> None:
        self.categories = categories
        self.target_type = target_type
        self.smooth = smooth
        self.cv = cv
        self.shuffle = shuffle
        self.random_state = random_state
        self.statistic = statistic

    supervised = True
    fitted_shapes = {
        "classes_": Labels("classes | None"),
        "target_type_": OneOf(TARGETS),
        "encodings_": Each(Floats("any_size@", finite=True), "outputs"),
    }
    classes_: np.ndarray | None
    encodings_: list[np.ndarray]
    target_mean_: Any
    target_type_: str
    _training: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learn the encodings from all rows. For the training rows themselves use `fit_transform`.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of categories.
        y : array of shape (n_samples,)
            Labels or numbers.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight)
        del self._training
        return self

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        target = self._target(y)
        mean, _ = target.moments(sample_weight)
        self.target_mean_ = mean if self.target_type_ == "multiclass" else mean[0]
        self.encodings_ = self._fold_encodings(X, target, sample_weight)
        self._training = X, target, sample_weight

    def fit_transform(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: Any = None, **params: Any
    ) -> Any:
        """Learn the encodings, and encode the training rows by statistics of other rows.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of categories.
        y : array of shape (n_samples,)
            Labels or numbers.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.
        **params : dict
            `groups` for the splitter, with metadata routing enabled.

        Returns
        -------
        encodings : array of shape (n_samples, n_outputs)
        """
        self._learn(X, y, sample_weight)
        codes, target, weight = self.__dict__.pop("_training")
        found = np.empty((len(codes), len(self.encodings_)))
        if isinstance(self.cv, str):
            self._leave_one_out(codes, target, weight, found)
            return found
        for train, test in self._folds(X, np.asarray(y), params):
            part = None if weight is None else weight[train]
            others = target.take(train)
            encodings = self._fold_encodings(codes[train], others, part)
            found[test] = self._looked_up(codes[test], encodings, others.moments(part)[0])
        return found

    def _encoded(self, codes: np.ndarray) -> np.ndarray:
        return self._looked_up(codes, self.encodings_, np.atleast_1d(self.target_mean_))

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if isinstance(y, list | tuple | np.ndarray) and np.ndim(y) == 2:
            target_type(y)  # an error that says what it is
        return super()._check(X, y, reset=reset)

    def _target(self, y: np.ndarray) -> Target:
        """The target: numbers, or classes as indices."""
        self.target_type_ = target_type(y) if self.target_type == "auto" else self.target_type
        self.classes_ = None
        if self.target_type_ == "continuous":
            if self.statistic == "woe":
                raise ValueError("TargetEncoder: statistic='woe' needs classes; y is continuous.")
            try:
                return Target(np.asarray(y, dtype=np.float64), 0)
            except ValueError:
                raise ValueError(
                    f"TargetEncoder: y must hold numbers with target_type='continuous'; got {shown(y[:3])}."
                ) from None
        self.classes_, index = distinct(y)
        several = self.target_type_ == "multiclass"
        if several == (self.classes_.size < 3):
            raise ValueError(
                f"TargetEncoder: y has {self.classes_.size} classes, and target_type={self.target_type!r}."
            )
        return Target(index.astype(np.int64), max(self.classes_.size, 2))

    def _fold_encodings(
        self, codes: np.ndarray, target: Target, weight: np.ndarray | None
    ) -> list[np.ndarray]:
        """The encodings by the statistics of some rows."""
        mean, variance = target.moments(weight)
        smooth = None if self.smooth == "auto" else self.smooth
        found: list[np.ndarray] = []
        for column, known in zip(codes.T, self.categories_):
            sums = target.statistics(column, weight, len(known), mean)
            means = sums.shrunken_means(mean, variance, smooth)
            if self.statistic == "woe":
                means = weight_of_evidence(means, mean, sums.weight)
            found += list(means.T.copy())
        return found

    def _looked_up(self, codes: np.ndarray, encodings: list[np.ndarray], mean: np.ndarray) -> np.ndarray:
        """The encodings of codes; unknown categories have the code -1, and the encoding of no category."""
        k = len(mean)
        found = np.empty((len(codes), len(encodings)))
        for place, encoding in enumerate(encodings):
            j, target = divmod(place, k)
            nothing = 0.0 if self.statistic == "woe" else mean[target]
            found[:, place] = np.append(encoding, nothing)[codes[:, j]]
        return found

    def _leave_one_out(
        self, codes: np.ndarray, target: Target, weight: np.ndarray | None, out: np.ndarray
    ) -> None:
        smooth = None if self.smooth == "auto" else self.smooth
        for j, known in enumerate(self.categories_):
            means, mean, rest = leave_one_out(codes[:, j], target, weight, len(known), smooth)
            if self.statistic == "woe":
                means = weight_of_evidence(means, mean, rest)
            k = means.shape[1]
            out[:, j * k : (j + 1) * k] = means

    def _folds(self, X: Any, y: Any, params: dict[str, Any]) -> Folds:
        """The folds of `fit_transform`; each row is in one test fold."""
        options: dict[str, Any] = {"shuffle": True}
        if self.shuffle != "deprecated" or self.random_state != "deprecated":
            warnings.warn(
                "`TargetEncoder.shuffle` and `TargetEncoder.random_state` are deprecated in version 1.9 and will "
                "be removed in version 1.11. Pass a cross-validation generator as `cv` argument to specify the "
                "shuffling behaviour instead.",
                FutureWarning,
                stacklevel=3,
            )
            options["shuffle"] = self.shuffle if self.shuffle != "deprecated" else True
            options["random_state"] = self.random_state if self.random_state != "deprecated" else None
        split: dict[str, Any] = {}
        if params:
            if params.get("groups") is not None:
                _, _, params["groups"] = indexable(X, y, params["groups"])
            split = process_routing(self, "fit_transform", **params).splitter.split
        return cross_fitting_folds(self, y, classifier=self.target_type_ != "continuous", **options, **split)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns; with several classes each with the class.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns of X.

        Returns
        -------
        names : array of objects of shape (n_outputs,)
        """
        check_is_fitted(self, "n_features_in_")
        names = self._names(input_features)
        if self.target_type_ == "multiclass" and self.classes_ is not None:
            names = [f"{name}_{label}" for name in names for label in self.classes_]
        return np.asarray(names, dtype=object)

    def get_metadata_routing(self) -> Any:
        """How metadata such as `groups` goes to the splitter.

        Returns
        -------
        routing : MetadataRouter
        """
        routes = MethodMapping().add(caller="fit_transform", callee="split")
        splitter = None if isinstance(self.cv, str) else self.cv
        return MetadataRouter(owner=self).add(splitter=splitter, method_mapping=routes)

    def _check_fitted(self, sizes: dict[str, int]) -> None:
        k = np.size(self.target_mean_)
        several = self.target_type_ == "multiclass"
        if k != (sizes.get("classes", -1) if several else 1) or len(self.encodings_) != k * len(
            self.categories_
        ):
            raise ValueError(
                f"TargetEncoder: encodings_ is a list of {len(self.encodings_)}, for {k} targets."
            )
        for place, encoding in enumerate(self.encodings_):
            if len(encoding) != len(self.categories_[place // k]):
                raise ValueError(
                    f"TargetEncoder: encodings_[{place}] does not fit the categories of its column."
                )


def target_type(y: Any) -> str:
    """What a target is, or an error where its means by category are nothing."""
    with Explaining(y=y):
        found = type_of_target(y, input_name="y")
    if found not in TARGETS:
        raise ValueError(
            f"Unknown label type: Target type was inferred to be {found!r}. Only {TARGETS} are supported."
        )
    return found


def weight_of_evidence(means: np.ndarray, mean: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """logit(means) - logit(mean), where a category has at least half a row of each class.

    Examples
    --------
    >>> weight_of_evidence(np.array([[0.5], [0.2]]), np.array([0.2]), np.array([8.0, 5.0])).round(4).ravel()
    array([1.3863, 0.    ])
    """
    least = HALF_ROW / (weight[:, None] + 2 * HALF_ROW)
    inside = np.clip(means, least, 1 - least)
    overall = np.clip(mean, 1e-12, 1 - 1e-12)
    odds = np.log(inside / (1 - inside)) - np.log(overall / (1 - overall))
    return np.where(weight[:, None] > 0, odds, 0.0)
