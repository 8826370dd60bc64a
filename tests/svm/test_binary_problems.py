"""SVC for several classes: pairs, one against the rest, the graph of pairs, codes."""

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.multiclass import OneVsRestClassifier

from tercet.multiclass import OneVsOneClassifier, OutputCodeClassifier
from tercet.svm import SVC
from tercet.svm.binary_problems import class_codes, dag_classes, pairwise_votes

WAYS = ("ovo", "ovr", "dag", "ecoc")


def data(k=4, n=160, seed=0):
    return make_classification(n, 5, n_informative=4, n_redundant=0, n_classes=k, random_state=seed)


@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "linear"},
        {"decision_function_shape": "ovo"},
        {"break_ties": True},
        {"class_weight": "balanced", "C": 10},
        {"class_weight": {0: 5, 2: 0.2}},
    ],
    ids=str,
)
def test_pairs_as_in_scikit_learn(k, options):
    X, y = data(k)
    ours, theirs = SVC(tol=1e-7, **options).fit(X, y), sklearn.svm.SVC(tol=1e-7, **options).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=2e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    if options.get("kernel") == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)


def test_pairs_of_sparse_rows_and_of_a_gram_matrix():
    X, y = data(3)
    rows = sparse.csr_array(np.where(np.abs(X) < 0.4, 0, X))
    ours, theirs = (m(kernel="linear", tol=1e-7).fit(rows, y) for m in (SVC, sklearn.svm.SVC))
    np.testing.assert_allclose(ours.decision_function(rows), theirs.decision_function(rows), atol=2e-4)
    np.testing.assert_allclose(ours.coef_.toarray(), theirs.coef_.toarray(), atol=2e-4)
    G = X @ X.T
    ours, theirs = (m(kernel="precomputed", tol=1e-7).fit(G, y) for m in (SVC, sklearn.svm.SVC))
    np.testing.assert_allclose(ours.decision_function(G[:7]), theirs.decision_function(G[:7]), atol=2e-4)


def test_one_against_the_rest_is_scikit_learns_meta_estimator():
    X, y = data()
    ours = SVC(multi_class="ovr", gamma=0.2, tol=1e-7).fit(X, y)
    theirs = OneVsRestClassifier(sklearn.svm.SVC(gamma=0.2, tol=1e-7)).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.dual_coef_.shape == (4, len(ours.support_))


def test_pairs_are_those_of_our_meta_estimator():
    X, y = data()
    ours = SVC(gamma=0.2, tol=1e-7, decision_function_shape="ovo").fit(X, y)
    parts = OneVsOneClassifier(SVC(gamma=0.2, tol=1e-7)).fit(X, y).estimators_
    np.testing.assert_allclose(
        -ours.decision_function(X), np.column_stack([part.decision_function(X) for part in parts]), atol=1e-6
    )


@pytest.mark.parametrize(
    "code", ["exhaustive", "random", "sparse", [[1, 0, 1], [-1, 1, 1], [0, -1, 1], [1, 1, -1]]]
)
def test_codes_are_those_of_our_meta_estimator(code):
    X, y = data()
    ours = SVC(multi_class="ecoc", code=code, gamma=0.2, tol=1e-7, random_state=3).fit(X, y)
    meta = OutputCodeClassifier(
        SVC(gamma=0.2, tol=1e-7), code=code, decoding="loss", loss="hinge", random_state=3
    ).fit(X, y)
    np.testing.assert_array_equal(ours.code_book_, meta.code_book_)
    np.testing.assert_array_equal(ours.predict(X), meta.predict(X))


def test_the_graph_of_pairs():
    X, y = data(5)
    model = SVC(multi_class="dag", gamma=0.2).fit(X, y)
    pairs = SVC(gamma=0.2, decision_function_shape="ovo").fit(X, y)
    scores = pairs.decision_function(X)
    number = {(i, j): c for c, (i, j) in enumerate((i, j) for i in range(5) for j in range(i + 1, 5))}
    for row, answer in zip(scores, model.predict(X)):
        left = list(range(5))
        while len(left) > 1:
            left.pop() if row[number[left[0], left[-1]]] > 0 else left.pop(0)
        assert answer == left[0]
    # A class that wins all its pairs wins the votes and the walk.
    clear = pairwise_votes(scores, 5).max(axis=1) == 4
    assert clear.any()
    np.testing.assert_array_equal(
        dag_classes(scores, 5)[clear], pairwise_votes(scores, 5).argmax(axis=1)[clear]
    )


