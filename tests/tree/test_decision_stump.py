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
    stump = DecisionStump(constant=False).fit(X, y)
    assert (stump.feature_, stump.threshold_, stump.left_, stump.right_) == (0, 1.5, 1, 0)
    assert (stump.error_, stump.predict(X).tolist()) == (0.25, [1, 1, 0, 0])


def test_two_answers_of_exercise_8_1():
    """Ability below 1.5 is +1: 3 of 10 are wrong, more than with -1 everywhere."""
    body, ability = [0, 0, 1, 1, 1, 0, 1, 1, 1, 0], [1, 3, 2, 1, 2, 1, 1, 1, 3, 2]
    X = np.column_stack([body, ability, [3, 1, 2, 3, 3, 2, 2, 1, 1, 1]]).astype(float)
    y = np.array([-1, -1, -1, -1, -1, -1, 1, 1, -1, -1])
    stump = DecisionStump(constant=False).fit(X, y)
    assert (stump.feature_, stump.threshold_, stump.left_, stump.right_) == (1, 1.5, 1, -1)
    assert stump.error_ == pytest.approx(0.3)
    assert np.mean(stump.predict(X) != y) == pytest.approx(0.3)
    everywhere = DecisionStump().fit(X, y)
    assert (everywhere.feature_, everywhere.left_, everywhere.error_) == (-1, -1, pytest.approx(0.2))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_two_answers_have_the_least_weight_of_mistakes(n_classes):
    random = np.random.default_rng(n_classes)
    X, w = random.integers(0, 4, (25, 3)).astype(float), random.random(25)
    y = random.choice(n_classes, 25, p=np.append(0.7, np.full(n_classes - 1, 0.3 / (n_classes - 1))))
    stump = DecisionStump(constant=False).fit(X, y, w)
    pairs = [(a, b) for a in np.unique(y) for b in np.unique(y) if a != b]
    cuts = [X[:, j] <= v for j in range(3) for v in np.unique(X[:, j])[:-1]]
    least = min(w[np.where(left, a, b) != y].sum() for left in cuts for a, b in pairs)
    assert stump.left_ != stump.right_
    assert w[stump.predict(X) != y].sum() == pytest.approx(least)
    assert stump.error_ == pytest.approx(least / w.sum())


def test_one_answer_where_two_are_impossible():
    one_class = DecisionStump(constant=False).fit([[0.0], [1.0]], ["a", "a"])
    assert (one_class.feature_, one_class.error_, one_class.predict([[5.0]]).tolist()) == (-1, 0.0, ["a"])
    no_threshold = DecisionStump(constant=False).fit([[1.0], [1.0], [1.0]], [0, 1, 1])
    assert (no_threshold.feature_, no_threshold.error_) == (-1, pytest.approx(1 / 3))
