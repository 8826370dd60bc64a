"""Bayesian networks (贝叶斯网): a directed acyclic graph, and a table for each variable given its parents."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.column_parsing import label_text
from tercet.core.columns import Features
from tercet.core.estimator import NO_TARGET, check_is_fitted
from tercet.core.fitted_checks import Labels, Sizes
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, OpenFraction, Positive, Seed
from tercet.core.validation import target_for_callbacks
from tercet.graphical.directed import directed
from tercet.graphical.discrete_columns import DiscreteColumns, Unknown
from tercet.graphical.network_inference import NetworkInference
from tercet.graphical.network_learning import learn_network
from tercet.graphical.network_tables import checked_table, parents_and_table, with_column
from tercet.graphical.structure.network_score import FamilyScores, Score
from tercet.graphical.structure.pc_stable import Test

Algorithm = Literal["hill-climbing", "tabu", "k2", "chow-liu", "exact", "pc"]
ALGORITHMS = {
    "hill-climbing": "edges added, deleted and reversed, the best of all moves each time",
    "tabu": "the same, but on past local optima, and never back to a network of late",
    "k2": "parents added greedily along a given order",
    "chow-liu": "the spanning tree of greatest mutual information",
    "exact": "the best of all networks, by dynamic programming over subsets",
    "pc": "edges removed by tests of conditional independence, then directed (PC-stable)",
}


@method(
    zh="贝叶斯网",
    task="graphical model",
    approach="generative",
    model="P(x) = Π_i P(x_i | parents of x_i), the parents given by a directed acyclic graph",
    strategy="least description length f(θ) |B| - LL(B | D) of network and data; maximum likelihood of the tables",
    algorithms=ALGORITHMS,
    texts=["watermelon notes ch. 5, 5.5, eq. 5.9-5.13"],
    peers=["pgmpy.models.DiscreteBayesianNetwork", "pyagrum.BNLearner"],
)
class BayesianNetwork(NetworkInference, DiscreteColumns):
    """Bayesian network of discrete variables: its graph given or learned, its tables learned from counts.

    P(x_1, ..., x_d) = Π_i P(x_i | π_i), π_i the parents of x_i. Columns of numbers are cut into intervals; missing
    cells are summed out (EM). Plates (盘式记法), as in drawings of models with repeated parts, stand for as many
    variables as they repeat.

    Parameters
    ----------
    edges : list of pairs (parent, child), mapping of nodes to parents, or networkx.DiGraph, optional
        The graph; by default it is learned.
    algorithm : {"hill-climbing", "tabu", "k2", "chow-liu", "exact", "pc"}, default="hill-climbing"
        How the graph is learned. "exact" is for some 20 variables at most.
    criterion : {"bic", "mdl", "aic", "nll", "bdeu", "k2"}, default="bic"
        What the search minimises: f(θ) |B| - LL with f = ½ ln m (BIC, or MDL), 1 (AIC) or 0 (NLL); or the negative
        logarithm of the marginal likelihood under Dirichlet priors (BDeu, K2).
    alpha : float, default=1.0
        Pseudo-count of every cell of a table (Dirichlet prior); 0 is maximum likelihood.
    prior : {"dirichlet", "bdeu"}, default="dirichlet"
        Whether `alpha`, or `equivalent_sample_size` spread over the cells of a table, is added to the counts.
    equivalent_sample_size : float, default=10.0
        How many rows the prior of BDeu is worth.
    max_parents : int, optional
        The most parents of a variable.
    required_edges, forbidden_edges : lists of pairs (parent, child), optional
        Edges that the learned graph must have, or must not have.
    order : list of names, optional
        Causes before effects, for "k2"; by default the order of the columns.
    root : name, optional
        The root of the tree of "chow-liu"; by default the first column.
    tabu_length : int, default=10
        How many networks "tabu" remembers, and how many moves without gain it makes before it ends.
    n_restarts : int, default=0
        How often the search starts again from a random network near the best one.
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
        The columns whose numbers are categories, however many; columns of strings always are.
    categories : "auto" or list of lists, default="auto"
        For each column the states that it can have, or None to learn them.
    handle_unknown : {"warn", "error", "missing"}, default="warn"
        What becomes of states that were not there to learn from: they are taken for missing with or without a word,
        or refused.
    random_state : int, optional
        Decides restarts, samples, and where EM starts for a variable that was never seen.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    nodes_ : list
        The variables: names of columns, or their numbers.
    states_ : list of lists
        The states of each variable.
    edges_ : list of pairs (parent, child)
        The graph.
    parents_ : list of arrays
        The numbers of the parents of each variable.
    tables_ : list of arrays
        P(x_i | parents): an axis for each parent, the last one for x_i.
    n_parameters_ : int
        The number of free parameters.
    cuts_, numbers_, categories_ : lists
        For each column where it is cut, its numbers, or its categories; None where it has the others.

    Examples
    --------
    >>> network = BayesianNetwork.from_tables(
    ...     {
    ...         "rain": [0.8, 0.2],
    ...         "sprinkler": (["rain"], [[0.6, 0.4], [0.99, 0.01]]),
    ...         "wet": (["sprinkler", "rain"], [[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]]),
    ...     },
    ...     states=["no", "yes"],
    ... )
    >>> network.query(["rain"], {"wet": "yes"})
    rain     value
      no  0.642312
     yes  0.357688
    >>> X = network.sample(2000, random_state=0)
    >>> sorted(BayesianNetwork().fit(X).moral_graph()[2])
    [0, 1]
    """

    def __init__(
        self,
        edges: Any = None,
        *,
        algorithm: Algorithm = "hill-climbing",
        criterion: Score = "bic",
        alpha: NonNegative = 1.0,
        prior: Literal["dirichlet", "bdeu"] = "dirichlet",
        equivalent_sample_size: Positive = 10.0,
        max_parents: CountOrZero | None = None,
        required_edges: list | tuple | None = None,
        forbidden_edges: list | tuple | None = None,
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
        categories: Literal["auto"] | list | tuple = "auto",
        handle_unknown: Unknown = "warn",
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.edges = edges
        self.algorithm = algorithm
        self.criterion = criterion
        self.alpha = alpha
        self.prior = prior
        self.equivalent_sample_size = equivalent_sample_size
        self.max_parents = max_parents
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
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
        self.categories = categories
        self.handle_unknown = handle_unknown
        self.random_state = random_state
        self.n_jobs = n_jobs

    nodes_: list
    states_: list[list]
    fitted_shapes = {"states_": None, "nodes_": Labels("nodes")}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the graph (unless it is given) and the tables from rows X.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            A column for each variable; None and NaN are not known.
        y : ignored
            Nothing is learned from it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _fit(self, X: np.ndarray, y: None, sample_weight: np.ndarray | None) -> None:
        codes, weight = self._learn_states(X, sample_weight)
        self.nodes_ = [self._column_name(j) for j in range(X.shape[1])]
        self.states_ = self._state_names()
        for name, value in learn_network(self, codes, self._sizes(), weight, self.nodes_).items():
            setattr(self, name, value)

    @classmethod
    def from_tables(
        cls,
        tables: Mapping[Hashable, Any],
        states: Mapping[Hashable, Sequence] | Sequence | None = None,
        **parameters: Any,
    ) -> Self:
        """A network of given tables.

        Parameters
        ----------
        tables : mapping of nodes to arrays, or to pairs (list of parents, array)
            P(node | parents), an axis for each parent in their order, the last one for the node.
        states : mapping of nodes to lists, or one list for all, optional
            What the states are called; 0, 1 ... by default.
        **parameters
            Of the estimator.

        Examples
        --------
        >>> network = BayesianNetwork.from_tables({"a": [0.3, 0.7], "b": (["a"], [[1, 0], [0.5, 0.5]])})
        >>> round(network.probability({"b": 1}), 6)
        0.35
        """
        pairs = {node: parents_and_table(node, given) for node, given in tables.items()}
        parents = directed({node: above for node, (above, _) in pairs.items()}, list(pairs))
        self = cls(**parameters)
        self.nodes_ = list(pairs)
        place = {node: k for k, node in enumerate(self.nodes_)}
        sizes = [pairs[node][1].shape[-1] for node in self.nodes_]
        given = states or {}
        self.states_ = [
            list(given.get(node, range(size)) if isinstance(given, Mapping) else given)
            for node, size in zip(self.nodes_, sizes)
        ]
        for node, size, names in zip(self.nodes_, sizes, self.states_):
            if len(names) != size or len(set(names)) != size:
                raise ValueError(f"{node!r} has a table of {size} states; their names are {names}.")
        self.tables_ = []
        for node in self.nodes_:
            above, table = pairs[node]
            shape = [sizes[place[p]] for p in above]
            if list(table.shape[:-1]) != shape:
                raise ValueError(
                    f"The table of {node!r} must have the shape {(*shape, table.shape[-1])}, an axis for each "
                    f"parent of {list(above)}; it has {table.shape}."
                )
            self.tables_.append(checked_table(node, table))
        self.parents_ = [np.array([place[p] for p in pairs[node][0]], dtype=np.int64) for node in self.nodes_]
        self.edges_ = [(p, node) for node in self.nodes_ for p in parents[node]]
        self._declare_columns()
        return self

    def _declare_columns(self) -> None:
        """What `fit` would have learned of the columns of a table."""
        self.n_features_in_ = len(self.nodes_)
        if all(isinstance(node, str) for node in self.nodes_):
            self.feature_names_in_ = np.array(self.nodes_, dtype=object)
        words = [any(isinstance(name, str) for name in names) for names in self.states_]
        self.categories_ = [
            np.array([label_text(v) for v in names]) if word else np.array(names, dtype=np.float64)
            for names, word in zip(self.states_, words)
        ]
        self._declared = [True] * len(self.nodes_)
        self.cuts_ = [None] * len(self.nodes_)
        self.numbers_ = [None] * len(self.nodes_)

    def predict_proba(self, X: Any, target: Hashable | None = None) -> np.ndarray:
        """The distribution of a column given the known cells of the others, for each row.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows; NaN is not known.
        target : name or number of a column, optional
            The column that is asked for, by default the last. What X holds in it is not looked at; a frame may lack
            a column that is named here.

        Returns
        -------
        array of shape (n_samples, n_states)
            In the order of `states_`.
        """
        check_is_fitted(self)
        place: Any = len(self.nodes_) - 1
        if target is not None:
            model = self.factor_model()
            number = isinstance(target, int | np.integer) and target not in model.place_of
            place = target if number and target in range(len(self.nodes_)) else model.place(target)
            X = with_column(X, self.nodes_[place], place)
        codes = self._codes(self._check(X, reset=False))
        codes[:, place] = -1
        return self._possible(codes, self._posteriors(codes, place))

    def predict_marginals(self, X: Any) -> list[np.ndarray]:
        """The distributions of all columns given the known cells of each row.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows; NaN is not known. A known cell has all weight on its state.

        Returns
        -------
        list of arrays of shape (n_samples, n_states)
            One for each column.
        """
        check_is_fitted(self)
        codes = self._codes(self._check(X, reset=False))
        found = self._possible(codes, self._posteriors(codes, None))
        return np.split(found, np.cumsum([len(names) for names in self.states_])[:-1], axis=1)

    def impute(self, X: Any) -> np.ndarray:
        """The rows with every missing cell filled by its most probable state given the known ones.

        Returns
        -------
        array of shape (n_samples, n_features)
            The names of states.
        """
        check_is_fitted(self)
        codes = self._codes(self._check(X, reset=False))
        best = np.column_stack([table.argmax(axis=1) for table in self.predict_marginals(X)])
        best = np.where(codes >= 0, codes, best)
        return np.column_stack(
            [np.array(names, dtype=object)[best[:, k]] for k, names in enumerate(self.states_)]
        )

    def score_samples(self, X: Any) -> np.ndarray:
        """log P of the known cells of each row; -inf where they are impossible."""
        check_is_fitted(self)
        return self._log_probabilities(self._codes(self._check(X, reset=False)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log-probability of the rows."""
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def network_score(self, X: Any, criterion: Score | None = None, sample_weight: Any = None) -> float:
        """s(B | D) = f(θ) |B| - LL(B | D) of this graph for complete rows X; smaller is better.

        The likelihood is the greatest that the graph allows; `criterion` is that of the estimator by default.
        """
        check_is_fitted(self)
        codes = self._codes(self._check(X, reset=False))
        if (codes < 0).any():
            raise ValueError(f"{type(self).__name__}: a score needs complete rows; X has missing cells.")
        weight = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        scores = FamilyScores(
            np.ascontiguousarray(codes.T),
            np.array([len(names) for names in self.states_]),
            weight,
            criterion or self.criterion,
            self.equivalent_sample_size,
        )
        return scores.total([own.tolist() for own in self.parents_])

    def _names(self) -> list:
        return self.nodes_

    def _variable_states(self) -> list[list]:
        return self.states_

    def _check_fitted(self, sizes: Sizes) -> None:
        super()._check_fitted(sizes)
        if "tables_" in vars(self):
            if len(self.nodes_) != self.n_features_in_ or len(self.states_) != len(self.nodes_):
                raise ValueError(f"{type(self).__name__}: nodes_ and states_ must be of the columns.")
            if [max(len(names), 1) for names in self.states_] != self._sizes():
                raise ValueError(f"{type(self).__name__}: states_ do not fit the columns.")
            self._check_tables(self._sizes())
