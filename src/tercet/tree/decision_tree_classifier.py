"""Classification trees (分类树): ID3, C4.5 and CART (Li ch. 5, Alg 5.2, 5.3 and 5.6)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.estimator import Classifier
from tercet.core.fitted_checks import classes_of_outputs
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative, OpenFraction, Seed
from tercet.core.streams import is_streamed
from tercet.tree.base import (
    AtLeastTwo,
    BaseDecisionTree,
    Folds,
    MaxFeatures,
    MinSamplesLeaf,
    MinSamplesSplit,
)
from tercet.tree.class_labels import all_classes, class_weights, encode_classes
from tercet.tree.multiway import grow_multiway
from tercet.tree.tree import Tree


@method(
    zh="分类决策树",
    task="classification",
    model="tests of features from a root to a leaf, which has P(y | x) for all rows that get there",
    strategy="impurity of the leaves: Gini index or entropy, with a price for each leaf when pruned",
    loss="log",
    convex=False,
    algorithms={
        "cart": "binary tests with the greatest fall of the Gini index or the entropy",
        "id3": "one branch for each value, by information gain",
        "c45": "one branch for each value, by gain ratio; missing values go down all branches",
    },
    texts=[
        "Li ch. 5, Alg 5.1, 5.2, 5.3, 5.4, 5.6, 5.7",
        "Li ch. 12, Table 12.1",
        "Machine Learning in Depth ch. 8",
        "watermelon notes ch. 2",
    ],
    peers=["sklearn.tree.DecisionTreeClassifier", "snapml.DecisionTreeClassifier"],
)
class DecisionTreeClassifier(BaseDecisionTree, Classifier):
    """Tree of tests that ends in the proportions of the classes.

    A node in which class k has the proportion p_k has the Gini index 1 - sum p_k² and the entropy
    -sum p_k log2 p_k. Every node takes the test that lowers it most, on average over the rows of its children; ties
    take the first feature and the smallest threshold. The answer of a leaf is its most frequent class.

    Columns of strings, or of a frame's categorical dtype, are categories. NaN and None are missing values: they go
    to the side where the test gains most by it ("cart"), or down all branches in proportion ("id3", "c45"). A
    category that a node never saw ends the way there.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity that "cart" lowers; the last two are one.
    splitter : {"best", "random"}, default="best"
        "random" draws one threshold for each feature and takes the best of these.
    max_depth : int, optional
        The largest number of tests on a path to a leaf.
    min_samples_split, min_samples_leaf : int or float, default=2 and 1
        The fewest rows of a node that is split, and of a leaf; a float is a fraction of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The least fraction of the total weight in a leaf.
    max_features : int, float, "sqrt" or "log2", optional
        How many features each node tries, drawn at random; a float is a fraction of them.
    random_state : int, optional
        Decides every draw: of features, thresholds, held-out rows and folds.
    max_leaf_nodes : int, optional
        The largest number of leaves; growth is then best first.
    min_impurity_decrease : float, default=0.0
        The least decrease of the impurity, times the node's fraction of all rows, of a split.
    class_weight : dict, list of dict or "balanced", optional
        Weights of the classes; a list has a dict for each output.
    ccp_alpha : float, default=0.0
        The complexity parameter of cost-complexity pruning (see `cost_complexity_pruning_path`).
    monotonic_cst : array of -1, 0 and 1, optional
        Features with which the probability of the second of two classes must not fall (1) or rise (-1).
    algorithm : {"cart", "id3", "c45"}, default="cart"
        Binary tests; or one branch for each value of a category, by information gain or by gain ratio. Numbers are
        cut in two by all three.
    categorical_features : "from_dtype", list or mask, optional
        Which columns are categories: by their dtype, or by name, index or mask.
    category_tests : {"subset", "value"}, default="subset"
        "cart" tests whether a category is in a set; or whether it is one value, against the rest, as the texts do.
    min_impurity : float, default=0.0
        A node of less impurity than this is a leaf, whatever the gain of a split.
    epsilon : float, default=0.0
        "id3" and "c45" make a leaf where the best gain, or gain ratio, is below it.
    average_gain : bool, default=True
        "c45" lets only features compete whose gain is at least the mean. False is the book's plain rule.
    cut : {"middle", "value"}, default="middle"
        Where "id3" and "c45" cut numbers: between two values, or at the lower one.
    pruning : {"cost", "reduced_error", "pre", "pessimistic", "validation", "cv"}, optional
        What to do to the grown tree: minimise entropy + `alpha` for each leaf; replace subtrees by leaves where
        held-out rows are answered better; keep tests only where they are at once; count mistakes as C4.5 does;
        or take the subtree of the cost-complexity sequence that is best on held-out rows or in cross-validation.
    alpha : float, default=0.0
        The price of a leaf for pruning="cost", in nats of all rows.
    validation_fraction : float, default=0.2
        The fraction of the rows to hold out where the pruning needs some and `fit` is not given any.
    pruning_ties : bool, default=False
        Whether pruning="reduced_error" also takes the leaf where it is as good.
    confidence : float, default=0.25
        For pruning="pessimistic"; the smaller, the more is pruned.
    cv : int, splitter or list of pairs, default=5
        The folds of pruning="cv": how many, or which rows to grow from and to hold out.
    max_bins : int, optional
        Bin numeric features first (histogram growth): faster on many rows, a little coarser. A source that does not
        fit into memory is always binned, into 255 bins by default: thresholds lie between bins of about equal
        weight, not between all values, and the tree is that of the same `max_bins` in memory.
    n_jobs : int, optional
        Threads. The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The nodes, in arrays.
    classes_, n_classes_ : array and int
        The classes and their number; lists when there are several outputs.
    feature_importances_ : array of shape (n_features,)
        The total decrease of the impurity by the tests of each feature, normalised to sum 1.
    n_outputs_, max_features_ : int
        Outputs learned, and features tried at a node.
    categories_ : list of arrays
        The values of each column of categories; None for numbers.
    alpha_, alphas_, losses_ : float and arrays
        With pruning="validation" or "cv": the chosen alpha, all candidates, and their losses.

    Examples
    --------
    >>> X = [["no", "no"], ["no", "yes"], ["yes", "no"], ["no", "no"]]
    >>> model = DecisionTreeClassifier(algorithm="id3").fit(X, ["no", "yes", "yes", "no"])
    >>> model.predict([["no", "yes"], ["no", "no"]])
    array(['yes', 'no'], dtype='<U3')
    >>> model.get_depth(), model.get_n_leaves()
    (2, 3)
    """

    streaming = True

    def __init__(
        self,
        *,
        criterion: Literal["gini", "entropy", "log_loss"] = "gini",
        splitter: Literal["best", "random"] = "best",
        max_depth: Count | None = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: Fraction = 0.0,
        max_features: MaxFeatures = None,
        random_state: Seed = None,
        max_leaf_nodes: AtLeastTwo | None = None,
        min_impurity_decrease: NonNegative = 0.0,
        class_weight: dict | list | Literal["balanced"] | None = None,
        ccp_alpha: NonNegative = 0.0,
        monotonic_cst: list | tuple | np.ndarray | None = None,
        algorithm: Literal["cart", "id3", "c45"] = "cart",
        categorical_features: Features = "from_dtype",
        category_tests: Literal["subset", "value"] = "subset",
        min_impurity: NonNegative = 0.0,
        epsilon: NonNegative = 0.0,
        average_gain: bool = True,
        cut: Literal["middle", "value"] = "middle",
        pruning: Literal["cost", "reduced_error", "pre", "pessimistic", "validation", "cv"] | None = None,
        alpha: NonNegative = 0.0,
        validation_fraction: OpenFraction = 0.2,
        pruning_ties: bool = False,
        confidence: OpenFraction = 0.25,
        cv: Folds = 5,
        max_bins: AtLeastTwo | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.algorithm = algorithm
        self.categorical_features = categorical_features
        self.category_tests = category_tests
        self.min_impurity = min_impurity
        self.epsilon = epsilon
        self.average_gain = average_gain
        self.cut = cut
        self.pruning = pruning
        self.alpha = alpha
        self.validation_fraction = validation_fraction
        self.pruning_ties = pruning_ties
        self.confidence = confidence
        self.cv = cv
        self.max_bins = max_bins
        self.n_jobs = n_jobs

    @property
    def multi_output(self) -> bool:  # type: ignore[override]
        """Whether y may have several columns."""
        return self.algorithm == "cart" and self.max_bins is None

    def _fit(
        self, X: Any, y: Any, sample_weight: np.ndarray | None, held_out: tuple[Any, Any] = (None, None)
    ) -> None:
        weight = self._with_class_weight(y, sample_weight)
        if is_streamed(X):
            self._fit_streamed(X, y, weight)
            return
        sample, held, seed = self._prepare(X, y, weight, held_out)
        self._check_algorithm()
        tree = self._grow(*sample, seed)  # Alg 5.2 (ID3), 5.3 (C4.5) or 5.6 (CART)
        self.tree_ = self._prune(tree, sample, held, seed, self._grow)  # Alg 5.4 or 5.7

    def _grow(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, seed: int) -> Tree:
        if self.algorithm == "cart":
            return self._grow_cart(X, y, weight, seed)
        tree = grow_multiway(
            X,
            y,
            weight,
            n_classes=self.n_classes_,
            n_categories=self._n_categories(),
            limits=self._limits(X, weight),
            algorithm=self.algorithm,
            epsilon=self.epsilon,
            average_gain=self.average_gain,
            cut=self.cut,
            seed=seed,
            n_jobs=self.n_jobs,
        )
        return self._without_pure_splits(tree)

    def _check_algorithm(self) -> None:
        """Refuse parameters that only "cart" has."""
        if self.algorithm == "cart":
            return
        given = {"splitter": self.splitter != "best", "max_bins": self.max_bins is not None}
        given |= {"monotonic_cst": self.monotonic_cst is not None}
        given |= {"category_tests": self.category_tests != "subset"}
        for what in (name for name, wrong in given.items() if wrong):
            raise ValueError(
                f"{type(self).__name__}: algorithm={self.algorithm!r} does not go with {what}; 'cart' does."
            )

    def _encode(self, y: Any) -> np.ndarray:
        self.classes_, self.n_classes_, index = encode_classes(y)
        return index

    def _encode_validation(self, y: np.ndarray) -> np.ndarray:
        columns = []
        for classes, labels in zip(self._all_classes(), np.reshape(y, (len(y), -1)).T):
            unknown = np.setdiff1d(labels, classes)
            if unknown.size:
                raise ValueError(
                    f"{type(self).__name__}: y_val holds {unknown[0]!r}; the classes are {classes.tolist()[:12]}."
                )
            columns.append(np.searchsorted(classes, labels))
        return np.column_stack(columns) if np.ndim(y) == 2 else columns[0]

    def _with_class_weight(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
        if y.ndim == 1 and not isinstance(self.class_weight, list):
            return self._balance(self.class_weight, y, weight, weighed=False)
        if self.class_weight is None:
            return weight
        by_class = class_weights(self.class_weight, self.classes_, y)
        return by_class if weight is None else by_class * weight

    def _all_classes(self) -> list[np.ndarray]:
        return all_classes(self.classes_)

    fitted_shapes = {"classes_": classes_of_outputs}

    def _classes_of_outputs(self) -> tuple[int, ...]:
        return tuple(len(classes) for classes in self._all_classes())

    def predict(self, X: Any, check_input: bool = True) -> np.ndarray:
        """The most frequent class of the leaf that each row comes to; of equals, the first.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        check_input : bool, default=True
            False takes X for an array of floats as `fit` saw them.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        X, tree = self._checked_rows(X, check_input), self.tree_
        value, row = tree.value, None
        if tree.shares or X.shape[0] < tree.node_count:
            value = tree.predict(X, self.n_jobs)
        else:  # the class is found once for each leaf, not for each row
            row = tree.apply(X, self.n_jobs)
        labels = []
        for k, classes in enumerate(self._all_classes()):
            best = value[:, k, : len(classes)].argmax(axis=1)
            labels.append(classes[best if row is None else best[row]])
        return labels[0] if self.n_outputs_ == 1 else np.column_stack(labels)

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """The proportions of the classes in the leaf that each row comes to.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        check_input : bool, default=True
            False takes X for an array of floats as `fit` saw them.

        Returns
        -------
        array of shape (n_samples, n_classes), or a list of them for several outputs
        """
        value = self._leaf_values(X, check_input)
        proba = [value[:, k, : len(classes)] for k, classes in enumerate(self._all_classes())]
        return proba[0] if self.n_outputs_ == 1 else proba

    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of `predict_proba`.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes), or a list of them for several outputs
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(one) for one in proba] if isinstance(proba, list) else np.log(proba)
