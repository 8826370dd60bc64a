"""Text 002, chapter 10: feature selection and sparse learning (特征选择与稀疏学习)."""

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


EXAMPLES = [
    Example(
        place="002 eq. 10.13",
        title="soft thresholding",
        zh="软阈值",
        given={"z": [3.0, -0.5, 1.0, -2.0], "ratio": 1.0},
        call=threshold,
        expected={"x": [2.0, 0.0, 0.0, -1.0]},
    ),
    Example(
        place="002 eq. 10.7",
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
        place="002 Eq 10.6",
        title="ridge regression",
        zh="岭回归",
        given={"X": X, "y": Y, "lam": 1.0},
        call=ridge,
        expected={"without penalty": [0.92594595, 0.11351351], "w": [0.70889423, 0.32451923]},
    ),
    Example(
        place="002 eq. 10.3",
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
        place="002 10.4",
        title="L0, L1 and L2 norms of a vector",
        zh="向量的 L0、L1、L2 范数",
        given={"w": [3.0, 0.0, -4.0]},
        call=norms,
        expected={"L0": 2.0, "L1": 7.0, "L2": 5.0},
        note="the text has no numbers",
    ),
    Example(
        place="002 eq. 10.1, 10.2",
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
