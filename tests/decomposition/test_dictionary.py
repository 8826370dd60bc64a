"""Sparse coding and dictionary learning: optimality, monotone objectives, K-SVD, bad input."""

import numpy as np
import pytest
import sklearn.decomposition as peer
from sklearn.datasets import make_sparse_coded_signal

from tercet.decomposition import (
    DictionaryLearning,
    MiniBatchDictionaryLearning,
    SparseCoder,
    dict_learning,
    ksvd_atom_update,
    sparse_encode,
)
from tercet.decomposition.dictionary.ksvd import ksvd_pass, merge_duplicates, replace_unused

ALGORITHMS = ("lasso_lars", "lasso_cd", "lars", "omp", "threshold")


@pytest.fixture(scope="module")
def coded():
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(24, 12))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    code = np.zeros((80, 24))
    for row in code:
        row[rng.choice(24, size=3, replace=False)] = rng.normal(size=3) * 2
    return atoms, code @ atoms + 0.02 * rng.normal(size=(80, 12))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_codes_like_scikit_learn(coded, algorithm):
    atoms, X = coded
    options = {"algorithm": algorithm, "alpha": 0.15, "n_nonzero_coefs": 3}
    ours, theirs = sparse_encode(X, atoms, **options), peer.sparse_encode(X, atoms, **options)
    np.testing.assert_allclose(ours, theirs, atol=2e-3 if algorithm == "lasso_cd" else 1e-8)


@pytest.mark.parametrize("algorithm", ["lasso_lars", "lasso_cd"])
@pytest.mark.parametrize("positive", [False, True])
def test_lasso_codes_satisfy_the_optimality_conditions(coded, algorithm, positive):
    atoms, X = coded
    alpha = 0.2
    code = sparse_encode(X, atoms, algorithm=algorithm, alpha=alpha, positive=positive)
    slopes = (X - code @ atoms) @ atoms.T  # of the squared loss / 2, with its sign turned
    tolerance = 1e-9 if algorithm == "lasso_lars" else 2e-3
    used = code != 0
    np.testing.assert_allclose(slopes[used], alpha * np.sign(code[used]), atol=tolerance)
    assert ((slopes if positive else np.abs(slopes))[~used] <= alpha + tolerance).all()
    assert not positive or (code >= 0).all()


def test_the_two_ways_to_the_lasso_meet(coded):
    atoms, X = coded
    path, descent = (sparse_encode(X, atoms, algorithm=f"lasso_{way}", alpha=0.1) for way in ("lars", "cd"))
    losses = [0.5 * ((X - code @ atoms) ** 2).sum() + 0.1 * np.abs(code).sum() for code in (path, descent)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)
    assert losses[0] <= losses[1] + 1e-9


