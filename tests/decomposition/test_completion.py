"""Matrix completion and alternating least squares: optimality, agreement of the algorithms, recommendation."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tercet.decomposition import (
    AlternatingLeastSquares,
    MatrixCompletion,
    nuclear_norm,
    ratings_matrix,
    singular_value_threshold,
)
from tercet.decomposition._completion import shrinkage
from tercet.decomposition._completion.observed_entries import observed_entries
from tercet.decomposition.completion import matrix_completion


@pytest.fixture(scope="module")
def low_rank():
    """A matrix of rank three, and the same with two fifths of its entries missing."""
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 30))
    return whole, np.where(rng.random(whole.shape) < 0.4, np.nan, whole)


@pytest.fixture(scope="module")
def ratings():
    """Ratings of 60 users and 40 items: biases, rank two and a little noise; a third is known."""
    rng = np.random.default_rng(1)
    P, Q = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    whole = 3 + rng.normal(size=(60, 1)) * 0.3 + rng.normal(size=40) * 0.5 + P @ Q.T
    whole += 0.05 * rng.normal(size=whole.shape)
    return whole, np.where(rng.random(whole.shape) < 0.6, np.nan, whole)


def quiet(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def test_nuclear_norm_and_its_proximal_operator():
    A = np.random.default_rng(0).normal(size=(6, 4))
    assert nuclear_norm(A) == pytest.approx(np.linalg.norm(A, "nuc"))
    X = singular_value_threshold(A, 0.7)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    np.testing.assert_allclose(X, (U * np.maximum(s - 0.7, 0)) @ Vt, atol=1e-12)

    def objective(Z):
        return 0.5 * ((Z - A) ** 2).sum() + 0.7 * nuclear_norm(Z)

    for seed in range(20):
        nearby = X + 0.1 * np.random.default_rng(seed).normal(size=X.shape)
        assert objective(X) <= objective(nearby)


def test_hard_constraint_gives_the_matrix_back(low_rank):
    whole, known = low_rank
    model = MatrixCompletion("admm", tol=1e-8).fit(known)
    np.testing.assert_allclose(model.transform(known), whole, atol=1e-4)
    np.testing.assert_allclose(model.history_["nuclear_norm"][-1], nuclear_norm(whole), rtol=1e-5)
    assert model.history_["error"][-1] < 1e-6


def test_singular_value_thresholding_ends_at_its_own_minimum():
    """For [[1, 2], [3, x]] the minimum of tau |X|_* + |X|²/2 is x = tau / (tau + |X|_*)."""
    X = np.array([[1.0, 2.0], [3.0, np.nan]])
    tau = 20.0
    model = quiet(MatrixCompletion("svt", tau=tau, tol=1e-9, max_iter=3000), X)
    x = model.transform(X)[1, 1]
    norm = nuclear_norm([[1, 2], [3, x]])
    assert x == pytest.approx(tau / (tau + norm), abs=1e-6)
    assert model.history_["error"][-1] < 1e-6


def test_svt_on_a_larger_matrix(low_rank):
    whole, known = low_rank
    model = quiet(MatrixCompletion("svt", tol=1e-5, max_iter=3000), known)
    np.testing.assert_allclose(model.transform(known), whole, atol=0.05)


def test_soft_impute_satisfies_the_optimality_conditions(low_rank):
    """P(X - Z) = alpha (U V' + W) with W orthogonal to both and no larger than 1."""
    _, known = low_rank
    alpha = 2.0
    model = MatrixCompletion(alpha=alpha, keep_observed=False, tol=1e-9, max_iter=5000).fit(known)
    Z = model.transform(known)
    residual = np.where(np.isnan(known), 0.0, known - Z) / alpha
    U, s, Vt = np.linalg.svd(Z)
    rank = len(model.singular_values_)
    np.testing.assert_allclose(s[:rank], model.singular_values_, rtol=1e-5)
    np.testing.assert_allclose(U[:, :rank].T @ residual @ Vt[:rank].T, np.eye(rank), atol=1e-4)
    assert np.linalg.norm(residual, 2) <= 1 + 1e-4


def test_soft_impute_and_als_minimise_the_same(low_rank):
    _, known = low_rank
    options = {"alpha": 1.5, "keep_observed": False, "tol": 1e-8, "max_iter": 5000, "random_state": 0}
    one, two = MatrixCompletion(**options).fit(known), MatrixCompletion("als", **options).fit(known)
    np.testing.assert_allclose(one.transform(known), two.transform(known), atol=1e-3)


@pytest.mark.parametrize("algorithm", ["soft-impute", "svt", "admm", "als"])
@pytest.mark.parametrize("keep_observed", [True, False])
def test_fit_transform_returns_the_matrix_of_the_fit(algorithm, keep_observed):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 15))
    X[rng.random(X.shape) < 0.3] = np.nan
    model = MatrixCompletion(algorithm, keep_observed=keep_observed, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        completed = model.fit_transform(X)
    known = ~np.isnan(X)
    assert model.error_ == model.history_["error"][-1]
    if keep_observed:
        np.testing.assert_array_equal(completed[known], X[known])
    else:
        assert nuclear_norm(completed) == pytest.approx(model.singular_values_.sum(), rel=1e-9)
        values = np.linalg.svd(completed)[1][: len(model.singular_values_)]
        np.testing.assert_allclose(values, model.singular_values_)
        assert np.sqrt(np.mean((completed - X)[known] ** 2)) == pytest.approx(model.error_, rel=1e-6)
    # rows by themselves: an algorithm that has not met the known entries exactly must not be held to them
    np.testing.assert_allclose(model.transform(X), completed, atol=0.1 if algorithm == "svt" else 0.01)


def test_rows_of_the_fit_get_what_they_had_there(low_rank):
    """Fold-in is the solution of the same problem for one row."""
    whole, known = low_rank
    model = MatrixCompletion("admm", tol=1e-9).fit(known)
    np.testing.assert_allclose(model.transform(known[7:9]), model.transform(known)[7:9], rtol=1e-12)
    new = np.linalg.lstsq(whole.T, whole[3] * 2 + whole[5], rcond=None)[0] @ whole
    part = new.copy()
    part[::3] = np.nan
    np.testing.assert_allclose(model.transform(part[None])[0], new, atol=1e-3)


def test_large_sparse_matrices_go_the_same_way(low_rank, monkeypatch):
    _, known = low_rank
    X = observed_entries(known)
    options = {"alpha": 2.0, "tol": 1e-8, "max_iter": 3000}
    whole = MatrixCompletion(**options).fit(X)
    svt = quiet(MatrixCompletion("svt", tau=300.0, max_iter=60, tol=0.0), X)
    monkeypatch.setattr(matrix_completion, "DENSE_CELLS", 10)
    monkeypatch.setattr(shrinkage, "WHOLE", 0)
    parts = MatrixCompletion(**options).fit(X)
    np.testing.assert_allclose(parts.singular_values_, whole.singular_values_, rtol=1e-5)
    again = quiet(MatrixCompletion("svt", tau=300.0, max_iter=60, tol=0.0), X)
    np.testing.assert_allclose(again.singular_values_, svt.singular_values_, rtol=1e-6)
    with pytest.raises(ValueError, match="algorithm='admm' works on the whole matrix"):
        MatrixCompletion("admm").fit(X)


def test_known_entries_stay_and_max_rank_holds(low_rank):
    _, known = low_rank
    model = MatrixCompletion(alpha=0.5, max_rank=2).fit(known)
    completed = model.transform(known)
    there = ~np.isnan(known)
    np.testing.assert_array_equal(completed[there], known[there])
    assert np.isfinite(completed).all()
    assert len(model.singular_values_) <= 2


def test_completion_refuses_what_it_cannot_complete(low_rank):
    _, known = low_rank
    empty = known.copy()
    empty[:, 4] = np.nan
    with pytest.raises(ValueError, match="column 4 of X has no known entry"):
        MatrixCompletion().fit(empty)
    with pytest.raises(ValueError, match="max_rank=31 is more than the rank"):
        MatrixCompletion(max_rank=31).fit(known)
    row = np.full((1, 30), np.nan)
    model = MatrixCompletion().fit(known)
    with pytest.warns(UserWarning, match="row 0 of X has no known entry"):
        np.testing.assert_array_equal(model.transform(row), np.zeros((1, 30)))


def twice():
    return sparse.coo_array((np.ones(4), ([0, 1, 1, 1], [0, 1, 1, 0])), shape=(2, 2))


@pytest.mark.parametrize(
    "model", [MatrixCompletion(), AlternatingLeastSquares()], ids=lambda m: type(m).__name__
)
def test_duplicates_are_refused(model):
    with pytest.raises(ValueError, match=r"several entries for row 1, column 1 \(1 repeated in all\)"):
        model.fit(twice())
    unsorted = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    unsorted.has_canonical_format = False
    assert model.fit(unsorted) is model


def ridge_of_row(known, factors, bias, mean, strength):
    """The plain form of half a pass: p_u and b_u of one user by its normal equations."""
    there = ~np.isnan(known)
    Y = np.column_stack([factors[there], np.ones(there.sum())])
    target = known[there] - mean - bias[there]
    return np.linalg.solve(Y.T @ Y + strength * there.sum() * np.eye(Y.shape[1]), Y.T @ target)


def test_users_solve_their_normal_equations(ratings):
    _, known = ratings
    model = AlternatingLeastSquares(3, regularization=0.05, random_state=0).fit(known)
    for u in (0, 17, 59):
        plain = ridge_of_row(known[u], model.item_factors_, model.item_bias_, model.mean_, 0.05)
        np.testing.assert_allclose(np.append(model.user_factors_[u], model.user_bias_[u]), plain, atol=1e-9)
    folded = model.transform(known)
    np.testing.assert_allclose(folded[:, :3], model.user_factors_, atol=1e-12)
    np.testing.assert_allclose(folded[:, 3], model.user_bias_, atol=1e-12)


def objective(model, known, strength, scaled):
    there = ~np.isnan(known)
    fit = (
        model.mean_
        + model.user_bias_[:, None]
        + model.item_bias_
        + model.user_factors_ @ model.item_factors_.T
    )
    counts = (there.sum(axis=1), there.sum(axis=0)) if scaled else (1.0, 1.0)
    squares = [(f**2).sum(axis=1) + b**2 for f, b in (
        (model.user_factors_, model.user_bias_), (model.item_factors_, model.item_bias_))]  # fmt: skip
    penalty = sum(float((n * s).sum()) for n, s in zip(counts, squares))
    return float(((known - fit)[there] ** 2).sum()) + strength * penalty


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_the_objective_falls_and_is_what_it_says(ratings, scaled, solver):
    _, known = ratings
    model = quiet(
        AlternatingLeastSquares(
            3,
            regularization=0.3,
            scale_regularization=scaled,
            solver=solver,
            tol=0.0,
            max_iter=12,
            random_state=0,
        ),
        known,
    )
    losses = np.array(model.history_["loss"])
    assert (np.diff(losses) <= 1e-9 * losses[:-1]).all()
    assert losses[-1] == pytest.approx(objective(model, known, 0.3, scaled), rel=1e-8)
    there = ~np.isnan(known)
    rows, columns = np.nonzero(there)
    error = model.predict_ratings(rows, columns) - known[there]
    assert model.history_["rmse"][-1] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-6)


