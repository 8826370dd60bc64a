"""Leaves of trees as combination features (树路径组合特征).

Every path from the root of a tree to a leaf is a conjunction of conditions, and so a crossed feature: the trees
find the combinations, and a linear model on top weighs them (GBDT + logistic regression; He et al. 2014).
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_feature_names_in, has_fit_parameter

from tercet.core.catalog import method
from tercet.core.column_parsing import from_lists
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Each, Having, Indices
from tercet.core.input_errors import Explaining, refuse_containers, shown
from tercet.core.parameters import Seed
from tercet.core.validation import check_target, indexable, validate_data
from tercet.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from tercet.feature.combination.leaf_rules import leaf_rules, member_trees
from tercet.feature.discretization.bin_codes import dense_one_hot, sparse_one_hot
from tercet.feature.encoding.cross_fitting import cross_fitting_folds

DEFAULT: dict[str, Any] = {"n_estimators": 20, "max_depth": 3}
NOT_A_LEAF = -1


@method(
    zh="树路径组合特征",
    task="feature extraction",
    model="x -> the leaf that it comes to in every tree; each path to a leaf is a conjunction of conditions",
    strategy="that of the trees: conditions which together tell the target",
    algorithms="a decision tree, forest or boosting model; its apply gives the leaves",
    texts=["Machine Learning in Depth ch. 3"],
    peers=["sklearn.ensemble.RandomTreesEmbedding"],
)
class TreeLeafEncoder(TransformerMixin, Estimator):
    """Encode rows by the leaves they come to in a tree, forest or boosting model.

    The leaf of a training row was chosen by its own target: a model that is fitted to these features on the same
    rows trusts them too much. Fit the trees on other rows than the model on top, or set `cv`.

    Parameters
    ----------
    estimator : estimator, optional
        A classifier or regressor with `apply`: a decision tree, forest or gradient boosting. By default gradient
        boosting of 20 trees of depth 3, for classes or numbers as y is.
    encode : {"onehot", "onehot-dense", "ordinal"}, default="onehot"
        A column for each leaf of each tree (as a sparse matrix or an array), or a column for each tree with the
        number of the leaf.
    prefit : bool, default=False
        Whether the estimator is fitted already, and stays as it is.
    cv : int, splitter or iterable, optional
        Cross fitting: an estimator for each fold, learned from the other rows. `fit_transform` encodes a training
        row by the one that has not seen it; the columns of the others are 0. `transform` encodes by all of them,
        with 1 / n_folds in place of 1: a linear model on top then gives the mean of its answers for all folds.
    random_state : int, optional
        Of the default estimator, and of the folds where cv is a number.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted estimator, or one for each fold.
    leaves_ : list of arrays
        The leaves of each tree that training rows come to, one tree after the other.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> X, y = [[0, 1], [0, 3], [1, 1], [1, 3]], [0, 1, 1, 0]
    >>> model = TreeLeafEncoder(DecisionTreeClassifier(random_state=0), encode="onehot-dense").fit(X, y)
    >>> model.transform([[0, 1], [1, 3]])
    array([[1., 0., 0., 0.],
           [0., 0., 0., 1.]])
    >>> print(*model.get_feature_names_out(["house", "income"]), sep="\\n")
    tree0: house <= 0.5 and income <= 2
    tree0: house <= 0.5 and income > 2
    tree0: house > 0.5 and income <= 2
    tree0: house > 0.5 and income > 2
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        encode: Literal["onehot", "onehot-dense", "ordinal"] = "onehot",
        prefit: bool = False,
        cv: Any = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.encode = encode
        self.prefit = prefit
        self.cv = cv
        self.random_state = random_state

    fitted_shapes = {
        "estimators_": Each(Having({"n_features_in_": "features"}, ("apply",)), "folds"),
        "leaves_": Each(Indices("leaves@", below=str(2**31)), "trees"),
    }
    estimators_: list[Any]
    leaves_: list[np.ndarray]
    _training: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : anything that the estimator takes, of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Labels or numbers.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; passed on to the estimator.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight)
        del self._training
        return self

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        self._check_options()
        folds = self._folds(X, y)
        self.estimators_ = [self._fitted(X, y, sample_weight, train) for train, _ in folds]
        leaves = [leaf_matrix(model, X) for model in self.estimators_]
        self.leaves_ = [np.unique(column) for block in leaves for column in block.T]
        self._training = leaves, [test for _, test in folds]

    def _fitted(self, X: Any, y: Any, weight: np.ndarray | None, rows: Any) -> Any:
        """The estimator, fitted to some rows."""
        if self.prefit:
            check_is_fitted(self.estimator)
            return self.estimator
        given = {}
        model = self._default(y) if self.estimator is None else clone(self.estimator)
        if weight is not None:
            if not has_fit_parameter(model, "sample_weight"):
                raise ValueError(f"sample_weight was given, but {type(model).__name__}.fit takes none.")
            given = {"sample_weight": weight if rows is None else weight[rows]}
        if rows is None:
            return model.fit(X, y, **given)
        part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        return model.fit(part, y[rows], **given)

    def _default(self, y: Any) -> Any:
        classes = type_of_target(y) in ("binary", "multiclass")
        kind: Any = GradientBoostingClassifier if classes else GradientBoostingRegressor
        return kind(**DEFAULT, random_state=self.random_state)

    def _folds(self, X: Any, y: Any) -> list[tuple[Any, Any]]:
        """Rows to learn from and rows to encode; None is all."""
        if self.cv is None:
            return [(None, None)]
        classes = type_of_target(y) in ("binary", "multiclass")
        return list(cross_fitting_folds(self, y, classifier=classes, random_state=self.random_state))

    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the trees and encode the training rows; with `cv`, each by trees that have not seen it.

        Parameters
        ----------
        X : anything that the estimator takes, of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Labels or numbers.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; passed on to the estimator.

        Returns
        -------
        leaves : array or CSR matrix of shape (n_samples, n_outputs)
        """
        self._learn(X, y, sample_weight)
        leaves, tests = self.__dict__.pop("_training")
        if self.cv is not None:
            for block, test in zip(leaves, tests):
                mine = np.zeros(len(block), dtype=bool)
                mine[test] = True
                block[~mine] = NOT_A_LEAF
        return self._encoded(np.hstack(leaves), 1.0)

    def transform(self, X: Any) -> Any:
        """The leaves of rows.

        Parameters
        ----------
        X : anything that the estimator takes, of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        leaves : array or CSR matrix of shape (n_samples, n_outputs)
        """
        check_is_fitted(self, "leaves_")
        X = self._check(X, reset=False)
        leaves = np.hstack([leaf_matrix(model, X) for model in self.estimators_])
        return self._encoded(leaves, 1.0 / len(self.estimators_))

    def _encoded(self, leaves: np.ndarray, one: float) -> Any:
        if leaves.shape[1] != len(self.leaves_):
            raise ValueError(
                f"TreeLeafEncoder: estimators_ have {leaves.shape[1]} trees; leaves_ those of {len(self.leaves_)}."
            )
        codes = np.empty(leaves.shape, dtype=np.int64)
        for j, known in enumerate(self.leaves_):
            at = np.minimum(np.searchsorted(known, leaves[:, j]), known.size - 1)
            codes[:, j] = np.where(known[at] == leaves[:, j], at, NOT_A_LEAF)
        if self.encode == "ordinal":
            return codes.astype(np.float64)
        one_hot = sparse_one_hot if self.encode == "onehot" else dense_one_hot
        found = one_hot(codes, np.array([len(known) for known in self.leaves_]), np.float64)
        return found if one == 1.0 else found * one

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the output columns: the tree, and the conditions on the path to the leaf.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns of X.

        Returns
        -------
        names : array of objects of shape (n_outputs,)
        """
        check_is_fitted(self, "leaves_")
        names = [str(name) for name in _check_feature_names_in(self, input_features)]
        owners = [(model, tree) for model in self.estimators_ for tree in member_trees(model)]
        found = []
        for k, ((model, tree), known) in enumerate(zip(owners, self.leaves_)):
            if self.encode == "ordinal":
                found.append(f"tree{k}")
                continue
            rules = {} if tree is None else leaf_rules(tree, names, getattr(model, "categories_", None))
            found += [f"tree{k}: {rules.get(leaf, f'node {leaf}')}" for leaf in known.tolist()]
        return np.array(found, dtype=object)

    def _check_options(self) -> None:
        """Refuse parameters that do not go together."""
        model = self.estimator
        if model is not None and not (hasattr(model, "fit") and hasattr(model, "apply")):
            raise ValueError(
                "TreeLeafEncoder: parameter 'estimator' must be a decision tree, forest or gradient boosting with "
                f"apply; got {shown(model)}."
            )
        if self.prefit and (model is None or self.cv is not None):
            raise ValueError("TreeLeafEncoder: prefit=True needs a fitted estimator, and no cv.")
        if self.cv is not None and self.encode == "ordinal":
            raise ValueError(
                "TreeLeafEncoder: with cv the leaves of a row are shares: encode must be one-hot."
            )

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        """Names and shape; the estimator checks the values."""
        refuse_containers(X=X)
        with Explaining(X=X):
            (X,) = indexable(from_lists(X) if isinstance(X, list | tuple) else X)
        if getattr(X, "ndim", 2) == 2:
            validate_data(self, X, reset=reset, skip_check_array=True)
        if y is NO_TARGET:
            return X
        if y is None:
            raise ValueError(
                "This TreeLeafEncoder estimator requires y to be passed, but the target y is None."
            )
        return X, check_target(self, y, X.shape[0], multi_output=False, numeric=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inside = get_tags(
            GradientBoostingClassifier() if self.estimator is None else self.estimator
        ).input_tags
        for name in ("sparse", "allow_nan", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(inside, name))
        tags.target_tags.required = True
        return tags


def leaf_matrix(model: Any, X: Any) -> np.ndarray:
    """The leaves of rows in all trees of a model, of shape (n_samples, n_trees)."""
    leaves = np.asarray(model.apply(X.tocsr() if sparse.issparse(X) else X))
    return leaves.reshape(len(leaves), -1).astype(np.int64)
