"""Relief, ReliefF and RReliefF: the text's case, a plain form of each, and what they are for."""

import numpy as np
import pytest

from tercet.feature import Relief, ReliefF, RReliefF

X = np.array([[0.1, 0.9, 0], [0.2, 0.1, 1], [0.3, 0.5, 0], [0.8, 0.6, 1], [0.9, 0.2, 0], [0.7, 0.8, 1]])
Y = np.array([0, 0, 0, 1, 1, 1])


def differences(X, categories=()):
    """diff of all pairs, shape (n, n, d), in units of the columns' ranges."""
    gaps = np.abs(X[:, None] - X) / np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1)
    for j in categories:
        gaps[..., j] = X[:, None, j] != X[:, j]
    return gaps


def plain_relief_f(X, y, k, power, conditional, categories=()):
    gaps = differences(X, categories) ** power
    distance = gaps.sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    share = {c: np.mean(y == c) for c in set(y.tolist())}
    scores = np.zeros(X.shape[1])
    for i in range(len(X)):
        for c, p in share.items():
            others = np.flatnonzero((y == c) & (np.arange(len(X)) != i))
            near = others[np.argsort(distance[i, others], kind="stable")[:k]]
            if len(near):
                weight = -1 if c == y[i] else (p / (1 - share[y[i]]) if conditional else p)
                scores += weight * gaps[i, near].mean(axis=0)
    return scores / len(X)


def test_the_texts_case():
    model = Relief(categorical_features=[2]).fit(X, Y)
    np.testing.assert_allclose(model.scores_, [3.015625, 0.71875, -1.0], rtol=1e-12)
    assert model.get_support().tolist() == [True, True, False]
    np.testing.assert_array_equal(Relief(1, categorical_features=[2]).fit_transform(X, Y), X[:, :1])
    mask = Relief(categorical_features=np.array([False, False, True])).fit(X, Y)
    np.testing.assert_array_equal(mask.scores_, model.scores_)


def test_relief_f_with_the_texts_settings_on_two_classes_is_relief():
    """One miss of the only other class; its share among the other rows is 1."""
    options = {"categorical_features": [2]}
    model = ReliefF(n_neighbors=1, diff="squared", **options).fit(X, Y)
    np.testing.assert_allclose(6 * model.scores_, Relief(**options).fit(X, Y).scores_, rtol=1e-12)


@pytest.mark.parametrize(("diff", "power"), [("absolute", 1), ("squared", 2)])
@pytest.mark.parametrize("miss_weight", ["conditional", "prior"])
def test_relief_f_is_its_plain_form(diff, power, miss_weight):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(70, 3)), rng.integers(3, size=70)])
    y = rng.choice(["a", "b", "c"], size=70, p=[0.5, 0.45, 0.05])
    model = ReliefF(n_neighbors=4, diff=diff, miss_weight=miss_weight, categorical_features=[-1]).fit(rows, y)
    expected = plain_relief_f(rows, y, 4, power, miss_weight == "conditional", [3])
    np.testing.assert_allclose(model.scores_, expected, rtol=1e-10, atol=1e-12)


def test_r_relief_f_is_its_plain_form():
    rng = np.random.default_rng(1)
    rows, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    gaps, apart = differences(rows), np.abs(y[:, None] - y) / np.ptp(y)
    distance = gaps.sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    weight = np.exp(-((np.arange(1, 6) / 3.0) ** 2))
    weight /= weight.sum()
    target, column, both = 0.0, np.zeros(3), np.zeros(3)
    for i in range(60):
        near = np.argsort(distance[i], kind="stable")[:5]
        target += (apart[i, near] * weight).sum()
        column += (gaps[i, near] * weight[:, None]).sum(axis=0)
        both += (gaps[i, near] * (apart[i, near] * weight)[:, None]).sum(axis=0)
    expected = both / target - (column - both) / (60 - target)
    found = RReliefF(n_neighbors=5, sigma=3.0).fit(rows, y).scores_
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_relief_is_its_plain_form_with_several_classes():
    rng = np.random.default_rng(2)
    rows, y = rng.normal(size=(90, 5)), rng.choice(list("abc"), size=90)
    gaps = differences(rows) ** 2
    distance = gaps.sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    expected = np.zeros(5)
    for i in range(90):
        own, other = np.where(y == y[i], distance[i], np.inf), np.where(y != y[i], distance[i], np.inf)
        expected += gaps[i, np.argmin(other)] - gaps[i, np.argmin(own)]
    np.testing.assert_allclose(Relief().fit(rows, y).scores_, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("diff", "power"), [("absolute", 1), ("squared", 2)])
