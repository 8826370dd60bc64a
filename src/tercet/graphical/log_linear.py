"""Maximum likelihood of log-linear Markov random fields (对数线性马尔可夫随机场的极大似然)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize

from tercet.core.column_parsing import is_frame
from tercet.graphical._engine.clique_tree import CliqueTree
from tercet.graphical._engine.family_counts import contingency
from tercet.graphical.factor import refuse_wide


def fit_log_linear(
    kind: Any,
    X: Any,
    cliques: list[tuple],
    potentials: str,
    values: Any,
    penalty: float,
    sample_weight: Any,
    tol: float,
    max_iter: int,
) -> Any:
    """The field of greatest penalised likelihood; parameters as in `MarkovRandomField.from_data`."""
    if potentials not in ("table", "exponential"):
        raise ValueError(f"potentials must be 'table' or 'exponential'; got {potentials!r}.")
    if not penalty >= 0:
        raise ValueError(f"penalty must be a number of at least 0; got {penalty!r}.")
    names, known, codes = _coded(X, values)
    weight = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (len(codes),) or not (weight >= 0).all() or not weight.sum() > 0:
        raise ValueError("sample_weight must be a number of at least 0 for each row, not all of them 0.")
    place = {name: k for k, name in enumerate(names)}
    for clique in cliques:
        strange = [node for node in clique if node not in place]
        if strange or len(set(clique)) < len(clique) or not clique:
            raise ValueError(f"cliques must hold different columns of X, which are {names}; got {clique!r}.")
    if potentials == "exponential":
        cliques = _pairs_and_nodes(cliques)
    scopes = [tuple(place[node] for node in clique) for clique in cliques]
    sizes = [len(own) for own in known]
    features = [_features(scope, known, names, potentials == "exponential") for scope in scopes]
    problem = LogLinear(sizes, scopes, features, codes, weight, penalty)
    options = {"maxiter": int(max_iter), "ftol": tol, "gtol": 1e-10}
    found = minimize(problem, np.zeros(problem.size), jac=True, method="L-BFGS-B", options=options)
    tables = {clique: np.exp(log) for clique, log in zip(cliques, problem.log_tables(found.x))}
    field = kind(tables, values=dict(zip(names, known)))
    if potentials == "exponential":
        parts = dict(zip(cliques, found.x.tolist()))
        field.alphas = {clique: value for clique, value in parts.items() if len(clique) == 2}
        field.betas = {clique[0]: value for clique, value in parts.items() if len(clique) == 1}
    return field


class LogLinear:
    """The negative mean log-likelihood of weights, and its gradient: expected less observed features."""

    def __init__(
        self,
        sizes: list[int],
        scopes: list[tuple[int, ...]],
        features: list[np.ndarray],
        codes: np.ndarray,
        weight: np.ndarray,
        penalty: float,
    ) -> None:
        self.sizes, self.scopes, self.features = sizes, scopes, features
        self.borders = np.cumsum([len(part) for part in features])[:-1]
        self.size = int(sum(len(part) for part in features))
        self.tree = CliqueTree(sizes, scopes)
        refuse_wide(sum(self.tree.cells), "A log-linear field", 8.0 * 24)
        self.tree.compile()
        self.mass, columns = weight.sum(), np.ascontiguousarray(codes.T)
        counts = [contingency(columns, np.asarray(sizes), list(scope), weight).ravel() for scope in scopes]
        self.observed = np.concatenate([part @ count / self.mass for part, count in zip(features, counts)])
        self.penalty = penalty / self.mass

    def log_tables(self, w: np.ndarray) -> list[np.ndarray]:
        """log ψ_C = Σ_k w_k f_k of every clique."""
        return [
            (own @ part).reshape([self.sizes[k] for k in scope])
            for own, part, scope in zip(np.split(w, self.borders), self.features, self.scopes)
        ]

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        logs = self.log_tables(w)
        tops = [table.max() for table in logs]  # of each factor, taken out of Z
        base = self.tree.base([np.exp(table - top) for table, top in zip(logs, tops)])
        unknown = np.full((1, len(self.sizes)), -1, dtype=np.int32)
        expected, log_Z = self.tree.expected_counts(base, unknown, np.ones(1))
        mean = np.concatenate([part @ table.ravel() for part, table in zip(self.features, expected)])
        value = log_Z + sum(tops) - w @ self.observed + 0.5 * self.penalty * (w @ w)
        return float(value), mean - self.observed + self.penalty * w


def _features(scope: tuple[int, ...], known: list[list], names: list, exponential: bool) -> np.ndarray:
    """The features of a clique, a row for each: an indicator for every cell, or -x_v and -x_u x_v."""
    sizes = [len(known[k]) for k in scope]
    if not exponential:
        return np.eye(int(np.prod(sizes)))
    try:
        axes = [np.array([float(v) for v in known[k]]) for k in scope]
    except (TypeError, ValueError):
        raise ValueError(
            f"potentials='exponential' needs values that are numbers; {[names[k] for k in scope]} have "
            f"{[known[k] for k in scope]}."
        ) from None
    product = axes[0] if len(axes) == 1 else np.outer(axes[0], axes[1]).ravel()
    return -product[None, :]


def _pairs_and_nodes(cliques: list[tuple]) -> list[tuple]:
    """The pairs and the single nodes of cliques, each once (12.7)."""
    found: dict[tuple, None] = {}
    for clique in cliques:
        for pair in combinations(clique, 2):
            if pair[::-1] not in found:
                found[pair] = None
    for clique in cliques:
        for node in clique:
            found[node,] = None
    return list(found)


def _coded(
    X: Any, values: Mapping[Hashable, Collection] | Collection | None
) -> tuple[list, list[list], np.ndarray]:
    """Names of columns, their values, and the rows as numbers of values."""
    if is_frame(X):
        names, columns = list(X.columns), [list(X[name]) for name in X.columns]
    else:
        rows = [list(row) for row in X]
        if not rows or any(len(row) != len(rows[0]) for row in rows):
            raise ValueError("X must be a table of rows of equal length.")
        names, columns = list(range(len(rows[0]))), [list(column) for column in zip(*rows)]
    known, codes = [], []
    for name, column in zip(names, columns):
        column = [value.item() if isinstance(value, np.generic) else value for value in column]
        given = values.get(name) if isinstance(values, Mapping) else values
        if any(value is None or value != value for value in column):
            raise ValueError(
                f"X has a missing value in column {name!r}; a field is learned from complete rows."
            )
        own = list(given) if given is not None else sorted(set(column), key=lambda v: (str(type(v)), v))
        place = {value: k for k, value in enumerate(own)}
        strange = [value for value in column if value not in place]
        if strange:
            raise ValueError(f"X holds {strange[0]!r} in column {name!r}; its values are {own}.")
        known.append(own)
        codes.append([place[value] for value in column])
    return names, known, np.array(codes, dtype=np.int32).T
