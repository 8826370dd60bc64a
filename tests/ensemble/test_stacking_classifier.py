"""Stacking of classifiers: features out of fold, finals, and agreement with scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from tercet.ensemble import MultiResponseRegression, StackingClassifier
from tercet.linear_model import LogisticRegression

X, y = load_iris(return_X_y=True)
X = X[:, :2] + np.random.default_rng(0).normal(scale=0.3, size=(150, 2))
NAMES = np.array(["setosa", "versicolor", "virginica"])
MEMBERS = [("nb", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2, random_state=0))]


class Keeps(ClassifierMixin, BaseEstimator):
    """Final estimator that keeps what it was given."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.X_, self.y_ = np.unique(y), X, y
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_the_second_level_learns_from_rows_out_of_fold():
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    final = StackingClassifier(MEMBERS, Keeps(), cv=folds).fit(X, NAMES[y]).final_estimator_
    held_out = [cross_val_predict(member, X, y, cv=folds, method="predict_proba") for _, member in MEMBERS]
    assert_allclose(final.X_, np.hstack(held_out))
    assert_array_equal(final.y_, y)


def test_random_labels_cannot_be_learned_by_heart():
    """A tree knows its own rows; a final estimator that saw that would trust it blindly."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    model = StackingClassifier([("tree", DecisionTreeClassifier(random_state=0))], Keeps()).fit(A, b)
    seen = model.final_estimator_.X_[:, 0] > 0.5
    assert np.mean(seen == b) < 0.65
    assert np.mean((model.transform(A)[:, 0] > 0.5) == b) == 1


@pytest.mark.parametrize(
    "options",
    [{}, {"passthrough": True}, {"stack_method": "predict"}, {"cv": KFold(3, shuffle=True, random_state=0)}],
)
def test_scikit_learn_says_the_same(options):
    ours, theirs = (
        kind(MEMBERS, LinearDiscriminantAnalysis(), **options).fit(X, NAMES[y])
        for kind in (StackingClassifier, sklearn.ensemble.StackingClassifier)
    )
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6)
    assert_allclose(ours.transform(X), theirs.transform(X))
    assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())


def test_leave_one_out():
    final = StackingClassifier(MEMBERS[:1], Keeps(), cv=LeaveOneOut()).fit(X[::5], y[::5]).final_estimator_
    assert_allclose(
        final.X_, cross_val_predict(GaussianNB(), X[::5], y[::5], cv=LeaveOneOut(), method="predict_proba")
    )


def test_finals():
    assert isinstance(StackingClassifier(MEMBERS).fit(X, y).final_estimator_, LogisticRegression)
    model = StackingClassifier(MEMBERS, "multi_response").fit(X, NAMES[y])
    assert isinstance(model.final_estimator_, MultiResponseRegression)
    assert model.score(X, NAMES[y]) > 0.6
    assert not hasattr(model, "predict_proba")
    with pytest.raises(ValueError, match="must be a classifier, 'multi_response' or None; got 'ridge'"):
        StackingClassifier(MEMBERS, "ridge").fit(X, y)


def test_a_class_that_a_fold_does_not_have():
    b = np.array([0] * 12 + [1] * 12 + [2])
    A = np.arange(25.0)[:, None]
    model = StackingClassifier([("nb", GaussianNB())], Keeps(), cv=KFold(5)).fit(A, b)
    assert model.final_estimator_.X_.shape == (25, 3)
    assert model.final_estimator_.X_[20:, 2].tolist() == [0] * 5
    with pytest.raises(ValueError, match="some folds do not have all classes"):
        StackingClassifier([("ridge", RidgeClassifier())], cv=KFold(5)).fit(A, b)


def test_kernel_matrices_are_cut_on_both_sides():
    K = X @ X.T
    given, plain = (
        StackingClassifier([("svc", SVC(kernel=kernel))], Keeps()).fit(rows, y)
        for kernel, rows in (("precomputed", K), ("linear", X))
    )
    assert_allclose(given.final_estimator_.X_, plain.final_estimator_.X_, atol=1e-6)
    assert given.__sklearn_tags__().input_tags.pairwise


def test_indicator_matrices():
    Y = np.column_stack([y == 0, y == 2]).astype(int)
    tree = DecisionTreeClassifier(random_state=0)
    model = StackingClassifier([("tree", tree)], DecisionTreeClassifier(random_state=0)).fit(X, Y)
    assert model.transform(X).shape == (150, 2)
    assert model.predict(X).shape == model.predict_proba(X).shape == (150, 2)
    assert_array_equal(model.predict(X), model.predict_proba(X) > 0.5)


def test_documents_and_frames():
    texts = ["good fun", "fun fun", "bad film", "bad bad", "good", "dull bad"] * 5
    kind = np.array(["+", "+", "-", "-", "+", "-"] * 5)
    words = make_pipeline(CountVectorizer(), MultinomialNB())
    model = StackingClassifier([("words", words)], cv=3).fit(texts, kind)
    assert model.predict(["fun", "bad"]).tolist() == ["+", "-"]
    assert not hasattr(model, "n_features_in_")
    frame = pd.DataFrame(X, columns=["length", "width"])
    model.set_params(estimators=MEMBERS, final_estimator=GaussianNB(), passthrough=True).set_output(
        transform="pandas"
    ).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["length", "width"]
    assert list(model.transform(frame).columns) == model.get_feature_names_out().tolist()
    assert model.get_feature_names_out()[-2:].tolist() == ["length", "width"]
    assert model.predict(frame).shape == (150,)
    assert "final_estimator" in model._repr_html_()
    assert not hasattr(model.fit(X, y), "feature_names_in_")


def test_prefit_members_need_no_weights():
    class NoWeights(GaussianNB):
        def fit(self, X, y):
            return super().fit(X, y)

    model = StackingClassifier([("nb", NoWeights().fit(X, y))], cv="prefit")
    assert model.fit(X, y, sample_weight=np.ones(150)).score(X, y) > 0.6
    with pytest.raises(TypeError, match="NoWeights does not support sample weights"):
        model.set_params(cv=3).fit(X, y, sample_weight=np.ones(150))


def test_cv_is_a_partition():
    with pytest.raises(ValueError, match="every row in one test set; row 0 is in 0 of those"):
        StackingClassifier(MEMBERS, cv=[(np.arange(100), np.arange(100, 150))]).fit(X, y)
