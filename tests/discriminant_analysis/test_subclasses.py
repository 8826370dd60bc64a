"""Division of classes into subclasses."""

import numpy as np
import pytest
from scipy import sparse

from tercet.discriminant_analysis import PiecewiseLinearDiscriminant, divide_into_subclasses

CENTRES = np.array([[0.0, 0], [6, 6], [6, 0], [0, 6], [12, 0]])


def clumps(n=100, seed=0, spread=0.4):
    """Class "a" has two clumps, class "b" three."""
    rng = np.random.default_rng(seed)
    at = rng.integers(5, size=n)
    return CENTRES[at] + spread * rng.normal(size=(n, 2)), np.where(at < 2, "a", "b"), at


def test_finds_the_clumps_of_each_class():
    X, y, at = clumps()
    found = divide_into_subclasses(X, y, {"a": 2, "b": 3}, random_state=0)
    pairs = set(zip(at.tolist(), y.tolist(), found.tolist()))
    assert len(pairs) == 5
    for label, count in (("a", 2), ("b", 3)):
        mine = found[y == label]
        assert mine[0] == 0
        assert np.unique(mine).tolist() == list(range(count))
    np.testing.assert_array_equal(
        found, divide_into_subclasses(sparse.csr_array(X), y, {"a": 2, "b": 3}, random_state=0)
    )


def test_rows_without_weight_move_no_mean():
    X, y, _ = clumps()
    far = np.vstack([X, [[1000.0, 0.0]]])
    weight = np.append(np.ones(100), 0.0)
    found = divide_into_subclasses(far, np.append(y, "a"), {"a": 2, "b": 3}, weight, random_state=0)
    np.testing.assert_array_equal(found[:-1], divide_into_subclasses(X, y, {"a": 2, "b": 3}, random_state=0))


def test_a_class_has_at_most_as_many_subclasses_as_distinct_rows():
    found = divide_into_subclasses([[0.0], [0.0], [1.0], [5.0]], [1, 1, 1, 2], 4, random_state=0)
    assert found.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("counts", [0, 1.5, True, {"a": 2}, {"a": 2, "b": 0}, "many"])
def test_counts_are_checked(counts):
    X, y, _ = clumps(20)
    with pytest.raises(
        ValueError, match="n_subclasses must give each class a whole number of at least 1; class"
    ):
        divide_into_subclasses(X, y, counts)


def test_a_class_without_weight_is_not_divided():
    X, y = np.arange(8.0)[:, None], np.repeat(["a", "b"], 4)
    weight = np.repeat([1.0, 0.0], 4)
    found = divide_into_subclasses(X, y, 2, weight, random_state=0)
    assert set(found[:4]) == {0, 1}
    assert not found[4:].any()
    for options in ({"division": "kmeans"}, {"init": "means"}):
        model = PiecewiseLinearDiscriminant(2, random_state=0, **options).fit(X, y, weight)
        assert set(model.predict(X[:4])) == {"a"}
