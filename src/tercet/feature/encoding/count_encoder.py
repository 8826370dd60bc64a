"""Categories as their counts or frequencies (计数编码、频率编码)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from tercet.core.catalog import method
from tercet.core.fitted_checks import Each, Floats
from tercet.feature.encoding.base import CategoryEncoder
from tercet.feature.encoding.category_columns import is_missing


@method(
    zh="计数（频率）编码",
    task="feature extraction",
    model="x -> number of rows of the category, or their share",
    strategy="counts of the training rows",
    texts=["Machine Learning in Depth ch. 3"],
    peers=["category_encoders.CountEncoder"],
)
class CountEncoder(OneToOneFeatureMixin, CategoryEncoder):
    """Encode each category by the number of training rows that have it, or by their share.

    Parameters
    ----------
    categories : "auto" or list of arrays, default="auto"
        The categories of each column; by default those of the data.
    normalize : bool, default=False
        Frequencies, which add up to 1, in place of counts.
    handle_unknown : {"ignore", "error"}, default="ignore"
        A category that `fit` has not seen has the count 0, or is an error.
    missing : {"category", "nan"}, default="category"
        Missing values are counted as a category of their own, or stay missing.

    Attributes
    ----------
    categories_ : list of arrays
        The categories of each column.
    counts_ : list of arrays
        The number of rows, or the sum of the weights, of each category.
    total_ : float
        The number of rows, or the sum of all weights.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> model = CountEncoder(normalize=True).fit([["red"], ["blue"], ["red"], [None]])
    >>> model.transform([["red"], ["green"], [None]]).ravel()
    array([0.5 , 0.  , 0.25])
    """

    def __init__(
        self,
        *,
        categories: Literal["auto"] | list[Any] = "auto",
        normalize: bool = False,
        handle_unknown: Literal["ignore", "error"] = "ignore",
        missing: Literal["category", "nan"] = "category",
    ) -> None:
        self.categories = categories
        self.normalize = normalize
        self.handle_unknown = handle_unknown
        self.missing = missing

    fitted_shapes = {"counts_": Each(Floats("values@", finite=True, low=0.0), "features")}
    counts_: list[np.ndarray]
    total_: float

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the rows of each category.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of categories.
        y : ignored
            There for pipelines; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        self.total_ = float(len(X) if sample_weight is None else sample_weight.sum())
        self.counts_ = []
        for codes, known in zip(X.T, self.categories_):
            # a category that was not given has the code -1, and goes into a count of its own
            counts = np.bincount(codes + 1, sample_weight, minlength=len(known) + 1)[1:].astype(np.float64)
            if self.missing == "nan":
                counts[[is_missing(value) for value in known.tolist()]] = 0.0
            self.counts_.append(counts)

    def _encoded(self, codes: np.ndarray) -> np.ndarray:
        found = np.empty(codes.shape)
        for j, (counts, known) in enumerate(zip(self.counts_, self.categories_)):
            table = np.append(
                counts / self.total_ if self.normalize else counts, 0.0
            )  # the last is for code -1
            if self.missing == "nan":
                table[np.flatnonzero([is_missing(value) for value in known.tolist()])] = np.nan
            found[:, j] = table[codes[:, j]]
        return found
