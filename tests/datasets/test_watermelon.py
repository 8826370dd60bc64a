"""The watermelon tables."""

from __future__ import annotations

import numpy as np
import pytest

from tercet.datasets import load_watermelon


@pytest.mark.parametrize(
    ("version", "shape"),
    [("2.0", (17, 6)), ("2.0alpha", (17, 6)), ("3.0", (17, 8)), ("3.0alpha", (17, 2)), ("4.0", (30, 2))],
)
def test_shapes(version, shape):
    melons = load_watermelon(version)
    assert melons.data.shape == shape
    assert len(melons.feature_names) == len(melons.feature_names_zh) == shape[1]
    if version == "4.0":
        assert melons.target is None
    else:
        assert melons.target.tolist() == [1] * 8 + [0] * 9


def test_versions_fit_together():
    full, words, gaps = (load_watermelon(v).data for v in ("3.0", "2.0", "2.0alpha"))
    assert np.array_equal(full[:, :6], words)
    missing = gaps == None  # noqa: E711
    assert missing.sum() == 13
    assert np.array_equal(gaps[~missing], words[~missing])
    assert gaps[0].tolist() == [None, "蜷缩", "浊响", "清晰", "凹陷", "硬滑"]
    assert gaps[16].tolist() == ["青绿", None, "沉闷", "稍糊", "稍凹", "硬滑"]
    numbers = load_watermelon("3.0alpha").data
    assert np.array_equal(full[:, 6:].astype(float), numbers)
    assert np.array_equal(load_watermelon("4.0").data[:17], numbers)
    assert load_watermelon("4.0").data[-1].tolist() == [0.446, 0.459]


def test_a_call_gives_a_table_of_its_own():
    load_watermelon().data[:] = 0
    X, y = load_watermelon(return_X_y=True)
    assert X[0].tolist() == [0.697, 0.46]
    assert y.sum() == 8


def test_unknown_version():
    with pytest.raises(ValueError, match=r"version must be one of '2\.0'"):
        load_watermelon("5.0")
