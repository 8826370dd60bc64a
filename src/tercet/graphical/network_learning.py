"""Learning a Bayesian network from codes: the graph, then its tables by counting or by EM (参数学习)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.core.estimator import generator
from tercet.graphical._engine.clique_tree import CliqueTree
from tercet.graphical._engine.family_counts import contingency
from tercet.graphical.factor import refuse_wide
from tercet.graphical.structure.structure_search import given_parents, learned_parents

ROUNDS = 10  # of search and imputation, where a graph is learned from rows with missing cells

Scopes = list[tuple[int, ...]]


def learn_network(
    model: Any, codes: np.ndarray, sizes: Sequence[int], weight: np.ndarray, names: Sequence
) -> dict[str, Any]:
    """The fitted attributes `parents_`, `edges_` and `tables_` of an estimator of a network.

    Where cells are missing, a graph is learned by turns with the tables: search on rows whose missing cells hold
    their most probable states, EM for the tables, and imputation again, until the graph stands still.
    """

    def attributes(parents: Any, tables: list[np.ndarray] | None = None) -> dict[str, Any]:
        scopes = family_scopes(parents)
        if tables is None:
            tables = counted_tables(model, codes, sizes, weight, scopes)
        return {
            "parents_": [np.array(scope[:-1], dtype=np.int64) for scope in scopes],
            "edges_": [(names[p], names[scope[-1]]) for scope in scopes for p in scope[:-1]],
            "tables_": tables,
        }

    parents: Any = given_parents(model, names)
    missing = bool((codes < 0).any())
    if parents is None and (not missing or model.algorithm in ("pc", "chow-liu")):
        parents = learned_parents(model, codes, sizes, weight, names, attributes)
    if parents is not None:
        tables = (
            fitted_tables(model, codes, sizes, weight, family_scopes(parents), names) if missing else None
        )
        return attributes(parents, tables)
    parents = [()] * len(sizes)
    for _ in range(ROUNDS):
        tables = fitted_tables(model, codes, sizes, weight, family_scopes(parents), names)
        filled = imputed(codes, sizes, family_scopes(parents), tables, model.n_jobs)
        found = learned_parents(model, filled, sizes, weight, names, attributes)
        if [set(own) for own in found] == [set(own) for own in parents]:
            break
        parents = found
    tables = fitted_tables(model, codes, sizes, weight, family_scopes(parents), names)
    return attributes(parents, tables)


def family_scopes(parents: Sequence[Any]) -> Scopes:
    """Each variable with its parents before it, in the order given or, of a set, sorted."""
    return [(*(sorted(own) if isinstance(own, set) else map(int, own)), k) for k, own in enumerate(parents)]


def counted_tables(
    model: Any, codes: np.ndarray, sizes: Sequence[int], weight: np.ndarray, scopes: Scopes
) -> list[np.ndarray]:
    """P(x | parents) by counting (5.13), of each family the rows in which nothing of it is missing."""
    columns, counts = np.ascontiguousarray(codes.T), []
    for scope in scopes:
        refuse_wide(math.prod(sizes[k] for k in scope), f"The family of variable {scope[-1]}")
        counts.append(contingency(columns, np.asarray(sizes), list(scope), weight))
    return [conditional(table, pseudo_count(model, table)) for table in counts]


def pseudo_count(model: Any, table: np.ndarray) -> float:
    """What is added to every count of a family: `alpha`, or the share of a cell in an equivalent sample."""
    return model.equivalent_sample_size / table.size if model.prior == "bdeu" else model.alpha


def conditional(counts: np.ndarray, alpha: float) -> np.ndarray:
    """Counts divided by their sums over the last axis; equal shares where there is nothing to divide."""
    smooth = counts + alpha
    whole = smooth.sum(axis=-1, keepdims=True)
    even = np.full(counts.shape, 1.0 / counts.shape[-1])
    return np.divide(smooth, whole, out=even, where=np.broadcast_to(whole > 0, counts.shape))


def fitted_tables(
    model: Any, codes: np.ndarray, sizes: Sequence[int], weight: np.ndarray, scopes: Scopes, names: Sequence
) -> list[np.ndarray]:
    """The tables by EM over the missing cells: expected counts, then counting.

    Rows without missing cells are counted once. Each pass raises Σ w log P(row) plus the logarithm of the prior.
    """
    complete = (codes >= 0).all(axis=1)
    tables = counted_tables(model, codes, sizes, weight, scopes)
    if complete.all():
        return tables
    if not pseudo_count(model, tables[0]):  # a row must not be impossible before anything was learned from it
        tables = [conditional(table * len(codes), 1.0) for table in tables]
    _break_symmetry(model, codes, tables, scopes)
    tree = CliqueTree(sizes, scopes)
    refuse_wide(sum(tree.cells), "EM over the missing cells", 8.0 * 24)
    tree.compile()
    columns = np.ascontiguousarray(codes[complete].T)
    whole = [contingency(columns, np.asarray(sizes), list(scope), weight[complete]) for scope in scopes]
    rows, shares = np.ascontiguousarray(codes[~complete]), weight[~complete]
    mass, last = max(float(weight.sum()), 1e-300), -np.inf
    parents = [scope[:-1] for scope in scopes]
    unpack = _unpack_tables(parents, names)
    for step in model.steps(model.max_iter, name="pass", unpack=unpack, hint="Raise max_iter or tol."):
        expected, incomplete = tree.expected_counts(tree.base(tables), rows, shares, model.n_jobs)  # E
        likelihood = incomplete + _log_likelihood(whole, tables)
        objective = likelihood + _log_prior(model, tables)
        tables = [  # M
            conditional(counts + own, pseudo_count(model, own)) for counts, own in zip(expected, whole)
        ]
        step.report(tables, log_likelihood=likelihood / mass)
        if step.converged(objective - last <= model.tol * mass):
            break
        last = objective
    return tables


def _unpack_tables(parents: Sequence[tuple[int, ...]], names: Sequence) -> Any:
    fixed = {
        "parents_": [np.array(own, dtype=np.int64) for own in parents],
        "edges_": [(names[p], names[k]) for k, own in enumerate(parents) for p in own],
    }
    return lambda tables: {**fixed, "tables_": tables}


def _break_symmetry(model: Any, codes: np.ndarray, tables: list[np.ndarray], scopes: Scopes) -> None:
    """Tables of variables of which nothing was seen start at random: from equal ones EM would not move."""
    hidden = np.flatnonzero((codes < 0).all(axis=0))
    if not hidden.size:
        return
    rng = generator(model.random_state)
    for k, scope in enumerate(scopes):
        if set(hidden.tolist()) & set(scope):
            shape = tables[k].shape
            tables[k] = rng.dirichlet(np.ones(shape[-1]), size=shape[:-1] or None)


def _log_likelihood(counts: list[np.ndarray], tables: list[np.ndarray]) -> float:
    found = 0.0
    for count, table in zip(counts, tables):
        some = count > 0
        with np.errstate(divide="ignore"):
            found += float((count[some] * np.log(table[some])).sum())
    return found


def _log_prior(model: Any, tables: list[np.ndarray]) -> float:
    """The logarithm of the Dirichlet density of the tables, up to a constant."""
    found = 0.0
    for table in tables:
        alpha = pseudo_count(model, table)
        if alpha > 0:
            found += alpha * float(np.log(table).sum())
    return found


def imputed(
    codes: np.ndarray, sizes: Sequence[int], scopes: Scopes, tables: list[np.ndarray], n_jobs: int | None
) -> np.ndarray:
    """Codes whose missing cells hold their most probable states given the rest of the row."""
    gaps = (codes < 0).any(axis=1)
    tree = CliqueTree(sizes, scopes)
    refuse_wide(sum(tree.cells), "Imputation", 8.0 * 24)
    tree.compile()
    marginals, _ = tree.marginals(tree.base(tables), np.ascontiguousarray(codes[gaps]), n_jobs)
    filled, offsets = codes.copy(), tree.schedule.offset
    for k in range(len(sizes)):
        best = marginals[:, offsets[k] : offsets[k + 1]].argmax(axis=1)
        filled[gaps, k] = np.where(codes[gaps, k] < 0, best, codes[gaps, k])
    return filled
