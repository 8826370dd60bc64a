"""Non-negative matrix factorisation: theorems, agreement with the peer, missing cells, bad input."""

import sys
import warnings

import numpy as np
import pytest
import sklearn.decomposition as peer
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tercet.decomposition import (
    NMF,
    MiniBatchNMF,
    divergence_loss,
    gradient_step,
    held_out_rank,
    multiplicative_step,
    nndsvd,
    non_negative_factorization,
    squared_loss,
)

SOLVERS = ("cd", "mu", "hals", "gradient")
LOSSES = {"squared": (squared_loss, "frobenius"), "divergence": (divergence_loss, "kullback-leibler")}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def problem(rng):
    """X with some zeros, and a positive start of rank 3."""
    X = np.round(3 * rng.random((9, 7)) * (rng.random((9, 7)) < 0.7), 2) + np.eye(9, 7)
    return X, rng.random((9, 3)) + 0.1, rng.random((3, 7)) + 0.1


def fit(X, W, H, **options):
    model = NMF(len(H), init="custom", **options)
    return model.fit_transform(X, W=W, H=H), model


# --- Alg 17.1 and its theorems ------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_no_half_step_raises_the_loss(problem, loss):
    """P17-4 (Thm 17.1, 17.2), and P17-3: signs and zeros stay."""
    X, W, H = problem
    measure = LOSSES[loss][0]
    W[2, 1] = H[0, 3] = 0.0
    before = measure(X, W @ H)
    for _ in range(30):
        for order in ("WH", "HW"):
            first = multiplicative_step(X, W, H, loss, order=order)
            half = (first[0], H) if order == "WH" else (W, first[1])
            after = measure(X, half[0] @ half[1])
            assert after <= before * (1 + 1e-12)
            W, H = first
            before = measure(X, W @ H)
            assert before <= after * (1 + 1e-12)
    assert W.min() >= 0
    assert H.min() >= 0
    assert W[2, 1] == H[0, 3] == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_an_exact_factorisation_stays_where_it_is(problem, loss):
    """P17-6."""
    _, W, H = problem
    after = multiplicative_step(W @ H, W, H, loss)
    np.testing.assert_allclose(after[0], W, rtol=1e-12)
    np.testing.assert_allclose(after[1], H, rtol=1e-12)


def test_gradient_step_with_its_special_lengths_is_the_multiplicative_one(problem):
    """P17-5, eq. 17.32."""
    X, W, H = problem
    for order in ("WH", "HW"):
        for mine, its in zip(gradient_step(X, W, H, order=order), multiplicative_step(X, W, H, order=order)):
            np.testing.assert_allclose(mine, its, rtol=1e-10)
    small = gradient_step(X, W, H, 1e-3, np.full(H.shape, 1e-3))
    assert squared_loss(X, small[0] @ small[1]) < squared_loss(X, W @ H)
    assert min(part.min() for part in gradient_step(X, W, H, 100.0, 100.0)) >= 0  # trap 9


