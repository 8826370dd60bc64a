"""Exact linear relations: a target that is a sum, a difference or a product of a few columns."""

from __future__ import annotations

import numpy as np

from tercet.cli.alerts.alert import Alert, named, option
from tercet.cli.alerts.alert_input import AlertInput
from tercet.core.messages import Message

ROWS = 2_000  # that are looked at
FEW = 6  # columns of a relation
GREEDY = 12  # columns that are tried one after the other
TOLERANCE = 1e-5  # of the variance that may be left over: rounding
LEAST_ROWS = 30


def exact_relations(data: AlertInput, known: set[str]) -> list[Alert]:
    """The target as a linear function of a few columns, or as a product of powers of them.

    `known` are columns that determine the target by themselves: a relation that has one says nothing new.
    """
    if data.task != "regression" or data.y_sample is None:
        return []
    names, X = _numeric(data)
    X, y = X[:ROWS], data.y_sample[:ROWS]
    good = np.isfinite(X).all(axis=1)
    if good.sum() < LEAST_ROWS and X.shape[1]:
        whole = np.isfinite(X).mean(axis=0) > 0.95  # a column of gaps must not hide the others
        names, X = [name for name, keep in zip(names, whole) if keep], X[:, whole]
        good = np.isfinite(X).all(axis=1)
    if good.sum() < LEAST_ROWS or not names:
        return []
    X, y = X[good], y[good]
    found = linear_relation(X, y)
    if found is not None and not known & {names[j] for j in found[0]}:
        return [_alert(data, names, *found)]
    positive = (X > 0).all(axis=0)
    if (y > 0).all() and positive.any():
        kept = [name for name, keep in zip(names, positive) if keep]
        found = linear_relation(np.log(X[:, positive]), np.log(y))
        if found is not None and len(found[0]) > 1 and not known & {kept[j] for j in found[0]}:
            return [_alert(data, kept, *found, product=True)]
    return []


def linear_relation(X: np.ndarray, y: np.ndarray) -> tuple[list[int], np.ndarray, float] | None:
    """Columns, coefficients (the constant last) and unexplained variance of an exact relation, or None.

    Columns join one at a time, the one that is most correlated with what is left over first (orthogonal matching
    pursuit), and those that turn out to be superfluous leave again. Half of the rows find it, the others test it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> columns, coefficients, _ = linear_relation(X, X[:, 1] + 2 * X[:, 3] + 7)
    >>> columns, coefficients.round(6).tolist()
    ([1, 3], [1.0, 2.0, 7.0])
    >>> linear_relation(X, X[:, 1] + 0.1 * rng.normal(size=100)) is None
    True
    """
    scale = X.std(axis=0)
    usable = np.flatnonzero(scale > 1e-12 * np.maximum(np.abs(X).max(axis=0), 1e-300))
    if usable.size == 0 or y.std() == 0:
        return None
    Z = (X[:, usable] - X[:, usable].mean(axis=0)) / scale[usable]
    target = (y - y.mean()) / y.std()
    half = np.arange(y.size) % 2 == 0
    chosen: list[int] = []
    left = target[half]
    for _ in range(min(GREEDY, usable.size, int(half.sum()) // 5)):
        gain = np.abs(Z[half].T @ left)
        gain[chosen] = -1.0
        chosen.append(int(gain.argmax()))
        if _unexplained(Z, target, chosen, half) <= TOLERANCE:
            chosen = _pruned(Z, target, chosen, half)
            if len(chosen) > FEW:
                return None
            columns = sorted(int(usable[j]) for j in chosen)
            design = np.column_stack([X[:, columns], np.ones(y.size)])
            coefficients = np.linalg.lstsq(design, y, rcond=None)[0]
            if abs(coefficients[-1]) < 1e-6 * np.abs(y).max():
                coefficients[-1] = 0.0
            return columns, coefficients, _unexplained(Z, target, chosen, half)
        weights = np.linalg.lstsq(Z[half][:, chosen], target[half], rcond=None)[0]
        left = target[half] - Z[half][:, chosen] @ weights
    return None


def _unexplained(Z: np.ndarray, target: np.ndarray, chosen: list[int], half: np.ndarray) -> float:
    """The share of the variance of the test rows that the columns leave."""
    design = np.column_stack([Z[:, chosen], np.ones(target.size)])
    weights = np.linalg.lstsq(design[half], target[half], rcond=None)[0]
    return float(np.mean((target[~half] - design[~half] @ weights) ** 2) / target[~half].var())


def _pruned(Z: np.ndarray, target: np.ndarray, chosen: list[int], half: np.ndarray) -> list[int]:
    for j in list(chosen):
        fewer = [k for k in chosen if k != j]
        if fewer and _unexplained(Z, target, fewer, half) <= TOLERANCE:
            chosen = fewer
    return chosen


def _numeric(data: AlertInput) -> tuple[list[str], np.ndarray]:
    found = [(name, values) for name, _, values in data.sampled("number")]
    names = [name for name, _ in found]
    return names, np.column_stack([v for _, v in found]) if found else np.empty((data.rows.size, 0))


def _alert(
    data: AlertInput,
    names: list[str],
    columns: list[int],
    coefficients: np.ndarray,
    left: float,
    *,
    product: bool = False,
) -> Alert:
    used = [names[j] for j in columns]
    formula = _formula(used, coefficients, product)
    title = Message(
        "the target {target!r} can be computed from {names}", target=data.target, names=named(used)
    )
    evidence = Message(
        "{target} = {formula}, up to {left} of its variance.",
        target=data.target,
        formula=formula,
        left=f"{max(left, 1e-16):.0e}",
    )
    advice = Message(
        "If these columns are known only together with the target, compare again without them ({option}); "
        "if they are known before, no model is needed.",
        option=option("--drop", *used),
    )
    return Alert("relation", "serious", title, evidence, advice, tuple(used))


def _formula(names: list[str], coefficients: np.ndarray, product: bool) -> str:
    """The relation as people write it.

    Examples
    --------
    >>> _formula(["a", "b"], np.array([1.0, -2.0, 0.0]), product=False)
    'a − 2·b'
    >>> _formula(["a", "b"], np.array([1.0, 2.0, np.log(3)]), product=True)
    '3 · a · b^2'
    """
    numbers = [f"{value:.4g}" for value in coefficients[:-1]]
    constant = float(coefficients[-1])
    if product:
        factors = [n if v == "1" else f"{n}^{v}" for n, v in zip(names, numbers)]
        factor = f"{np.exp(constant):.4g}"
        return " · ".join(factors if factor == "1" else [factor, *factors])
    terms = [*zip(numbers, names), *([(f"{constant:.4g}", "")] if constant else [])]
    text = ""
    for number, name in terms:
        sign, size = ("−", number[1:]) if number.startswith("-") else ("+", number)
        text += f" {sign} {size if not name else name if size == '1' else f'{size}·{name}'}"
    return text.removeprefix(" + ").lstrip()
