"""Decision stumps (8.M1)."""

import numpy as np
import pytest

from tercet.tree import DecisionStump


def brute_force(X, y, w):
    """The least weight of mistakes of any stump, and of any constant."""
    best = min(w[y != label].sum() for label in np.unique(y))
    for j in range(X.shape[1]):
        for v in np.unique(X[:, j]):
            left = X[:, j] <= v
            sides = [side for side in (left, ~left) if side.any()]
            wrong = sum(min(w[side][y[side] != label].sum() for label in np.unique(y)) for side in sides)
            best = min(best, wrong)
    return best / w.sum()


@pytest.mark.parametrize("seed", range(4))
def test_least_weight_of_mistakes(seed):
    random = np.random.default_rng(seed)
    X, y, w = random.integers(0, 5, (30, 3)).astype(float), random.integers(0, 3, 30), random.random(30)
    stump = DecisionStump().fit(X, y, w)
    assert stump.error_ == pytest.approx(brute_force(X, y, w))
    assert w[stump.predict(X) != y].sum() / w.sum() == pytest.approx(stump.error_)


def test_a_tie_takes_the_smaller_threshold():
    y = [1, 1, 1, -1, -1, -1, 1, 1, 1, -1]
    assert DecisionStump().fit(np.arange(10.0)[:, None], y, np.full(10, 0.1)).threshold_ == 2.5


def test_a_constant_answer():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [1, 1, 0, 1]
    stump = DecisionStump().fit(X, y)
    assert (stump.feature_, stump.left_, stump.error_) == (-1, 1, 0.25)
    assert stump.predict(X).tolist() == [1, 1, 1, 1]
    assert DecisionStump(constant=False).fit(X, y).feature_ == 0