def test_losses(problem):
    """P17-7."""
    X, W, H = problem
    A, B = X / X.sum(), W @ H / (W @ H).sum()
    kl = (A[A > 0] * np.log(A[A > 0] / B[A > 0])).sum()
    assert divergence_loss(A, B) == pytest.approx(kl, rel=1e-12)
    assert divergence_loss(A, A) == squared_loss(B, B) == 0
    assert divergence_loss(A, B) != pytest.approx(divergence_loss(B, A + 1e-3), rel=1e-3)
    assert divergence_loss([[1.0]], [[0.0]]) == np.inf
    assert divergence_loss([[0.0]], [[2.0]]) == 2.0
    with pytest.raises(ValueError, match=r"-1 at \(0, 1\)"):
        squared_loss([[0.0, -1.0]], [[1.0, 1.0]])
    with pytest.raises(ValueError, match="one shape"):
        squared_loss([[0.0, 1.0]], [[1.0]])


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("order", ["WH", "HW"])
def test_the_engine_does_the_plain_steps(problem, loss, order, table):
    X, W, H = problem
    found, model = fit(table(X), W, H, solver="mu", beta_loss=LOSSES[loss][1], order=order, max_iter=5, tol=0)
    losses = []
    for _ in range(5):
        W, H = multiplicative_step(X, W, H, loss, order=order)
        losses.append(LOSSES[loss][0](X, W @ H) / (2 if loss == "squared" else 1))
    np.testing.assert_allclose(found, W, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.components_, H, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.history_["loss"], losses, rtol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_lowers_the_loss_to_no_less_than_that_of_the_svd(problem, solver):
    """P17-8."""
    X, W, H = problem
    _, model = fit(X, W, H, solver=solver, max_iter=200, tol=0)
    losses = np.array(model.history_["loss"])
    assert (np.diff(losses) <= 1e-10 * losses[0]).all()
    least = (np.linalg.svd(X, compute_uv=False)[3:] ** 2).sum()
    assert least <= 2 * losses[-1] < 4.5 * least
    assert model.reconstruction_err_ == pytest.approx(np.sqrt(2 * losses[-1]), rel=1e-6)


def test_normalisation(problem):
    """Trap 6: rescaling leaves WH; the literal form does not, and its loss may rise."""
    X, W, H = problem
    plain, model = fit(X, W, H, solver="mu", max_iter=8, tol=0)
    for norm, length in (("l2", lambda A: np.sqrt((A**2).sum(axis=0))), ("l1", lambda A: A.sum(axis=0))):
        found, scaled = fit(X, W, H, solver="mu", max_iter=8, tol=0, normalize="rescale", norm=norm)
        np.testing.assert_allclose(length(found), 1.0)
        np.testing.assert_allclose(found @ scaled.components_, plain @ model.components_, rtol=1e-8)
        found, literal = fit(X, W, H, solver="mu", max_iter=8, tol=0, normalize="literal", norm=norm)
        np.testing.assert_allclose(length(found), 1.0)
        assert not np.allclose(found @ literal.components_, plain @ model.components_, rtol=1e-6)


# --- the peer -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "options",
    [
        {"solver": "cd", "alpha_W": 0.01, "l1_ratio": 0.5},
        {"solver": "cd", "shuffle": True, "random_state": 3},
        {"solver": "mu", "beta_loss": "kullback-leibler", "alpha_W": 0.01, "alpha_H": 0.02, "l1_ratio": 0.3},
        {"solver": "mu", "beta_loss": 1.5},
    ],
)
def test_the_same_passes_as_the_peer(problem, options, table):
    X, W, H = problem
    both = [kind(3, init="custom", max_iter=60, tol=1e-3, **options) for kind in (NMF, peer.NMF)]
    ours, theirs = (model.fit_transform(table(X), W=W.copy(), H=H.copy()) for model in both)
    assert both[0].n_iter_ == both[1].n_iter_
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(both[0].components_, both[1].components_, rtol=1e-6, atol=1e-7)
    assert both[0].reconstruction_err_ == pytest.approx(both[1].reconstruction_err_, rel=1e-7)


@pytest.mark.parametrize("init", ["random", "nndsvd", "nndsvda", "nndsvdar"])
def test_starts_are_those_of_the_peer(problem, init):
    X = problem[0]
    ours, theirs = (kind(3, init=init, random_state=1, max_iter=3, tol=0).fit(X) for kind in (NMF, peer.NMF))
    if init != "nndsvdar":  # it draws in another order after the singular vectors
        np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-6, atol=1e-8)
    assert ours.reconstruction_err_ == pytest.approx(theirs.reconstruction_err_, rel=0.05)


def test_start_from_singular_vectors_of_a_large_table(rng, monkeypatch):
    """Subspace iteration finds what the full decomposition does."""
    X = sparse.csr_array(rng.random((60, 3)) ** 4 @ rng.random((3, 50)) ** 4 + 0.01 * rng.random((60, 50)))
    exact = nndsvd(X, 3)
    monkeypatch.setattr(sys.modules["tercet.decomposition.nndsvd"], "EXACT", 10)
    for mine, its in zip(nndsvd(X, 3, random_state=0), exact):
        np.testing.assert_allclose(mine, its, atol=1e-3)


