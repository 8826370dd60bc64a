"""The machine code of kernels: how large it is, and whose arithmetic it calls."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tercet.cli.object_symbols import allowed, computes, undefined_symbols
from tercet.core import kernel as kernels
from tests.kernel_objects import FILE, observed

if not kernels.JIT or kernels.BOUNDS or kernels.OPTIMISATION != "3":
    pytest.skip("objects are of the compiler at its defaults", allow_module_level=True)

# Bytes. The largest object has some 180 000 here; what is larger takes many seconds to compile.
LARGEST = 300_000
LARGE = ("DecisionTreeClassifier", "CategoricalHMM", "CRF", "GaussianMixture", "KMeans", "SVC")


def plain(x, out):
    for i in range(x.size):
        out[i] = np.sqrt(x[i]) * 2.0


def calling(x, out):
    for i in range(x.size):
        out[i] = np.log(x[i])


def observe(function):
    """The object of a small kernel of a module of ours, which is compiled anew or comes from the cache."""
    function.__module__ = "tercet.test"
    with observed() as seen:
        kernels.kernel(function)(np.ones(3), np.ones(3))
    (one,) = seen
    return one


def test_arithmetic_of_others_is_seen(monkeypatch):
    monkeypatch.setitem(sys.modules, "tercet.test", ModuleType("tercet.test"))
    for _ in range(2):  # the second time from the cache
        assert observe(plain).arithmetic == []
        assert observe(calling).arithmetic == ["log"]


def test_what_a_pack_may_call():
    assert all(
        map(
            allowed,
            ("log", "expf", "memcpy", "NRT_Free", "numba_xxgemm", "PyErr_SetString", "_Py_NoneStruct"),
        )
    )
    assert not any(map(allowed, ("__svml_exp8", "_ZGVdN4v_exp", "system", "cblas_dgemm", "expense")))
    assert all(map(computes, ("log", "expf", "numba_xxgemm", "numba_ez_rgesdd")))
    assert not any(map(computes, ("memcpy", "NRT_Free", "numba_unpickle", "PyFloat_AsDouble")))


def test_another_format_is_refused():
    with pytest.raises(ValueError, match="ELF"):
        undefined_symbols(b"MZ" + bytes(100))


@pytest.fixture(scope="module")
def found():
    """What the large methods and those of the list load, by name."""
    names = {*LARGE, *json.loads(FILE.read_text(encoding="utf-8"))["methods"]}
    command = [sys.executable, "-m", "tests.kernel_objects", "--json", *sorted(names)]
    root = Path(__file__).resolve().parents[2]
    return json.loads(subprocess.run(command, check=True, capture_output=True, cwd=root).stdout)


def test_objects_stay_small(found):
    large = {kernel: size for some in found.values() for kernel, size, _ in some if size > LARGEST}
    assert large == {}
    assert all(found[name] for name in LARGE)


def test_methods_whose_kernels_compute_by_themselves(found):
    """The list that promises the same bits of these kernels on every CPU, with a pack."""
    listed = json.loads(FILE.read_text(encoding="utf-8"))
    assert {name: some for name in listed["methods"] for *_, some in found[name] if some} == {}
    calling = {kernel for some in found.values() for kernel, _, arithmetic in some if arithmetic}
    assert calling
    assert calling.isdisjoint(listed["kernels"])
    assert len(listed["methods"]) > 10
