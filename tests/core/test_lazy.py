"""Families load a method's modules when the method is first asked for."""

import subprocess
import sys

import pytest

import tercet
from tercet.core.lazy import lazy_package


def loaded_by(statement: str) -> set[str]:
    """The modules of a fresh process after `statement`."""
    code = f"{statement}\nimport sys\nprint(*(name for name in sys.modules if name.startswith('tercet')))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return set(out.split())


def test_a_method_does_not_load_its_family():
    modules = loaded_by("from tercet.linear_model import Lasso")
    assert "tercet.linear_model.lasso.lasso" in modules
    assert "tercet.linear_model.logistic.logistic_regression" not in modules
    assert not any(name.startswith(("tercet.svm", "tercet.tree", "tercet.sequence")) for name in modules)


def test_a_function_is_not_hidden_by_the_module_of_its_name():
    import tercet.cluster.k_means
    import tercet.optimize.newton
    from tercet.cluster import k_means
    from tercet.optimize import newton

    assert callable(k_means)
    assert callable(newton)
    assert callable(tercet.optimize.newton)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'tercet\.tree' has no attribute 'Forest'"):
        _ = tercet.tree.Forest
    with pytest.raises(ImportError, match="cannot import name 'Forest'"):
        from tercet.tree import Forest  # noqa: F401


@pytest.mark.parametrize("family", ["cluster", "linear_model", "optimize", "sequence", "svm", "tree"])
def test_all_is_what_the_stub_imports(family):
    package = getattr(tercet, family)
    get, names, public = lazy_package(f"tercet.{family}")
    assert names() == public == sorted(package.__all__) == dir(package)
    assert all(get(name) is getattr(package, name) for name in public)
