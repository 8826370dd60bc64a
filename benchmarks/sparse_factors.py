"""Rows of sparse factorisations: K-SVD on synthetic signals, completion of a matrix of ratings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import Contender, Data, Result, Row

# --- ksvd ---------------------------------------------------------------------------------------------------


def make_signals(
    rng: np.random.Generator, n: int, d: int, atoms: int, nonzeros: int, noise: float, passes: int
) -> Data:
    """Signals of a few atoms of a random dictionary each, with noise; and signals to start from."""
    dictionary = rng.standard_normal((atoms, d))
    dictionary /= np.linalg.norm(dictionary, axis=1, keepdims=True)
    used = np.argsort(rng.random((n, atoms)), axis=1)[:, :nonzeros]
    code = np.zeros((n, atoms))
    np.put_along_axis(code, used, rng.standard_normal((n, nonzeros)), axis=1)
    X = code @ dictionary + noise * rng.standard_normal((n, d))
    start = X[rng.permutation(n)[:atoms]]
    return {
        "X": X,
        "start": start / np.linalg.norm(start, axis=1, keepdims=True),
        "size": np.array([nonzeros, passes]),
    }


def coding_error(data: Data, result: Result) -> float:
    """Root mean square of X less its codes, by scikit-learn's orthogonal matching pursuit over unit atoms."""
    from sklearn.linear_model import orthogonal_mp_gram

    D = np.asarray(result["dictionary"], dtype=float)
    D = D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1e-300)
    X = data["X"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = orthogonal_mp_gram(D @ D.T, D @ X.T, n_nonzero_coefs=int(data["size"][0])).T
    return float(np.sqrt(np.mean((X - code.reshape(len(X), -1) @ D) ** 2)))


def ksvd_ours(data: Data) -> Result:
    from tercet.decomposition import DictionaryLearning

    nonzeros, passes = (int(v) for v in data["size"])
    model = DictionaryLearning(
        len(data["start"]),
        fit_algorithm="approximate-ksvd",
        transform_n_nonzero_coefs=nonzeros,
        dict_init=data["start"],
        max_iter=passes,
        tol=0.0,
        n_jobs=2,
    ).fit(data["X"])
    return {"dictionary": model.components_}


def ksvd_sklearn(data: Data) -> Result:
    """The lasso in place of a bound on the non-zeros: as many atoms, alpha tuned for the same error.

    By mini-batches, its faster way: 15 passes over all rows at once take more than five minutes.
    """
    from sklearn.decomposition import MiniBatchDictionaryLearning

    model = MiniBatchDictionaryLearning(
        len(data["start"]),
        alpha=0.3,
        max_iter=60,
        dict_init=data["start"].copy(),
        random_state=0,
        n_jobs=1,
        tol=0.0,
        max_no_improvement=None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data["X"])
    return {"dictionary": model.components_}


def one_dictlearn(data: Data, algorithm: str) -> Result:
    from dictlearn import DictionaryLearning

    nonzeros, passes = (int(v) for v in data["size"])
    model = DictionaryLearning(
        n_components=len(data["start"]),
        max_iter=passes,
        fit_algorithm=algorithm,
        n_nonzero_coefs=nonzeros,
        dict_init=data["start"].copy(),
        random_state=0,
    )
    return {"dictionary": model.fit(data["X"]).components_}


def ksvd_dictlearn(data: Data) -> Result:
    return one_dictlearn(data, "ksvd")


def ksvd_dictlearn_approximate(data: Data) -> Result:
    return one_dictlearn(data, "aksvd")


# --- matrix-completion --------------------------------------------------------------------------------------


def make_ratings(
    rng: np.random.Generator,
    users: int,
    items: int,
    ratings: int,
    held_out: int,
    rank: int,
    noise: float,
    passes: int,
) -> Data:
    """Ratings of items by popularity: a mean, biases, a product of low rank and noise; some are held out."""
    popularity = np.arange(1, items + 1) ** -0.6
    edges = np.cumsum(popularity) / popularity.sum()
    cells = np.zeros(0, dtype=np.int64)
    while cells.size < ratings + held_out:
        many = ratings + held_out - cells.size
        i, j = rng.integers(users, size=many), np.searchsorted(edges, rng.random(many)).clip(0, items - 1)
        cells = np.unique(np.concatenate([cells, i * items + j]))
    i, j = np.divmod(cells, items)
    P, Q = rng.standard_normal((users, rank)) / np.sqrt(rank), rng.standard_normal((items, rank))
    b, c = 0.3 * rng.standard_normal(users), 0.5 * rng.standard_normal(items)
    values = 3.5 + b[i] + c[j] + noise * rng.standard_normal(cells.size)
    for start in range(0, cells.size, 1 << 18):
        some = slice(start, start + (1 << 18))
        values[some] += np.einsum("ij,ij->i", P[i[some]], Q[j[some]])
    held = np.zeros(cells.size, dtype=bool)
    held[rng.choice(cells.size, size=held_out, replace=False)] = True
    seen = ~held
    X = sparse.csr_matrix((values[seen].astype(np.float32), (i[seen], j[seen])), shape=(users, items))
    return {
        "X": X,
        "users": i[held],
        "items": j[held],
        "values": values[held],
        "size": np.array([rank, passes]),
    }


def held_out_error(data: Data, result: Result) -> float:
    """Root mean square error of the ratings that were held out."""
    i, j = data["users"], data["items"]
    found = float(result["mean"]) + np.asarray(result["b"], float)[i] + np.asarray(result["c"], float)[j]
    found = found + np.einsum(
        "ij,ij->i", np.asarray(result["P"], float)[i], np.asarray(result["Q"], float)[j]
    )
    return float(np.sqrt(np.mean((found - data["values"]) ** 2)))


def completion_ours(data: Data) -> Result:
    from tercet.decomposition import AlternatingLeastSquares

    rank, passes = (int(v) for v in data["size"])
    model = AlternatingLeastSquares(
        rank,
        regularization=4.0,
        scale_regularization=False,
        max_iter=passes,
        tol=0.0,
        random_state=0,
        n_jobs=2,
    ).fit(data["X"])
    return {
        "mean": model.mean_,
        "b": model.user_bias_,
        "c": model.item_bias_,
        "P": model.user_factors_,
        "Q": model.item_factors_,
    }


def one_cmfrec(data: Data, **options: Any) -> Result:
    from cmfrec import CMF

    rank, passes = (int(v) for v in data["size"])
    model = CMF(
        k=rank,
        lambda_=4.0,
        niter=passes,
        nthreads=2,
        use_float=True,
        verbose=False,
        precompute_for_predictions=False,
        random_state=0,
        **options,
    ).fit(data["X"])
    return {
        "mean": model.glob_mean_,
        "b": model.user_bias_,
        "c": model.item_bias_,
        "P": model.A_,
        "Q": model.B_,
    }


def completion_cmfrec_cg(data: Data) -> Result:
    return one_cmfrec(data, use_cg=True)


def completion_cmfrec(data: Data) -> Result:
    return one_cmfrec(data, use_cg=False)


def with_triples(data: Data) -> Data:
    """The matrix in the coordinates that cmfrec takes without a conversion of its own."""
    return {**data, "X": sparse.coo_matrix(data["X"])}


def completion_surprise(data: Data) -> Result:
    """Stochastic gradient descent on the same objective."""
    import pandas as pd
    from surprise import SVD, Dataset, Reader

    X = data["X"].tocoo()
    low, high = float(X.data.min()), float(X.data.max())
    frame = pd.DataFrame({"u": X.row, "i": X.col, "r": X.data})
    train = Dataset.load_from_df(frame, Reader(rating_scale=(low, high))).build_full_trainset()
    model = SVD(n_factors=int(data["size"][0]), n_epochs=30, lr_all=0.01, reg_all=0.05, random_state=0).fit(
        train
    )
    n, m = data["X"].shape
    result = {"mean": train.global_mean, "b": np.zeros(n), "c": np.zeros(m)}
    result["P"], result["Q"] = np.zeros((n, model.pu.shape[1])), np.zeros((m, model.pu.shape[1]))
    users = [train.to_raw_uid(u) for u in range(train.n_users)]
    items = [train.to_raw_iid(i) for i in range(train.n_items)]
    result["b"][users], result["P"][users] = model.bu, model.pu
    result["c"][items], result["Q"][items] = model.bi, model.qi
    return result


SKLEARN = ("sklearn.decomposition",)
OURS = ("tercet.decomposition",)
ROWS = [
    Row(
        name="ksvd",
        work="K-SVD, {passes} passes; {n} signals of {d}, {atoms} atoms, {nonzeros} non-zeros, noise {noise}",
        sizes={
            "full": {"n": 2_000, "d": 64, "atoms": 256, "nonzeros": 5, "noise": 0.05, "passes": 30},
            "smoke": {"n": 400, "d": 16, "atoms": 20, "nonzeros": 2, "noise": 0.05, "passes": 30},
        },
        data=make_signals,
        ours=Contender(ksvd_ours, OURS, "tercet"),
        peers={
            "scikit-learn mini-batch": Contender(ksvd_sklearn, SKLEARN, "scikit-learn", threads=1, once=True),
            "dictlearn": Contender(ksvd_dictlearn, ("dictlearn",), "dictlearn"),
            "dictlearn approximate": Contender(ksvd_dictlearn_approximate, ("dictlearn",), "dictlearn"),
        },
        quality=coding_error,
        tolerance=0.02,
        figure="root mean square error of codes with as many non-zeros",
    ),
    Row(
        name="matrix-completion",
        work="{ratings} ratings of {items} items by {users} users, rank {rank} with biases, {passes} passes",
        sizes={
            "full": {
                "users": 100_000,
                "items": 10_000,
                "ratings": 5_000_000,
                "held_out": 500_000,
                "rank": 20,
                "noise": 0.5,
                "passes": 15,
            },
            "smoke": {
                "users": 300,
                "items": 100,
                "ratings": 9_000,
                "held_out": 900,
                "rank": 3,
                "noise": 0.5,
                "passes": 15,
            },
        },
        data=make_ratings,
        ours=Contender(completion_ours, OURS, "tercet"),
        peers={
            "cmfrec cg": Contender(completion_cmfrec_cg, ("cmfrec",), "cmfrec", prepare=with_triples),
            "cmfrec cholesky": Contender(completion_cmfrec, ("cmfrec",), "cmfrec", prepare=with_triples),
            "scikit-surprise SVD": Contender(
                completion_surprise, ("surprise",), "scikit-surprise", threads=1, once=True
            ),
        },
        quality=held_out_error,
        tolerance=0.01,
        figure="root mean square error of held-out ratings",
    ),
]