def test_transform_is_the_least_squares_of_each_row(problem):
    from scipy.optimize import nnls

    X, W, H = problem
    _, model = fit(X, W, H, tol=1e-10, max_iter=2000)
    found = model.transform(X)
    for x, w in zip(X, found):
        np.testing.assert_allclose(w, nnls(model.components_.T, x)[0], atol=1e-6)
    np.testing.assert_array_equal(model.transform(X[2:5]), found[2:5])
    np.testing.assert_allclose(model.transform(sparse.csr_array(X)), found, atol=1e-8)
    W2, H2, _ = non_negative_factorization(X, H=model.components_, update_H=False, tol=1e-10, max_iter=2000)
    np.testing.assert_allclose(W2, found, atol=1e-12)
    np.testing.assert_array_equal(H2, model.components_)


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_the_bits_do_not_depend_on_the_threads(rng, solver, table, monkeypatch):
    monkeypatch.setattr("tercet.decomposition._nmf.half.CELLS", 1 << 10)
    X = table(np.round(rng.random((300, 30)) * (rng.random((300, 30)) < 0.3), 2))
    loss = "kullback-leibler" if solver == "mu" else "frobenius"
    one, three = (
        NMF(4, solver=solver, beta_loss=loss, max_iter=12, n_jobs=n, random_state=0).fit(X) for n in (1, 3)
    )
    np.testing.assert_array_equal(one.components_, three.components_)


# --- missing cells ------------------------------------------------------------------------------------------


def masked_loss(X, Z, beta):
    from tercet.decomposition._nmf.half import divergences

    known = ~np.isnan(X)
    return divergences(X[known], Z[known], beta).sum()


@pytest.mark.parametrize("share", [0.2, 0.7], ids=["some", "most"])
@pytest.mark.parametrize(
    ("solver", "loss", "beta"),
    [("cd", 2, 2), ("hals", 2, 2), ("gradient", 2, 2), ("mu", 2, 2), ("mu", 1, 1), ("mu", 1.5, 1.5)],
)
def test_missing_cells_are_no_part_of_the_loss(rng, solver, loss, beta, share):
    X = rng.random((14, 2)) @ rng.random((2, 11))
    gaps = X.copy()
    gaps[(rng.random(X.shape) < share) & ~np.eye(14, 11, dtype=bool)] = np.nan
    gaps[11:, 0] = X[11:, 0]
    for table in (np.asarray, sparse.csr_array):
        model = NMF(2, solver=solver, beta_loss=loss, init="random", random_state=0, max_iter=300, tol=0)
        W = model.fit_transform(table(gaps))
        losses = np.array(model.history_["loss"])
        assert (np.diff(losses) <= 1e-9 * losses[0]).all(), table
        assert losses[-1] == pytest.approx(
            masked_loss(gaps, W @ model.components_, beta), rel=1e-5, abs=1e-12
        )
        assert losses[-1] < 0.02 * losses[0]
        if share < 0.5 and solver in ("cd", "hals"):
            np.testing.assert_allclose(W @ model.components_, X, atol=0.05)  # and so they are filled in


def test_transform_of_rows_with_gaps(rng):
    H = rng.random((2, 8))
    X = rng.random((5, 2)) @ H
    model = NMF(2, max_iter=2000, tol=1e-10, init="random", random_state=0).fit(X)
    gaps = X.copy()
    gaps[:, [1, 4]] = np.nan
    np.testing.assert_allclose(model.inverse_transform(model.transform(gaps)), X, atol=1e-4)


def test_rank_by_held_out_cells(rng):
    X = rng.random((40, 3)) @ rng.random((3, 25)) + 0.01 * rng.random((40, 25))
    found = held_out_rank(X, [1, 2, 3, 6], random_state=0, n_repeats=2, max_iter=300)
    assert found.best_rank == 3
    assert found.losses.shape == (4, 2)
    again = held_out_rank(X, [6, 3, 2, 1], random_state=0, n_repeats=2, max_iter=300, n_jobs=2)
    np.testing.assert_array_equal(found.losses, again.losses)
    counts = sparse.csr_array(np.floor(4 * X))
    assert held_out_rank(counts, [1, 3], random_state=0, solver="mu", beta_loss=1, n_repeats=1).best_rank in (
        1,
        3,
    )
    with pytest.raises(ValueError, match="ranks must be integers"):
        held_out_rank(X, [0.5])
    with pytest.raises(ValueError, match=r"fraction must be between 0 and 1; got 2"):
        held_out_rank(X, [1], fraction=2)