def test_held_out_ratings_are_predicted(ratings):
    whole, known = ratings
    model = quiet(
        AlternatingLeastSquares(2, regularization=0.02, max_iter=200, tol=1e-7, random_state=0), known
    )
    missing = np.isnan(known)
    error = (model.inverse_transform(model.transform(known)) - whole)[missing]
    assert np.sqrt((error**2).mean()) < 0.2


def test_conjugate_gradients_come_to_the_same(ratings):
    _, known = ratings
    options = {"regularization": 0.1, "tol": 1e-12, "max_iter": 400, "random_state": 0}
    one, two = (quiet(AlternatingLeastSquares(2, solver=s, **options), known) for s in ("cholesky", "cg"))
    np.testing.assert_allclose(two.history_["loss"][-1], one.history_["loss"][-1], rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_threads_do_not_change_a_bit(monkeypatch, dtype, feedback, solver):
    from tercet.decomposition._completion import row_systems

    monkeypatch.setattr(row_systems, "WORK", 200)
    X = sparse.random_array((120, 50), density=0.2, rng=np.random.default_rng(0)).tocsr().astype(dtype)
    models = [
        quiet(
            AlternatingLeastSquares(
                5, feedback=feedback, solver=solver, max_iter=4, random_state=0, n_jobs=n
            ),
            X,
        )
        for n in (1, 2, 5)
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].user_factors_, other.user_factors_)
        np.testing.assert_array_equal(models[0].item_factors_, other.item_factors_)
    assert models[0].user_factors_.dtype == dtype


