"""Naive Bayes for categories: the estimates of Li ch. 4, scikit-learn's class, and values of every kind."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import CategoricalNB as Peer

from tercet.naive_bayes.categorical_nb import CategoricalNB
from tercet.naive_bayes.one_dependence_classifier import OneDependenceClassifier
from tercet.naive_bayes.parameter_counts import parameter_counts


@pytest.fixture
def codes():
    rng = np.random.default_rng(0)
    return rng.integers(0, [3, 5, 2], (300, 3)), rng.integers(0, 3, 300)


def test_agrees_with_scikit_learn(codes):
    X, y = codes
    weight = np.random.default_rng(1).random(300)
    for options in (
        {},
        {"alpha": 0.3},
        {"fit_prior": False},
        {"class_prior": [0.2, 0.3, 0.5]},
        {"min_categories": 7},
    ):
        ours, theirs = CategoricalNB(**options).fit(X, y, weight), Peer(**options).fit(X, y, weight)
        np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-10)
        np.testing.assert_array_equal(ours.n_categories_, theirs.n_categories_)
        for a, b in zip(ours.category_count_, theirs.category_count_, strict=True):
            np.testing.assert_allclose(a, b)
        for a, b in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
            np.testing.assert_allclose(a, b)
        np.testing.assert_allclose(ours.class_log_prior_, theirs.class_log_prior_)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 1e9])
def test_estimates_are_distributions(codes, alpha):
    X, y = codes
    model = CategoricalNB(alpha=alpha, smooth_prior=True).fit(X, y)
    for table in model.feature_log_prob_:
        np.testing.assert_allclose(np.exp(table).sum(axis=1), 1)
        if alpha == 1e9:  # ever more smoothing makes all values alike
            np.testing.assert_allclose(np.exp(table), 1 / table.shape[1], rtol=1e-6)
    assert np.exp(model.class_log_prior_).sum() == pytest.approx(1)
    cells = np.array(list(itertools.product(range(3), range(5), range(2))))
    assert np.exp(model.predict_joint_log_proba(cells)).sum() == pytest.approx(1)


def test_doubled_data_leave_maximum_likelihood_as_it_is(codes):
    X, y = codes
    once = CategoricalNB(alpha=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(CategoricalNB(alpha=0).fit(np.r_[X, X], np.r_[y, y]).predict_proba(X), once)


def test_strings_numbers_and_frames_are_the_same_table(codes):
    X, y = codes
    plain = CategoricalNB().fit(X, y).predict_proba(X)
    words = np.array(["a", "b", "c", "d", "e"], dtype=object)[X]
    frame = pd.DataFrame(words, columns=["u", "v", "w"])
    for given in (words, frame, frame.astype("category")):
        np.testing.assert_allclose(CategoricalNB().fit(given, y).predict_proba(given), plain)
    np.testing.assert_allclose(CategoricalNB().fit(X - 7.5, y).predict_proba(X - 7.5), plain)


def test_declared_values_count_even_if_nobody_has_them():
    X, y = [["S"], ["M"], ["S"]], [0, 0, 1]
    model = CategoricalNB(categories=[["S", "M", "L"]]).fit(X, y)
    np.testing.assert_allclose(
        np.exp(model.feature_log_prob_[0]), [[2 / 5, 2 / 5, 1 / 5], [2 / 4, 1 / 4, 1 / 4]]
    )
    dtype = pd.CategoricalDtype(["S", "M", "L"])
    framed = CategoricalNB().fit(pd.DataFrame(X, columns=["size"]).astype(dtype), y)
    np.testing.assert_allclose(framed.feature_log_prob_[0], model.feature_log_prob_[0])


def test_unknown_values():
    X, y = [["S", "x"], ["M", "y"], ["S", "y"]], [0, 0, 1]
    model = CategoricalNB().fit(X, y)
    np.testing.assert_allclose(model.predict_proba([["Q", "x"]]), model.predict_proba([[None, "x"]]))
    np.testing.assert_allclose(np.exp(model.class_log_prior_), model.predict_proba([["Q", None]])[0])
    with pytest.raises(
        ValueError, match=r"column 0 holds a value that is not one of its 2 categories, \['M', 'S'\]"
    ):
        CategoricalNB(unknown="error").fit(X, y).predict([["Q", "x"]])


def test_impossible_rows_get_the_prior():
    model = CategoricalNB(alpha=0).fit([["a", "p"], ["a", "p"], ["b", "q"]], [0, 0, 1])
    np.testing.assert_allclose(model.predict_proba([["a", "q"]]), [[2 / 3, 1 / 3]])
    assert model.predict([["a", "q"]]).tolist() == [0]


def test_missing_values_are_left_out_of_counts():
    X = np.array([[0.0], [1], [np.nan], [1], [0], [np.nan]])
    y = np.array([0, 0, 0, 1, 1, 1])
    model = CategoricalNB().fit(X, y)
    assert model.category_count_[0].tolist() == [[1, 1], [1, 1]]
    assert np.exp(model.class_log_prior_).tolist() == [0.5, 0.5]
    nothing = CategoricalNB().fit(np.full((4, 2), np.nan), [0, 0, 0, 1])
    np.testing.assert_allclose(nothing.predict_proba([[np.nan, 3]]), [[0.75, 0.25]])


def test_batches_add_up_though_values_come_late():
    rng = np.random.default_rng(3)
    X, y = np.sort(rng.integers(0, 9, (90, 2)), axis=0), rng.integers(0, 2, 90)
    for data in (X, np.array(list("abcdefghi"), dtype=object)[X]):
        parts = CategoricalNB()
        for rows in np.array_split(np.arange(90), 5):
            parts.partial_fit(data[rows], y[rows], classes=[0, 1])
        whole = CategoricalNB().fit(data, y)
        np.testing.assert_allclose(parts.predict_log_proba(data), whole.predict_log_proba(data))
        assert [c.tolist() for c in parts.categories_] == [c.tolist() for c in whole.categories_]


def test_a_weight_of_zero_is_a_row_that_is_not_there():
    X, y = [["a"], ["b"], ["c"], ["a"]], [0, 1, 1, 1]
    model = CategoricalNB().fit(X, y, sample_weight=[1, 1, 0, 1])
    other = CategoricalNB().fit([X[0], X[1], X[3]], [0, 1, 1])
    assert model.categories_[0].tolist() == ["a", "b"]
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X))


def test_a_huge_number_needs_no_huge_table():
    model = CategoricalNB().fit([[0], [10**9], [5], [5]], [0, 1, 0, 1])
    assert model.categories_[0].tolist() == [0, 5, 10**9]


def test_is_the_one_dependence_estimator_without_parents(codes):
    X, y = codes
    naive = CategoricalNB(smooth_prior=True).fit(X, y)
    other = OneDependenceClassifier(categorical_features=[0, 1, 2]).fit(X, y)
    np.testing.assert_allclose(naive.predict_joint_log_proba(X), other.predict_joint_log_proba(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"min_categories": [1, 2]},
            r"'min_categories' should have shape \(3,\): a whole number of at least 0, or one for each",
        ),
        ({"class_prior": [0.5, 0.5]}, "class_prior must be a probability for each of 3 classes"),
        ({"categories": [[0, 1]]}, "categories must give the values of all 3 columns; got 1"),
    ],
)
def test_bad_parameters_are_named(codes, options, message):
    with pytest.raises(ValueError, match=message):
        CategoricalNB(**options).fit(*codes)


def test_forged_tables_are_refused(codes):
    model = CategoricalNB().fit(*codes)
    model.feature_log_prob_[1] = model.feature_log_prob_[1][:, :2]
    with pytest.raises(ValueError, match="a table has the shape"):
        model.predict(codes[0])


def test_parameter_counts():
    assert parameter_counts([2, 3, 4], 5) == (120, 45)
    with pytest.raises(ValueError, match="whole numbers from 1 on"):
        parameter_counts([2, 0], 2)


def test_only_values_that_occur_are_counted_where_asked():
    X = [[1, "S"], [1, "M"], [1, "M"], [1, "S"], [1, "S"], [2, "S"], [2, "M"], [2, "M"]]
    X += [[2, "L"], [2, "L"], [3, "L"], [3, "M"], [3, "M"], [3, "L"], [3, "L"]]
    y = [-1, -1, 1, 1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, -1]
    usual = CategoricalNB(smooth_prior=True).fit(X, y)
    assert usual.predict_proba([[2, "S"]])[0, 0] == pytest.approx(
        0.6454, abs=1e-4
    )  # a value 0 is counted, too
    seen = CategoricalNB(smooth_prior=True, categories="seen").fit(X, y)
    assert seen.predict_proba([[2, "S"]])[0, 0] == pytest.approx(28 / 43)  # Li Ex 4.2
    np.testing.assert_array_equal(seen.n_categories_, [3, 3])
    parts = CategoricalNB(smooth_prior=True, categories="seen").partial_fit(X[:6], y[:6], [-1, 1])
    assert parts.partial_fit(X[6:], y[6:]).predict_proba([[2, "S"]])[0, 0] == pytest.approx(28 / 43)
    with pytest.raises(ValueError, match=r"categories='seen' .* does not go with min_categories=4"):
        CategoricalNB(categories="seen", min_categories=4).fit(X, y)


def test_numbers_that_are_their_own_codes_are_not_looked_up(codes):
    X, y = codes
    model, words = CategoricalNB().fit(X, y), CategoricalNB().fit(X.astype(int).astype(str), y)
    rows = np.array(X[:6], dtype=float)
    rows[0, 0], rows[1, 0], rows[2, 0], rows[3, 1] = 1.5, -1.0, 99.0, np.nan  # the first three are unknown
    left_out = rows.copy()
    left_out[:3, 0] = np.nan
    expected = model.predict_joint_log_proba(left_out)
    np.testing.assert_allclose(model.predict_joint_log_proba(rows), expected)
    np.testing.assert_allclose(model.predict_joint_log_proba(rows.astype(np.float32)), expected)
    np.testing.assert_allclose(model.predict_joint_log_proba(rows.tolist()), expected)
    whole = np.array(X[:6], dtype=int)
    np.testing.assert_allclose(
        model.predict_joint_log_proba(whole), words.predict_joint_log_proba(whole.astype(str))
    )
    with pytest.raises(ValueError, match="features"):
        model.predict(rows[:, :1])
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full_like(rows, np.inf))
