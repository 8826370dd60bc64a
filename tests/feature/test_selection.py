"""Selection of columns as a set, by wrapping a method, by redundancy, and by stability."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse

from tercet.cluster import KModes
from tercet.feature import MRMR, LasVegasWrapper, StabilitySelection, SubsetSearch, subset_information_gain
from tercet.linear_model import Lasso, LinearRegression
from tercet.metrics import information_gain, information_gain_ratio, mutual_info_score
from tercet.mixture import CategoricalMixture
from tercet.naive_bayes import CategoricalNB, GaussianNB


def categories(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(3, size=(n, 5))
    return X, (X[:, 1] + X[:, 3]) % 3


def test_information_gain_of_a_set():
    X, y = categories()
    joint = X[:, 1] * 3 + X[:, 3]
    assert subset_information_gain(X, y, [1, 3], base=np.e) == pytest.approx(mutual_info_score(joint, y))
    assert subset_information_gain(X, y, []) == 0.0
    entropy = -sum(p * np.log2(p) for p in np.bincount(y) / len(y))
    assert subset_information_gain(X, y) == pytest.approx(entropy)
    gains = [subset_information_gain(X, y, range(k)) for k in range(6)]
    assert (np.diff(gains) >= -1e-12).all()  # a finer partition never tells less
    texts = subset_information_gain(X.astype(str), y.astype(str), [1, 3])
    assert texts == pytest.approx(subset_information_gain(X, y, [1, 3]))


def test_backward_and_beam_find_what_only_works_together():
    # Every combination of values once: gains are exact, and what does not matter gains nothing.
    X = np.array(list(itertools.product(range(3), repeat=5)))
    y = (X[:, 1] + X[:, 3]) % 3
    for search in (
        SubsetSearch(direction="backward"),
        SubsetSearch(direction="beam", beam_width=9, n_features_to_select=2),
    ):
        assert search.fit(X, y).get_support(indices=True).tolist() == [1, 3]
        assert search.score_ == pytest.approx(subset_information_gain(X, y, [1, 3]))


@pytest.mark.parametrize("direction", ["forward", "backward", "bidirectional", "beam"])
def test_information_gain_of_real_numbers_comes_from_intervals(direction):
    """No two real numbers are equal: counted as they are, each column alone would tell all classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = np.where(X[:, 3] + 0.3 * rng.normal(size=200) > 0, "up", "down")
    search = SubsetSearch(direction=direction).fit(X, y)
    assert search.get_support(indices=True).tolist() == [3]
    assert search.score_ < 1
    both = X[:, 1] + X[:, 3] > 0
    chosen = SubsetSearch(direction=direction, n_features_to_select=2).fit(X.astype(np.float32), both)
    assert chosen.get_support(indices=True).tolist() == [1, 3]
    coded = np.c_[np.arange(200) % 20, X]
    one = SubsetSearch(direction=direction, n_features_to_select=1, discrete_features=[0]).fit(coded, y)
    assert one.get_support(indices=True).tolist() == [4]


def test_columns_that_tell_nothing():
    X = np.random.default_rng(0).normal(size=(200, 5))
    y = np.random.default_rng(1).integers(2, size=200)
    with pytest.warns(UserWarning, match="SubsetSearch: no column tells anything about y"):
        SubsetSearch().fit(X, y)
    with pytest.warns(UserWarning, match="most of its values occur only once"):
        SubsetSearch(discrete_features=True).fit(X, y)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        SubsetSearch().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="discrete_features must be 'auto', a bool, indices or a mask"):
        SubsetSearch(discrete_features="none").fit(X, y)


@pytest.mark.parametrize("kind", [KModes, CategoricalMixture, CategoricalNB])
def test_measurements_are_no_categories(kind):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(UserWarning, match=f"{kind.__name__}: column 0 holds 60 distinct numbers") as found:
        kind().fit(X, X[:, 0] > 0)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind().fit((X.round() + 0.5).clip(-2, 2), X[:, 0] > 0)


@pytest.mark.parametrize("gain", [information_gain, information_gain_ratio])
def test_information_gain_of_measurements(gain):
    x = np.random.default_rng(0).normal(size=60)
    with pytest.warns(UserWarning, match="most of its values occur only once"):
        gain(x > 0, x)


def linear(n=120):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 5))
    return X, 3 * X[:, 0] - 2 * X[:, 2] + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize("direction", ["forward", "backward", "bidirectional", "beam"])
