"""The table of the kernels that estimators need."""

import pytest

from tercet.core import kernel as kernels

if not kernels.JIT or kernels.BOUNDS or kernels.OPTIMISATION != "3":
    pytest.skip("the table is of the compiler at its defaults", allow_module_level=True)

import json

import numpy as np
from numba import typeof
from numba.core import types

from tercet.cli.warm import cards
from tercet.core import kernel_runs
from tercet.core.kernel_runs import KernelForm, RunTable, class_path, described, restored
from tercet.core.rows import Dense
from tercet.tree import DecisionTreeClassifier
from tests.core.test_kernel_objects import LARGEST
from tests.kernel_runs import runs

TABLE = kernel_runs.table()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "float64"),
        (1, "int64"),
        (True, "bool"),
        (None, "none"),
        (np.zeros((2, 2), np.float32), "float32 2C"),
        (np.zeros((2, 2), order="F"), "float64 2F"),
        ((1, 2.0), ["", "int64", "float64"]),
        (Dense(np.zeros((2, 2))), ["tercet.core.rows.Dense", "float64 2C"]),
    ],
)
def test_types_have_a_description(value, text):
    kind = typeof(value)
    assert described(kind) == text
    assert restored(text) == kind


def test_a_read_only_array_is_another_type():
    kind = types.Array(types.int64, 1, "C", readonly=True)
    assert described(kind) == "int64 1C readonly"
    assert restored("int64 1C readonly") == kind != restored("int64 1C")


def test_other_types_have_none():
    with pytest.raises(TypeError, match="have no description"):
        described(types.unicode_type)


def test_every_line_is_a_kernel_of_today():
    """`make kernel-runs` writes the table anew."""
    assert len(TABLE.forms) > 100
    for form in TABLE.forms.values():
        kernel, signature = form.dispatcher(), form.signature()
        assert len(signature) == kernel.py_func.__code__.co_argcount, form.name
        assert TABLE.find(kernel.py_func, signature) is form
    paths = {class_path(card.load()) for card in cards()}
    assert set(TABLE.runs) <= paths


def test_kernels_are_small():
    """What is larger takes many seconds to compile."""
    assert {form.name: form.size for form in TABLE.forms.values() if form.size > LARGEST} == {}


@pytest.mark.parametrize(
    "name", ["DecisionTreeRegressor", "CRF", "KernelDensity", "HistGradientBoostingRegressor"]
)
def test_runs_are_those_of_today(name):
    """`make kernel-runs` writes the table anew."""
    card = next(card for card in cards() if card.name == name)
    today = {frozenset(form.key for form in run) for run in runs(card)}
    kept = {frozenset(form.key for form in run) for run in TABLE.runs[class_path(card.load())]}
    assert kept
    assert kept <= today


def test_the_first_run_with_all_kernels_that_were_missed():
    one, two, three = (KernelForm(name, (), 1000) for name in "abc")
    table = RunTable({}, {class_path(DecisionTreeClassifier): [[one, two], [one, three]]})
    fits = (dict, DecisionTreeClassifier)
    assert table.likely_run(fits, [one]) == [one, two]
    assert table.likely_run(fits, [one, three]) == [one, three]
    assert table.likely_run(fits, [two, three]) == []
    assert table.likely_run((), [one]) == []


@pytest.mark.parametrize(
    "content", [None, "", "[]", json.dumps({"kernels": [["a"]], "runs": {}, "slow_imports": []})]
)
def test_a_table_that_cannot_be_read_is_empty(tmp_path, monkeypatch, content):
    file = tmp_path / "runs.json"
    if content is not None:
        file.write_text(content)
    monkeypatch.setattr(kernel_runs, "FILE", file)
    assert kernel_runs.table.__wrapped__() == RunTable({}, {})


def test_what_is_written_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_runs, "FILE", tmp_path / "runs.json")
    form = KernelForm("module.name", ("float64 1C", ["", "int64"]), 1234, slow_import=True)
    kernel_runs.write_table({"some.Class": [[form]]})
    read = kernel_runs.table.__wrapped__()
    assert read == RunTable({form.key: form}, {"some.Class": [[form]]})
