"""Ordinary code for scikit-learn does the same when nothing but the name in its imports is changed."""

import inspect
import re
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.peers import ordinary_code as before
from tests.peers.test_public_names import MODULES

SOURCE = Path(before.__file__).read_text(encoding="utf-8")


def changed():
    """The same file, with `sklearn` replaced by `tercet`."""
    module = types.ModuleType("changed")
    exec(compile(re.sub(r"\bsklearn\b", "tercet", SOURCE), before.__file__, "exec"), vars(module))
    return module


AFTER = changed()
HELPERS = {"iris", "numbers"}
SNIPPETS = [name for name, value in vars(before).items() if inspect.isfunction(value) and name not in HELPERS]


@pytest.mark.parametrize("name", SNIPPETS)
def test_the_results_are_the_same(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found, wanted = getattr(AFTER, name)(), getattr(before, name)()
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        if np.asarray(value).dtype.kind in "fc":
            np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-5, err_msg=key)
        else:
            np.testing.assert_equal(found[key], value, err_msg=key)


def test_every_module_has_a_snippet():
    modules = {module.partition(".")[0] for module in MODULES}
    assert modules - {"experimental"} == {*SNIPPETS} - {"configuration"}
