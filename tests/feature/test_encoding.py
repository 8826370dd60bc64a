"""Encodings of categories: ordinal, counts, targets, dummy variables, clusters."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder as PeerOrdinal
from sklearn.preprocessing import TargetEncoder as PeerTarget

from tercet.feature import ClusterEncoder, CountEncoder, DummyEncoder, OrdinalEncoder, TargetEncoder
from tercet.feature.encoding.category_columns import encode, factorize
from tercet.linear_model import LogisticRegression, Ridge

RNG = np.random.default_rng(0)
WORDS = np.array(["ant", "bee", "cat", "dog", "eel"], dtype=object)
CATEGORIES = np.column_stack([WORDS[RNG.integers(0, 5, size=120)], WORDS[RNG.integers(0, 3, size=120)]])
NUMBERS = RNG.normal(size=120) + (CATEGORIES[:, 0] == "cat")


def frames(X):
    names = ["first", "second"]
    yield pd.DataFrame(X, columns=names)
    yield pd.DataFrame(X, columns=names).astype("category")
    yield pd.DataFrame(X, columns=names).astype("string")
    yield pl.DataFrame(X.tolist(), schema=names, orient="row")
    yield pl.DataFrame(X.tolist(), schema=names, orient="row").cast(pl.Categorical)


@pytest.mark.parametrize(
    "values",
    [
        np.array([3.0, np.nan, 1.0, 3.0]),
        np.array([2**62, 1, 2**62 + 1, 1]),
        np.array([5, 3, 5]),
        np.array([-100, 100, 27], dtype=np.int8),
        np.array([2**64 - 1, 2**64 - 3], dtype=np.uint64),
        np.array([True, False, True]),
        np.array(["b", "a", "b"]),
        np.array(["b", None, "a", np.nan, float("nan"), "b"], dtype=object),
        np.array([b"b", b"a"]),
        np.array(["2024-01-02", "2024-01-01"], dtype="M8[D]"),
    ],
    ids=lambda values: str(values.dtype),
)
def test_codes_of_all_kinds_of_values(values):
    known, codes = factorize(values)
    assert len(set(map(str, known))) == len(known)
    again = known[codes]
    assert all(a == b or (a != a and b != b) for a, b in zip(again.tolist(), values.tolist()))
    assert np.array_equal(encode(values, known), codes)


def test_unknown_values_have_no_code():
    assert encode(np.array([1.0, 7.0]), np.array([1, 2])).tolist() == [0, -1]
    assert encode(np.array(["z", None], dtype=object), np.array(["a", "z"], dtype=object)).tolist() == [1, -1]
    assert encode(np.array(["x"]), np.array([1.0, 2.0])).tolist() == [-1]


def test_values_that_are_no_categories():
    with pytest.raises(TypeError, match="X holds lists, dicts"):
        OrdinalEncoder().fit(np.array([[{"a": 1}], ["b"]], dtype=object))
    with pytest.raises(TypeError, match="uniformly strings or numbers"):
        OrdinalEncoder().fit(np.array([["a"], [1]], dtype=object))


@pytest.mark.parametrize("kind", [OrdinalEncoder, CountEncoder])
def test_frames_of_all_kinds(kind):
    expected = kind().fit_transform(CATEGORIES)
    for frame in frames(CATEGORIES):
        model = kind().fit(frame)
        assert np.array_equal(model.transform(frame), expected)
        assert np.array_equal(kind().fit_transform(frame), expected)
        assert model.get_feature_names_out().tolist() == ["first", "second"]
        assert model.set_output(transform="pandas").transform(frame).columns.tolist() == ["first", "second"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_frequency": 25},
        {"max_categories": 3},
        {"min_frequency": 0.22, "max_categories": 2},
        {"handle_unknown": "use_encoded_value", "unknown_value": np.nan, "encoded_missing_value": -1},
    ],
    ids=str,
)
def test_ordinal_codes_are_those_of_scikit_learn(options):
    X = CATEGORIES.copy()
    X[::9, 0] = np.nan
    ours, theirs = OrdinalEncoder(**options).fit(X), PeerOrdinal(**options).fit(X)
    np.testing.assert_array_equal(ours.transform(X), theirs.transform(X))
    back = ours.inverse_transform(ours.transform(X))
    assert np.array_equal(pd.isna(back[:, 0]), pd.isna(X[:, 0]))
    # scikit-learn does not decode missing values beside infrequent categories
    ours, theirs = OrdinalEncoder(**options).fit(CATEGORIES), PeerOrdinal(**options).fit(CATEGORIES)
    a, b = (model.inverse_transform(model.transform(CATEGORIES)) for model in (ours, theirs))
    assert a.dtype == b.dtype
    assert np.array_equal(a, b)


def test_codes_that_are_none():
    model = OrdinalEncoder().fit(CATEGORIES)
    with pytest.raises(
        ValueError, match=r"has the code 5.0 in column 0; its codes are whole numbers from 0 to 4"
    ):
        model.inverse_transform([[5.0, 0.0]])
    with pytest.raises(ValueError, match=r"unknown categories \['yak'\] in column 1 during transform"):
        model.transform([["ant", "yak"]])


def test_counts_and_frequencies():
    X = [["a"], ["b"], ["a"], [None], ["a"]]
    model = CountEncoder().fit(X)
    assert model.transform([["a"], ["b"], [None], ["new"]]).ravel().tolist() == [3, 1, 1, 0]
    shares = CountEncoder(normalize=True).fit_transform(CATEGORIES)
    first = pd.Series(CATEGORIES[:, 0])
    np.testing.assert_allclose(shares[:, 0], first.map(first.value_counts(normalize=True)))
    gone = CountEncoder(missing="nan").fit_transform(X).ravel()
    assert np.isnan(gone[3])
    assert gone[0] == 3
    weighed = CountEncoder().fit(X, sample_weight=[2.0, 1.0, 0.5, 1.0, 0.0])
    assert weighed.counts_[0].tolist() == [2.5, 1.0, 1.0]
    with pytest.raises(ValueError, match="Found unknown categories"):
        CountEncoder(handle_unknown="error").fit(X).transform([["new"]])
    given = CountEncoder(categories=[["a", "b"]]).fit([["a"], ["z"], ["b"], ["a"]])
    assert given.counts_[0].tolist() == [2, 1]


TARGETS = {
    "continuous": NUMBERS,
    "binary": np.where(NUMBERS > 0, "yes", "no"),
    "multiclass": np.digitize(NUMBERS, [-0.5, 0.7]),
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("smooth", ["auto", 0.0, 7.5])
def test_target_encoding_is_that_of_scikit_learn(kind, smooth):
    y = TARGETS[kind]
    ours, theirs = (
        TargetEncoder(smooth=smooth).fit(CATEGORIES, y),
        PeerTarget(smooth=smooth).fit(CATEGORIES, y),
    )
    for a, b in zip(ours.encodings_, theirs.encodings_, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)
    np.testing.assert_allclose(ours.target_mean_, theirs.target_mean_)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    strange = np.array([["yak", "ant"]], dtype=object)
    np.testing.assert_allclose(ours.transform(strange), theirs.transform(strange))
    for cv in (KFold(4), LeaveOneOut()):
        options = {"smooth": smooth, "cv": cv}
        expected = PeerTarget(**options).fit_transform(CATEGORIES, y)
        np.testing.assert_allclose(
            TargetEncoder(**options).fit_transform(CATEGORIES, y), expected, rtol=1e-9, atol=1e-12
        )
    closed = TargetEncoder(smooth=smooth, cv="loo").fit_transform(CATEGORIES, y)
    np.testing.assert_allclose(closed, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cv", [5, "loo"])
def test_no_target_leaks_into_its_own_row(cv):
    """Of columns of noise with many categories, cross-fitted encodings tell nothing, others everything."""
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 300, size=(600, 3)).astype(str), rng.normal(size=600)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = TargetEncoder(cv=cv, random_state=0)
        clean = model.fit_transform(X, y)
    leaky = model.transform(X)
    assert Ridge().fit(leaky, y).score(leaky, y) > 0.5
    assert Ridge().fit(clean, y).score(clean, y) < 0.1
    scores = cross_val_score(make_pipeline(TargetEncoder(cv=KFold(3)), Ridge()), X, y)
    assert scores.mean() < 0.05


def test_changing_a_target_changes_no_encoding_of_its_own_row():
    y = NUMBERS.copy()
    before = TargetEncoder(cv="loo").fit_transform(CATEGORIES, y)
    y[7] += 100.0
    after = TargetEncoder(cv="loo").fit_transform(CATEGORIES, y)
    np.testing.assert_allclose(after[7], before[7], rtol=1e-9)
    assert not np.allclose(
        after[CATEGORIES[:, 0] == CATEGORIES[7, 0]], before[CATEGORIES[:, 0] == CATEGORIES[7, 0]]
    )


def test_weights_are_repeated_rows():
    weight = RNG.integers(0, 4, size=120)
    repeated = np.repeat(CATEGORIES, weight, axis=0)
    for y in TARGETS.values():
        a = TargetEncoder().fit(CATEGORIES, y, sample_weight=weight)
        b = TargetEncoder().fit(repeated, np.repeat(y, weight))
        np.testing.assert_allclose(a.transform(CATEGORIES), b.transform(CATEGORIES), rtol=1e-10)


def test_weight_of_evidence():
    X = np.repeat(["a", "b", "c"], [50, 30, 20])[:, None]
    y = np.concatenate([np.repeat([1, 0], [40, 10]), np.repeat([1, 0], [9, 21]), np.zeros(20)]).astype(int)
    model = TargetEncoder(statistic="woe", smooth=0.0).fit(X, y)
    odds = 49 / 51
    np.testing.assert_allclose(model.encodings_[0][:2], np.log([4 / odds, 9 / 21 / odds]))
    np.testing.assert_allclose(
        model.encodings_[0][2], np.log(0.5 / 20.5 / odds)
    )  # half a row keeps it finite
    assert model.transform([["new"]]).item() == 0.0
    assert np.isfinite(TargetEncoder(statistic="woe", cv="loo").fit_transform(X, y)).all()
    with pytest.raises(ValueError, match="needs classes; y is continuous"):
        TargetEncoder(statistic="woe").fit(X, y + 0.5)


def test_folds_of_target_encoding():
    with pytest.raises(ValueError, match="exactly once"):
        TargetEncoder(cv=[(np.arange(60), np.arange(60, 120))]).fit_transform(CATEGORIES, NUMBERS)
    with pytest.raises(ValueError, match="'cv'"):
        TargetEncoder(cv=KFold(500)).fit_transform(CATEGORIES, NUMBERS)
    with pytest.raises(ValueError, match="must hold numbers with target_type='continuous'"):
        TargetEncoder(target_type="continuous").fit(CATEGORIES, TARGETS["binary"])


def test_missing_values_are_a_level_of_their_own():
    X = [["f"], ["m"], [None], ["m"]]
    model = DummyEncoder(reference=None, sparse_output=False).fit(X)
    assert model.get_feature_names_out(["sex"]).tolist() == ["sex_f", "sex_m", "sex_missing"]
    assert model.transform([["f"], [None], ["other"]]).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert model.inverse_transform(model.transform(X)).ravel().tolist() == ["f", "m", None, "m"]


def test_the_missing_level_is_there_before_anything_is_missing():
    X = np.array([[1], [2], [2]])
    model = DummyEncoder(sparse_output=False, handle_unknown="error").fit(X)
    assert model.get_feature_names_out().tolist() == ["x0_2", "x0_missing"]
    assert model.transform([[np.nan], [2.0]]).tolist() == [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match="Found unknown categories"):
        model.transform([[7]])
    without = DummyEncoder(sparse_output=False, missing_level="auto").fit(X)
    assert without.get_feature_names_out().tolist() == ["x0_2"]
    assert without.transform([[np.nan], [7.0]]).tolist() == [[0], [0]]


def test_levels_of_dummy_variables():
    X = np.repeat(["a", "b", "c", "d"], [1, 6, 2, 1])[:, None]
    usual = DummyEncoder(reference="most_frequent").fit(X)
    assert usual.reference_levels_ == ["b"]
    assert usual.levels_[0].tolist() == ["a", "c", "d", "missing"]
    grouped = DummyEncoder(max_categories=2, reference=None).fit(X)
    assert grouped.levels_[0].tolist() == ["b", "infrequent", "missing"]
    assert grouped.transform(X).toarray()[:, 1].sum() == 4
    ignored = DummyEncoder(handle_unknown="ignore", sparse_output=False).fit(X)
    assert ignored.transform([["z"]]).sum() == 0
    whole = DummyEncoder(reference=None).fit(CATEGORIES)
    assert (whole.transform(CATEGORIES).sum(axis=1) == 2).all()
    assert np.array_equal(whole.inverse_transform(whole.transform(CATEGORIES)), CATEGORIES)
    back = usual.inverse_transform(usual.transform(X))
    assert np.array_equal(back, X.astype(object))


def test_columns_that_are_missing_altogether():
    X = np.array([[None, "a"], [None, "b"]], dtype=object)
    assert DummyEncoder(reference=None).fit(X).get_feature_names_out().tolist() == [
        "x0_missing",
        "x1_a",
        "x1_b",
        "x1_missing",
    ]
    assert CountEncoder().fit_transform(X)[:, 0].tolist() == [2, 2]
    assert TargetEncoder().fit(X, [1.5, 3.5]).transform(X)[:, 0].tolist() == [2.5, 2.5]
    assert OrdinalEncoder().fit_transform(np.array([[np.nan], [np.nan]])).ravel().tolist() != [0, 0]


def test_clusters_of_names():
    words = ["guangzhou", "guang zhou", "guangzhu", "shanghai", "shang hai", "shanghia"]
    model = ClusterEncoder(2, random_state=0).fit(np.array(words, dtype=object)[:, None])
    found = model.transform(np.array(words, dtype=object)[:, None]).ravel()
    assert len(set(found[:3])) == len(set(found[3:])) == 1
    assert found[0] != found[3]
    assert model.transform([["guangzhouu"], ["shangai"]]).ravel().tolist() == [found[0], found[3]]
    with pytest.raises(ValueError, match="unknown categories"):
        ClusterEncoder(2, handle_unknown="error").fit([["a"], ["b"]]).transform([["c"]])


def test_clusters_by_target():
    X = RNG.integers(0, 40, size=(4000, 1))
    y = (X[:, 0] % 4 == 0) * 5.0 + (X[:, 0] % 4 == 1) * 2.0 + 0.1 * RNG.normal(size=4000)
    model = ClusterEncoder(3, by="target", random_state=0).fit(X, y)
    found = model.transform(X).ravel()
    groups = [set(found[np.isin(X[:, 0] % 4, rest)]) for rest in ([0], [1], [2, 3])]
    assert [len(group) for group in groups] == [1, 1, 1]
    assert len(set().union(*groups)) == 3
    assert model.transform([[99]]).item() in found
    classes = ClusterEncoder(2, by="target", random_state=0).fit(X, y > 3)
    assert len(set(classes.transform(X)[y > 3, 0])) == 1
    with pytest.raises(ValueError, match="by='target' requires y"):
        ClusterEncoder(by="target").fit(X)


def test_clusters_of_rows():
    X = np.array([["a", "x", "1"], ["b", "y", "2"]], dtype=object)[np.arange(40) % 2]
    model = ClusterEncoder(2, by="rows", random_state=0).fit(X)
    found = model.transform(X)
    assert found.shape == (40, 1)
    assert len(set(found[::2, 0])) == len(set(found[1::2, 0])) == 1
    assert found[0] != found[1]
    assert model.get_feature_names_out().tolist() == ["cluster"]
    assert model.transform([["a", "x", None]]).item() == found[0, 0]
    assert ClusterEncoder(5).fit([["a"], ["a"]]).transform([["a"]]).item() == 0


def test_in_pipelines_and_columns():
    frame = pd.DataFrame(CATEGORIES, columns=["first", "second"]).assign(number=NUMBERS)
    columns = make_column_transformer(
        (DummyEncoder(sparse_output=False), ["first"]),
        (TargetEncoder(cv=KFold(3)), ["second"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    table = columns.fit_transform(frame, TARGETS["binary"])
    assert table.columns.tolist()[-3:] == ["first_missing", "second", "number"]
    steps = make_pipeline(columns, LogisticRegression()).fit(frame, TARGETS["binary"])
    assert steps.score(frame, TARGETS["binary"]) > 0.95