def test_atoms_that_depend_on_each_other(coded):
    _, X = coded
    atoms = np.vstack([np.eye(12), np.eye(12)])
    code = sparse_encode(X, atoms, alpha=0.1)
    together = code[:, :12] + code[:, 12:]
    np.testing.assert_allclose(together, np.sign(X) * np.maximum(np.abs(X) - 0.1, 0), atol=1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_threads_do_not_change_a_bit(coded, algorithm):
    atoms, X = coded
    many = np.tile(X, (60, 1)) * np.linspace(0.5, 2, 60 * len(X))[:, None]
    one, two = (sparse_encode(many, atoms, algorithm=algorithm, alpha=0.3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_zero_signals(coded, algorithm):
    atoms, _ = coded
    np.testing.assert_array_equal(
        sparse_encode(np.zeros((2, 12)), atoms, algorithm=algorithm), np.zeros((2, 24))
    )


def test_given_gram_and_covariance(coded):
    atoms, X = coded
    plain = sparse_encode(X, atoms, algorithm="omp", n_nonzero_coefs=3)
    given = sparse_encode(X, atoms, gram=atoms @ atoms.T, cov=atoms @ X.T, algorithm="omp", n_nonzero_coefs=3)
    np.testing.assert_allclose(given, plain, atol=1e-10)


def test_a_basis_by_name():
    X = np.random.default_rng(0).normal(size=(5, 16))
    coder = SparseCoder("dct", transform_n_nonzero_coefs=16).fit(X)
    np.testing.assert_allclose(coder.inverse_transform(coder.transform(X)), X, atol=1e-9)
    with pytest.raises(
        ValueError, match="dictionary must be an array or one of 'identity', 'dct'; got 'haar'"
    ):
        SparseCoder("haar").fit(X)


def test_split_signs():
    X = np.array([[3.0, -2.0]])
    coder = SparseCoder(np.eye(2), transform_algorithm="threshold", transform_alpha=0.0, split_sign=True).fit(
        X
    )
    np.testing.assert_array_equal(coder.transform(X), [[3.0, 0.0, 0.0, 2.0]])
    np.testing.assert_array_equal(coder.inverse_transform(coder.transform(X)), X)
    assert coder.get_feature_names_out().size == 4


@pytest.mark.parametrize("fit_algorithm", ["lars", "cd"])
def test_the_objective_cannot_rise(coded, fit_algorithm):
    _, X = coded
    model = DictionaryLearning(
        16, alpha=0.3, fit_algorithm=fit_algorithm, max_iter=30, tol=0.0, random_state=0
    )
    code = model.fit_transform(X)
    losses = np.array(model.history_["loss"])
    assert (np.diff(losses) <= 1e-6 * losses[:-1]).all()
    assert np.linalg.norm(model.components_, axis=1).max() <= 1 + 1e-9
    own = 0.5 * ((X - code @ model.components_) ** 2).sum() + 0.3 * np.abs(code).sum()
    assert own == pytest.approx(losses[-1], rel=1e-9)
    assert model.error_ == model.history_["loss"]


def test_dictionary_like_scikit_learn(coded):
    _, X = coded
    options = {"alpha": 0.3, "max_iter": 20, "random_state": 0}
    ours, theirs = DictionaryLearning(10, **options).fit(X), peer.DictionaryLearning(10, **options).fit(X)
    np.testing.assert_allclose(ours.error_[-1], theirs.error_[-1], rtol=1e-4)


@pytest.mark.parametrize("exact", [True, False])
def test_a_pass_of_ksvd_lowers_the_error_and_keeps_the_support(coded, exact):
    _, X = coded
    rng = np.random.default_rng(1)
    D = rng.normal(size=(20, 12))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    code = sparse_encode(X, D, algorithm="omp", n_nonzero_coefs=3)
    support, before = code != 0, ((X - code @ D) ** 2).sum()
    residual = ksvd_pass(X, D, code, exact=exact)
    assert (residual**2).sum() < before
    np.testing.assert_allclose(residual, X - code @ D, atol=1e-10)
    assert not (code != 0)[~support].any(), "the support has grown"
    np.testing.assert_allclose(np.linalg.norm(D, axis=1), 1.0)


def test_pass_of_ksvd_is_its_atom_updates(coded):
    _, X = coded
    D = np.eye(12)[:8].copy()
    code = sparse_encode(X, D, algorithm="omp", n_nonzero_coefs=2)
    plain, numbers = D.copy(), code.copy()
    for k in range(8):
        plain[k], numbers[:, k] = ksvd_atom_update(X, plain, numbers, k)
    ksvd_pass(X, D, code)
    np.testing.assert_allclose(D, plain, atol=1e-9)
    np.testing.assert_allclose(code, numbers, atol=1e-9)


def test_an_atom_update_is_the_best_of_rank_one(coded):
    _, X = coded
    code = np.zeros((80, 1))
    code[:50] = 1.0
    atom, column = ksvd_atom_update(X, np.eye(12)[:1], code, 0)
    U, s, Vt = np.linalg.svd(X[:50], full_matrices=False)
    np.testing.assert_allclose(np.outer(column[:50], atom), s[0] * np.outer(U[:, 0], Vt[0]), atol=1e-9)
    assert not column[50:].any()


def test_unused_atoms_become_badly_represented_signals():
    X = np.array([[3.0, 0.0], [0.0, 2.0], [0.0, 1.0]])
    D, code = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[3.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    assert replace_unused(D, X, code, X - code @ D) == 1
    np.testing.assert_array_equal(D, [[1.0, 0.0], [0.0, 1.0]])


def test_two_atoms_of_one_direction_become_one():
    D, code = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 3.0]])
    before = code @ D
    assert merge_duplicates(D, code) == 1
    np.testing.assert_array_equal(code @ D, before)
    assert not code[:, 2].any()


@pytest.mark.parametrize("algorithm", ["ksvd", "approximate-ksvd"])
def test_ksvd_recovers_a_dictionary(algorithm):
    X, true, _ = make_sparse_coded_signal(
        n_samples=600, n_components=20, n_features=15, n_nonzero_coefs=2, random_state=0
    )
    model = DictionaryLearning(
        20, fit_algorithm=algorithm, transform_n_nonzero_coefs=2, max_iter=60, tol=1e-9, random_state=3
    ).fit(X)
    found = np.abs(model.components_ @ true.T).max(axis=0) > 0.99
    assert found.mean() >= 0.8
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0)
    assert (np.count_nonzero(model.transform(X), axis=1) <= 2).all()


