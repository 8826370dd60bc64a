"""Many categories, or rows, replaced by the clusters they belong to (Hash 与聚类)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse

from tercet.cluster import KMeans
from tercet.core.catalog import method
from tercet.core.column_parsing import label_text
from tercet.core.estimator import NO_TARGET, check_is_fitted, distinct
from tercet.core.fitted_checks import Each, Having, Labels
from tercet.core.parameters import Count, Range, Seed
from tercet.core.validation import check_target, target_for_callbacks
from tercet.feature.encoding.base import CategoryEncoder
from tercet.feature.encoding.category_columns import UNKNOWN, as_doubles, encode, is_missing, read_columns
from tercet.feature.encoding.target_encoder import target_type
from tercet.feature.encoding.target_statistics import Target
from tercet.feature.hashing.hash_bucket_encoder import hash_column
from tercet.feature.hashing.hashed_entries import HashedEntries
from tercet.feature.hashing.murmurhash3 import bucket_of
from tercet.feature.text.tfidf_transformer import divide_rows, row_lengths
from tercet.feature.text.tokenization import bounded_ngrams

NGRAMS = (2, 4)  # characters of the names that are hashed
MOST_ROWS = 100_000  # that clusters of rows are learned from


@method(
    zh="Hash 与聚类编码",
    task="feature extraction",
    model="x -> the cluster of its category, or of its row",
    strategy="k-means of hashed names, of target statistics, or of hashed rows",
    texts=["Machine Learning in Depth ch. 3"],
)
class ClusterEncoder(CategoryEncoder):
    """Replace each of many categories by one of few clusters; or each row of a table by its cluster.

    Categories are described by vectors, which k-means groups: by hashes of the character n-grams of their names (so
    that spellings of one thing come together), or by the shrunken means of a target. Rows are described by hashes
    of all their values.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters of each column, or of rows; fewer where there are fewer categories.
    by : {"name", "target", "rows"}, default="name"
        What is clustered: categories by their names, categories by the target of their rows, or whole rows.
    n_hashes : int, default=256
        Columns that names or rows are hashed into.
    handle_unknown : {"nearest", "error"}, default="nearest"
        A category that `fit` has not seen goes to the cluster that is nearest to its name (with "target": to the
        overall mean), or is an error. Rows always go to the nearest cluster.
    random_state : int, optional
        Decides where k-means starts, and which rows it learns from where there are many.

    Attributes
    ----------
    categories_ : list of arrays
        The categories of each column.
    clusters_ : list of arrays
        The cluster of each category; empty for "rows".
    models_ : list of KMeans
        The clusterings of the columns, or that of the rows.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> X = [["apple"], ["apples"], ["appel"], ["zebra"], ["zebras"], ["apple "]]
    >>> ClusterEncoder(2, random_state=0).fit_transform(X).ravel()
    array([0., 0., 0., 1., 1., 0.])
    """

    def __init__(
        self,
        n_clusters: Count = 8,
        *,
        by: Literal["name", "target", "rows"] = "name",
        n_hashes: Annotated[int, Range(1, 2**20, "[]")] = 256,
        handle_unknown: Literal["nearest", "error"] = "nearest",
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.by = by
        self.n_hashes = n_hashes
        self.handle_unknown = handle_unknown
        self.random_state = random_state

    fitted_shapes = {
        "clusters_": Each(Labels("..."), "clustered*"),
        "models_": Each(Having({}, ("predict",)), "models"),
    }
    clusters_: list[np.ndarray]
    models_: list[Any]
    _columns: Any

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the categories of each column, or the rows.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of categories.
        y : array of shape (n_samples,), optional
            Labels or numbers, for by="target"; else ignored.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        self
        """
        try:
            return self._learn(X, y, sample_weight)
        finally:
            self.__dict__.pop("_columns", None)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        self.clusters_, self.models_ = [], []
        if self.by == "rows":
            rows = hashed_rows(self._columns, self.n_hashes)
            self.models_.append(self._clustered(rows, sample_weight))
            return
        target = None if self.by == "name" else self._target(y)
        for codes, known in zip(X.T, self.categories_):
            counts = np.bincount(codes, sample_weight, minlength=len(known)).astype(np.float64)
            vectors = (
                hashed_names(as_doubles(known).tolist(), self.n_hashes)
                if target is None
                else target_vectors(codes, target, sample_weight, len(known))
            )
            model = self._clustered(vectors, counts)
            self.models_.append(model)
            self.clusters_.append(model.predict(vectors).astype(np.int64))

    def _clustered(self, vectors: Any, weight: np.ndarray | None) -> Any:
        """k-means of vectors with weights."""
        n = vectors.shape[0]
        if n > MOST_ROWS and self.by == "rows":
            rows = np.random.default_rng(_seed(self.random_state)).choice(n, MOST_ROWS, replace=False)
            vectors, weight = vectors[np.sort(rows)], None if weight is None else weight[np.sort(rows)]
        # projections of sparse rows tell them apart, and are sorted much faster
        lines = (
            vectors @ np.random.default_rng(0).random(vectors.shape[1])
            if sparse.issparse(vectors)
            else vectors
        )
        different = np.unique(lines, axis=0).shape[0]
        model = KMeans(min(self.n_clusters, different), n_init=1, random_state=self.random_state)
        return model.fit(vectors, sample_weight=weight)

    def _target(self, y: np.ndarray) -> Target:
        """The target: numbers, or classes as indices."""
        if target_type(y) == "continuous":
            return Target(np.asarray(y, dtype=np.float64), 0)
        classes, index = distinct(y)
        return Target(index.astype(np.int64), max(classes.size, 2))

    def transform(self, X: Any) -> np.ndarray:
        """The clusters of the categories, or of the rows.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of categories.

        Returns
        -------
        clusters : array of shape (n_samples, n_features), or (n_samples, 1) for rows
        """
        check_is_fitted(self, "models_")
        columns = read_columns(self, X, reset=False)
        if self.by == "rows":
            rows = hashed_rows(columns, self.n_hashes)
            return self.models_[0].predict(rows).astype(np.float64)[:, None]
        found = np.empty((len(columns[0]), len(columns)))
        codes = self._known_codes(columns, "transform")
        for j, values in enumerate(columns):
            table = np.append(self.clusters_[j], 0)
            found[:, j] = table[codes[:, j]]
            strange = codes[:, j] == UNKNOWN
            if strange.any():
                found[strange, j] = self._nearest(j, values[strange])
        return found

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Cluster, and replace the categories or rows.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of categories.
        y : array of shape (n_samples,), optional
            Labels or numbers, for by="target".
        **fit_params : dict
            Further arguments of `fit`.

        Returns
        -------
        clusters : array of shape (n_samples, n_features), or (n_samples, 1) for rows
        """
        return self.fit(X, y, **fit_params).transform(X)

    def _nearest(self, j: int, values: np.ndarray) -> np.ndarray:
        """The clusters of categories that are not known."""
        model = self.models_[j]
        if self.by == "target":  # no row says anything about them: vectors are relative to the overall mean
            return model.predict(np.zeros((1, model.cluster_centers_.shape[1])))
        values = as_doubles(values)
        labels = np.array(list(dict.fromkeys(values.tolist())), dtype=object)
        return model.predict(hashed_names(labels.tolist(), self.n_hashes))[encode_objects(values, labels)]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns, or "cluster" for rows.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns of X.

        Returns
        -------
        names : array of objects
        """
        names = self._names(input_features)
        return np.array(["cluster"] if self.by == "rows" else names, dtype=object)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        columns = read_columns(self, X, reset=reset)
        if self.by == "rows":
            self._columns, self.categories_ = columns, [values[:1] for values in columns]
            codes = np.zeros((len(columns[0]), len(columns)), dtype=np.int64)
        else:
            codes = self._learned_codes(columns)
        if self.by != "target":
            return codes, target_for_callbacks(y, len(codes))
        if y is None:
            raise ValueError("ClusterEncoder: by='target' requires y to be passed, but the target y is None.")
        return codes, check_target(self, y, len(codes), multi_output=False, numeric=False)

    def _encode(self, y: Any) -> Any:
        return y if self.by == "target" else None

    def _check_fitted(self, sizes: dict[str, int]) -> None:
        expected = [len(known) for known in self.categories_] if self.by != "rows" else []
        found = [len(own) for own in self.clusters_]
        whole = all(own.dtype.kind == "i" and own.ndim == 1 for own in self.clusters_)
        if expected != found or not whole or len(self.models_) != max(len(found), 1):
            raise ValueError(
                "ClusterEncoder: clusters_ must have a cluster for each category of each column."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.by == "target"
        return tags


def _seed(random_state: Any) -> Any:
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**31)
    return random_state