def test_implicit_feedback_weighs_all_cells():
    """Users solve (Y'CY + lambda I) p = Y'Cq with C = 1 + c |r| and q = 1 where r > 0, over all items."""
    rng = np.random.default_rng(2)
    counts = np.where(rng.random((30, 20)) < 0.3, rng.integers(-1, 6, size=(30, 20)), 0).astype(float)
    X = sparse.csr_array(counts)
    model = quiet(
        AlternatingLeastSquares(4, feedback="implicit", confidence=3.0, regularization=0.5, random_state=0), X
    )
    Y = model.item_factors_
    for u in (0, 12, 29):
        C, q = 1 + 3.0 * np.abs(counts[u]), (counts[u] > 0).astype(float)
        plain = np.linalg.solve((Y.T * C) @ Y + 0.5 * np.eye(4), Y.T @ (C * q))
        np.testing.assert_allclose(model.user_factors_[u], plain, atol=1e-8)
    C, q = 1 + 3.0 * np.abs(counts), (counts > 0).astype(float)
    squares = (model.user_factors_**2).sum() + (Y**2).sum()
    loss = float((C * (q - model.user_factors_ @ Y.T) ** 2).sum()) + 0.5 * float(squares)
    assert model.history_["loss"][-1] == pytest.approx(loss, rel=1e-9)
    assert not model.item_bias_.any()