def test_ksvd_with_the_lasso(coded):
    _, X = coded
    model = DictionaryLearning(
        16,
        alpha=0.2,
        fit_algorithm="ksvd",
        transform_algorithm="lasso_lars",
        max_iter=10,
        tol=0.0,
        random_state=0,
    ).fit(X)
    assert model.history_["loss"][-1] < model.history_["loss"][0]


def test_mini_batches_come_close_to_all_rows(coded):
    _, X = coded
    whole = DictionaryLearning(16, alpha=0.3, max_iter=100, random_state=0).fit(X)
    parts = MiniBatchDictionaryLearning(
        16, alpha=0.3, batch_size=20, max_iter=200, tol=0.0, max_no_improvement=None, random_state=0
    ).fit(X)

    def loss(model):
        code = sparse_encode(X, model.components_, alpha=0.3)
        return 0.5 * ((X - code @ model.components_) ** 2).sum() + 0.3 * np.abs(code).sum()

    assert loss(parts) <= 1.1 * loss(whole)
    assert parts.n_steps_ == 800


def test_function_returns_what_the_class_has(coded):
    _, X = coded
    code, dictionary, errors, n_iter = dict_learning(
        X, 8, alpha=0.3, max_iter=5, random_state=0, return_n_iter=True
    )
    model = DictionaryLearning(8, alpha=0.3, max_iter=5, random_state=0)
    np.testing.assert_array_equal(code, model.fit_transform(X))
    np.testing.assert_array_equal(dictionary, model.components_)
    assert errors == model.error_
    assert n_iter == 5


def test_bad_input(coded):
    atoms, X = coded
    with pytest.raises(ValueError, match="n_nonzero_coefs=25: the dictionary has only 24 atoms"):
        sparse_encode(X, atoms, algorithm="omp", n_nonzero_coefs=25)
    with pytest.raises(ValueError, match="transform_n_nonzero_coefs=25: the dictionary has only 24 atoms"):
        SparseCoder(atoms, transform_n_nonzero_coefs=25).transform(X)
    with pytest.raises(ValueError, match="different numbers of features"):
        sparse_encode(X[:, :5], atoms)
    with pytest.raises(ValueError, match="algorithm must be one of 'lasso_lars'"):
        sparse_encode(X, atoms, algorithm="lasso")
    with pytest.raises(ValueError, match="alpha must be a number"):
        sparse_encode(X, atoms, alpha=-1.0)
    with pytest.raises(ValueError, match=r"cov must have the shape \(24, 80\)"):
        sparse_encode(X, atoms, cov=X @ atoms.T)
    missing = X.copy()
    missing[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        sparse_encode(missing, atoms)
    with pytest.raises(ValueError, match="Positive constraint not supported for 'ksvd'"):
        DictionaryLearning(fit_algorithm="ksvd", positive_dict=True).fit(X)
    with pytest.raises(ValueError, match=r"dict_init must have the shape \(5, 12\)"):
        DictionaryLearning(5, fit_algorithm="ksvd", dict_init=np.ones((4, 12))).fit(X)
    with pytest.raises(ValueError, match="k must be from 0 to 23"):
        ksvd_atom_update(X, atoms, np.zeros((80, 24)), 24)
