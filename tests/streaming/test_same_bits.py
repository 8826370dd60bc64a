"""A fit of a source has the bits of the fit of the same rows in memory, for every estimator that streams."""

import numpy as np
import pytest

import tercet
from tercet.core.catalog import methods
from tercet.core.steps import fitted_attributes
from tercet.datasets import Source
from tercet.linear_model import LinearRegression

CASES = [
    (LinearRegression(), "number"),
    (LinearRegression(solver="normal"), "number"),
    (LinearRegression(positive=True, fit_intercept=False), "number"),
]


def prepared(rows, model):
    """The rows, as an estimator wants them: none negative, say."""
    return np.abs(rows["X"]) if model.positive_only else rows["X"]


def assert_same(streamed, whole):
    """All that was learned is the same, to the last bit."""
    left_out = {*whole.row_attributes, "feature_names_in_"}
    expected = {name: value for name, value in fitted_attributes(whole).items() if name not in left_out}
    found = {name: value for name, value in fitted_attributes(streamed).items() if name not in left_out}
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, np.ndarray | float | int):
            np.testing.assert_array_equal(found[name], value, err_msg=name)


def ident(case):
    return str(case[0])[:60]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_a_source_gives_the_bits_of_memory(case, weighted, rows, folder, names):
    import copy

    from tests.streaming.conftest import write_parts

    model, target = case
    X = prepared(rows, model)
    where = folder
    if X is not rows["X"]:
        where = folder.parent / "positive"
        if not where.exists():
            where.mkdir()
            write_parts(where, rows, X)
    weights = {"sample_weight": rows["weight"]} if weighted else {}
    columns = {"sample_weight": "weight"} if weighted else {}
    if weighted and not takes_weights(model):
        return
    whole = copy.deepcopy(model).fit(X, *([] if target is None else [rows[target]]), **weights)
    used = [*names, *([target] if target else []), *(["weight"] if weighted else [])]
    with tercet.engine("stream"):
        streamed = copy.deepcopy(model).fit(Source(where, columns=used), y=target, **columns)
    assert_same(streamed, whole)
    assert streamed.feature_names_in_.tolist() == names


def takes_weights(model):
    import inspect

    return "sample_weight" in inspect.signature(model.fit).parameters


def test_every_streaming_estimator_is_here():
    import importlib

    streaming = {
        card.name
        for card in methods()
        if card.kind == "estimator"
        and getattr(getattr(importlib.import_module(card.module), card.name), "streaming", False)
    }
    assert streaming <= {type(model).__name__ for model, _ in CASES}
