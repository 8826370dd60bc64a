"""Watermelon notes, chapter 10: feature selection and sparse learning (特征选择与稀疏学习)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

X = [[1, 0.5], [2, 1.5], [3, 2], [4, 4.5]]
Y = [1, 2.2, 2.9, 4.2]


def threshold(z: list[float], ratio: float) -> dict[str, Any]:
    from tercet.penalties import soft_threshold

    return {"x": soft_threshold(z, ratio)}


def lasso(X: Any, y: Any, lam: float) -> dict[str, Any]:
    """LASSO by coordinate descent, and by proximal gradient descent with the text's L."""
    import numpy as np

    from tercet.linear_model import Lasso
    from tercet.optimize import minimize
    from tercet.penalties import L1

    X, y = np.asarray(X, dtype=float), np.asarray(y)
    model = Lasso(alpha=lam / (2 * len(y)), fit_intercept=False, tol=1e-12).fit(X, y)
    L = 2 * np.linalg.eigvalsh(X.T @ X)[-1]
    result = minimize(
        lambda w: float(np.sum((y - X @ w) ** 2)),
        np.zeros(2),
        jac=lambda w: 2 * X.T @ (X @ w - y),
        method="ista",
        penalty=L1(lam),
        lipschitz=L,
        tol=1e-9,
        max_iter=5000,
        keep=True,
    )
    optimality = 2 * X.T @ (y - X @ model.coef_)
    return {
        "coordinate_descent": model.coef_,
        "pgd": result.x,
        "objective": result.fun,
        "L": L,
        "first": result.trajectory[1],
        "optimality": optimality * np.sign(model.coef_),
    }


def ridge(X: Any, y: Any, lam: float) -> dict[str, Any]:
    from tercet.linear_model import LinearRegression, Ridge

    return {
        "without penalty": LinearRegression(fit_intercept=False).fit(X, y).coef_,
        "w": Ridge(alpha=lam, fit_intercept=False).fit(X, y).coef_,
    }


def relief(X: Any, y: Any, discrete: Any) -> dict[str, Any]:
    from tercet.feature import Relief

    model = Relief(categorical_features=discrete).fit(X, y)
    return {"scores": model.scores_, "order": model.ranking()}


def ksvd(X: Any, B: Any, A: Any) -> dict[str, Any]:
    """Both atoms in turn; the text has signals, atoms and codes in columns."""
    import numpy as np

    from tercet.decomposition import ksvd_atom_update

    signals, atoms, codes = (np.array(table, dtype=float).T for table in (X, B, A))
    found: dict[str, Any] = {"error": [float(((signals - codes @ atoms) ** 2).sum())]}
    for k in range(len(atoms)):
        atoms[k], codes[:, k] = ksvd_atom_update(signals, atoms, codes, k)
        found["error"].append(float(((signals - codes @ atoms) ** 2).sum()))
        found[f"atom {k + 1}"], found[f"codes {k + 1}"] = atoms[k].copy(), codes[:, k].copy()
    return found


def restricted_isometry(A: Any) -> dict[str, Any]:
    from tercet.decomposition import restricted_isometry_constant

    return {f"delta {k}": restricted_isometry_constant(A, k) for k in (1, 2)}


def recovery(A: Any, s: Any) -> dict[str, Any]:
    """The same vector by all methods from its measurements y = As."""
    import numpy as np

    from tercet.decomposition import basis_pursuit, basis_pursuit_denoising, l0_minimization
    from tercet.linear_model import orthogonal_mp

    y = np.asarray(A) @ np.asarray(s)
    pursuit = basis_pursuit(A, y)
    return {
        "L0": l0_minimization(A, y),
        "basis pursuit": pursuit,
        "L1 norm": float(np.abs(pursuit).sum()),
        "OMP": orthogonal_mp(A, y, n_nonzero_coefs=1),
        "denoising, alpha 0.1": basis_pursuit_denoising(A, y, alpha=0.1, tol=1e-12),
    }


def completion(X: Any) -> dict[str, Any]:
    """The missing entry by the nuclear norm, and the nuclear norms of that and of the completion of rank one."""
    import numpy as np

    from tercet.decomposition import MatrixCompletion, nuclear_norm

    model = MatrixCompletion(algorithm="admm", tol=1e-12, max_iter=5000)
    completed = model.fit_transform(np.array(X, dtype=float))
    rank_one = np.array([[1.0, 2.0], [3.0, 6.0]])
    return {
        "entry": float(completed[1, 1]),
        "nuclear norm": nuclear_norm(completed),
        "nuclear norm of rank one": nuclear_norm(rank_one),
    }


def norms(w: Any) -> dict[str, Any]:
    from tercet.penalties import norm

    return {"L0": norm(w, 0), "L1": norm(w, 1), "L2": norm(w, 2)}


def subsets(X: Any, y: Any, sets: Any) -> dict[str, Any]:
    from tercet.feature import SubsetSearch, subset_information_gain

    searches = {
        "forward": SubsetSearch(direction="forward"),
        "backward": SubsetSearch(direction="backward"),
        "bidirectional": SubsetSearch(direction="bidirectional"),
        "beam": SubsetSearch(direction="beam", n_features_to_select=2),
    }
    chosen = {name: search.fit(X, y).get_support(indices=True) for name, search in searches.items()}
    return {"gain": [subset_information_gain(X, y, columns) for columns in sets], **chosen}


HALF = 0.5**0.5

