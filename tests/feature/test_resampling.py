"""Rows taken away or added: how many, which, and where."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tercet.discriminant_analysis import LinearDiscriminantAnalysis
from tercet.feature import SMOTE, RandomOverSampler, RandomUnderSampler, Resampled
from tercet.feature.resampling.smote import with_rows_between
from tercet.naive_bayes import GaussianNB


def rows(sizes=(30, 12, 7), d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(["a", "b", "c"][: len(sizes)], sizes)
    rng.shuffle(y)
    return rng.normal(size=(len(y), d)), y


def counts(y):
    return dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True))))


@pytest.mark.parametrize(
    ("strategy", "under", "over"),
    [
        ("auto", (7, 7, 7), (30, 30, 30)),
        ("minority", (30, 12, 7), (30, 12, 30)),
        ("majority", (7, 12, 7), (30, 12, 7)),
        ("not minority", (7, 7, 7), (30, 30, 7)),
        ("not majority", (30, 7, 7), (30, 30, 30)),
        ("all", (7, 7, 7), (30, 30, 30)),
        ({"b": 12}, (30, 12, 7), (30, 12, 7)),
        (lambda y: {"b": 12}, (30, 12, 7), (30, 12, 7)),
    ],
)
def test_sizes_of_the_classes(strategy, under, over):
    X, y = rows()
    for sampler, wanted in (
        (RandomUnderSampler(sampling_strategy=strategy, random_state=0), under),
        (RandomOverSampler(sampling_strategy=strategy, random_state=0), over),
        (SMOTE(sampling_strategy=strategy, random_state=0), over),
    ):
        A, b = sampler.fit_resample(X, y)
        assert counts(b) == dict(zip("abc", wanted))
        assert A.shape == (sum(wanted), 3)


def test_sizes_by_ratio_and_by_class():
    X, y = rows((40, 10))
    assert counts(RandomUnderSampler(sampling_strategy=0.5).fit_resample(X, y)[1]) == {"a": 20, "b": 10}
    assert counts(RandomOverSampler(sampling_strategy=0.5).fit_resample(X, y)[1]) == {"a": 40, "b": 20}
    assert counts(SMOTE(sampling_strategy={"b": 33}).fit_resample(X, y)[1]) == {"a": 40, "b": 33}
    assert counts(RandomUnderSampler(sampling_strategy={"a": 1}).fit_resample(X, y)[1]) == {"a": 1, "b": 10}


def test_rows_are_drawn_and_seeds_decide():
    X, y = rows()
    under = RandomUnderSampler(random_state=1)
    A, b = under.fit_resample(X, y)
    assert len(set(under.sample_indices_.tolist())) == 21
    np.testing.assert_array_equal(A, X[under.sample_indices_])
    np.testing.assert_array_equal(b, y[under.sample_indices_])
    twice = RandomUnderSampler(sampling_strategy={"a": 30}, replacement=True, random_state=1)
    assert len(set(twice.fit_resample(X, y)[0][:, 0])) < len(X)
    over = RandomOverSampler(random_state=1)
    A, b = over.fit_resample(X, y)
    np.testing.assert_array_equal(A[:49], X)
    np.testing.assert_array_equal(b, y[over.sample_indices_])
    for kind in (RandomUnderSampler, RandomOverSampler, SMOTE):
        first, again, other = (kind(random_state=seed).fit_resample(X, y)[0] for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first, other)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_smote_stays_on_segments_to_near_rows_of_the_class(dtype):
    X, y = rows((60, 9))
    X = X.astype(dtype)
    A, b = SMOTE(k_neighbors=2, random_state=0).fit_resample(X, y)
    assert A.dtype == dtype
    np.testing.assert_array_equal(A[:69], X)
    own, made = X[y == "b"].astype(float), A[69:].astype(float)
    assert (b[69:] == "b").all()
    apart = np.linalg.norm(own[:, None] - own, axis=2)
    near = np.argsort(apart, axis=1)[:, 1:3]
    ends = np.array([(i, j) for i in range(9) for j in near[i]])
    start, way = own[ends[:, 0]], own[ends[:, 1]] - own[ends[:, 0]]
    u = np.einsum("msd,sd->ms", made[:, None] - start, way) / (way**2).sum(axis=1)
    off = np.linalg.norm(made[:, None] - start - u[:, :, None] * way, axis=2)
    off[(u < -1e-6) | (u > 1 + 1e-6)] = np.inf
    assert off.min(axis=1).max() < 100 * np.finfo(dtype).eps


def test_smote_keeps_constant_columns_and_large_numbers():
    X, y = rows((30, 8))
    X[:, 1] = 0.1
    A, _ = SMOTE(random_state=0).fit_resample(X, y)
    assert (A[:, 1] == 0.1).all()
    X[:, 2] = np.where(X[:, 2] > 0, 1.6e308, -1.6e308)
    ends = np.column_stack([np.argmin(X[:, 2]), np.argmax(X[:, 2])])
    made = with_rows_between(X, ends, np.array([0.25]))[-1]
    np.testing.assert_allclose(made[2], -0.8e308)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_smote_of_sparse_rows_is_that_of_dense_ones(kind):
    X, y = rows((40, 9))
    X[X < 0] = 0.0
    A, b = SMOTE(random_state=0).fit_resample(X, y)
    B, c = SMOTE(random_state=0).fit_resample(kind(X), y)
    assert sparse.issparse(B)
    np.testing.assert_allclose(B.toarray(), A, atol=1e-12)
    np.testing.assert_array_equal(b, c)


def test_one_to_a_hundred_thousand():
    X = np.arange(100_002.0)[:, None]
    y = np.r_[np.zeros(100_000, int), 1, 1]
    A, b = SMOTE(k_neighbors=1, random_state=0).fit_resample(X, y)
    assert np.bincount(b).tolist() == [100_000, 100_000]
    assert A[100_000:].min() >= 100_000
    assert RandomOverSampler(random_state=0).fit_resample(X, y)[0][100_000:].min() >= 100_000
    assert len(RandomUnderSampler(random_state=0).fit_resample(X, y)[1]) == 4


def test_tables_stay_what_they_are():
    X, y = rows()
    frame, series = pd.DataFrame(X, columns=["p", "q", "r"]), pd.Series(y, name="kind")
    for sampler in (RandomUnderSampler(), RandomOverSampler(), SMOTE()):
        A, b = sampler.fit_resample(frame, series)
        assert list(A.columns) == ["p", "q", "r"]
        assert b.name == "kind"
        assert len(A) == len(b)
    for sampler in (RandomUnderSampler(), RandomOverSampler()):
        A, b = sampler.fit_resample(sparse.csr_array(X), y)
        assert sparse.issparse(A)
        A, b = sampler.fit_resample([["red", 1], ["blue", None], ["green", 2]], [0, 0, 1])
        assert len(A) == len(b)


@pytest.mark.parametrize(
    ("sampler", "sizes", "message"),
    [
        (SMOTE(), (9, 1), "class 'b' has one row, and no other to draw a segment to"),
        (SMOTE(), (9, 4), "k_neighbors=5, but class 'b' has 4 rows: at most 3"),
        (SMOTE(k_neighbors=0), (9, 4), "'k_neighbors' must be"),
        (RandomOverSampler(), (9,), "needs rows of at least 2 classes; y has only 'a'"),
        (RandomOverSampler(sampling_strategy=0.2), (9, 4), r"=0.2 must be in \[0.444444, 1\]"),
        (RandomOverSampler(sampling_strategy=0.5), (9, 4, 2), "is a number, which is for 2 classes; y has 3"),
        (RandomOverSampler(sampling_strategy={"b": 3}), (9, 4), "3 rows of class 'b'.*at least 4"),
        (RandomUnderSampler(sampling_strategy={"b": 5}), (9, 4), "5 rows of class 'b'.*from 1 to 4"),
        (RandomUnderSampler(sampling_strategy={"b": 0}), (9, 4), "0 rows of class 'b'.*from 1 to 4"),
        (RandomUnderSampler(sampling_strategy={"z": 1}), (9, 4), "names the class 'z', but the classes are"),
        (RandomUnderSampler(sampling_strategy="some"), (9, 4), "'sampling_strategy' must be"),
    ],
)
def test_what_cannot_be_done(sampler, sizes, message):
    with pytest.raises(ValueError, match=message):
        sampler.fit_resample(*rows(sizes))


def test_numbers_are_no_classes():
    X, _ = rows()
    with pytest.raises(ValueError, match="continuous"):
        RandomOverSampler().fit_resample(X, X[:, 0])
    with pytest.raises(ValueError, match="y contains NaN; every row needs a class"):
        RandomOverSampler().fit_resample(X, np.where(X[:, 0] > 0, np.nan, 1.0))
    for given in ((None, [0, 1]), (X, None)):
        with pytest.raises(TypeError, match=r"must be an array.* got None"):
            RandomOverSampler().fit_resample(*given)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SMOTE().fit_resample(X, [0, 1])


class Counting(LinearDiscriminantAnalysis):
    def fit(self, X, y):
        self.seen_ = counts(y)
        return super().fit(X, y)


def test_resampled_learns_from_resampled_rows_and_predicts_all():
    X, y = rows((60, 9))
    X[y == "b"] += 1.0
    for sampler, seen in (("over", 60), ("under", 9), ("smote", 60), (SMOTE(random_state=0), 60)):
        model = Resampled(Counting(), sampler, random_state=0).fit(X, y)
        assert model.estimator_.seen_ == {"a": seen, "b": seen}
        assert model.predict(X).shape == (69,)
        np.testing.assert_array_equal(model.predict_proba(X), model.estimator_.predict_proba(X))
    plain = LinearDiscriminantAnalysis().fit(X, y)
    assert (model.predict(X) == "b").sum() > (plain.predict(X) == "b").sum()
    pipeline = make_pipeline(StandardScaler(), Resampled(LinearDiscriminantAnalysis(), random_state=0))
    assert cross_val_score(pipeline, X, y, cv=3, scoring="balanced_accuracy").mean() > 0.5
    with pytest.raises(ValueError, match=r"'sampler' must be one of .* or have fit_resample; got 'none'"):
        Resampled(LinearDiscriminantAnalysis(), "none").fit(X, y)


class Weighing(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        self.seen_ = np.column_stack([np.asarray(X)[:, 0], sample_weight])
        return super().fit(X, y, sample_weight)


def test_drawn_rows_keep_their_weights():
    X, y = rows((20, 8))
    weight = np.arange(1.0, 29.0)
    for sampler in ("over", "under"):
        seen = Resampled(Weighing(), sampler, random_state=0).fit(X, y, weight).estimator_.seen_
        own = dict(zip(X[:, 0].tolist(), weight.tolist()))
        assert [own[x] for x in seen[:, 0].tolist()] == seen[:, 1].tolist()
    with pytest.raises(ValueError, match="sample_weight was given, but SMOTE makes rows, which have none"):
        Resampled(Weighing(), "smote").fit(X, y, weight)


def test_augmented_rows_come_from_drawn_ones():
    rng = np.random.default_rng(0)
    pictures, y = rng.random((30, 4, 4)), np.r_[np.zeros(24, int), np.ones(6, int)]

    def turn(rows, rng):
        return np.stack([np.rot90(row, k) for row, k in zip(rows, rng.integers(1, 4, size=len(rows)))])

    sampler = RandomOverSampler(augment=turn, random_state=0)
    A, b = sampler.fit_resample(pictures, y)
    assert np.bincount(b).tolist() == [24, 24]
    np.testing.assert_array_equal(A[:30], pictures)
    for made, source in zip(A[30:], pictures[sampler.sample_indices_[30:]]):
        assert any(np.array_equal(made, np.rot90(source, k)) for k in (1, 2, 3))
    again = RandomOverSampler(augment=turn, random_state=0).fit_resample(pictures, y)[0]
    np.testing.assert_array_equal(A, again)
    with pytest.raises(ValueError, match="a row for each of the 18 that it got; it gave 1"):
        RandomOverSampler(augment=lambda rows, rng: rows[:1]).fit_resample(pictures, y)


def test_augmented_tables_stay_what_they_are():
    X, y = rows((12, 5))
    noisy = RandomOverSampler(augment=lambda rows, rng: rows * 2, random_state=0)
    plain = noisy.fit_resample(X, y)[0]
    frame = noisy.fit_resample(pd.DataFrame(X, columns=list("pqr")), y)[0]
    assert list(frame.columns) == ["p", "q", "r"]
    np.testing.assert_array_equal(frame.to_numpy(), plain)
    np.testing.assert_array_equal(noisy.fit_resample(sparse.csr_array(X), y)[0].toarray(), plain)
    texts = RandomOverSampler(augment=lambda rows, rng: [row.upper() for row in rows], random_state=0)
    assert texts.fit_resample(["a", "b", "c"], [0, 0, 1])[0] == ["a", "b", "c", "C"]
    same = RandomOverSampler(augment=lambda rows, rng: None).fit_resample(X[:4], [0, 0, 1, 1])[0]
    np.testing.assert_array_equal(same, X[:4])  # nothing to repeat


def test_resampled_in_searches_over_samplers_and_estimators():
    X, y = rows((60, 12))
    X[y == "b"] += 1.0
    pipeline = make_pipeline(StandardScaler(), Resampled(LinearDiscriminantAnalysis(), SMOTE(random_state=0)))
    grid = {"resampled__sampler__k_neighbors": [1, 3], "resampled__estimator": [GaussianNB(), Counting()]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="balanced_accuracy").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_[-1].estimator_.predict(X[:2]).shape == (2,)


def test_resampled_routes_metadata():
    X, y = rows((20, 8))
    weight = np.arange(1.0, 29.0)
    with config_context(enable_metadata_routing=True):
        inner = Weighing().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), Resampled(inner, "under")
        )
        seen = pipeline.fit(X, y, sample_weight=weight)[-1].estimator_.seen_
    assert len(seen) == 16
    assert set(seen[:, 1]) <= set(weight)


@pytest.mark.parametrize("sampler", ["over", "under"])
def test_resampled_with_one_row_to_a_hundred_thousand(sampler):
    X = np.r_[np.linspace(-1, 1, 100_000), 4.0][:, None]
    y = np.r_[np.zeros(100_000, int), 1]
    model = Resampled(GaussianNB(var_smoothing=0.1), sampler, random_state=0).fit(X, y)
    assert model.predict([[4.0]]).tolist() == [1]


def test_folds_with_one_class_or_too_few_rows_are_named():
    """Folds in the order of the rows: the second training set has no row of class b."""
    X, y = rows((30, 6))
    order = np.argsort(y)
    X, y = X[order], y[order]
    one_class = [(np.arange(18, 36), np.arange(18)), (np.arange(18), np.arange(18, 36))]
    with pytest.raises(ValueError, match="class"):
        cross_val_score(Resampled(GaussianNB()), X, y, cv=one_class, error_score="raise")
    with pytest.raises(ValueError, match="k_neighbors=5, but class 'b' has 4 rows: at most 3"):
        cross_val_score(Resampled(GaussianNB(), "smote"), X, y, cv=StratifiedKFold(3), error_score="raise")
    few = Resampled(GaussianNB(), SMOTE(k_neighbors=3, random_state=0))
    assert np.isfinite(cross_val_score(few, X, y, cv=StratifiedKFold(3))).all()
