"""Bayesian network classifiers (贝叶斯网分类器): the class is one of the variables of a network."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.estimator import Classifier, check_is_fitted
from tercet.core.fitted_checks import Labels, Sizes
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, OpenFraction, Positive, Seed
from tercet.graphical.bayesian_network import ALGORITHMS, Algorithm
from tercet.graphical.discrete_columns import DiscreteColumns, Unknown
from tercet.graphical.network_inference import NetworkInference
from tercet.graphical.network_learning import learn_network
from tercet.graphical.structure.network_score import Score
from tercet.graphical.structure.pc_stable import Test


@method(
    zh="贝叶斯网分类器",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c | parents of c) Π of P(child | its parents) over the children of c",
    strategy="least description length of network and data; maximum likelihood of the tables",
    algorithms=ALGORITHMS,
    texts=["watermelon notes ch. 5, 5.5, eq. 5.9-5.13"],
    peers=["pyagrum.skbn.BNClassifier", "weka.classifiers.bayes.BayesNet"],
)
class BayesianNetworkClassifier(NetworkInference, DiscreteColumns, Classifier):
    """Classifier by a Bayesian network of the columns and the class.

    The graph is learned over all columns and the class, or given. Of a complete row only the Markov blanket of the
    class has a part in P(c | x); missing cells are summed out. Where a row is impossible, its classes are as
    probable as before anything was known. `query`, `sample` and the like ask the network itself.

    Parameters
    ----------
    edges : list of pairs (parent, child), mapping of nodes to parents, or networkx.DiGraph, optional
        The graph of columns (by name or number) and the class; by default it is learned.
    class_name : str, default="class"
        What the class is called in the graph.
    algorithm : {"hill-climbing", "tabu", "k2", "chow-liu", "exact", "pc"}, default="hill-climbing"
        How the graph is learned.
    criterion : {"bic", "mdl", "aic", "nll", "bdeu", "k2"}, default="bic"
        What the search minimises, as in `BayesianNetwork`.
    alpha : float, default=1.0
        Pseudo-count of every cell of a table; 0 is maximum likelihood.
    prior : {"dirichlet", "bdeu"}, default="dirichlet"
        Whether `alpha`, or `equivalent_sample_size` spread over the cells of a table, is added to the counts.
    equivalent_sample_size : float, default=10.0
        How many rows the prior of BDeu is worth.
    max_parents : int, optional
        The most parents of a variable.
    required_edges, forbidden_edges : lists of pairs (parent, child), optional
        Edges that the learned graph must have, or must not have.
    start : {"naive", "empty"}, default="naive"
        Whether the edges from the class to all columns are required (an augmented naive Bayes) or learned, too;
        "chow-liu" learns them in any case.
    order : list of names, optional
        Causes before effects, for "k2"; by default the class, then the columns.
    root : name, optional
        The root of the tree of "chow-liu"; by default the class.
    tabu_length : int, default=10
        How many networks "tabu" remembers.
    n_restarts : int, default=0
        How often the search starts again.
    test : {"g2", "chi2", "mutual-information"}, default="g2"
        The test of independence of "pc".
    level : float, default=0.05
        Its level of significance.
    max_conditions : int, optional
        The most variables that "pc" conditions on.
    max_iter : int, default=1000
        The most moves of a search, and the most passes of EM.
    tol : float, default=1e-6
        EM ends when the log-likelihood of a row rises by less on average.
    n_bins : int, default=10
        Numbers with more distinct values than this are cut into so many intervals.
    categorical_features : "from_dtype", list or mask, default="from_dtype"
        The columns whose numbers are categories, however many.
    handle_unknown : {"warn", "error", "missing"}, default="missing"
        What becomes of states that were not there to learn from.
    random_state : int, optional
        Decides restarts and samples.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    classes_ : array
        The labels.
    nodes_ : list
        The columns and, last, the class.
    states_ : list of lists
        The states of each.
    edges_ : list of pairs (parent, child)
        The graph.
    parents_, tables_ : lists of arrays
        The parents of each variable, and P(x_i | parents) with the axis of x_i last.
    cuts_, numbers_, categories_ : lists
        For each column where it is cut, its numbers, or its categories.

    Examples
    --------
    >>> X = [["a", "p"], ["a", "q"], ["b", "p"], ["b", "q"], ["a", "p"], ["b", "q"]]
    >>> model = BayesianNetworkClassifier().fit(X, ["yes", "yes", "no", "no", "yes", "no"])
    >>> model.predict([["a", None], ["b", "p"]]).tolist()
    ['yes', 'no']
    >>> model.edges_
    [('class', 0), ('class', 1)]
    """

    def __init__(
        self,
        edges: Any = None,
        *,
        class_name: str = "class",
        algorithm: Algorithm = "hill-climbing",
        criterion: Score = "bic",
        alpha: NonNegative = 1.0,
        prior: Literal["dirichlet", "bdeu"] = "dirichlet",
        equivalent_sample_size: Positive = 10.0,
        max_parents: CountOrZero | None = None,
        required_edges: list | tuple | None = None,
        forbidden_edges: list | tuple | None = None,
        start: Literal["naive", "empty"] = "naive",
        order: list | tuple | None = None,
        root: Any = None,
        tabu_length: Count = 10,
        n_restarts: CountOrZero = 0,
        test: Test = "g2",
        level: OpenFraction = 0.05,
        max_conditions: CountOrZero | None = None,
        max_iter: Count = 1000,
        tol: NonNegative = 1e-6,
        n_bins: Count = 10,
        categorical_features: Features = "from_dtype",
        handle_unknown: Unknown = "missing",
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.edges = edges
        self.class_name = class_name
        self.algorithm = algorithm
        self.criterion = criterion
        self.alpha = alpha
        self.prior = prior
        self.equivalent_sample_size = equivalent_sample_size
        self.max_parents = max_parents
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.start = start
        self.order = order
        self.root = root
        self.tabu_length = tabu_length
        self.n_restarts = n_restarts
        self.test = test
        self.level = level
        self.max_conditions = max_conditions
        self.max_iter = max_iter
        self.tol = tol
        self.n_bins = n_bins
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.random_state = random_state
        self.n_jobs = n_jobs

    nodes_: list
    states_: list[list]
    fitted_shapes = {"nodes_": Labels("nodes")}

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        codes, weight = self._learn_states(X, sample_weight)
        columns = [self._column_name(j) for j in range(X.shape[1])]
        if self.class_name in columns:
            raise ValueError(
                f"{type(self).__name__}: class_name={self.class_name!r} is the name of a column, too."
            )
        self.nodes_ = [*columns, self.class_name]
        self.states_ = [*self._state_names(), self.classes_.tolist()]
        whole = np.column_stack([codes, y.astype(np.int32)])
        sizes = [*self._sizes(), len(self.classes_)]
        for name, value in learn_network(self, whole, sizes, weight, self.nodes_).items():
            setattr(self, name, value)

    @property
    def _naive_edges(self) -> list[tuple[int, int]]:
        """The edges of naive Bayes, where the search begins with them."""
        c = len(self.nodes_) - 1
        return [(c, j) for j in range(c)] if self.start == "naive" and self.algorithm != "chow-liu" else []

    @property
    def _natural_order(self) -> list[int]:
        """The class before the columns."""
        c = len(self.nodes_) - 1
        return [c, *range(c)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The posterior probability of every class for every row.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows; NaN is not known.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        codes = self._codes(self._check(X, reset=False))
        whole = np.column_stack([codes, np.full(len(codes), -1, dtype=np.int32)])
        found = self._posteriors(whole, codes.shape[1])
        impossible = found.sum(axis=1) == 0
        if impossible.any():
            nothing = np.full((1, whole.shape[1]), -1, dtype=np.int32)
            found[impossible] = self._posteriors(nothing, codes.shape[1])
        return found

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row; of equals, the first."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _names(self) -> list:
        return self.nodes_

    def _variable_states(self) -> list[list]:
        return self.states_

    def _check_fitted(self, sizes: Sizes) -> None:
        super()._check_fitted(sizes)
        if "tables_" in vars(self):
            expected = [*self._sizes(), len(self.classes_)]
            if [len(names) for names in self.states_] != expected or len(self.nodes_) != len(expected):
                raise ValueError(f"{type(self).__name__}: nodes_ and states_ do not fit the columns.")
            self._check_tables(expected)
