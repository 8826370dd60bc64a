"""What code written for scikit-learn's ensembles counts on: parameters, warnings, errors, routing of metadata."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from tercet.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tercet.linear_model import LinearRegression
from tercet.naive_bayes import GaussianNB

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
T = X @ [1.0, 2.0, 0.0]


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps what it was given; `fit` returns nothing, as some do."""

    def fit(self, X, y, sample_weight=None, note=None):
        self.classes_, self.kind_, self.note_ = np.unique(y), type(X), note
        self.rows_, self.weight_ = X.shape[0], sample_weight

    def predict(self, X, note=None):
        self.asked_ = note
        return np.full(X.shape[0], self.classes_[0])


class TestBagging:
    def test_members_get_the_kind_of_matrix_that_was_given(self):
        for kind in (sparse.csc_matrix, sparse.csr_matrix):
            model = BaggingClassifier(Recorder(), n_estimators=2).fit(kind(X), Y)
            assert all(issubclass(member.kind_, kind) for member in model)

    def test_metadata_goes_to_the_members(self):
        with config_context(enable_metadata_routing=True):
            base = Recorder().set_fit_request(note=True).set_predict_request(note=True)
            model = BaggingClassifier(base, n_estimators=2).fit(X, Y, note="a")
            assert [member.note_ for member in model] == ["a", "a"]
            assert all(member.weight_ is None and member.rows_ == 60 for member in model)
            model.predict_log_proba(X, note="b")
            assert [member.asked_ for member in model] == ["b", "b"]
        with pytest.raises(ValueError, match="enable_metadata_routing"):
            BaggingClassifier(Recorder()).fit(X, Y, note="a")

    def test_several_targets(self):
        targets = np.column_stack([T, -T])
        model = BaggingRegressor(LinearRegression(), n_estimators=20, oob_score=True, random_state=0)
        model.fit(X, targets)
        assert model.predict(X).shape == model.oob_prediction_.shape == (60, 2)
        assert model.oob_score_ > 0.99

    def test_log_probabilities_come_from_those_of_the_members(self):
        model = BaggingClassifier(GaussianNB(), n_estimators=3, random_state=0).fit(X, Y)
        far = X + 1e3  # where probabilities are 0 in floating point, but their logarithms are numbers
        assert np.isfinite(model.predict_log_proba(far)).all()
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))

    def test_warnings_about_samples(self):
        weight = np.full(60, 1 / 120)
        with pytest.warns(UserWarning, match=r"low number \(1\) of bootstrap samples"):
            BaggingClassifier(DummyClassifier(), max_samples=1.0, n_estimators=1).fit(X, Y, weight)
        with pytest.warns(UserWarning, match="recommended to use bootstrap=True"):
            BaggingClassifier(GaussianNB(), bootstrap=False, n_estimators=1).fit(X, Y, np.ones(60))
        with pytest.raises(ValueError, match="must be <= n_samples=60 to be able to sample without"):
            BaggingClassifier(GaussianNB(), bootstrap=False, max_samples=61).fit(X, Y)

    def test_a_warm_start_forgets_the_out_of_bag_score(self):
        model = BaggingClassifier(GaussianNB(), n_estimators=15, oob_score=True, random_state=0).fit(X, Y)
        model.set_params(warm_start=True, oob_score=False, n_estimators=16).fit(X, Y)
        assert not hasattr(model, "oob_score_")
        assert not hasattr(model, "oob_decision_function_")


