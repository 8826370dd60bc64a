"""A learned Mahalanobis distance as a function of two points."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from tercet.core.public_names import PublicPickle


class MahalanobisMetric(PublicPickle):
    """The distance |L(x - z)| of two points, which a metric learner has found (watermelon notes ch. 8, eq. 8.26).

    As the `metric` of `tercet.neighbors` it measures many pairs at a time; scikit-learn, and whatever else takes a
    function of two points, calls it for each pair.

    Parameters
    ----------
    components : array of shape (n_components, n_features)
        L; the metric matrix is M = L'L.

    Examples
    --------
    >>> metric = MahalanobisMetric([[2.0, 0.0], [0.0, 1.0]])
    >>> float(metric([0.0, 0.0], [1.0, 1.0], squared=True))
    5.0
    >>> from tercet.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(1, metric=metric).fit([[0.0, 0.0], [1.0, 1.5]], ["a", "b"])
    >>> model.predict([[0.6, 0.0]])
    array(['a'], dtype='<U1')
    """

    def __init__(self, components: Any) -> None:
        self.components = np.asarray(components, dtype=np.float64)
        if self.components.ndim != 2 or not np.isfinite(self.components).all():
            raise ValueError(
                f"MahalanobisMetric: components must be a matrix of finite numbers; got {self.components.shape}."
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["components"])  # type: ignore[misc]

    def __call__(self, u: Any, v: Any, squared: bool = False) -> float:
        """The distance of two points, or its square."""
        difference = self._points(u) - self._points(v)
        if difference.ndim != 1:
            raise ValueError(
                f"MahalanobisMetric: u and v must be single points; got the shapes {np.shape(u)} and "
                f"{np.shape(v)}. "
                "`pairwise` takes rows."
            )
        square = float(((self.components @ difference) ** 2).sum())
        return square if squared else float(np.sqrt(square))

    def pairwise(self, X: Any, Y: Any = None) -> np.ndarray:
        """The distances of the rows of X from those of Y, or from each other."""
        Z = self._points(X) @ self.components.T
        return euclidean_distances(Z, None if Y is None else self._points(Y) @ self.components.T)

    def _points(self, X: Any) -> np.ndarray:
        points = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        if points.shape[-1:] != self.components.shape[1:]:
            raise ValueError(
                f"MahalanobisMetric: points must have {self.components.shape[1]} features; got the shape "
                f"{points.shape}."
            )
        return points

    def __repr__(self) -> str:
        return f"{type(self).__name__}(components of shape {self.components.shape})"
