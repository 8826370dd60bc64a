"""Transductive support vector machines."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from tercet.datasets import two_moons
from tercet.semi_supervised import TransductiveSVC
from tercet.svm import SVC


def rows(n=90, labelled=12, seed=0, noise=0.15):
    X, truth = two_moons(n, noise=noise, random_state=seed)
    y = np.full(n, -1)
    order = np.random.default_rng(seed).permutation(n)
    for c in (0, 1):
        chosen = order[truth[order] == c][: labelled // 2]
        y[chosen] = c
    return X, y, truth


def objective(model, X, y, C, C_u):
    """‖w‖²/2 + C Σ ξ + C_u Σ ξ of a fitted model and its labels."""
    K = model.kernel_(X)
    coef = np.zeros(len(X))
    coef[model.support_] = model.dual_coef_[0]
    sign = np.where(model.transduction_ == model.classes_[1], 1.0, -1.0)
    slack = np.maximum(1 - sign * (K @ coef + model.intercept_[0]), 0.0)
    return coef @ K @ coef / 2 + np.where(y < 0, C_u, C) @ slack


@pytest.mark.parametrize("switching", ["multiple", "single"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_each_switch_lowers_the_objective(switching, kernel):
    X, y, _ = rows(noise=0.4, labelled=4, seed=1)
    model = TransductiveSVC(C=5.0, kernel=kernel, switching=switching, tol=1e-8).fit(X, y)
    history = {name: np.array(column) for name, column in model.history_.items()}
    assert history["switched"].sum() == model.n_switches_[0] > 0
    same_cost = np.diff(history["C_unlabeled"]) == 0
    after_switch = history["switched"][:-1] > 0
    np.testing.assert_array_equal(same_cost, after_switch)  # C_u grows when there is nothing to switch
    assert (np.diff(history["objective"])[after_switch] < 0).all()
    assert history["C_unlabeled"][0] == 0.005
    assert history["C_unlabeled"][-1] == 5.0
    growth = history["C_unlabeled"][1:] / history["C_unlabeled"][:-1]
    assert (growth <= 2.0).all()
    assert model.objective_[0] == pytest.approx(objective(model, X, y, 5.0, 5.0), rel=1e-6)
    if switching == "single":
        assert history["switched"].max() == 1


def test_the_separator_is_that_of_an_svm_with_the_labels_found():
    X, y, truth = rows(noise=0.1)
    model = TransductiveSVC(C=2.0, C_unlabeled=0.5, gamma=1.0, tol=1e-8).fit(X, y)
    plain = SVC(C=2.0, gamma=1.0, tol=1e-8).fit(
        X, model.transduction_, sample_weight=np.where(y < 0, 0.25, 1.0)
    )
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-5)
    first = SVC(C=2.0, gamma=1.0).fit(X[y >= 0], y[y >= 0])
    # pairs are switched: as many positive labels as the first SVM has said
    assert (model.transduction_[y < 0] == 1).sum() == first.predict(X[y < 0]).sum()
    assert (model.transduction_ == truth).mean() >= (first.predict(X) == truth).mean()


def test_the_gram_matrix_is_kept_or_not():
    X, y, _ = rows(n=400, noise=0.2)
    kept = TransductiveSVC(gamma=1.0, tol=1e-6).fit(X, y)
    rows_when_needed = TransductiveSVC(gamma=1.0, tol=1e-6, cache_size=0.5).fit(X, y)
    np.testing.assert_array_equal(kept.transduction_, rows_when_needed.transduction_)
    assert kept.objective_ == pytest.approx(rows_when_needed.objective_, rel=1e-5)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    given = TransductiveSVC(kernel="precomputed", tol=1e-6).fit(K, y)
    np.testing.assert_array_equal(kept.transduction_, given.transduction_)
    np.testing.assert_allclose(given.decision_function(K), kept.decision_function(X), atol=1e-4)


def test_the_exhaustive_search_has_the_least_objective_of_all_labels():
    rng = np.random.default_rng(0)
    for _ in range(3):
        X = rng.normal(size=(10, 2))
        y = np.array([0, 0, 1, 1] + [-1] * 6)
        best = TransductiveSVC(kernel="linear", C=2.0, algorithm="exhaustive").fit(X, y)
        found = []
        for labels in itertools.product([0, 1], repeat=6):
            full = np.concatenate([y[:4], labels])
            model = SVC(kernel="linear", C=2.0).fit(X, full)
            sign = 2.0 * full - 1
            slack = np.maximum(1 - sign * model.decision_function(X), 0.0)
            found.append((float((model.coef_**2).sum() / 2 + 2.0 * slack.sum()), labels))
        least, labels = min(found)
        assert best.objective_[0] == pytest.approx(least, rel=1e-6)
        assert best.transduction_[4:].tolist() == list(labels)
        local = TransductiveSVC(kernel="linear", C=2.0).fit(X, y)
        assert local.objective_[0] >= least - 1e-9
    with pytest.raises(ValueError, match=r"for up to 30 rows without a label; there are 78"):
        TransductiveSVC(algorithm="exhaustive").fit(*rows()[:2])


def test_balance_of_unequal_classes():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(15, 2)) + 2.0])
    truth = np.repeat([0, 1], [100, 15])
    y = np.where(np.isin(np.arange(115), [0, 1, 2, 100, 101, 102]), truth, -1)
    options = {"kernel": "linear", "C": 1.0, "tol": 1e-8}
    plain, balanced = (TransductiveSVC(**options, balance=b).fit(X, y) for b in (False, True))
    positive = (balanced.transduction_[y < 0] == 1).sum()
    ratio = (109 - positive) / positive
    cost = np.where(y >= 0, 1.0, np.where(balanced.transduction_ == 1, ratio, 1.0))
    alpha = np.zeros(len(y))
    alpha[balanced.support_] = np.abs(balanced.dual_coef_[0])
    assert (alpha <= cost + 1e-9).all()
    assert alpha.max() == pytest.approx(max(ratio, 1.0))  # C_u of positive labels is reached
    assert plain.objective_[0] != balanced.objective_[0]


def test_several_classes():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    truth = np.repeat([0, 1, 2], 30)
    X = centres[truth] + rng.normal(size=(90, 2))
    y = np.where(np.arange(90) % 30 < 2, truth, -1)
    names = np.array(["a", "b", "c"])
    model = TransductiveSVC(gamma=0.2, C=5.0).fit(X, [names[c] if c >= 0 else None for c in y])
    assert (model.transduction_ == names[truth]).mean() > 0.9
    assert model.decision_function(X).shape == (90, 3)
    assert model.dual_coef_.shape[0] == model.objective_.size == 3
    np.testing.assert_array_equal(model.transduction_[y >= 0], names[y[y >= 0]])


def test_sparse_rows_threads_and_rows_far_from_zero():
    X, y, _ = rows(noise=0.2)
    X = np.where(X > 0, X, 0.0)
    model = TransductiveSVC(kernel="linear").fit(X, y)
    same = TransductiveSVC(kernel="linear").fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(
        same.decision_function(sparse.csr_array(X)), model.decision_function(X), atol=1e-8
    )
    one, three = (TransductiveSVC(gamma=1.0, n_jobs=n).fit(X, y).decision_function(X) for n in (1, 3))
    np.testing.assert_array_equal(one, three)
    far = TransductiveSVC(kernel="linear").fit(X + 1e6, y)
    np.testing.assert_array_equal(far.transduction_, model.transduction_)
    np.testing.assert_allclose(far.coef_, model.coef_, rtol=1e-5)


def test_weights():
    X, y, _ = rows(noise=0.2)
    known = y >= 0
    weight = np.where(known & (np.arange(len(y)) % 2 == 0), 2.0, 1.0)
    weighted = TransductiveSVC(tol=1e-8, gamma=1.0).fit(X, y, sample_weight=weight)
    count = weight.astype(int)
    repeated = TransductiveSVC(tol=1e-8, gamma=1.0).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)
    left_out = np.where(np.arange(len(y)) < 70, 1.0, 0.0)
    without = TransductiveSVC(tol=1e-8, gamma=1.0).fit(X[:70], y[:70])
    zero = TransductiveSVC(tol=1e-8, gamma=1.0).fit(X, y, sample_weight=left_out)
    np.testing.assert_allclose(zero.decision_function(X), without.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(zero.transduction_[70:], without.predict(X[70:]))


def test_unlabelled_rows_move_the_boundary_into_the_gap():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(0, 3, size=40), rng.uniform(5, 10, size=40), [2.9, 9.9]])[:, None]
    y = np.full(82, -1)
    y[-2:] = 0, 1
    first = SVC(kernel="linear", C=10.0).fit(X[-2:], y[-2:])
    model = TransductiveSVC(kernel="linear", C=10.0, algorithm="label-switching").fit(X, y)
    boundary = lambda one: -one.intercept_[0] / one.coef_[0, 0]  # noqa: E731
    assert boundary(first) == pytest.approx(6.4)
    # the number of positive labels is kept: nearer to the gap, from 3 to 5, than half-way
    assert (model.transduction_[:40] == 0).all()
    assert boundary(model) <= boundary(first) + 0.2