EXAMPLES = [
    Example(
        place="watermelon notes eq. 10.13",
        title="soft thresholding",
        zh="软阈值",
        given={"z": [3.0, -0.5, 1.0, -2.0], "ratio": 1.0},
        call=threshold,
        expected={"x": [2.0, 0.0, 0.0, -1.0]},
    ),
    Example(
        place="watermelon notes eq. 10.7",
        title="LASSO by coordinate descent and by proximal gradient descent",
        zh="近端梯度下降求解LASSO",
        given={"X": X, "y": Y, "lam": 1.0},
        call=lasso,
        expected={
            "coordinate_descent": [0.93405405, 0.08648649],
            "pgd": [0.93405405, 0.08648649],
            "objective": 1.0731351351,
            "L": 111.8459390518,
            "first": [0.5436049, 0.50068872],
            "optimality": [1.0, 1.0],
        },
        atol=1e-8,
        note="The text has no numbers; its loss has no 1/2, so the gradient is 2X'(Xw - y).",
    ),
    Example(
        place="watermelon notes Eq 10.6",
        title="ridge regression",
        zh="岭回归",
        given={"X": X, "y": Y, "lam": 1.0},
        call=ridge,
        expected={"without penalty": [0.92594595, 0.11351351], "w": [0.70889423, 0.32451923]},
    ),
    Example(
        place="watermelon notes eq. 10.3",
        title="Relief: near-hits and near-misses of six rows",
        zh="Relief：猜中近邻与猜错近邻",
        given={
            "X": [[0.1, 0.9, 0], [0.2, 0.1, 1], [0.3, 0.5, 0], [0.8, 0.6, 1], [0.9, 0.2, 0], [0.7, 0.8, 1]],
            "y": [0, 0, 0, 1, 1, 1],
            "discrete": [2],
        },
        call=relief,
        expected={"scores": [3.015625, 0.71875, -1.0], "order": [0, 1, 2]},
        note="made for the text's formula; numbers are divided by the range of their column, 0.8",
    ),
    Example(
        place="watermelon notes eq. 10.17",
        title="K-SVD: two atoms and their codes",
        zh="K-SVD：逐个更新原子及其系数",
        given={
            "X": [[1, 2, 0, 1], [0, 1, 3, 1], [2, 0, 1, 1]],
            "B": [[1, 0], [0, 1], [0, 0]],
            "A": [[1, 2, 0, 0], [0, 1, 3, 1]],
        },
        call=ksvd,
        expected={
            "error": [7.0, 5.4384471872, 4.1403016044],
            "atom 1": [0.7882054380, 0.0, 0.6154122094],
            "codes 1": [2.0190298568, 1.5764108760, 0.0, 0.0],
            "atom 2": [0.1612631262, 0.9375665573, 0.3081609236],
            "codes 2": [0.0, 0.7607576215, 3.1208605954, 1.4069906071],
        },
        note="made for the text's formula: columns and codes are restricted to the signals that use the atom",
    ),
    Example(
        place="watermelon notes eq. 10.20",
        title="restricted isometry constants of three columns",
        zh="三列矩阵的限定等距常数",
        given={"A": [[1, 0, HALF], [0, 1, HALF]]},
        call=restricted_isometry,
        expected={"delta 1": 0.0, "delta 2": 0.7071067812},
        note="made for the text's definition",
    ),
    Example(
        place="watermelon notes eq. 10.21",
        title="recovery of a sparse vector from two measurements",
        zh="由两个测量值恢复稀疏向量",
        given={"A": [[1, 0, HALF], [0, 1, HALF]], "s": [0, 0, 2]},
        call=recovery,
        expected={
            "L0": [0.0, 0.0, 2.0],
            "basis pursuit": [0.0, 0.0, 2.0],
            "L1 norm": 2.0,
            "OMP": [0.0, 0.0, 2.0],
            "denoising, alpha 0.1": [0.0, 0.0, 1.9],
        },
        note="made for the text's problem, which it then relaxes to the L1 norm",
    ),
    Example(
        place="watermelon notes eq. 10.24",
        title="completion of [[1, 2], [3, ?]]: 1 by the nuclear norm, not 6 as for rank one",
        zh="核范数补全 [[1, 2], [3, ?]]：得 1，而非秩一的 6",
        given={"X": [[1, 2], [3, None]]},
        call=completion,
        expected={"entry": 1.0, "nuclear norm": 5.0, "nuclear norm of rank one": 7.0710678119},
        rtol=1e-6,
        note="made for the text's problem: its guarantee needs conditions that a matrix of this size does not meet",
    ),
    Example(
        place="watermelon notes sec. 10.4",
        title="L0, L1 and L2 norms of a vector",
        zh="向量的 L0、L1、L2 范数",
        given={"w": [3.0, 0.0, -4.0]},
        call=norms,
        expected={"L0": 2.0, "L1": 7.0, "L2": 5.0},
        note="the text has no numbers",
    ),
    Example(
        place="watermelon notes eq. 10.1, 10.2",
        title="subset search by information gain: the class is the parity of the first two columns",
        zh="由信息增益搜索特征子集：类别是前两个特征的奇偶性",
        given={
            "X": [[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 0], [0, 0, 0], [0, 1, 1], [1, 0, 0], [1, 1, 0]],
            "y": [0, 1, 1, 0, 0, 1, 1, 0],
            "sets": [[0], [1], [2], [0, 1], [0, 1, 2]],
        },
        call=subsets,
        # Column 2 parts 8 rows into 6 (4 and 2 of the classes) and 2 (both of class 1).
        expected={
            "gain": [0.0, 0.0, 0.3112781245, 1.0, 1.0],
            "forward": [2],
            "backward": [0, 1],
            "bidirectional": [2],
            "beam": [0, 1],
        },
        note="made for the text's formula; a greedy search ends at the only column that tells something alone",
    ),
]
