"""Pattern Recognition, section 5.6: kernel machines (核函数机器)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

MADE = "The text has no numbers here; these were worked out from its formulas."


def kernel_fisher(X1: Any, X2: Any, gamma: float, mu: float, points: Any) -> dict[str, Any]:
    from tercet.kernel_machines import KernelFisherDiscriminant, scatter_in_kernel
    from tercet.kernels import Gaussian

    X, y = np.vstack([X1, X2]), np.repeat([1, -1], [len(X1), len(X2)])
    kernel = Gaussian(gamma=gamma)
    model = KernelFisherDiscriminant(kernel=kernel, mu=mu, solver="linear").fit(X, y)
    top = KernelFisherDiscriminant(kernel=kernel, mu=mu, solver="eigen").fit(X, y)
    alpha = model.alphas_[:, 0]
    means, N = scatter_in_kernel(kernel(X), y)
    M = np.outer(means[1] - means[0], means[1] - means[0])
    return {
        "alpha": alpha,
        "J": float(alpha @ M @ alpha / (alpha @ N @ alpha)),
        "projections": model.transform(points)[:, 0],
        "eigenvector has the same direction": bool(
            np.allclose(top.alphas_[:, 0] / np.linalg.norm(top.alphas_), alpha / np.linalg.norm(alpha))
        ),
    }


def linear_kernel(X1: Any, X2: Any, mu: float) -> dict[str, Any]:
    from tercet.kernel_machines import KernelFisherDiscriminant

    X, y = np.vstack([X1, X2]), np.repeat([1, -1], [len(X1), len(X2)])
    model = KernelFisherDiscriminant(kernel="linear", mu=mu, solver="linear").fit(X, y)
    w = X.T @ model.alphas_[:, 0]
    return {"direction": w / np.linalg.norm(w)}


def squared_errors(x: Any, y: Any, gamma: float, mu: float) -> dict[str, Any]:
    from tercet.kernel_machines import LSSVC, KernelRidge, kernel_mse
    from tercet.kernels import Gaussian

    kernel = Gaussian(gamma=gamma)
    X = np.reshape(x, (-1, 1))
    ridge = KernelRidge(mu, kernel=kernel).fit(X, y)
    machine = LSSVC(mu, kernel=kernel).fit(X, y)
    alpha, b = kernel_mse(kernel(X), y, mu)
    return {
        "ridge: alpha": ridge.dual_coef_,
        "LS-SVM: alpha": machine.dual_coef_[0],
        "LS-SVM: b": machine.intercept_[0],
        "KMSE: alpha": alpha,
        "KMSE: b": b,
    }


X1, X2 = [[0, 0], [1, 0], [0, 1]], [[3, 3], [4, 3], [3, 5]]


def central(X1: Any, X2: Any, small: float, large: float, blend: float) -> dict[str, Any]:
    from tercet.svm import CentralSVC

    X, y = np.vstack([X1, X2]), np.repeat([1, -1], [len(X1), len(X2)])
    hard: dict[str, Any] = {"C": np.inf, "kernel": "linear", "tol": 1e-11}
    near, far = (CentralSVC(epsilon=epsilon, **hard).fit(X, y) for epsilon in (small, large))
    border, mixed = (CentralSVC(blend=part, **hard).fit(X, y) for part in (0.0, blend))
    return {
        "small epsilon: w": near.coef_[0],
        "small epsilon: beta": near.beta_[0],
        "small epsilon: central margin": near.central_margin_[0],
        "small epsilon: b, from and to": near.intercept_interval_[0],
        "large epsilon: w": far.coef_[0],
        "large epsilon: b": far.intercept_[0],
        "large epsilon: alpha": far.alpha_[0],
        "large epsilon: beta": far.beta_[0],
        "large epsilon: central margin": far.central_margin_[0],
        "SVM: w": border.coef_[0],
        "SVM: b": border.intercept_[0],
        "blend: w": mixed.coef_[0],
    }


EXAMPLES = [
    Example(
        place="Pattern Recognition Eq 5-85",
        title="kernel Fisher discriminant with a Gaussian kernel",
        zh="核 Fisher 判别 (高斯核)",
        given={"X1": X1, "X2": X2, "gamma": 0.25, "mu": 0.1, "points": [[1, 1], [2, 2]]},
        call=kernel_fisher,
        expected={
            "alpha": [6.64236299, 8.07368800, 8.05369861, -5.11860708, -5.13767503, -7.34825353],
            "J": 727.143748,
            "projections": [15.6473686, 0.3397777],
            "eigenvector has the same direction": True,
        },
        rtol=1e-8,
        atol=1e-7,
        note=MADE,
    ),
    Example(
        place="Pattern Recognition Eq 5-87",
        title="with a linear kernel, Fisher's own direction",
        zh="核 Fisher 判别 (线性核)",
        given={"X1": X1, "X2": X2, "mu": 1e-9},
        call=linear_kernel,
        expected={"direction": [-0.87312568, -0.48749517]},
        atol=1e-6,
        note=MADE,
    ),
    Example(
        place="Pattern Recognition Sec 5.6.2",
        title="kernel ridge regression and the least-squares SVM as kernel MSE",
        zh="核最小平方误差: 核岭回归与最小二乘支持向量机",
        given={"x": [0, 1, 2], "y": [1, -1, 1], "gamma": 1.0, "mu": 0.5},
        call=squared_errors,
        expected={
            "ridge: alpha": [0.93077374, -1.1232167, 0.93077374],
            "LS-SVM: alpha": [0.65642687, -1.31285375, 0.65642687],
            "LS-SVM: b": 0.48630872,
            "KMSE: alpha": [0.65642687, -1.31285375, 0.65642687],
            "KMSE: b": 0.48630872,
        },
        atol=1e-8,
        note="Named in a note of the text; the numbers were worked out from the literature's formulas.",
    ),
    Example(
        place="Pattern Recognition Eq 5-88 to 5-98",
        title="central support vector machines: two epsilons, and a blend",
        zh="中心支持向量机：两个 ε 与折中",
        given={
            "X1": [[2, 2], [3, 3], [4, 1]],
            "X2": [[0, 0], [-1, 1], [0, -2], [1.5, 1.2]],
            "small": 0.12,
            "large": 0.15,
            "blend": 0.5,
        },
        call=central,
        expected={
            "small epsilon: w": [0.23823088, 0.16158268],
            "small epsilon: beta": 0.08286291,
            "small epsilon: central margin": 3.47392070,
            "small epsilon: b, from and to": [-0.67962712, -0.67124553],
            "large epsilon: w": [0.16226415, 0.27358491],
            "large epsilon: b": -0.72169811,
            "large epsilon: alpha": [0.35482378, 0, 0, 0, 0, 0, 0.35482378],
            "large epsilon: beta": -0.00526878,
            "large epsilon: central margin": 3.14380929,
            "SVM: w": [1.12359551, 1.79775281],
            "SVM: b": -4.84269663,
            "blend: w": [1.99929775, 1.87387640],
        },
        note=MADE,
    ),
]