def test_recommendation(ratings):
    _, known = ratings
    model = AlternatingLeastSquares(2, regularization=0.05, random_state=0).fit(known)
    items, scores = model.recommend([3, 5], n=4, X=known[[3, 5]])
    predicted = model.inverse_transform(model.transform(known[[3, 5]]))
    for row, u in enumerate((3, 5)):
        free = np.flatnonzero(np.isnan(known[u]))
        best = free[np.argsort(-predicted[row, free], kind="stable")[:4]]
        np.testing.assert_array_equal(items[row], best)
        np.testing.assert_allclose(scores[row], predicted[row, best])
    again, _ = model.recommend(n=4, X=known[[3, 5]])  # as new users
    np.testing.assert_array_equal(again, items)
    every, _ = model.recommend([3], n=40)
    assert sorted(every[0].tolist()) == list(range(40))
    left, values = model.recommend([0], n=40, X=np.where(np.isnan(known[:1]), 1.0, known[:1]))
    assert (left == -1).all()
    assert np.isneginf(values).all()


def test_similar_items(ratings):
    _, known = ratings
    model = AlternatingLeastSquares(3, random_state=0).fit(known)
    items, cosines = model.similar_items([4], n=39)
    assert 4 not in items
    assert (np.diff(cosines[0]) <= 0).all()
    Q = model.item_factors_ / np.linalg.norm(model.item_factors_, axis=1, keepdims=True)
    np.testing.assert_allclose(cosines[0], (Q @ Q[4])[items[0]], atol=1e-12)


