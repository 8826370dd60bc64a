"""Orthogonal matching pursuit: the greedy choice, the batch engine against its oracle, scikit-learn, bad input."""

import numpy as np
import pytest
import sklearn.linear_model as peer

from tercet.linear_model import OrthogonalMatchingPursuit, orthogonal_mp, orthogonal_mp_gram
from tercet.linear_model.pursuit.orthogonal_mp import column_pursuits
from tercet.optimize import matching_pursuit


@pytest.fixture(scope="module")
def signals():
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(50, 20))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    code = np.zeros((40, 50))
    for row in code:
        row[rng.choice(50, size=3, replace=False)] = rng.normal(size=3) + 2
    return atoms, code @ atoms + 0.01 * rng.normal(size=(40, 20))


def test_batch_engine_and_plain_form_agree(signals):
    atoms, X = signals
    batch = matching_pursuit(atoms @ atoms.T, X @ atoms.T, most=6)
    plain = column_pursuits(atoms.T, X.T, 6, None)
    np.testing.assert_array_equal(batch.chosen, plain.chosen)
    np.testing.assert_allclose(batch.codes, plain.codes, atol=1e-10)


def test_residual_is_orthogonal_to_the_chosen_atoms(signals):
    atoms, X = signals
    found = matching_pursuit(atoms @ atoms.T, X @ atoms.T, most=4)
    residual = X - found.codes @ atoms
    for i, chosen in enumerate(found.chosen):
        assert len(set(chosen.tolist())) == 4, "an atom was chosen twice"
        np.testing.assert_allclose(atoms[chosen] @ residual[i], 0.0, atol=1e-10)


def test_the_first_atom_is_the_most_correlated_one_and_errors_fall(signals):
    atoms, X = signals
    found = matching_pursuit(atoms @ atoms.T, X @ atoms.T, most=5)
    np.testing.assert_array_equal(found.chosen[:, 0], np.abs(X @ atoms.T).argmax(axis=1))
    path = orthogonal_mp(atoms.T, X.T, n_nonzero_coefs=5, return_path=True)
    errors = np.array([((X - path[:, :, t].T @ atoms) ** 2).sum(axis=1) for t in range(5)])
    assert (np.diff(errors, axis=0) <= 1e-12).all()


def test_threads_do_not_change_a_bit(signals):
    atoms, X = signals
    many = np.tile(X, (500, 1)) + np.arange(500 * len(X))[:, None] * 1e-6
    one, two = (matching_pursuit(atoms @ atoms.T, many @ atoms.T, most=5, n_jobs=n).codes for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("precompute", [False, True, "auto"])
def test_like_scikit_learn(signals, precompute):
    atoms, X = signals
    for options in ({"n_nonzero_coefs": 4}, {"tol": 0.5}):
        ours = orthogonal_mp(atoms.T, X.T, precompute=precompute, return_n_iter=True, **options)
        theirs = peer.orthogonal_mp(atoms.T, X.T, return_n_iter=True, **options)
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-9)
        assert ours[1] == theirs[1]


def test_gram_like_scikit_learn(signals):
    atoms, X = signals
    gram, cov, norms = atoms @ atoms.T, atoms @ X.T, (X**2).sum(axis=1)
    for options in ({"n_nonzero_coefs": 4}, {"tol": 0.5, "norms_squared": norms}):
        ours, theirs = orthogonal_mp_gram(gram, cov, **options), peer.orthogonal_mp_gram(gram, cov, **options)
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_tolerance_is_reached_with_as_few_atoms_as_the_greedy_choice_needs(signals):
    atoms, X = signals
    coef, counts = orthogonal_mp(atoms.T, X.T, tol=0.05, return_n_iter=True)
    errors = ((X - coef.T @ atoms) ** 2).sum(axis=1)
    assert (errors <= 0.05).all()
    fewer = [orthogonal_mp(atoms.T, x, n_nonzero_coefs=max(1, n - 1)) for x, n in zip(X, counts)]
    for x, n, coefficients in zip(X, counts, fewer):
        assert n == 1 or ((x - coefficients @ atoms) ** 2).sum() > 0.05


def test_zero_signals_have_zero_codes_without_a_warning(recwarn):
    coef = orthogonal_mp(np.eye(4), np.zeros((4, 2)), n_nonzero_coefs=2)
    np.testing.assert_array_equal(coef, np.zeros((4, 2)))
    assert not recwarn


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 8)), rng.normal(size=30)
    weight = rng.integers(0, 4, size=30).astype(float)
    repeated = np.repeat(np.arange(30), weight.astype(int))
    one = OrthogonalMatchingPursuit(n_nonzero_coefs=3).fit(X, y, sample_weight=weight)
    two = OrthogonalMatchingPursuit(n_nonzero_coefs=3).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-12)
    np.testing.assert_allclose(one.intercept_, two.intercept_, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_regressor_like_scikit_learn(fit_intercept):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 15)) + 3
    y = X[:, [2, 7]] @ [1.5, -2.0] + 0.1 * rng.normal(size=60)
    options = {"n_nonzero_coefs": 2, "fit_intercept": fit_intercept}
    ours, theirs = (
        OrthogonalMatchingPursuit(**options).fit(X, y),
        peer.OrthogonalMatchingPursuit(**options).fit(X, y),
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)


def test_bad_input():
    with pytest.raises(ValueError, match=r"n_nonzero_coefs=5: the number of atoms .* 4"):
        orthogonal_mp(np.eye(4), np.ones(4), n_nonzero_coefs=5)
    with pytest.raises(ValueError, match="n_nonzero_coefs must be an integer of at least 1"):
        orthogonal_mp(np.eye(4), np.ones(4), n_nonzero_coefs=0)
    with pytest.raises(ValueError, match="tol must be a number"):
        orthogonal_mp(np.eye(4), np.ones(4), tol=-1.0)
    with pytest.raises(ValueError, match="y has 3 rows, X has 4"):
        orthogonal_mp(np.eye(4), np.ones(3))
    with pytest.raises(ValueError, match="NaN"):
        orthogonal_mp(np.eye(4), [1.0, np.nan, 0.0, 0.0])
    with pytest.raises(ValueError, match="norms_squared"):
        orthogonal_mp_gram(np.eye(3), np.ones(3), tol=0.1)
    with pytest.raises(ValueError, match="Gram must be square"):
        orthogonal_mp_gram(np.ones((3, 2)), np.ones(3))
