"""The graph of a Bayesian network, learned by the algorithm that an estimator names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tercet.core.estimator import generator
from tercet.graphical._engine.family_counts import contingency
from tercet.graphical.directed import directed
from tercet.graphical.structure.chow_liu import chow_liu, information, mutual_information
from tercet.graphical.structure.exact_search import exact_search
from tercet.graphical.structure.hill_climbing import HillClimbing, hill_climbing
from tercet.graphical.structure.k2 import k2
from tercet.graphical.structure.network_score import MAX_CELLS, Constraints, FamilyScores
from tercet.graphical.structure.pc_stable import PCStable

Parents = list[set[int]]
Unpack = Callable[[Any], dict[str, Any]]


def given_parents(model: Any, names: Sequence) -> list[tuple[int, ...]] | None:
    """The parents of each variable where the parameter `edges` gives the graph; None where it is to be learned."""
    if model.edges is None:
        return None
    parents = directed(_known_edges(model, "edges", model.edges, names), names)
    place = {name: k for k, name in enumerate(names)}
    return [tuple(place[p] for p in parents[name]) for name in names]


def learned_parents(
    model: Any, codes: np.ndarray, sizes: Sequence[int], weight: np.ndarray, names: Sequence, unpack: Unpack
) -> Parents:
    """Search by `model.algorithm`, under the constraints that the other parameters give."""
    scores = FamilyScores(
        np.ascontiguousarray(codes.T),
        np.asarray(sizes),
        weight,
        model.criterion,
        model.equivalent_sample_size,
        model.n_jobs,
    )
    constraints = _constraints(model, names)
    algorithm = model.algorithm
    if algorithm == "k2":
        natural = getattr(model, "_natural_order", range(len(names)))
        order = natural if model.order is None else _places(model, "order", model.order, names)
        missing = sorted(set(range(len(names))) - set(order))
        if missing:
            raise ValueError(f"{type(model).__name__}: order must name every variable; got {model.order!r}.")
        _check_order(model, constraints, list(order), names)
        return k2(scores, constraints, list(order))
    if algorithm == "chow-liu":
        if model.required_edges:
            raise ValueError(f"{type(model).__name__}: algorithm='chow-liu' takes no required_edges.")
        natural = getattr(model, "_natural_order", [0])
        (root,) = natural[:1] if model.root is None else _places(model, "root", [model.root], names)
        weights = mutual_information(scores.columns, scores.sizes, weight, model.n_jobs)
        return chow_liu(weights, root, constraints.allowed)
    if algorithm == "exact":
        return exact_search(scores, constraints)[1]
    if algorithm == "pc":
        parents = _pc(model, PCStable(scores, constraints, model.test, model.level), unpack)
        return _strongest_parents(model, parents, scores, constraints, names)
    return _climbed(model, HillClimbing(scores, constraints), unpack)


def _climbed(model: Any, search: HillClimbing, unpack: Unpack) -> Parents:
    """Greedy moves, one edge a pass (W 5.5)."""
    tabu = model.tabu_length if model.algorithm == "tabu" else 0
    moves = hill_climbing(search, tabu=tabu, restarts=model.n_restarts, rng=generator(model.random_state))
    best: Parents = search.parents
    hint = "Raise max_iter, or limit max_parents."
    for step in model.steps(model.max_iter + 1, name="move", unpack=unpack, hint=hint):
        found = next(moves, None)
        if found is None:
            step.converged(True)
            break
        score, best = found
        step.report(best, score=score)
        step.converged(False)
    return best


def _pc(model: Any, state: PCStable, unpack: Unpack) -> Parents:
    """Tests given no variable, given one, given two ...; then directions."""
    d = state.scores.d
    most = d - 1 if model.max_conditions is None else min(model.max_conditions + 1, d - 1)
    for step in model.steps(most, name="level", unpack=lambda edges: unpack(edges())):
        more = state.level_of(step.index)
        step.report(lambda: state.directed()[1], edges=int(state.joined.sum()) // 2)
        if not more:
            break
    return state.directed()[1]


def _strongest_parents(
    model: Any, parents: Parents, scores: FamilyScores, constraints: Constraints, names: Sequence
) -> Parents:
    """Parents within `max_parents` and the largest table of a family: those that share most information with it.

    Tests of independence alone do not bound a family: columns that determine each other are all joined.
    """
    kept: list[set[int]] = []
    wide = []
    for child, found in enumerate(parents):
        required = constraints.required[:, child]
        tables = {
            p: contingency(scores.columns, scores.sizes, [p, child], scores.weight)
            for p in (found if len(found) > 1 else ())
        }
        rank = {p: (not required[p], -round(information(table), 9), p) for p, table in tables.items()}
        chosen, cells = set[int](), int(scores.sizes[child])
        for p in sorted(found, key=lambda p: rank.get(p, ())):
            cells *= int(scores.sizes[p])
            if not required[p] and (cells > MAX_CELLS or len(chosen) >= constraints.max_parents):
                wide += [child] if cells > MAX_CELLS else []
                break
            chosen.add(p)
        kept.append(chosen)
    if wide:
        warnings.warn(
            f"{type(model).__name__}: the tests join {names[wide[0]]!r} to more parents than one table can hold"
            + (f", and {len(wide) - 1} other columns as well" if len(wide) > 1 else "")
            + "; only those that share most information with it are kept. Columns that determine each other (an"
            " identifier, a unit in two spellings) are best left out; max_parents sets a lower limit.",
            UserWarning,
            stacklevel=2,
        )
    return kept


def _constraints(model: Any, names: Sequence) -> Constraints:
    required = [*_pairs(model, "required_edges", names), *getattr(model, "_naive_edges", [])]
    forbidden = _pairs(model, "forbidden_edges", names)
    both = set(required) & set(forbidden)
    if both:
        p, c = min(both)
        raise ValueError(
            f"{type(model).__name__}: the edge {names[p]!r} -> {names[c]!r} is both required and forbidden."
        )
    directed([(names[p], names[c]) for p, c in required], names)
    found = Constraints(len(names), required, forbidden, model.max_parents)
    many = np.flatnonzero(found.required.sum(axis=0) > found.max_parents)
    if many.size:
        raise ValueError(
            f"{type(model).__name__}: required_edges give {names[many[0]]!r} more parents than "
            f"max_parents={model.max_parents}."
        )
    return found


def _check_order(model: Any, constraints: Constraints, order: list[int], names: Sequence) -> None:
    place = {k: at for at, k in enumerate(order)}
    for p, c in np.argwhere(constraints.required).tolist():
        if place[p] > place[c]:
            raise ValueError(
                f"{type(model).__name__}: the required edge {names[p]!r} -> {names[c]!r} goes against order."
            )


def _pairs(model: Any, parameter: str, names: Sequence) -> list[tuple[int, int]]:
    place = {name: k for k, name in enumerate(names)}
    edges = _known_edges(model, parameter, getattr(model, parameter) or [], names)
    return [(place[p], place[c]) for p, c in edges]


def _known_edges(model: Any, parameter: str, edges: Any, names: Sequence) -> Any:
    """Edges whose ends are variables; numbers of columns may stand for names."""
    if not isinstance(edges, list | tuple | set | frozenset):
        return edges
    found = []
    for edge in edges:
        if isinstance(edge, str) or not isinstance(edge, Iterable) or len(tuple(edge)) != 2:
            raise ValueError(
                f"{type(model).__name__}: {parameter} must be pairs (parent, child); got {edge!r}."
            )
        found.append(tuple(names[k] for k in _places(model, parameter, edge, names)))
    return found


def _places(model: Any, parameter: str, given: Iterable, names: Sequence) -> list[int]:
    """The numbers of variables that a parameter gives by name or number."""
    place = {name: k for k, name in enumerate(names)}
    found = []
    for item in given:
        number = isinstance(item, int | np.integer) and not isinstance(item, bool) and 0 <= item < len(names)
        if item not in place and not number:
            raise ValueError(
                f"{type(model).__name__}: {parameter} names {item!r}, which is no variable; the variables are "
                f"{list(names)[:20]}."
            )
        found.append(place[item] if item in place else int(item))
    if len(set(found)) < len(found):
        raise ValueError(f"{type(model).__name__}: {parameter} names a variable twice: {list(given)!r}.")
    return found