def test_users_and_items_without_ratings(ratings):
    _, known = ratings
    known = known.copy()
    known[5], known[:, 7] = np.nan, np.nan
    model = AlternatingLeastSquares(2, random_state=0).fit(known)
    assert not model.user_factors_[5].any()
    assert not model.item_factors_[7].any()
    assert model.predict_ratings([5], [7])[0] == pytest.approx(model.mean_)
    assert model.predict_ratings([5], [3])[0] == pytest.approx(model.mean_ + model.item_bias_[3])


def test_without_a_penalty_there_is_no_failure():
    known = np.array([[1.0, np.nan, 2.0], [np.nan, 3.0, np.nan], [2.0, 1.0, 4.0]])
    model = quiet(AlternatingLeastSquares(3, regularization=0.0, random_state=0), known)
    assert np.isfinite(model.user_factors_).all()
    there = ~np.isnan(known)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(known))[there], known[there], atol=1e-3
    )


def test_ratings_from_a_long_table():
    users, items = ["b", "a", "b", "a"], ["x", "y", "x", "x"]
    with pytest.raises(ValueError, match="user b has rated item x several times"):
        ratings_matrix(users, items, [1, 2, 3, 4])
    for how, value in (("mean", 2.0), ("sum", 4.0), ("last", 3.0)):
        found = ratings_matrix(users, items, [1, 2, 3, 4], duplicates=how)
        np.testing.assert_array_equal(found.matrix.toarray(), [[4.0, 2.0], [value, 0.0]])
        assert found.users.tolist() == ["a", "b"]
        assert found.items.tolist() == ["x", "y"]
    assert ratings_matrix([3, 1], [0, 0]).matrix.toarray().tolist() == [[1.0], [1.0]]
    with pytest.raises(ValueError, match="must be of one length"):
        ratings_matrix([1, 2], [1], [1])
    with pytest.raises(ValueError, match=r"ratings\[1\] is not a finite number"):
        ratings_matrix([1, 2], [1, 1], [1.0, np.nan])
    with pytest.raises(ValueError, match="duplicates must be"):
        ratings_matrix([1], [1], [1.0], duplicates="max")


def test_bad_input(ratings):
    _, known = ratings
    model = AlternatingLeastSquares(2, random_state=0).fit(known)
    for call, said in (
        (lambda: AlternatingLeastSquares(41).fit(known), "n_components=41 is larger than the rank"),
        (lambda: AlternatingLeastSquares().fit(np.full((3, 3), np.nan)), "X has no ratings"),
        (lambda: model.predict_ratings([60], [0]), "users must be from 0 to 59; got 60"),
        (lambda: model.predict_ratings([0], [-1]), "items must be from 0 to 39; got -1"),
        (lambda: model.predict_ratings([0, 1], [0]), "of one length"),
        (lambda: model.predict_ratings(["a"], [0]), "users must be a list of whole numbers"),
        (lambda: model.recommend(), "recommend needs users"),
        (lambda: model.recommend([0], n=41), "n must be from 1 to 40"),
        (lambda: model.recommend([0, 1], X=known[:1]), "X has 1 rows; there are 2 users"),
        (lambda: model.similar_items([0], n=40), "n must be from 1 to 39"),
        (lambda: model.inverse_transform(np.ones((1, 2))), "X has 2 columns; expected are 3"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def test_stored_nan_is_missing_and_stored_zeros_are_ratings():
    X = sparse.csr_array(
        (np.array([0.0, 1.0, np.nan, 2.0]), np.array([0, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2)
    )
    found = observed_entries(X)
    assert found.data.tolist() == [0.0, 1.0, 2.0]
    dense = np.array([[0.0, 1.0], [np.nan, 2.0]])
    one, two = (AlternatingLeastSquares(1, random_state=0).fit(table) for table in (X, dense))
    np.testing.assert_array_equal(one.item_factors_, two.item_factors_)