@pytest.mark.parametrize("offset", [0.0, 2.0**10])
def test_neighbours_are_those_of_double_precision(diff, power, offset):
    """Distances that single precision cannot tell apart, far from zero, too."""
    rng = np.random.default_rng(3)
    near = rng.integers(2, size=(80, 6)) + 2.0**-40 * rng.integers(2**16, size=(80, 6))
    rows, y = near + offset, rng.integers(2, size=80)
    found = ReliefF(n_neighbors=3, diff=diff).fit(rows, y).scores_
    expected = plain_relief_f(near, y, 3, power, True)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_categories_that_single_precision_would_merge():
    rng = np.random.default_rng(4)
    codes = rng.integers(3, size=(60, 2)).astype(float)
    y = (codes[:, 0] == 1).astype(int)
    model = ReliefF(categorical_features=[0, 1]).fit(codes, y)
    same = ReliefF(categorical_features=[0, 1]).fit(codes + 2.0**40, y)
    np.testing.assert_array_equal(same.scores_, model.scores_)


def test_interactions_are_found():
    """Parity of two columns: neither tells anything alone."""
    rng = np.random.default_rng(0)
    rows = rng.integers(2, size=(300, 6)).astype(float)
    y = (rows[:, 1] + rows[:, 4]) % 2
    model = ReliefF(2, categorical_features=range(6)).fit(rows, y)
    assert model.get_support(indices=True).tolist() == [1, 4]
    numbers = RReliefF(2).fit(rows, 2.0 * y - 1)
    assert numbers.get_support(indices=True).tolist() == [1, 4]


@pytest.mark.parametrize("kind", [Relief, ReliefF, RReliefF])
def test_jobs_scale_and_constants_change_nothing(kind):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(150, 3)), np.full(150, 7.0)])
    y = (rows[:, 0] > 0).astype(int)
    model = kind().fit(rows, y)
    np.testing.assert_array_equal(kind(n_jobs=2).fit(rows, y).scores_, model.scores_)
    assert model.scores_[3] == 0.0
    np.testing.assert_allclose(kind().fit(rows * 2.0**900, y).scores_, model.scores_, rtol=1e-9, atol=1e-12)
    assert np.argmax(model.scores_) == 0


def test_some_rows_only():
    rng = np.random.default_rng(0)
    rows = rng.random((400, 4))
    y = (rows[:, 1] > 0.5).astype(int)
    model = ReliefF(n_rows=60, random_state=0).fit(rows, y)
    assert np.argmax(model.scores_) == 1
    np.testing.assert_array_equal(ReliefF(n_rows=60, random_state=0).fit(rows, y).scores_, model.scores_)
    np.testing.assert_array_equal(ReliefF(n_rows=999).fit(rows, y).scores_, ReliefF().fit(rows, y).scores_)


@pytest.mark.parametrize(
    ("model", "target", "says"),
    [
        (Relief(), np.zeros(6), "at least 2 classes"),
        (ReliefF(9), Y, "n_features_to_select=9, but there are 3 columns: at most 3"),
        (ReliefF(categorical_features=[3]), Y, "columns from 0 to 2"),
        (ReliefF(categorical_features=["a"]), Y, "column indices or a mask of 3"),
        (RReliefF(), np.array(list("abcabc")), "y must be numbers"),
    ],
)
def test_refusals(model, target, says):
    with pytest.raises(ValueError, match=says):
        model.fit(X, target)