def hashed_names(names: list[Any], n_hashes: int) -> sparse.csr_array:
    """Hashed counts of the character n-grams of names, in rows of length 1; what is missing has none."""
    entries = HashedEntries(n_hashes, True)
    for name in names:
        text = "" if is_missing(name) else label_text(name).lower()
        entries.add_names(bounded_ngrams(text, *NGRAMS))
    found = entries.matrix(np.float64)
    divide_rows(found.data, np.diff(found.indptr), row_lengths(found.data, found.indptr, "l2"))
    return found


def hashed_rows(columns: list[np.ndarray], n_hashes: int) -> sparse.csr_array:
    """Rows of ones in the columns that the hashes of their values give; equal values of two columns differ."""
    n, d = len(columns[0]), len(columns)
    places = np.empty((n, d), dtype=np.int64)
    for j, values in enumerate(columns):
        hashes, missing = hash_column(values, seed=j)
        places[:, j] = bucket_of(np.where(missing, np.int32(j), hashes), n_hashes)
    found = sparse.csr_array(
        (np.ones(n * d), places.ravel(), np.arange(0, n * d + 1, d)), shape=(n, n_hashes)
    )
    found.sum_duplicates()
    return found


def target_vectors(
    codes: np.ndarray, target: Target, weight: np.ndarray | None, n_categories: int
) -> np.ndarray:
    """Shrunken means of the targets of each category, less the overall mean, in units of the deviation."""
    mean, variance = target.moments(weight)
    sums = target.statistics(codes, weight, n_categories, mean)
    unit = np.sqrt(np.where(variance > 0, variance, 1.0))
    return (sums.shrunken_means(mean, variance, None) - mean) / unit


def encode_objects(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The place of each value among labels, all of which are there."""
    if values.dtype.kind in "biuf":
        order = np.argsort(labels.astype(values.dtype), kind="stable")
        return order[encode(values, labels.astype(values.dtype)[order])]
    return encode(values, labels)
