"""The embedded tables are scikit-learn's, read without it."""

import numpy as np
import pytest
from sklearn import datasets

from tercet.cli.embedded_datasets import DEFAULT, EMBEDDED, embedded, is_embedded


@pytest.mark.parametrize("name", ["breast_cancer", "iris", "wine", "digits", "diabetes"])
def test_same_as_scikit_learns(name):
    options = {"scaled": False} if name == "diabetes" else {}
    bunch = getattr(datasets, f"load_{name}")(**options)
    table = embedded(name)
    assert table.frame.columns[-1] == table.target == EMBEDDED[name]
    np.testing.assert_array_equal(table.frame[:, :-1].to_numpy(), bunch.data)
    target = table.frame[EMBEDDED[name]].to_numpy()
    labelled = len(getattr(bunch, "target_names", [])) and name != "digits"
    expected = np.asarray(bunch.target_names)[bunch.target] if labelled else bunch.target
    assert target.tolist() == expected.tolist()


def test_watermelons():
    table = embedded("watermelon")
    assert table.frame.shape == (17, 9)
    assert table.frame["好瓜"].to_list() == ["是"] * 8 + ["否"] * 9


def test_a_file_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_embedded(None)
    assert is_embedded(DEFAULT)
    (tmp_path / "iris").write_text("a,b\n1,2\n")
    assert not is_embedded("iris")