# --- mini-batches -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [2, 1, 0.5])
def test_mini_batches_like_the_peer(problem, beta):
    X, W, H = problem
    options = {"init": "custom", "batch_size": 4, "beta_loss": beta, "max_iter": 5, "tol": 0}
    ours, theirs = MiniBatchNMF(3, **options), peer.MiniBatchNMF(3, **options)
    for model in (ours, theirs):
        model.fit(X, W=W.copy(), H=H.copy())
    np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-5, atol=1e-8)
    assert ours.n_steps_ == theirs.n_steps_
    assert ours.reconstruction_err_ == pytest.approx(theirs.reconstruction_err_, rel=1e-5)


def test_partial_fit_goes_on(problem):
    X = problem[0]
    model = MiniBatchNMF(2, random_state=0)
    for _ in range(20):
        for part in (X[:4], X[4:]):
            model.partial_fit(part)
    assert model.n_steps_ == 40
    error = np.linalg.norm(X - model.inverse_transform(model.transform(X)))
    assert error < 1.2 * NMF(2, max_iter=500).fit(X).reconstruction_err_


# --- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [NMF, MiniBatchNMF])
def test_bad_input(kind, problem):
    X, W, H = problem
    with pytest.raises(ValueError, match=r"Negative values in data passed to .* -1 is the smallest"):
        kind(2).fit(X - 1.0 * (X.max() == X) * (X.max() + 1))
    empty = X.copy()
    empty[3] = np.nan
    with pytest.raises(ValueError, match="row 3 of X has only missing values"):
        kind(2).fit(empty)
    with pytest.raises(ValueError, match="column 3 of X has only missing values"):
        kind(2).fit(np.where(np.arange(7) == 3, np.nan, X))
    with pytest.raises(ValueError, match=r"init = 'nndsvd' .* = 7; got n_components=8"):
        kind(8, init="nndsvd").fit(X)
    with pytest.raises(ValueError, match=r"n_components=1099511627776 is too large"):
        kind(2**40, init="random").fit(X)
    with pytest.raises(ValueError, match="must be given; got None"):
        kind(3, init="custom").fit(X)
    with pytest.raises(ValueError, match=r"\(input W\).*-5"):
        kind(3, init="custom").fit(X, W=W - 5 - W.max() + W, H=H)


@pytest.mark.parametrize("solver", SOLVERS)
def test_degenerate_tables(solver, problem):
    zeros = np.zeros((4, 3))
    model = NMF(2, solver=solver).fit(zeros)
    assert not (model.transform(zeros) @ model.components_).any()
    X = problem[0].copy()
    X[2], X[:, 1] = 0, 0
    for init in ("random", None):
        model = NMF(9, solver=solver, init="random", random_state=0, max_iter=20).fit(
            X
        )  # more than min(n, d)
        W = NMF(2, solver=solver, init=init, random_state=0).fit_transform(X)
        assert np.isfinite(W).all()
        assert np.isfinite(model.components_).all()


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e150, 1e308])
@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_numbers_of_any_size(problem, size, solver):
    X = problem[0] / problem[0].max()
    plain = NMF(3, solver=solver, init="random", random_state=0, max_iter=50)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*(overflow|invalid|divide)", category=RuntimeWarning)
        warnings.filterwarnings("ignore", message=".*beyond floating point")
        fit = plain.fit_transform(X) @ plain.components_
        model = NMF(3, solver=solver, init="random", random_state=0, max_iter=50)
        W = model.fit_transform(X * size)
        found = W @ (model.components_ / size)
        assert np.isfinite(model.transform(X * size)).all()
    np.testing.assert_allclose(found, fit, atol=0.02)