class TestForests:
    def test_balanced_classes_count_weights(self):
        weight = np.where(Y == 1, 3.0, 1.0)
        weighted = RandomForestClassifier(2, class_weight="balanced", random_state=0).fit(X, Y, weight)
        mass = np.bincount(Y, weight)
        np.testing.assert_allclose(weighted._draw_weight, (weight.sum() / (2 * mass))[Y] * weight)

    def test_a_member_fitted_to_its_rows_is_the_same_tree(self):
        for kind in (RandomForestClassifier, ExtraTreesClassifier):
            forest = kind(2, max_features=1, bootstrap=True, random_state=0).fit(X, Y)
            rows = forest.estimators_samples_[1]
            assert rows.dtype == np.int32
            again = clone(forest[1]).fit(X[rows], Y[rows])
            np.testing.assert_allclose(again.tree_.value, forest[1].tree_.value)

    def test_out_of_bag_accuracy_of_labels_is_of_whole_rows(self):
        labels = np.column_stack([Y, X[:, 2] > 0]).astype(int)
        forest = RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, labels)
        votes = forest.oob_decision_function_.argmax(axis=1)
        assert forest.oob_score_ == pytest.approx(accuracy_score(labels, votes))

    def test_a_sample_may_be_larger_than_the_data(self):
        forest = RandomForestRegressor(1, max_samples=1.5, random_state=0).fit(X, T)
        assert len(forest.estimators_samples_[0]) == 90

    def test_targets_that_are_refused(self):
        with pytest.raises(ValueError, match="negative which is not allowed"):
            RandomForestRegressor(1, criterion="poisson").fit(X, T)
        with pytest.raises(ValueError, match="not strictly positive"):
            RandomForestRegressor(1, criterion="poisson").fit(X, np.zeros(60))
        with pytest.raises(ValueError, match="sparse multilabel-indicator"):
            RandomForestClassifier(1).fit(X, sparse.csr_matrix(np.eye(60)))

    def test_warnings(self):
        with pytest.warns(DataConversionWarning, match="column-vector"):
            RandomForestRegressor(1).fit(X, T[:, None])
        with pytest.warns(FutureWarning, match="friedman_mse"):
            assert RandomForestRegressor(criterion="friedman_mse").criterion == "squared_error"
        with pytest.warns(UserWarning, match="not recommended for warm_start"):
            RandomForestClassifier(1, class_weight="balanced", warm_start=True).fit(X, Y)

    def test_an_isolation_forest_of_one_row_has_no_outliers(self):
        with pytest.warns(UserWarning, match="max_samples will be set to n_samples"):
            model = IsolationForest(n_estimators=2, max_samples=9).fit(X[:1])
        assert model.predict(X).tolist() == [1] * 60


class TestAdaBoost:
    def test_a_member_need_not_return_itself(self):
        model = AdaBoostRegressor(Silent(), n_estimators=2, random_state=0).fit(X, T)
        assert len(model.estimators_) >= 1

    def test_tiny_weights(self):
        usual = AdaBoostClassifier(n_estimators=2, random_state=0).fit(X, Y)
        tiny = AdaBoostClassifier(n_estimators=2, random_state=0).fit(X, Y, np.full(60, 1e-263))
        np.testing.assert_allclose(tiny.estimator_errors_, usual.estimator_errors_)


class Silent(DummyRegressor):
    def fit(self, X, y):
        super().fit(X, y)


class TestGradientBoosting:
    def test_leaves_of_a_regressor(self):
        assert GradientBoostingRegressor(n_estimators=2).fit(X, T).apply(X).shape == (60, 2)

    def test_start(self):
        weight = np.ones(60)
        GradientBoostingClassifier(init=DummyClassifier(), n_estimators=1).fit(X, Y, weight)
        with pytest.raises(ValueError, match="initial estimator Pipeline does not support sample weights"):
            GradientBoostingRegressor(init=make_pipeline(LinearRegression()), n_estimators=1).fit(
                X, T, weight
            )
        for wrong in ("one", LinearRegression()):
            with pytest.raises(ValueError, match="'init' parameter"):
                GradientBoostingClassifier(init=wrong, n_estimators=1).fit(X, Y)

    def test_losses_are_printed(self, capsys):
        GradientBoostingRegressor(n_estimators=25, verbose=1, subsample=0.5, max_depth=1).fit(X, T)
        header, *lines = capsys.readouterr().out.splitlines()
        assert header.split() == ["Iter", "Train", "Loss", "OOB", "Improve", "Remaining", "Time"]
        assert [line.split()[0] for line in lines] == [str(m) for m in (*range(1, 11), 20)]
        GradientBoostingRegressor(n_estimators=25, verbose=2, max_depth=1).fit(X, T)
        assert len(capsys.readouterr().out.splitlines()) == 26

    def test_one_class_has_all_the_weight(self):
        with pytest.raises(ValueError, match="1 class after sample_weight trimmed"):
            GradientBoostingClassifier().fit(X, Y, Y)

    def test_out_of_bag_scores_go_on_after_a_warm_start(self):
        options = {"subsample": 0.5, "max_depth": 1, "random_state": 1}
        whole = GradientBoostingRegressor(n_estimators=3, **options).fit(X, T)
        parts = GradientBoostingRegressor(n_estimators=2, warm_start=True, **options).fit(X, T)
        parts.set_params(n_estimators=3).fit(X, T)
        np.testing.assert_allclose(parts.oob_improvement_[:2], whole.oob_improvement_[:2])
        late = GradientBoostingRegressor(n_estimators=2, warm_start=True, max_depth=1).fit(X, T)
        late.set_params(n_estimators=3, subsample=0.5).fit(X, T)
        assert late.oob_scores_[:2].tolist() == [0.0, 0.0]

    def test_the_rows_held_out_are_those_of_scikit_learn(self):
        # 0.5 is the median of the rows that scikit-learn would learn from, and of no other half
        learned, _ = train_test_split(T, test_size=0.5, random_state=3)
        model = GradientBoostingRegressor(
            n_estimators=1, n_iter_no_change=1, validation_fraction=0.5, random_state=3
        ).fit(X, T)
        np.testing.assert_allclose(model.init_, learned.mean())