def test_every_direction_with_an_estimator(direction):
    X, y = linear()
    search = SubsetSearch(LinearRegression(), direction=direction, n_features_to_select=2).fit(X, y)
    assert search.get_support(indices=True).tolist() == [0, 2]
    assert search.transform(X).shape == (120, 2)
    free = SubsetSearch(LinearRegression(), direction=direction).fit(X, y)
    assert {0, 2} <= set(free.get_support(indices=True).tolist())
    best_single = max(score for columns, score in search.path_ if len(columns) <= 2)
    assert free.score_ >= best_single - 1e-12


def test_greedy_search_is_greedy():
    """Each step of the path is the best neighbour of the set before."""
    X, y = linear()
    from sklearn.model_selection import cross_val_score

    def score(columns):
        return cross_val_score(LinearRegression(), X[:, sorted(columns)], y, cv=5).mean()

    path = SubsetSearch(LinearRegression(), n_features_to_select=3).fit(X, y).path_
    before: tuple[int, ...] = ()
    for columns, found in path:
        assert found == pytest.approx(max(score({*before, j}) for j in range(5) if j not in before))
        before = columns


def test_las_vegas_wrapper_finds_the_best_of_few_columns():
    X, y = linear()
    model = LasVegasWrapper(LinearRegression(), max_failures=60, random_state=0).fit(X, y)
    from sklearn.model_selection import cross_val_score

    sets = [list(c) for size in range(1, 6) for c in itertools.combinations(range(5), size)]
    best = max(cross_val_score(LinearRegression(), X[:, c], y, cv=5).mean() for c in sets)
    assert model.score_ == pytest.approx(best)
    assert model.n_iter_ > 60
    again = LasVegasWrapper(LinearRegression(), max_failures=60, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.support_, model.support_)


def test_mrmr_avoids_copies():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    X = np.column_stack([a, a + 0.01 * rng.normal(size=400), b, rng.normal(size=400)])
    y = (a + 0.8 * b > 0).astype(int)
    for scheme in ("difference", "quotient"):
        model = MRMR(2, scheme=scheme).fit(X, y)
        assert 2 in model.selected_
        assert len({0, 1} & set(model.selected_.tolist())) == 1
    # Without redundancy the copies come first.
    assert set(np.argsort(-model.relevance_)[:2].tolist()) == {0, 1}
    assert MRMR().fit(X, y).get_support().sum() == 2
    assert model.ranking()[:2].tolist() == model.selected_.tolist()
    assert sorted(model.ranking()) == [0, 1, 2, 3]
    assert np.isfinite(model.scores_).all()
    assert MRMR(1).fit(X, a).selected_[0] in (0, 1)  # numbers as a target


def test_stability_selection():
    X, y = linear()
    model = StabilitySelection(Lasso(0.5), random_state=0).fit(X, y)
    assert model.get_support(indices=True).tolist() == [0, 2]
    assert model.scores_[0] == 1.0
    np.testing.assert_array_equal(
        StabilitySelection(Lasso(0.5), random_state=0, n_jobs=2).fit(X, y).scores_, model.scores_
    )
    with pytest.raises(ValueError, match="must have coef_ or feature_importances_"):
        StabilitySelection(GaussianNB()).fit(X, y > 0)


@pytest.mark.parametrize("kind", [SubsetSearch, LasVegasWrapper])
def test_a_score_that_is_no_number(kind):
    X, y = linear(20)
    model = kind(LinearRegression(), scoring=lambda model, X, y: float("nan"))
    with pytest.raises(ValueError, match=rf"{kind.__name__}: the score must be a number; got nan"):
        model.fit(X, y)


@pytest.mark.parametrize("kind", [SubsetSearch, MRMR])
def test_columns_of_sparse_rows(kind):
    X, y = categories()
    model = kind(n_features_to_select=2).fit(X, y)
    rows = sparse.csr_array(X.astype(float))
    np.testing.assert_array_equal(model.transform(rows).toarray(), model.transform(X))
    rows.indices[0] = 10**6  # would be looked up far behind the last column
    with pytest.raises(ValueError, match="X is not a valid CSR matrix"):
        model.transform(rows)
    with pytest.raises(ValueError, match="X is not a valid CSR matrix"):
        model.inverse_transform(rows)


@pytest.mark.parametrize("kind", [SubsetSearch, MRMR])
def test_more_columns_than_there_are(kind):
    X, y = categories()
    with pytest.raises(ValueError, match="n_features_to_select=9, but there are 5 columns: at most 5"):
        kind(n_features_to_select=9).fit(X, y)
