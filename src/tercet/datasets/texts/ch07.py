"""Li, chapter 7: support vector machines (支持向量机)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

X, Y = [[3, 3], [4, 3], [1, 1]], [1, 1, -1]


def maximum_margin(X: Any, y: Any) -> dict[str, Any]:
    from tercet.linear_model import functional_margin
    from tercet.svm import geometric_margin, margin_width, svm_primal

    found = svm_primal(X, y)
    return {
        "w": found.w,
        "b": found.b,
        "optimum": found.primal,
        "functional margins": functional_margin(X, y, found.w, found.b),
        "geometric margins": geometric_margin(X, y, found.w, found.b),
        "margin width": margin_width(found.w),
    }


def dual(X: Any, y: Any) -> dict[str, Any]:
    from tercet.svm import svm_dual

    rows, side = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    gram = rows @ rows.T
    found = svm_dual(gram, y)
    # With a3 = a1 + a2 the objective has two variables, and a minimum outside of the first quadrant.
    turn = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    Q = turn.T @ (np.outer(side, side) * gram) @ turn

    def s(a: list[float]) -> float:
        return float(np.asarray(a) @ Q @ a / 2 - 2 * np.sum(a))

    return {
        "Gram matrix": gram,
        "s: a1², a2², a1 a2, a1, a2": [Q[0, 0] / 2, Q[1, 1] / 2, Q[0, 1], -2.0, -2.0],
        "stationary point": np.linalg.solve(Q, [2.0, 2.0]),
        "s(0, 2/13)": s([0, 2 / 13]),
        "s(1/4, 0)": s([0.25, 0]),
        "α": found.alpha,
        "w": (found.alpha * side) @ rows,
        "b": found.b,
        "support vectors": found.support + 1,
        "optimum": found.dual,
    }


def four_algorithms(X: Any, y: Any) -> dict[str, Any]:
    from tercet.svm import SVC

    names: list[Any] = ["working-set", "smo", "dual-qp", "primal-qp"]
    models = [SVC(kernel="linear", C=np.inf, algorithm=name, tol=1e-9).fit(X, y) for name in names]
    return {f"w, b by {name}": [*model.coef_[0], model.intercept_[0]] for name, model in zip(names, models)}


def smo_steps(X: Any, y: Any, C: float, pairs: list[list[int]]) -> dict[str, Any]:
    from tercet.svm import smo_errors, smo_step

    gram, zero = np.asarray(X) @ np.transpose(X), np.zeros(len(y))
    values: dict[str, Any] = {"E": smo_errors(gram, y, zero)}
    for i, j in pairs:
        step = smo_step(gram, y, zero, 0.0, C, i - 1, j - 1)
        alpha = zero.copy()
        alpha[[i - 1, j - 1]] = step.a1, step.a2
        name = f"pair ({i}, {j})"
        values |= {
            f"{name}: L, H, η": [step.L, step.H, step.eta],
            f"{name}: unclipped": step.unclipped,
            f"{name}: α": alpha,
            f"{name}: b1, b2, b": [step.b1, step.b2, step.b],
            f"{name}: E": smo_errors(gram, y, alpha, step.b),
            f"{name}: objective": -step.decrease,
        }
    return values


def smo_run(X: Any, y: Any, C: float) -> dict[str, Any]:
    from tercet.svm import SVC

    model = SVC(kernel="linear", C=C, algorithm="smo", record=True).fit(X, y)
    steps: Any = model.updates_[0]
    last = steps[-1]
    return {
        "pairs": [[step["first"] + 1, step["second"] + 1] for step in steps],
        "α": model.alpha_,
        "b1, b2, b of the last step": [last["b1"], last["b2"], last["b"]],
        "E after it": last["errors"],
        "b": model.intercept_[0],
        "interval of b": model.intercept_interval_[0],
    }


def soft_margins(X: Any, y: Any, prices: list[float]) -> dict[str, Any]:
    from tercet.svm import svm_dual, svm_primal

    values: dict[str, Any] = {}
    for C in prices:
        primal = svm_primal(X, y, C)
        dual = svm_dual(np.asarray(X) @ np.transpose(X), y, C)
        values |= {
            f"C = {C}: α": dual.alpha,
            f"C = {C}: w": primal.w,
            f"C = {C}: ξ": primal.xi,
            f"C = {C}: interval of b": primal.interval,
            f"C = {C}: optima": [primal.primal, dual.dual],
        }
    return values


def squared_slack(X: Any, y: Any, C: float) -> dict[str, Any]:
    from tercet.svm import SVC, svm_primal

    found = svm_primal(X, y, C, slack="squared")
    model = SVC(kernel="linear", C=C, loss="squared_hinge", tol=1e-9).fit(X, y)
    return {
        "α": model.alpha_,
        "w": model.coef_[0],
        "b": model.intercept_[0],
        "ξ": found.xi,
        "optimum": found.primal,
    }


def hinge_form(X: Any, y: Any, prices: list[float]) -> dict[str, Any]:
    from tercet.svm import HingeSVC

    models = {C: HingeSVC(lam=1 / (2 * C), random_state=0).fit(X, y) for C in prices}
    values: dict[str, Any] = {}
    for C, model in models.items():
        values |= {
            f"C = {C}: w": model.coef_[0],
            f"C = {C}: b": model.intercept_[0],
            f"C = {C}: objective, and C times it": [model.objective_[0], C * model.objective_[0]],
        }
    return values


def hinge_losses(margins: list[float]) -> dict[str, Any]:
    from tercet.losses import loss

    return {name: loss(name).value(1, margins) for name in ("hinge", "perceptron")}


def kkt(X: Any, y: Any, C: float) -> dict[str, Any]:
    from tercet.svm import SVC, kkt_report

    model = SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
    report = kkt_report(model, X, y, tol=1e-6)
    return {
        "ξ": report.slack,
        "holds": report.holds,
        "worst residual": report.worst,
        "primal and dual": [report.primal_value, report.dual_value],
    }


def feature_maps(x: list[float], z: list[float]) -> dict[str, Any]:
    from tercet.kernels import Homogeneous

    kernels = {name: Homogeneous(degree=2, map=name) for name in ("monomials", "turned", "ordered")}
    maps = {name: kernel.features([x, z]) for name, kernel in kernels.items()}
    return {
        "K(x, z)": Homogeneous(degree=2)([x], [z]).item(),
        **{name: phi[0] for name, phi in maps.items()},
        "products": [float(phi[0] @ phi[1]) for phi in maps.values()],
    }


def subsequence_features(strings: list[str], u: str, decay: float) -> dict[str, Any]:
    from tercet.kernels import subsequence_feature

    return {s: subsequence_feature(s, u, decay) for s in strings}


def subsequence_kernel(strings: list[str], n: int, decays: list[float]) -> dict[str, Any]:
    from tercet.kernels import Subsequence

    kernels = {f"decay {decay}": Subsequence(n, decay) for decay in decays}
    cosines = [Subsequence(n, decay, normalize=True)(strings)[0, 1] for decay in decays]
    return {**{name: K(strings) for name, K in kernels.items()}, "cosines": cosines}


def rkhs(coef: list[float], points: list[list[float]], sigma: float, x: list[float]) -> dict[str, Any]:
    from tercet.kernels import Gaussian, RKHSFunction

    kernel = Gaussian(sigma=sigma)
    f = RKHSFunction(coef, points, kernel)
    return {
        "|f|^2": f.inner(f),
        "f(x)": f([x]).item(),
        "K(., x) . f": RKHSFunction.at(x, kernel).inner(f),
    }


EXAMPLES = [
    Example(
        place="Li Ex 7.1",
        title="the maximum margin method",
        zh="最大间隔法",
        given={"X": X, "y": Y},
        call=maximum_margin,
        expected={
            "w": [0.5, 0.5],
            "b": -2.0,
            "optimum": 0.25,
            "functional margins": [1, 1.5, 1.0],
            "geometric margins": [1.4142135624, 2.1213203436, 1.4142135624],
            "margin width": 2.8284271247,
        },
    ),
    Example(
        place="Li Ex 7.1",
        title="one hyperplane by four algorithms",
        zh="四种算法得到同一个超平面",
        given={"X": X, "y": Y},
        call=four_algorithms,
        expected={
            f"w, b by {name}": [0.5, 0.5, -2.0] for name in ("working-set", "smo", "dual-qp", "primal-qp")
        },
    ),
    Example(
        place="Li Ex 7.2",
        title="the dual algorithm",
        zh="线性可分支持向量机的对偶算法",
        given={"X": X, "y": Y},
        call=dual,
        expected={
            "Gram matrix": [[18, 21, 6], [21, 25, 7], [6, 7, 2.0]],
            "s: a1², a2², a1 a2, a1, a2": [4, 6.5, 10, -2, -2.0],
            "stationary point": [1.5, -1.0],
            "s(0, 2/13)": -2 / 13,
            "s(1/4, 0)": -0.25,
            "α": [0.25, 0, 0.25],
            "w": [0.5, 0.5],
            "b": -2.0,
            "support vectors": [1, 3],
            "optimum": 0.25,
        },
    ),
    Example(
        place="Li Thm 7.6",
        title="one SMO step from zero, with two pairs",
        zh="从零开始的一步 SMO（两种变量对）",
        given={"X": X, "y": Y, "C": 10.0, "pairs": [[1, 3], [2, 3]]},
        call=smo_steps,
        expected={
            "E": [-1, -1, 1.0],
            "pair (1, 3): L, H, η": [0, 10, 8.0],
            "pair (1, 3): unclipped": 0.25,
            "pair (1, 3): α": [0.25, 0, 0.25],
            "pair (1, 3): b1, b2, b": [-2, -2, -2.0],
            "pair (1, 3): E": [0, 0.5, 0.0],
            "pair (1, 3): objective": -0.25,
            "pair (2, 3): L, H, η": [0, 10, 13.0],
            "pair (2, 3): unclipped": 2 / 13,
            "pair (2, 3): α": [0, 2 / 13, 2 / 13],
            "pair (2, 3): b1, b2, b": [-23 / 13, -23 / 13, -23 / 13],
            "pair (2, 3): E": [-6 / 13, 0, 0.0],
            "pair (2, 3): objective": -2 / 13,
        },
        note="derived on the data of Example 7.1",
    ),
    Example(
        place="Li Alg 7.5",
        title="SMO with its own choice of variables",
        zh="SMO 算法（按启发式规则选择变量）",
        given={"X": X, "y": Y, "C": 10.0},
        call=smo_run,
        expected={
            "pairs": [[1, 3]],
            "α": [0.25, 0, 0.25],
            "b1, b2, b of the last step": [-2, -2, -2.0],
            "E after it": [0, 0.5, 0.0],
            "b": -2.0,
            "interval of b": [-2, -2.0],
        },
        note="derived on the data of Example 7.1",
    ),
    Example(
        place="Li Alg 7.5",
        title="where the stopping rule of the text would never be met: C = 0.1",
        zh="书上的停机条件永远不满足的情形：C = 0.1",
        given={"X": X, "y": Y, "C": 0.1},
        call=smo_run,
        expected={
            "pairs": [[1, 3]],
            "α": [0.1, 0, 0.1],
            "b1, b2, b of the last step": [-0.2, -1.4, -0.8],
            "E after it": [-0.6, -0.4, 0.6],
            "b": -0.3,
            "interval of b": [-0.4, -0.2],
        },
        note="both multipliers are at C after one step, which is the optimum; but with the middle of b1 and b2 the "
        "second point looks like a violator, and no pair can move. The test here is one without b",
    ),
    Example(
        place="Li eq. 7.32, 7.37",
        title="soft margins: b is an interval where no multiplier is inside its bounds",
        zh="软间隔：没有 0 < α < C 的样本时 b 是一个区间",
        given={"X": X, "y": Y, "prices": [1.0, 0.2, 0.1]},
        call=soft_margins,
        expected={
            "C = 1.0: α": [0.25, 0, 0.25],
            "C = 1.0: w": [0.5, 0.5],
            "C = 1.0: ξ": [0, 0, 0.0],
            "C = 1.0: interval of b": [-2, -2.0],
            "C = 1.0: optima": [0.25, 0.25],
            "C = 0.2: α": [0.2, 0, 0.2],
            "C = 0.2: w": [0.4, 0.4],
            "C = 0.2: ξ": [0.2, 0, 0.2],
            "C = 0.2: interval of b": [-1.8, -1.4],
            "C = 0.2: optima": [0.24, 0.24],
            "C = 0.1: α": [0.1, 0, 0.1],
            "C = 0.1: w": [0.2, 0.2],
            "C = 0.1: ξ": [0.1, 0, 1.1],
            "C = 0.1: interval of b": [-0.4, -0.2],
            "C = 0.1: optima": [0.16, 0.16],
        },
        note="derived on the data of Example 7.1; ξ is that of the middle of the interval",
    ),
    Example(
        place="Li Thm 7.4",
        title="a penalised hinge loss with λ = 1/(2C) is a soft margin",
        zh="合页损失加正则项（λ = 1/(2C)）即软间隔",
        given={"X": X, "y": Y, "prices": [1.0, 0.2, 0.1]},
        call=hinge_form,
        expected={
            "C = 1.0: w": [0.5, 0.5],
            "C = 1.0: b": -2.0,
            "C = 1.0: objective, and C times it": [0.25, 0.25],
            "C = 0.2: w": [0.4, 0.4],
            "C = 0.2: b": -1.6,
            "C = 0.2: objective, and C times it": [1.2, 0.24],
            "C = 0.1: w": [0.2, 0.2],
            "C = 0.1: b": -0.3,
            "C = 0.1: objective, and C times it": [1.6, 0.16],
        },
        note="derived on the data of Example 7.1; of an interval of b it is the middle",
    ),
    Example(
        place="Li eq. 7.58, fig. 7.6",
        title="hinge and perceptron losses of margins y f(x)",
        zh="合页损失与感知机损失",
        given={"margins": [-1, -0.5, 0, 0.5, 1, 2]},
        call=hinge_losses,
        expected={"hinge": [2, 1.5, 1, 0.5, 0, 0.0], "perceptron": [1, 0.5, 0, 0, 0, 0.0]},
        note="derived",
    ),
    Example(
        place="Li exercise 7.3",
        title="squared slacks",
        zh="平方松弛变量",
        given={"X": X, "y": Y, "C": 1.0},
        call=squared_slack,
        expected={
            "α": [2 / 9, 0, 2 / 9],
            "w": [4 / 9, 4 / 9],
            "b": -16 / 9,
            "ξ": [1 / 9, 0, 1 / 9],
            "optimum": 2 / 9,
        },
        note="derived on the data of Example 7.1",
    ),
    Example(
        place="Li eq. 7.52-7.54",
        title="the KKT conditions and the duality gap of a soft margin, C = 0.1",
        zh="软间隔的 KKT 条件与对偶间隙，C = 0.1",
        given={"X": X, "y": Y, "C": 0.1},
        call=kkt,
        expected={"ξ": [0.1, 0, 1.1], "holds": True, "worst residual": 0.0, "primal and dual": [0.16, 0.16]},
        note="derived on the data of Example 7.1",
    ),
    Example(
        place="Li Ex 7.3",
        title="three feature maps of one kernel, K(x, z) = (x.z)^2",
        zh="核函数 K(x, z) = (x·z)² 的三个映射",
        given={"x": [1, 2], "z": [3, 4]},
        call=feature_maps,
        expected={
            "K(x, z)": 121.0,
            "monomials": [1, 2.8284271247, 4.0],
            "turned": [-2.1213203436, 2.8284271247, 3.5355339059],
            "ordered": [1, 2, 2, 4.0],
            "products": [121, 121, 121.0],
        },
        note="derived: the text has no numbers",
    ),
    Example(
        place="Li eq. 7.92",
        title='the feature "asd" of two strings',
        zh="字符串的特征值（子串 asd）",
        given={"strings": ["Nasdaq", "lass das"], "u": "asd", "decay": 0.5},
        call=subsequence_features,
        expected={"Nasdaq": 0.5**3, "lass das": 2 * 0.5**5},
    ),
    Example(
        place="Li eq. 7.93",
        title="the string kernel of two strings, subsequences of 3 characters",
        zh="字符串核函数（长度为 3 的子串）",
        given={"strings": ["Nasdaq", "lass das"], "n": 3, "decays": [1.0, 0.5]},
        call=subsequence_kernel,
        expected={
            "decay 1.0": [[22, 7], [7, 104.0]],
            "decay 0.5": [[0.09326171875, 0.0224609375], [0.0224609375, 0.210968017578125]],
            "cosines": [0.1463423518, 0.1601282144],
        },
        note="derived; the text calls the kernel a cosine, which only the normalised one is",
    ),
    Example(
        place="Li eq. 7.93",
        title='the string kernel of "cat" and "car", subsequences of 2 characters',
        zh="字符串核函数（cat 与 car，长度为 2 的子串）",
        given={"strings": ["cat", "car"], "n": 2, "decays": [0.5]},
        call=subsequence_kernel,
        expected={
            "decay 0.5": [[0.140625, 0.0625], [0.0625, 0.140625]],
            "cosines": [0.4444444444],
        },
        note="derived: decay^4 off the diagonal, 2 decay^4 + decay^6 on it",
    ),
    Example(
        place="Li eq. 7.82-7.83",
        title="a function f = K(., 0) - 2 K(., 1) of the Gaussian kernel's space: norm, value, reproduction",
        zh="再生核希尔伯特空间中的函数：范数、取值与再生性",
        given={"coef": [1, -2], "points": [[0], [1]], "sigma": 1.0, "x": [0.5]},
        call=rkhs,
        expected={"|f|^2": 2.5738773611, "f(x)": -0.8824969026, "K(., x) . f": -0.8824969026},
        note="derived",
    ),
]
