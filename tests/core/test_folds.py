"""Rows of a fold, taken in blocks."""

import numpy as np
import pytest

from tercet.core import folds
from tercet.core.stopping import Stopped, StopRequest, working_for


@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_of_rows_are_the_rows(monkeypatch, order):
    X, rows = np.asarray(np.random.default_rng(0).random((50, 3)), order=order), np.arange(49, 0, -2)
    expected = X[rows]
    monkeypatch.setattr(folds, "BLOCK_BYTES", 100)
    found = folds.take_rows(X, rows)
    assert found.flags.c_contiguous == expected.flags.c_contiguous
    np.testing.assert_array_equal(found, expected)


def test_a_stop_request_is_heard_between_blocks(monkeypatch):
    monkeypatch.setattr(folds, "BLOCK_BYTES", 100)
    request = StopRequest()
    request.raised = True
    with working_for(request), pytest.raises(Stopped):
        folds.take_rows(np.zeros((50, 3)), np.arange(50))
