"""Explicit feature maps as a transformer before a linear model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import Estimator, check_is_fitted
from tercet.core.fitted_checks import Having
from tercet.core.validation import finite_predictions
from tercet.kernels.base import Kernel
from tercet.kernels.polynomial import Polynomial


@method(
    zh="特征映射",
    task="feature map",
    model="z = phi(x), so that phi(x)·phi(z) = K(x, z)",
    strategy="inner products after the map are the kernel before it",
    texts=["Li ch. 1, 1.2.4", "Li ch. 7, 7.3.1", "Pattern Recognition ch. 5, 5.5.1"],
    peers=["sklearn.preprocessing.PolynomialFeatures"],
)
class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Maps rows to the space where a kernel is an inner product, for a linear learner to follow.

    Parameters
    ----------
    map : Kernel or callable, optional
        A kernel with finitely many features, or a function that takes rows and gives mapped rows; by default
        `Polynomial(degree=2)`.

    Attributes
    ----------
    n_features_in_ : int
        Columns of X.

    Examples
    --------
    >>> from tercet.kernels import FeatureMap
    >>> FeatureMap(map=lambda X: X**2).fit_transform([[1.0, 2.0], [3.0, 4.0]])  # an ellipse becomes a line
    array([[ 1.,  4.],
           [ 9., 16.]])
    """

    def __init__(self, map: Kernel | Callable[..., Any] | None = None) -> None:
        self.map = map

    def fit(self, X: Any, y: Any = None) -> Self:
        """Resolve the data-dependent parameters of the kernel."""
        return self._learn(X, y)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        chosen = Polynomial(degree=2) if self.map is None else self.map
        self.map_ = chosen.resolve(X) if isinstance(chosen, Kernel) else chosen
        self._n_features_out = self._mapped(X[:1]).shape[1]

    def transform(self, X: Any) -> Any:
        """The mapped rows."""
        check_is_fitted(self)
        return self._mapped(self._check(X, reset=False))

    fitted_shapes = {"map_": lambda model: None if callable(model.map_) else Having({}, ("features",))}

    def _mapped(self, X: Any) -> Any:
        """The mapped rows of checked ones."""
        if isinstance(self.map_, Kernel):
            with np.errstate(over="ignore", invalid="ignore"):
                found = self.map_.features(X)
                finite_predictions(
                    np.asarray(found.sum(axis=1)) if sparse.issparse(found) else found, "FeatureMap"
                )
            return found
        found = self.map_(X)
        found = found if sparse.issparse(found) else np.asarray(found)
        if found.ndim != 2 or found.shape[0] != X.shape[0]:
            raise ValueError(
                f"FeatureMap: map must give a row for each of {X.shape[0]} rows; got {found.shape}."
            )
        return found
