"""Watermelon notes, chapter 4: support vector machines (支持向量机)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example


def hard_margin(X: Any, y: Any) -> dict[str, Any]:
    from tercet.svm import margin_width, svm_dual, svm_primal

    primal, dual = svm_primal(X, y), svm_dual(np.asarray(X) @ np.transpose(X), y)
    return {
        "w": primal.w,
        "b": primal.b,
        "margin width": margin_width(primal.w),
        "optima": [primal.primal, dual.dual],
    }


def soft_margin(x: list[float], y: Any, C: float) -> dict[str, Any]:
    from tercet.svm import SVC, kkt_report, support_categories

    X = np.reshape(x, (-1, 1))
    model = SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
    report = kkt_report(model, X, y, tol=1e-6)
    return {
        "α": model.alpha_,
        "w, b": [model.coef_[0, 0], model.intercept_[0]],
        "ξ": report.slack,
        "primal and dual": [report.primal_value, report.dual_value],
        "kinds": support_categories(report.alpha, report.slack, C),
    }


def xor(X: Any, y: Any) -> dict[str, Any]:
    from tercet.kernels import Homogeneous, Polynomial
    from tercet.svm import SVC

    values: dict[str, Any] = {}
    kernels = {"(x.z)²": Homogeneous(degree=2), "(1 + x.z)²": Polynomial(degree=2, gamma=1.0, coef0=1.0)}
    for name, kernel in kernels.items():
        model = SVC(kernel=kernel, C=np.inf, tol=1e-9).fit(X, y)
        values |= {
            f"{name}: α": model.alpha_,
            f"{name}: b": model.intercept_[0],
            f"{name}: f": model.decision_function(X),
        }
    return values


def regression(x: list[float], y: list[float], epsilon: float, C: float) -> dict[str, Any]:
    from tercet.svm import SVR, kkt_report

    X = np.reshape(x, (-1, 1))
    model = SVR(kernel="linear", C=C, epsilon=epsilon, tol=1e-9).fit(X, y)
    up, down = model.alpha_
    return {
        "w, b": [model.coef_[0, 0], model.intercept_[0]],
        "objective": kkt_report(model, X, y).primal_value,
        "α̂ - α": up - down,
        "α̂ α": up * down,
    }


def kernel_values(x: list[float], z: list[float]) -> dict[str, Any]:
    from tercet.kernels import Gaussian, Homogeneous, Laplacian, Linear, Sigmoid

    kernels = {
        "linear": Linear(),
        "polynomial, d = 3": Homogeneous(degree=3),
        "Gaussian, s = 2": Gaussian(sigma=2.0),
        "Laplacian, s = 2": Laplacian(sigma=2.0),
        "sigmoid, beta = 0.5, theta = -1": Sigmoid(gamma=0.5, coef0=-1.0),
    }
    return {name: kernel([x], [z]).item() for name, kernel in kernels.items()}


def kernel_closure(x: list[float], z: list[float]) -> dict[str, Any]:
    from tercet.kernels import Conformal, Gaussian, Linear

    linear, gaussian = Linear(), Gaussian(sigma=2.0)
    return {
        "2 k1 + 3 k2": (linear * 2.0 + gaussian * 3.0)([x], [z]).item(),
        "k1 k2": (linear * gaussian)([x], [z]).item(),
        "g(x) k2 g(z)": Conformal(gaussian, lambda X: np.sum(X, axis=1))([x], [z]).item(),
    }


def kernel_lda(X: Any, y: list[int], mu: float) -> dict[str, Any]:
    from tercet.kernel_machines import KernelFisherDiscriminant, scatter_in_kernel
    from tercet.kernels import Linear

    model = KernelFisherDiscriminant(mu, kernel="linear", solver="linear").fit(X, y)
    alpha = -model.alphas_[:, 0]  # the text's is along the first class's mean less the second's
    w = np.transpose(X) @ alpha
    means, N = scatter_in_kernel(Linear()(X), y)
    M = np.outer(means[0] - means[1], means[0] - means[1])
    return {"direction": w / np.linalg.norm(w), "J": float(alpha @ M @ alpha / (alpha @ N @ alpha))}


def kernel_ridge(x: list[float], y: list[float], alpha: float) -> dict[str, Any]:
    from tercet.kernel_machines import KernelRidge
    from tercet.kernels import Polynomial

    X = np.reshape(x, (-1, 1))
    model = KernelRidge(alpha, kernel=Polynomial(degree=2, gamma=1.0, coef0=1.0)).fit(X, y)
    return {"a": model.dual_coef_, "fit": model.predict(X)}


EXAMPLES = [
    Example(
        place="watermelon notes ch. 4, eq. 4.5-4.9",
        title="hard margin, primal and dual",
        zh="硬间隔：基本型与对偶问题",
        given={"X": [[1, 1], [2, 0], [3, 3], [4, 2], [3, 4]], "y": [-1, -1, 1, 1, 1]},
        call=hard_margin,
        expected={"w": [0.5, 0.5], "b": -2.0, "margin width": 2.8284271247, "optima": [0.25, 0.25]},
        note="derived; alpha is not unique, w is",
    ),
    Example(
        place="watermelon notes ch. 4, eq. 4.31-4.32",
        title="soft margin on a line, and what each point is to it",
        zh="直线上的软间隔，以及各样本的位置",
        given={"x": [0, 1, 2, 1.5, 3, 4], "y": [-1, -1, -1, 1, 1, 1], "C": 1.0},
        call=soft_margin,
        expected={
            "α": [0, 0.75, 1, 1, 0.75, 0],
            "w, b": [1, -2.0],
            "ξ": [0, 0, 1, 1.5, 0, 0],
            "primal and dual": [3, 3.0],
            "kinds": ["none", "boundary", "hyperplane", "wrong", "boundary", "none"],
        },
        atol=1e-8,
        note="derived: the text has no numbers",
    ),
    Example(
        place="watermelon notes ch. 4, eq. 4.19",
        title="XOR with two polynomial kernels",
        zh="用两种多项式核解异或问题",
        given={"X": [[-1, -1], [-1, 1], [1, -1], [1, 1]], "y": [-1, 1, 1, -1]},
        call=xor,
        expected={
            f"{kernel}: {name}": value
            for kernel in ("(x.z)²", "(1 + x.z)²")
            for name, value in (("α", [0.125] * 4), ("b", 0.0), ("f", [-1, 1, 1, -1.0]))
        },
        note="derived: the text has no numbers",
    ),
    Example(
        place="watermelon notes ch. 4, eq. 4.39-4.43",
        title="support vector regression",
        zh="支持向量回归",
        given={"x": [0, 1, 2, 3], "y": [0, 1.2, 1.8, 3.3], "epsilon": 0.2, "C": 10.0},
        call=regression,
        expected={
            "w, b": [1.05, -0.05],
            "objective": 1.05125,
            "α̂ - α": [0, 4.475, -10, 5.525],
            "α̂ α": [0, 0, 0, 0.0],
        },
        atol=1e-8,
        note="derived; eq. 4.39 and 4.42 are printed wrong (products of differences; the sign of epsilon)",
    ),
    Example(
        place="watermelon notes ch. 4, eq. 4.39-4.43",
        title="support vector regression without a multiplier inside its bounds",
        zh="支持向量回归：没有严格位于界内的乘子",
        given={"x": [0, 1, 2, 3], "y": [0, 1.2, 1.8, 3.3], "epsilon": 0.1, "C": 0.1},
        call=regression,
        expected={
            "w, b": [0.4, 0.9],
            "objective": 0.27,
            "α̂ - α": [-0.1, -0.1, 0.1, 0.1],
            "α̂ α": [0, 0, 0, 0.0],
        },
        note="derived; b is the middle of the interval of those that fit",
    ),
    Example(
        place="watermelon notes ch. 4, Table 6.1",
        title="the five usual kernels of (1, 2) and (3, -1)",
        zh="(1, 2) 与 (3, -1) 的五种常用核函数值",
        given={"x": [1, 2], "z": [3, -1]},
        call=kernel_values,
        expected={
            "linear": 1.0,
            "polynomial, d = 3": 1.0,
            "Gaussian, s = 2": 0.1969116752,
            "Laplacian, s = 2": 0.1648407145,
            "sigmoid, beta = 0.5, theta = -1": -0.4621171573,
        },
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 4, eq. 4.21-4.23",
        title="sum, product and rescaling of kernels: k1 linear, k2 Gaussian with s = 2, g(x) = x1 + x2",
        zh="核函数的和、积与变换：k1 为线性核，k2 为高斯核（s = 2），g(x) = x1 + x2",
        given={"x": [1, 2], "z": [3, -1]},
        call=kernel_closure,
        expected={"2 k1 + 3 k2": 2.5907350256, "k1 k2": 0.1969116752, "g(x) k2 g(z)": 1.1814700512},
        note="derived; eq. 4.21 is printed with = for +",
    ),
    Example(
        place="watermelon notes ch. 4, eq. 4.52",
        title="kernel LDA with a linear kernel is LDA",
        zh="核线性判别分析：线性核时即线性判别分析",
        given={
            "X": [[1, 2], [2, 3], [3, 3], [6, 5], [7, 8], [8, 6]],
            "y": [0, 0, 0, 1, 1, 1],
            "mu": 1e-8,
        },
        call=kernel_lda,
        expected={"direction": [-0.97208221, -0.23464053], "J": 6.5641025641},
        rtol=1e-7,
        atol=1e-7,
        note="derived; in eq. 4.52 the upper limit l is 1, and l_0 is the vector of ones for class 0",
    ),
    Example(
        place="watermelon notes ch. 4, eq. 4.45",
        title="kernel ridge regression by the representer theorem, k = (1 + xz)^2",
        zh="表示定理：核岭回归，k = (1 + xz)^2",
        given={"x": [0, 1, 2], "y": [0, 1, 4], "alpha": 0.5},
        call=kernel_ridge,
        expected={
            "a": [0.03883495, -0.33009709, 0.27184466],
            "fit": [-0.01941748, 1.16504854, 3.86407767],
        },
        atol=1e-8,
        note="derived",
    ),
]
