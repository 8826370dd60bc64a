"""Facts from data frames: rows, attributes and comparisons as ground atoms."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tercet.core.input_errors import shown
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import Constant


def row_facts(frame: Any, predicate: str, columns: Sequence[Any] | None = None) -> list[Literal]:
    """A fact for each row: predicate(value of each column).

    Parameters
    ----------
    frame : pandas or polars frame, mapping of columns, or array
        The table of a relation.
    predicate : str
        Its name.
    columns : sequence, optional
        The columns that are the arguments, in order; by default all.

    Returns
    -------
    facts : list of Literal
        Each once; a row with a missing value has none.

    Examples
    --------
    >>> [str(fact) for fact in row_facts({"parent": ["ann", "tom"], "child": ["tom", "eve"]}, "parent")]
    ['parent(ann, tom)', 'parent(tom, eve)']
    """
    table = frame_columns(frame)
    chosen = _chosen(table, columns)
    rows = zip(*(table[name] for name in chosen))
    facts = (Literal(predicate, row) for row in rows if None not in row)
    return list(dict.fromkeys(facts))


def attribute_facts(
    frame: Any, key: Any = None, columns: Sequence[Any] | None = None, *, values_in_names: bool = False
) -> list[Literal]:
    """A fact for each cell: column(key, value).

    Parameters
    ----------
    frame : pandas or polars frame, mapping of columns, or array
        A row for each object.
    key : column, optional
        The column that names the objects; by default they are 1, 2 ...
    columns : sequence, optional
        The attributes; by default all other columns.
    values_in_names : bool, default=False
        Whether facts are column_value(key) instead, which need no constants in clauses.

    Returns
    -------
    facts : list of Literal
        A missing value has no fact.

    Examples
    --------
    >>> melons = {"色泽": ["青绿", "乌黑"], "敲声": ["浊响", None]}
    >>> [str(fact) for fact in attribute_facts(melons)]
    ['色泽(1, 青绿)', '色泽(2, 乌黑)', '敲声(1, 浊响)']
    """
    table = frame_columns(frame)
    objects = _objects(table, key)
    facts = []
    for name in _chosen(table, columns, key):
        for one, value in zip(objects, table[name]):
            if value is None or one is None:
                continue
            if values_in_names:
                facts.append(Literal(f"{name}_{value.value}", [one]))
            else:
                facts.append(Literal(str(name), [one, value]))
    return list(dict.fromkeys(facts))


def comparison_facts(
    frame: Any, orders: Mapping[Any, Any], key: Any = None, *, names: Mapping[Any, str] | None = None
) -> list[Literal]:
    """A fact for each pair of rows of which the first is higher in a column: more_column(key, key).

    Parameters
    ----------
    frame : pandas or polars frame, mapping of columns, or array
        A row for each object.
    orders : mapping of columns to sequences or None
        The values of a column from the lowest to the highest; None for a column of numbers.
    key : column, optional
        The column that names the objects; by default they are 1, 2 ...
    names : mapping of columns to str, optional
        The predicates; by default "more_" before the column's name.

    Returns
    -------
    facts : list of Literal
        None for pairs with a missing value.

    Examples
    --------
    >>> melons = {"色泽": ["青绿", "乌黑", "浅白"]}
    >>> order = {"色泽": ["浅白", "青绿", "乌黑"]}
    >>> [str(fact) for fact in comparison_facts(melons, order, names={"色泽": "色泽更深"})]
    ['色泽更深(1, 3)', '色泽更深(2, 1)', '色泽更深(2, 3)']
    """
    table = frame_columns(frame)
    objects = _objects(table, key)
    facts = []
    for name in _chosen(table, list(orders), None):
        ranks = [None if value is None else _rank(value, orders[name], name) for value in table[name]]
        predicate = (names or {}).get(name, f"more_{name}")
        for i, first in enumerate(ranks):
            for j, second in enumerate(ranks):
                if first is not None and second is not None and first > second:
                    facts.append(Literal(predicate, [objects[i], objects[j]]))
    return facts


def frame_columns(frame: Any) -> dict[Any, list[Constant | None]]:
    """The columns of a table as constants, None where a value is missing."""
    if isinstance(frame, Mapping) or hasattr(frame, "columns"):
        names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
        table = {name: _values(frame[name]) for name in names}
    else:
        array = np.asarray(frame, dtype=object)
        if array.ndim != 2:
            raise ValueError(f"A frame, a mapping of columns or a table is needed; got {shown(frame)}.")
        table = {k: array[:, k].tolist() for k in range(array.shape[1])}
    lengths = {name: len(values) for name, values in table.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"All columns must be of one length; got {lengths}.")
    return {name: [_constant(value) for value in values] for name, values in table.items()}


def _values(column: Any) -> list[Any]:
    for convert in ("to_list", "tolist"):
        if hasattr(column, convert):
            return list(getattr(column, convert)())
    return list(column)


def _constant(value: Any) -> Constant | None:
    """A value of a frame as a constant; what is neither a number nor text, by its text."""
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, str | bool | numbers.Number | np.generic) and not isinstance(value, complex):
        if isinstance(value, numbers.Real) and not isinstance(value, int | float | np.generic):
            return Constant(float(value))
        return Constant(value)
    return Constant(str(value))


def _chosen(table: dict[Any, Any], columns: Sequence[Any] | None, key: Any = None) -> list[Any]:
    chosen = [name for name in table if name != key] if columns is None else list(columns)
    if unknown := [name for name in chosen if name not in table]:
        raise ValueError(f"{unknown[0]!r} is not a column; the columns are {list(table)}.")
    return chosen


def _objects(table: dict[Any, list[Constant | None]], key: Any) -> list[Any]:
    if key is None:
        return [Constant(k + 1) for k in range(len(next(iter(table.values()), [])))]
    if key not in table:
        raise ValueError(f"key {key!r} is not a column; the columns are {list(table)}.")
    return table[key]


def _rank(value: Constant, order: Any, name: Any) -> Any:
    if order is None:
        if isinstance(value.value, str):
            raise ValueError(f"{name!r} must be a column of numbers, or have an order; got {value}.")
        return value.value
    places = {_constant(one): k for k, one in enumerate(order)}
    if value not in places:
        raise ValueError(f"{value} is a value of {name!r} that its order does not have: {list(order)}.")
    return places[value]