class TestHistogramBoosting:
    def test_infinite_values(self):
        rows = np.array([[-np.inf], [0.0], [1.0], [np.inf], [np.nan]])
        target = [0, 0, 1, 1, 0]
        model = HistGradientBoostingClassifier(min_samples_leaf=1, max_iter=5).fit(rows, target)
        assert model.predict(rows).tolist() == target

    def test_negative_categories_are_missing_values(self):
        rows = np.column_stack([RNG.integers(-1, 3, 200), RNG.normal(size=200)])
        target = (rows[:, 0] == -1) + rows[:, 0]
        model = HistGradientBoostingRegressor(max_iter=5, categorical_features=[0]).fit(rows, target)
        missing, negative, unseen = model.predict([[np.nan, 0.0], [-7.0, 0.0], [9.0, 0.0]])
        assert missing == negative == unseen

    def test_one_class(self):
        model = HistGradientBoostingClassifier(max_iter=2).fit(X, np.full(60, "a"))
        assert set(model.predict(X)) == {"a"}
        assert model.predict_proba(X).tolist() == [[1.0]] * 60

    def test_scores_far_from_zero_have_no_curvature(self):
        model = HistGradientBoostingClassifier(learning_rate=100.0, max_iter=4).fit(X, Y)
        assert np.isfinite(model.decision_function(X)).all()

    def test_rows_held_out_are_those_of_scikit_learn(self):
        parts = {"early_stopping": True, "max_iter": 3, "random_state": 5}
        seed = np.random.RandomState(5).randint(2**32 - 1, dtype="u8")
        rows_in, rows_out = map(
            np.sort, train_test_split(np.arange(len(T)), test_size=0.5, random_state=seed)
        )
        by_fraction = HistGradientBoostingRegressor(validation_fraction=0.5, **parts).fit(X, T)
        by_hand = HistGradientBoostingRegressor(**parts)
        by_hand.fit(X[rows_in], T[rows_in], X_val=X[rows_out], y_val=T[rows_out])
        np.testing.assert_array_equal(by_hand.validation_score_, by_fraction.validation_score_)

    def test_a_warm_start_keeps_the_rows_held_out(self):
        model = HistGradientBoostingRegressor(early_stopping=True, max_iter=2, warm_start=True).fit(X, T)
        first = model._random_seed
        assert model.set_params(max_iter=3).fit(X, T)._random_seed == first
        with pytest.raises(ValueError, match="max_iter=1 must be larger than or equal to n_iter_=3"):
            model.set_params(max_iter=1).fit(X, T)

    def test_a_warm_start_goes_on_from_the_same_bits(self):
        whole = HistGradientBoostingRegressor(max_iter=12, min_samples_leaf=5).fit(X, T)
        parts = HistGradientBoostingRegressor(max_iter=6, min_samples_leaf=5, warm_start=True).fit(X, T)
        parts.set_params(max_iter=12).fit(X, T)
        np.testing.assert_array_equal(parts.trees_[-1][0].value, whole.trees_[-1][0].value)

    @pytest.mark.parametrize(
        ("options", "rows", "said"),
        [
            ({}, {"X_val": X}, "X_val is provided, but y_val was not"),
            ({}, {"y_val": T}, "y_val is provided, but X_val was not"),
            ({"early_stopping": False}, {"X_val": X, "y_val": T}, "passed to fit while"),
            ({"interaction_cst": [0, 1]}, {}, "sequence of tuples or lists"),
            ({"interaction_cst": [{0.5}]}, {}, "integer indices in"),
            ({"monotonic_cst": [1, 3, 0]}, {}, "-1, 0 or 1. Observed values: 3"),
            ({"monotonic_cst": {"a": 1}}, {}, "not fitted on data with feature names"),
        ],
    )
    def test_what_is_refused(self, options, rows, said):
        with pytest.raises(ValueError, match=said):
            HistGradientBoostingRegressor(max_iter=1, **options).fit(X, T, **rows)


def test_no_warning_without_a_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BaggingClassifier(GaussianNB(), n_estimators=2, max_samples=0.5, random_state=0).fit(
            X, Y, np.ones(60)
        )
        IsolationForest(n_estimators=2).fit(X)


@pytest.mark.parametrize("kind", [sparse.dok_matrix, sparse.lil_array])
def test_sparse_matrices_of_other_formats(kind):
    model = AdaBoostClassifier(Recorder(), n_estimators=1).fit(kind(np.eye(60)), np.zeros(60))
    assert model[0].rows_ == 60


def test_negative_weights():
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        AdaBoostClassifier().fit(X, Y, -np.ones(60))
