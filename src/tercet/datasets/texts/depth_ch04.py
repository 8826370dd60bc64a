"""Machine Learning in Depth, chapter 4: support vector machines (支持向量机)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example


def hyperplane(w: list[float], b: float, points: Any) -> dict[str, Any]:
    from tercet.svm import geometric_margin

    normal = np.asarray(w, dtype=float)
    return {
        "slope": -normal[0] / normal[1],
        "distances": geometric_margin(points, np.ones(len(points)), normal, b),
        "distances for (3w, 3b)": geometric_margin(points, np.ones(len(points)), 3 * normal, 3 * b),
    }


def hard_margin(X: Any, y: Any) -> dict[str, Any]:
    from tercet.svm import geometric_margin, margin_width, svm_dual, svm_primal

    primal, dual = svm_primal(X, y), svm_dual(np.asarray(X) @ np.transpose(X), y)
    return {
        "α": dual.alpha,
        "w": primal.w,
        "b": primal.b,
        "optima": [primal.primal, dual.dual],
        "margin width": margin_width(primal.w),
        "distance of (3, 0)": geometric_margin(X, y, primal.w, primal.b)[3],
    }


def soft_margins(X: Any, y: Any, prices: list[float]) -> dict[str, Any]:
    from tercet.svm import SVC, svm_primal

    values: dict[str, Any] = {}
    for C in prices:
        found, model = svm_primal(X, y, C), SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
        values |= {
            f"C = {C}: w, b": [model.coef_[0, 0], model.intercept_[0]],
            f"C = {C}: ξ": found.xi,
            f"C = {C}: objective": found.primal,
        }
    return {**values, "α": model.alpha_}


def xor(X: Any, y: Any, points: Any) -> dict[str, Any]:
    from tercet.kernels import Polynomial
    from tercet.svm import SVC

    model = SVC(kernel=Polynomial(degree=2, gamma=1.0, coef0=1.0), C=np.inf, tol=1e-9).fit(X, y)
    return {
        "α": model.alpha_,
        "b": model.intercept_[0],
        "f": model.decision_function(points),
        "dual": -model.objective_[0],
        "‖w‖²": model.alpha_.sum(),
    }


def smo_steps(X: Any, y: Any, C: float, pairs: list[list[int]]) -> dict[str, Any]:
    from tercet.svm import SVC, smo_errors, smo_step

    gram = np.asarray(X) @ np.transpose(X)
    values: dict[str, Any] = {}
    alpha, b = np.zeros(len(y)), 0.0
    for i, j in pairs:
        name = f"pair ({i}, {j})"
        values[f"{name}: E"] = smo_errors(gram, y, alpha, b)
        step = smo_step(gram, y, alpha, b, C, i - 1, j - 1)
        alpha[[i - 1, j - 1]], b = (step.a1, step.a2), step.b
        values |= {
            f"{name}: L, H, η": [step.L, step.H, step.eta],
            f"{name}: unclipped": step.unclipped,
            f"{name}: α": alpha.copy(),
            f"{name}: b": b,
        }
    model = SVC(kernel="linear", C=C, algorithm="smo", tol=1e-9).fit(X, y)
    return {**values, "optimal w, b": [*model.coef_[0], model.intercept_[0]]}


def quadratic_map(x: list[float], z: list[float]) -> dict[str, Any]:
    from tercet.kernels import Homogeneous

    phi = Homogeneous(degree=2).features([x, z])
    return {"(x.z)^2": Homogeneous(degree=2)([x], [z]).item(), "map of x": phi[0], "product": phi[0] @ phi[1]}


def gaussian_series(x: list[float], z: list[float], powers: list[int]) -> dict[str, Any]:
    from tercet.kernels import Gaussian, GaussianSeries

    sums = [GaussianSeries(terms=n + 1)([x], [z]).item() for n in powers]
    return {"sums": sums, "kernel": Gaussian(gamma=1.0)([x], [z]).item()}


EXAMPLES = [
    Example(
        place="Machine Learning in Depth sec. 4.2",
        title="the line x - y = 0: its slope, and distances that do not depend on the scale of (w, b)",
        zh="直线 x - y = 0 的斜率，以及与 (w, b) 的尺度无关的距离",
        given={"w": [1, -1], "b": 0.0, "points": [[3, 0], [0, 1], [2, 2]]},
        call=hyperplane,
        expected={
            "slope": 1.0,
            "distances": [2.1213203436, -0.7071067812, 0.0],
            "distances for (3w, 3b)": [2.1213203436, -0.7071067812, 0.0],
        },
        note="the text says that the distance grows with (w, b), which only the functional margin does",
    ),
    Example(
        place="Machine Learning in Depth eq. 4.4, 4.13",
        title="hard margin, primal and dual",
        zh="硬间隔：原始问题与对偶问题",
        given={"X": [[0, 0], [2, 2], [2, 0], [3, 0]], "y": [-1, -1, 1, 1]},
        call=hard_margin,
        expected={
            "α": [0.5, 0.5, 1, 0],
            "w": [1, -1.0],
            "b": -1.0,
            "optima": [1, 1.0],
            "margin width": 1.41421356,
            "distance of (3, 0)": 1.41421356,
        },
        note="derived: the text has no numbers",
    ),
    Example(
        place="Machine Learning in Depth sec. 4.5.1",
        title="soft margins on a line",
        zh="直线上的软间隔",
        given={"X": [[0], [1], [3], [4], [2.5]], "y": [-1, -1, 1, 1, -1], "prices": [0.5, 1.0, 8.0]},
        call=soft_margins,
        expected={
            "C = 0.5: w, b": [2 / 3, -5 / 3],
            "C = 0.5: ξ": [0, 0, 2 / 3, 0, 1.0],
            "C = 0.5: objective": 1.0555555556,
            "C = 1.0: w, b": [2 / 3, -5 / 3],
            "C = 1.0: ξ": [0, 0, 2 / 3, 0, 1.0],
            "C = 1.0: objective": 1.8888888889,
            "C = 8.0: w, b": [4, -11.0],
            "C = 8.0: ξ": [0, 0, 0, 0, 0.0],
            "C = 8.0: objective": 8.0,
            "α": [0, 0, 8, 0, 8.0],
        },
        note="derived: the text has no numbers",
    ),
    Example(
        place="Machine Learning in Depth sec. 4.6",
        title="XOR with the kernel (1 + x.z)^2",
        zh="用核函数 (1 + x·z)² 解异或问题",
        given={
            "X": [[-1, -1], [-1, 1], [1, -1], [1, 1]],
            "y": [-1, 1, 1, -1],
            "points": [[-1, -1], [-1, 1], [0.5, 2], [3, -0.5]],
        },
        call=xor,
        expected={"α": [0.125] * 4, "b": 0.0, "f": [-1, 1, -1, 1.5], "dual": 0.25, "‖w‖²": 0.5},
        note="derived: f(x) = -x1 x2",
    ),
    Example(
        place="Machine Learning in Depth eq. 4.26-4.32",
        title="two SMO steps",
        zh="两步 SMO",
        given={
            "X": [[1, 0], [0, 1], [2, 2], [3, 1]],
            "y": [-1, -1, 1, 1],
            "C": 1.0,
            "pairs": [[1, 3], [2, 3]],
        },
        call=smo_steps,
        expected={
            "pair (1, 3): E": [1, 1, -1, -1.0],
            "pair (1, 3): L, H, η": [0, 1, 5.0],
            "pair (1, 3): unclipped": 0.4,
            "pair (1, 3): α": [0.4, 0, 0.4, 0],
            "pair (1, 3): b": -1.4,
            "pair (2, 3): E": [0, 0.4, 0, -0.4],
            "pair (2, 3): L, H, η": [0.4, 1, 5.0],
            "pair (2, 3): unclipped": 0.48,
            "pair (2, 3): α": [0.4, 0.08, 0.48, 0],
            "pair (2, 3): b": -1.88,
            "optimal w, b": [2 / 3, 2 / 3, -5 / 3],
        },
        note="derived. Printed wrong: H of equal labels as min(C, a2 - a1), η as K11 + K12 - 2 K12, and in b1 "
        "(4.31) a1 new - a2 new for a1 new - a1 old",
    ),
    Example(
        place="Machine Learning in Depth sec. 4.7.2",
        title="the quadratic kernel is a product of three features",
        zh="二次核函数与三维特征映射",
        given={"x": [1, 2], "z": [3, -1]},
        call=quadratic_map,
        expected={"(x.z)^2": 1.0, "map of x": [1, 2.8284271247, 4.0], "product": 1.0},
        note="derived; the map's second feature is printed as √2 x1² x2², and is √2 x1 x2",
    ),
    Example(
        place="Machine Learning in Depth sec. 4.7.2",
        title="the Gaussian kernel as an infinite sum of powers, up to the 2nd, 5th and 10th",
        zh="高斯核展开为无穷级数：取到 2、5、10 次",
        given={"x": [1, 2], "z": [3, -1], "powers": [2, 5, 10]},
        call=gaussian_series,
        expected={
            "sums": [1.52951160e-06, 2.22289020e-06, 2.26031063e-06],
            "kernel": 2.2603294e-06,
        },
        atol=1e-13,
        note="derived: the text has no numbers",
    ),
]
