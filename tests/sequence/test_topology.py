"""Topologies of hidden Markov models."""

import numpy as np
import pytest

from tercet.sequence import topology
from tercet.sequence.hmm.topology import KINDS


def test_topologies():
    assert topology("ergodic", 3).all()
    assert topology("left-right", 3).tolist() == [
        [True, True, True],
        [False, True, True],
        [False, False, True],
    ]
    assert topology("cycle", 3).astype(int).tolist() == [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    assert topology("bakis", 2).astype(int).tolist() == [[1, 1], [0, 1]]
    for kind in KINDS:
        assert topology(kind, 1).tolist() == [[True]]
    mine = np.array([[0, 1], [1, 1]])
    assert topology(mine, 2).dtype == bool
    assert np.array_equal(topology(mine, 2), mine)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("linear", "'bakis'.*'linear'"),
        ([[1, 0, 0]], r"shape \(2, 2\); got shape \(1, 3\)"),
        ([[0.5, 1], [1, 1]], "booleans"),
        ([[1, 1], [0, 0]], "state 1 go nowhere"),
    ],
)
def test_topology_refuses(kind, words):
    with pytest.raises(ValueError, match=words):
        topology(kind, 2)
