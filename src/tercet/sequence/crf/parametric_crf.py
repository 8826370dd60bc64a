"""The conditional random field of feature functions, in the text's own forms (条件随机场的参数化形式)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from typing import Any, Literal, Self, get_args

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.input_errors import shown
from tercet.optimize import minimize
from tercet.sequence.crf._engine.grouped_chains import by_length, grouped_marginals
from tercet.sequence.crf.forward_backward import ViterbiTables, crf_matrices
from tercet.sequence.crf.iterative_scaling import SCALINGS, crf_iterative_scaling
from tercet.sequence.crf.matrix_crf import MatrixCRF, label_index

Algorithm = Literal["lbfgs", "gd", "newton", "newton-cg", "dfp", "bfgs", "iis", "iis-s", "iis-t"]


@method(
    zh="条件随机场的参数化形式",
    task="sequence labelling",
    approach="discriminative",
    model="P(y|x) = exp(w·F(y, x)) / Z(x), w·F = sum over i of λ_k t_k(y_{i-1}, y_i, x, i) + μ_l s_l(y_i, x, i)",
    strategy="mean of -log P(y|x), with a penalty l2 |w|^2 / 2",
    algorithms={
        "lbfgs": "limited-memory BFGS",
        "gd": "gradient descent",
        "newton": "Newton's method",
        "newton-cg": "Newton's method by conjugate gradients",
        "dfp": "DFP",
        "bfgs": "BFGS",
        "iis": "improved iterative scaling",
        "iis-s": "algorithm S of improved iterative scaling",
        "iis-t": "algorithm T of improved iterative scaling",
    },
    texts=["Li ch. 11, 11.2.2, 11.2.3, Alg 11.1, 11.2", "watermelon notes ch. 12, 12.4"],
)
class ParametricCRF:
    """A linear-chain conditional random field of feature functions: P(y|x) = exp(w·F(y, x)) / Z(x).

    w·F(y, x) is the sum over all positions i of λ_k t_k(y_{i-1}, y_i, x, i) and μ_l s_l(y_i, x, i). The functions
    may look at all of x. i counts from 0, so that x[i] is what y_i labels. The functions are called for every
    position and every pair of labels: this is the text's model as it stands, for small cases and for study; `CRF`
    is the one for data. (The watermelon notes write t(y_{i+1}, y_i, x, i): here `lambda a, b, x, i: t(b, a, x,
    i - 1)`.)

    Parameters
    ----------
    transitions : list of callables t(y_before, y, x, i)
        Transition features; called from the second position on.
    states : list of callables s(y, x, i)
        State features.
    labels : list, optional
        The labels; those of y by default.
    weights : array of shape (n_transitions + n_states,), optional
        λ and μ, one after the other: a model that needs no fit.
    ends : tuple of two labels, optional
        What to call y_0 and y_{n+1}. With them transition features are called at the first position too, with y_0,
        and at i = n, with the last label and y_{n+1}. Without them, as in the text's example, they are not.
    algorithm : {"lbfgs", "gd", "newton", "newton-cg", "dfp", "bfgs", "iis", "iis-s", "iis-t"}, default="lbfgs"
        How `fit` finds the weights. Iterative scaling needs features that are not negative; "iis" also needs whole
        numbers.
    l2 : float, default=0.0
        Strength of the penalty l2 |w|^2 / 2 on the mean of -log P(y|x).
    tol : float, default=1e-6
        Converged when no component of the gradient (11.51) is larger.
    max_iter : int, default=1000
        The most passes.

    Attributes
    ----------
    weights_ : array of shape (n_transitions + n_states,)
        w: the λ_k, then the μ_l.
    labels_ : list
        The labels.
    loss_ : float
        What was minimised, at the end of `fit` (11.50).
    history_ : dict of lists
        The measures of every pass of `fit`.

    Examples
    --------
    >>> same = lambda before, now, x, i: before == now
    >>> echo = lambda y, x, i: y == x[i]
    >>> model = ParametricCRF([same], [echo], labels=[0, 1], weights=[1.0, 2.0])
    >>> model.features([0, 1, 1], [0, 0, 1])
    array([1., 2.])
    >>> model.predict([[0, 1, 1]]), round(model.probability([0, 1, 1], [0, 1, 1]), 4)
    ([[0, 1, 1]], 0.6134)
    """

    def __init__(
        self,
        transitions: Sequence[Callable[..., Any]] = (),
        states: Sequence[Callable[..., Any]] = (),
        labels: Any = None,
        weights: Any = None,
        *,
        ends: tuple[Any, Any] | None = None,
        algorithm: Algorithm = "lbfgs",
        l2: float = 0.0,
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        if algorithm not in get_args(Algorithm):
            raise ValueError(f"algorithm must be one of {', '.join(get_args(Algorithm))}; got {algorithm!r}.")
        if not l2 >= 0:
            raise ValueError(f"l2 must not be negative; got {l2!r}.")
        self.transitions, self.states, self.labels, self.ends = list(transitions), list(states), labels, ends
        self.algorithm, self.l2, self.tol, self.max_iter = algorithm, l2, tol, max_iter
        if labels is not None:
            self.labels_ = list(labels)
            self.weights_ = np.zeros(len(self.transitions) + len(self.states))
        if weights is not None:
            if labels is None:
                raise ValueError("A model with weights needs its labels too.")
            self.weights_ = np.array(weights, dtype=float)
            if self.weights_.shape != (len(self.transitions) + len(self.states),):
                raise ValueError(
                    f"weights must hold a number for each of {len(self.transitions)} transition and "
                    f"{len(self.states)} state features; got the shape {self.weights_.shape}."
                )

    def fit(self, X: Sequence[Any], y: Sequence[Sequence[Any]], sample_weight: Any = None) -> Self:
        """Learn the weights from sequences X and their labels y.

        Parameters
        ----------
        X : list of sequences
        y : list of label sequences
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts.

        Returns
        -------
        self
        """
        _check_labelled(X, y)
        if self.labels is None:
            seen = {label for row in y for label in row}
            self.labels_ = sorted(seen, key=lambda label: (str(type(label)), label))
        objective = self.objective(X, y, sample_weight)
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        algorithm: Any = self.algorithm
        if algorithm in SCALINGS:
            found = crf_iterative_scaling(objective, algorithm=algorithm, **options)
        else:
            found = minimize(objective, np.zeros(objective.size), method=algorithm, **options)
        self.weights_, self.loss_, self.history_ = found.x, float(found.fun), found.history
        return self

    def objective(
        self, X: Sequence[Any], y: Sequence[Sequence[Any]], sample_weight: Any = None
    ) -> ChainLikelihood:
        """The mean of -log P(y|x) over the data as a function of w (11.50), with its gradient (11.51)."""
        return ChainLikelihood(self, X, y, sample_weight)

    def features(self, x: Any, y: Sequence[Any]) -> np.ndarray:
        """F(y, x), the sum of each feature over the positions (11.13, 11.17)."""
        if len(y) != len(x):
            raise ValueError(f"y must have {len(x)} labels, as x has; got {len(y)}.")
        node, edge = self.table(x)
        path, N = [label_index(self.labels_, label) for label in y], len(self.labels_)
        rows = [i * N + b for i, b in enumerate(path)]
        pairs = [(i * N + a) * N + b for i, (a, b) in enumerate(itertools.pairwise(path), 1)]
        return np.asarray(node[rows].sum(axis=0)).ravel() + np.asarray(edge[pairs].sum(axis=0)).ravel()

    def log_weight(self, x: Any, y: Sequence[Any]) -> float:
        """w·F(y, x): log P(y|x) but for log Z(x)."""
        return float(self.weights_ @ self.features(x, y))

    def probability(self, x: Any, y: Sequence[Any]) -> float:
        """P(y|x) (11.10, 11.15)."""
        return float(np.exp(self.log_weight(x, y) - self.matrix_form(x).log_Z))

    def matrix_form(self, x: Any) -> MatrixCRF:
        """The matrices of x (11.21-11.23), start and stop being the first label."""
        node, edge = self.table(x)
        n, N = len(x), len(self.labels_)
        transitions = (edge @ self.weights_).reshape(n, N, N)[1:]
        log_matrices = crf_matrices((node @ self.weights_).reshape(n, N), transitions)
        return MatrixCRF(log_matrices, labels=self.labels_, log=True)

    def expected_features(self, x: Any) -> np.ndarray:
        """E[f_k(Y, x)] under P(Y|x) (11.34)."""
        node, edge = self.table(x)
        chain, N = self.matrix_form(x), len(self.labels_)
        pairs = np.concatenate([np.zeros((1, N, N)), chain.edge_marginals()])
        return node.T @ chain.node_marginals().ravel() + edge.T @ pairs.ravel()

    def viterbi(self, x: Any) -> ViterbiTables:
        """The best labels of one sequence, with the tables δ and Ψ."""
        return self.matrix_form(x).viterbi()

    def predict(self, X: Sequence[Any]) -> list[list]:
        """The most probable labels of each sequence."""
        _check_sequences("X", X, "sequences")
        return [self.viterbi(x).path for x in X]

    def table(self, x: Any) -> tuple[sparse.csr_array, sparse.csr_array]:
        """All local features: rows (i, y) of states, of shape (n N, K), and rows (i, y_{i-1}, y_i) of transitions,
        of shape (n N N, K)."""
        if not hasattr(self, "labels_"):
            raise ValueError("This ParametricCRF has no labels yet; give them, or call fit.")
        n, N, labels = len(x), len(self.labels_), self.labels_
        if n == 0:
            raise ValueError("A sequence is empty; every sequence needs a position.")
        nodes, edges, T = [], [], len(self.transitions)
        for k, t in enumerate(self.transitions):
            for i, (a, before), (b, now) in itertools.product(
                range(1, n), enumerate(labels), enumerate(labels)
            ):
                edges.append(((i * N + a) * N + b, k, t(before, now, x, i)))
            for first, last in [] if self.ends is None else [self.ends]:
                nodes += [(b, k, t(first, now, x, 0)) for b, now in enumerate(labels)]
                nodes += [((n - 1) * N + b, k, t(now, last, x, n)) for b, now in enumerate(labels)]
        for k, s in enumerate(self.states, T):
            nodes += [(i * N + b, k, s(now, x, i)) for i in range(n) for b, now in enumerate(labels)]
        return self._matrix(nodes, n * N), self._matrix(edges, n * N * N)

    def _matrix(self, entries: list[tuple[int, int, Any]], rows: int) -> sparse.csr_array:
        values = np.array([value for *_, value in entries], dtype=float)
        if not np.isfinite(values).all():
            k = entries[int(np.flatnonzero(~np.isfinite(values))[0])][1]
            T = len(self.transitions)
            name = f"transitions[{k}]" if k < T else f"states[{k - T}]"
            raise ValueError(f"Feature functions must give finite numbers; {name} does not.")
        at = np.array([entry[:2] for entry in entries], dtype=np.int64).reshape(-1, 2)
        matrix = sparse.csr_array((values, at.T), shape=(rows, len(self.transitions) + len(self.states)))
        matrix.eliminate_zeros()
        return matrix


def _check_labelled(X: Any, y: Any) -> None:
    """Check that X and y are lists of as many sequences, and that the labels can be told apart."""
    _check_sequences("X", X, "sequences")
    _check_sequences("y", y, "sequences of labels")
    if len(X) != len(y) or not len(X):
        raise ValueError(f"X and y must be as many sequences, at least one; got {len(X)} and {len(y)}.")
    for k, label in ((k, label) for k, row in enumerate(y) for label in row):
        if not isinstance(label, Hashable):
            raise TypeError(f"y[{k}] must hold one label for each position; it has {shown(label)}.")
        if isinstance(label, float | np.floating) and not np.isfinite(label):
            raise ValueError(f"y[{k}] has the label {label}; a label must not be NaN or infinite.")


def _check_sequences(name: str, rows: Any, what: str) -> None:
    if not hasattr(rows, "__len__") or isinstance(rows, str | Mapping | Set) or hasattr(rows, "columns"):
        raise TypeError(f"{name} must be a list of {what}; got {shown(rows)}.")
    for k, row in enumerate(rows):
        if not hasattr(row, "__len__"):
            raise TypeError(f"{name} must be a list of {what}; {name}[{k}] is {shown(row)}.")


def indicator_features(labels: Sequence[Any], symbols: Sequence[Any]) -> tuple[list, list]:
    """The common features of sequences of symbols: [y_{i-1} = a, y_i = b] and [y_i = b, x_i = v].

    Parameters
    ----------
    labels : list
        What y_i may be.
    symbols : list
        What x_i may be.

    Returns
    -------
    transitions, states : lists of callables
        For `ParametricCRF`, pair by pair: all (a, b), then all (b, v).

    Examples
    --------
    >>> transitions, states = indicator_features([0, 1], "xyz")
    >>> len(transitions), len(states), states[1](0, "xyz", 1)
    (4, 6, True)
    """

    def transition(a: Any, b: Any) -> Callable[..., bool]:
        return lambda before, now, x, i: bool(before == a and now == b)

    def state(b: Any, v: Any) -> Callable[..., bool]:
        return lambda now, x, i: bool(now == b and x[i] == v)

    transitions = itertools.starmap(transition, itertools.product(labels, repeat=2))
    return list(transitions), list(itertools.starmap(state, itertools.product(labels, symbols)))


class ChainLikelihood:
    """Mean of -log P(y|x) of a `ParametricCRF` plus l2 |w|^2 / 2, for `minimize` and for `crf_iterative_scaling`.

    Parameters
    ----------
    model : ParametricCRF
    X, y : lists of sequences and of their labels
    sample_weight : array of shape (n_sequences,), optional
    """

    def __init__(self, model: ParametricCRF, X: Any, y: Any, sample_weight: Any = None) -> None:
        _check_labelled(X, y)
        if not model.transitions and not model.states:
            raise ValueError(
                "There is nothing to learn: the model has neither transition nor state features."
            )
        self.lengths = np.array([len(x) for x in X])
        share = np.ones(len(X)) if sample_weight is None else np.array(sample_weight, dtype=float)
        if share.shape != (len(X),) or not (share >= 0).all() or not 0 < share.sum() < np.inf:
            raise ValueError(
                "sample_weight must hold a weight for each sequence, not negative and not all 0."
            )
        self.share, self.l2, self.labels = share / share.sum(), model.l2, len(model.labels_)
        self.empirical = sum(p * model.features(x, labels) for p, x, labels in zip(self.share, X, y))
        tables = [model.table(x) for x in X]
        self.node, self.edge = (sparse.vstack(part, format="csr") for part in zip(*tables))
        self.size = self.node.shape[1]
        self._groups = by_length(self.lengths, self.labels)
        self._transposed = self.node.T.tocsr(), self.edge.T.tocsr()
        self.least = float(min(self.node.min(), self.edge.min()))

    def scores(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w·f of all labels of all positions, and of all transitions."""
        N = self.labels
        return (self.node @ w).reshape(-1, N), (self.edge @ w).reshape(-1, N, N)

    def totals(self, node: np.ndarray, edge: np.ndarray) -> np.ndarray:
        """The weighted sum of each feature over positions and transitions."""
        by_node, by_edge = self._transposed
        return by_node @ node.ravel() + by_edge @ edge.ravel()

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f(w) and g(w) = E[f] under P̃(x) P_w(y|x), less the data's E[f], plus l2 w."""
        log_z, node, edge = grouped_marginals(*self.scores(w), self._groups)
        row_share = np.repeat(self.share, self.lengths)
        expected = self.totals(row_share[:, None] * node, row_share[:, None, None] * edge)
        value = float(self.share @ log_z - w @ self.empirical + self.l2 * (w @ w) / 2)
        return value, expected - self.empirical + self.l2 * w

    def value(self, w: np.ndarray) -> float:
        """f(w)."""
        return self.value_and_gradient(w)[0]

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """g(w)."""
        return self.value_and_gradient(w)[1]