@pytest.mark.parametrize("way", WAYS)
def test_every_way_learns(way):
    X, y = make_blobs(120, centers=5, cluster_std=0.6, random_state=4)
    names = np.array(["a", "b", "c", "d", "e"])[y]
    model = SVC(multi_class=way).fit(X, names)
    assert model.score(X, names) > 0.97
    assert model.decision_function(X).shape == (120, 5)
    two = y < 2  # all ways are one for two classes
    np.testing.assert_array_equal(
        SVC(multi_class=way).fit(X[two], y[two]).decision_function(X),
        SVC().fit(X[two], y[two]).decision_function(X),
    )


@pytest.mark.parametrize("way", WAYS)
def test_same_bits_for_any_number_of_threads(way):
    X, y = data()
    models = [SVC(multi_class=way, n_jobs=n, calibration="platt").fit(X, y) for n in (1, 2, 8)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.dual_coef_, models[0].dual_coef_)
        np.testing.assert_array_equal(model.decision_function(X), models[0].decision_function(X))
        np.testing.assert_array_equal(model.predict_proba(X), models[0].predict_proba(X))


@pytest.mark.parametrize("way", WAYS)
def test_warm_start_finds_the_same_machines(way):
    X, y = data()
    model = SVC(multi_class=way, warm_start=True, C=1.0, tol=1e-6).fit(X, y)
    model.C = 4.0
    model.fit(X, y)
    cold = SVC(multi_class=way, C=4.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.objective_, cold.objective_, rtol=1e-8)
    np.testing.assert_allclose(model._scores(X), cold._scores(X), atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_a_class_without_weight_is_never_said(way):
    X, y = data(3)
    model = SVC(multi_class=way, code="exhaustive").fit(X, y, sample_weight=(y != 1).astype(float))
    without = SVC(multi_class=way).fit(X[y != 1], y[y != 1])
    if way != "ecoc":
        np.testing.assert_array_equal(model.predict(X), without.predict(X))
    assert model.n_support_[1] == 0


@pytest.mark.parametrize("calibration", [None, "platt", "isotonic"])
@pytest.mark.parametrize("way", WAYS)
def test_classes_without_weight_are_never_said(way, calibration):
    X, y = data(4)
    model = SVC(multi_class=way, calibration=calibration).fit(X, y, sample_weight=(y < 2).astype(float))
    without = SVC().fit(X[y < 2], y[y < 2])
    np.testing.assert_array_equal(model.predict(X), without.predict(X))
    if calibration:
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_warm_start_after_machines_of_another_kind():
    X, y = data(4)
    model = SVC(multi_class="ovr", warm_start=True).fit(
        X, np.minimum(y, 2)
    )  # 3 machines, 3 rows of multipliers
    model.set_params(multi_class="ovo", C=5.0).fit(X, y)  # 6 machines, 3 rows
    np.testing.assert_allclose(model._scores(X), SVC(C=5.0).fit(X, y)._scores(X), atol=1e-8)


def test_break_ties_needs_scores_of_classes():
    X, y = data(3)
    with pytest.raises(ValueError, match="break_ties must be False"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, y).predict(X)


def test_signs_of_the_codes():
    np.testing.assert_array_equal(class_codes("ovo", 2, None, None), [[-1], [1]])
    np.testing.assert_array_equal(class_codes("ovo", 3, None, None), [[1, 1, 0], [-1, 0, 1], [0, -1, -1]])
    with pytest.raises(ValueError, match="code must"):
        SVC(multi_class="ecoc", code="no such").fit(*data(3))


def test_hard_margin_names_the_classes_that_overlap():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"none separates \[1\] from \[2\]"):
        SVC(C=float("inf"), kernel="linear").fit(X, y)
    some = y < 2
    assert SVC(C=float("inf"), kernel="linear").fit(X[some], y[some]).score(X[some], y[some]) == 1
