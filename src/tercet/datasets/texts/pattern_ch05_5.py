"""Pattern Recognition, section 5.5: support vector machines (支持向量机)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example


def regression(x: list[float], y: list[float], C: float, epsilon: float) -> dict[str, Any]:
    from tercet.svm import SVR, kkt_report

    X = np.reshape(x, (-1, 1))
    model = SVR(kernel="linear", C=C, epsilon=epsilon, tol=1e-9).fit(X, y)
    up, down = model.alpha_
    return {
        "w": model.coef_[0, 0],
        "b": model.intercept_[0],
        "interval of b": model.intercept_interval_,
        "objective": kkt_report(model, X, y).primal_value,
        "α*": up,
        "α": down,
    }


def hard_tube(x: list[float], y: list[float], epsilon: float) -> dict[str, Any]:
    from tercet.svm import SVR

    X = np.reshape(x, (-1, 1))
    model = SVR(kernel="linear", C=np.inf, epsilon=epsilon, tol=1e-9).fit(X, y)
    try:
        SVR(kernel="linear", C=np.inf, epsilon=epsilon / 2, tol=1e-9).fit(X, y)
        narrow = "found"
    except ValueError:
        narrow = "refused"
    return {"w, b": [model.coef_[0, 0], model.intercept_[0]], "half the tube": narrow}


def tube_loss(errors: list[float], epsilon: float) -> dict[str, Any]:
    from tercet.losses import EpsilonInsensitive

    return {"losses": EpsilonInsensitive(epsilon).value(np.zeros(len(errors)), errors)}


def kernel_values(x: list[float], z: list[float]) -> dict[str, Any]:
    from tercet.kernels import Gaussian, Polynomial, Sigmoid

    kernels = {
        "polynomial, q = 2": Polynomial(degree=2),
        "polynomial, q = 3": Polynomial(degree=3),
        "RBF, sigma = 2": Gaussian(width=2.0),
        "sigmoid, v = 0.5, c = -1": Sigmoid(gamma=0.5, coef0=-1.0),
    }
    return {name: kernel([x], [z]).item() for name, kernel in kernels.items()}


def usps_kernels(x: list[float], z: list[float]) -> dict[str, Any]:
    from tercet.kernels import Gaussian, Polynomial, Sigmoid

    kernels = {
        "polynomial, q = 3": Polynomial(degree=3, gamma=1 / 256, coef0=0.0),
        "RBF, sigma^2 = 0.3": Gaussian(width=(256 * 0.3) ** 0.5),
        "sigmoid, b = 2, c = 1": Sigmoid(gamma=2 / 256, coef0=-1.0),
    }
    return {name: kernel([x], [z]).item() for name, kernel in kernels.items()}


def mercer(X: list[list[float]]) -> dict[str, Any]:
    from tercet.kernels import Polynomial, Sigmoid, is_psd

    sigmoid, polynomial = is_psd(Sigmoid(gamma=1.0, coef0=-1.0), X), is_psd(Polynomial(degree=2), X)
    return {
        "sigmoid, smallest eigenvalue": sigmoid.smallest,
        "sigmoid": sigmoid.psd,
        "polynomial, smallest eigenvalue": polynomial.smallest,
        "polynomial": polynomial.psd,
    }


def dna(strings: list[str]) -> dict[str, Any]:
    from tercet.kernels import DNA

    return {"codes": DNA().features(strings), "matches": DNA()(strings[:1], strings[1:]).item()}


def quadratic(x: list[float], a: float, b: float) -> dict[str, Any]:
    from tercet.kernels import FeatureMap
    from tercet.linear_model import Perceptron

    X = np.reshape(x, (-1, 1))
    y = FeatureMap(map=lambda X: np.hstack([X**0, X, X**2])).fit_transform(X)
    g = y @ [a * b, -(a + b), 1.0]
    learned = Perceptron(max_iter=10_000, tol=None).fit(y, np.sign(g))
    return {"y": y, "g(x)": g, "learned": learned.predict(y)}


def dimensions(n: int, degrees: list[int]) -> dict[str, Any]:
    from tercet.kernels import count_monomials

    return {f"degree {degree}": count_monomials(n, degree, lower=True) for degree in degrees}


def multicategory(x: list[float], y: list[int], lam: float, points: list[float]) -> dict[str, Any]:
    from tercet.kernels import Gaussian
    from tercet.svm import MulticategorySVC

    model = MulticategorySVC(lam=lam, kernel=Gaussian(gamma=1.0), tol=1e-10).fit(np.reshape(x, (-1, 1)), y)
    return {
        "objective": model.objective_,
        "b": model.intercept_,
        "f": model.decision_function(np.reshape(points, (-1, 1))),
    }


def multicategory_of_two(X: Any, y: list[int], lam: float) -> dict[str, Any]:
    from tercet.svm import MulticategorySVC

    model = MulticategorySVC(lam=lam, kernel="linear", tol=1e-10).fit(X, y)
    origin, first, second = -model.decision_function([[0, 0], [1, 0], [0, 1]])
    return {"objective": model.objective_, "f1": [origin, first - origin, second - origin]}


def multicategory_losses(f: list[float]) -> dict[str, Any]:
    from tercet.svm import multicategory_loss

    return {"losses": [multicategory_loss(y, f) for y in range(len(f))]}


def mean_hinge(X: Any, y: Any, lam: float) -> dict[str, Any]:
    from tercet.svm import SVC, HingeSVC

    model = HingeSVC(lam=lam, risk="mean", random_state=0).fit(X, y)
    same = SVC(kernel="linear", C=1 / (2 * len(y) * lam), tol=1e-9).fit(X, y)
    return {
        "w, b": [*model.coef_[0], model.intercept_[0]],
        "those of the soft margin with C = 1/(2nλ)": [*same.coef_[0], same.intercept_[0]],
        "objective": model.objective_[0],
    }


EXAMPLES = [
    Example(
        place="Pattern Recognition Eq 5-60",
        title="regression with a tube that all points must be in",
        zh="支持向量回归：所有样本都须在管内",
        given={"x": [0, 1, 2, 3], "y": [0, 1, 1.5, 4], "epsilon": 1.0},
        call=hard_tube,
        expected={"w, b": [2 / 3, 1.0], "half the tube": "refused"},
        note="derived",
    ),
    Example(
        place="Pattern Recognition Eq 5-61 to 5-69",
        title="support vector regression",
        zh="支持向量回归",
        given={"x": [0, 1, 2, 3], "y": [0, 1, 1.5, 4], "C": 10.0, "epsilon": 0.5},
        call=regression,
        expected={
            "w": 4 / 3,
            "b": -0.5,
            "interval of b": [-0.5, -0.5],
            "objective": 2.5555555556,
            "α*": [2.8888888889, 0, 0, 7.1111111111],
            "α": [0, 0, 10, 0.0],
        },
        atol=1e-8,
        note="derived",
    ),
    Example(
        place="Pattern Recognition Eq 5-61 to 5-69",
        title="support vector regression, a wide tube",
        zh="支持向量回归：较宽的管",
        given={"x": [0, 1, 2, 3], "y": [0, 1, 1.5, 4], "C": 100.0, "epsilon": 1.0},
        call=regression,
        expected={"w": 2 / 3, "b": 1.0, "objective": 0.2222222222},
        atol=1e-8,
        note="derived",
    ),
    Example(
        place="Pattern Recognition Eq 5-61 to 5-69",
        title="support vector regression, where b is not unique",
        zh="支持向量回归：b 不唯一",
        given={"x": [0, 1, 2, 3], "y": [0, 1, 1.5, 4], "C": 0.1, "epsilon": 0.5},
        call=regression,
        expected={"w": 0.3, "b": 0.85, "interval of b": [0.5, 1.2], "objective": 0.255},
        note="derived; b is the middle of the interval of those that fit",
    ),
    Example(
        place="Pattern Recognition Eq 5-64",
        title="the epsilon-insensitive loss",
        zh="ε 不敏感损失函数",
        given={"errors": [-1.5, -0.5, 0, 0.25, 0.75], "epsilon": 0.5},
        call=tube_loss,
        expected={"losses": [1, 0, 0, 0, 0.25]},
        note="derived",
    ),
    Example(
        place="Pattern Recognition Eq 5-36 to 5-39",
        title="a quadratic discriminant (x - 3)(x - 1) as a linear one of (1, x, x^2)",
        zh="二次判别函数 (x - 3)(x - 1) 化为 (1, x, x²) 的线性判别函数",
        given={"x": [0, 0.5, 1.5, 2, 2.5, 4], "a": 3, "b": 1},
        call=quadratic,
        expected={
            "y": [[1, 0, 0], [1, 0.5, 0.25], [1, 1.5, 2.25], [1, 2, 4], [1, 2.5, 6.25], [1, 4, 16.0]],
            "g(x)": [3, 1.25, -0.75, -1, -0.75, 3.0],
            "learned": [1, 1, -1, -1, -1, 1.0],
        },
        note="derived: the text has no numbers",
    ),
    Example(
        place="Pattern Recognition sec. 5.5.1",
        title="how many monomials 200 variables have",
        zh="200 个变量的多项式展开的维数",
        given={"n": 200, "degrees": [2, 4, 5]},
        call=dimensions,
        derived=False,
        expected={"degree 2": 20300, "degree 4": 70058750, "degree 5": 2872408790},
        note="the text says above 10^9 for order 4 or 5, which holds for order 5",
    ),
    Example(
        place="Pattern Recognition Eq 5-51",
        title="Mercer's condition on three points: a sigmoid kernel and a polynomial one",
        zh="三个点上的 Mercer 条件：Sigmoid 核与多项式核",
        given={"X": [[0, 0], [1, 0], [0, 2]]},
        call=mercer,
        expected={
            "sigmoid, smallest eigenvalue": -1.65197248,
            "sigmoid": False,
            "polynomial, smallest eigenvalue": 0.67858667,
            "polynomial": True,
        },
        note="derived; eq. 5-50 is printed with > for >=",
    ),
    Example(
        place="Pattern Recognition Eq 5-53 to 5-55",
        title="polynomial, RBF and sigmoid kernels of (1, 2) and (3, -1)",
        zh="(1, 2) 与 (3, -1) 的多项式核、径向基核与 Sigmoid 核",
        given={"x": [1, 2], "z": [3, -1]},
        call=kernel_values,
        expected={
            "polynomial, q = 2": 4.0,
            "polynomial, q = 3": 8.0,
            "RBF, sigma = 2": 0.0387742078,
            "sigmoid, v = 0.5, c = -1": -0.4621171573,
        },
        note="derived; the RBF of this text has no 2 beside sigma^2",
    ),
    Example(
        place="Pattern Recognition sec. 5.5.3",
        title="the kernels of the USPS digits, scaled by 256 features",
        zh="手写数字识别所用的核函数（按 256 维特征缩放）",
        given={"x": [1, 2], "z": [3, -1]},
        call=usps_kernels,
        expected={
            "polynomial, q = 3": 5.9604645e-08,
            "RBF, sigma^2 = 0.3": 0.8442802132,
            "sigmoid, b = 2, c = 1": -0.7582935350,
        },
        atol=1e-15,
        note="derived",
    ),
    Example(
        place="Pattern Recognition sec. 5.5.2",
        title="the codes of two pieces of DNA and their product",
        zh="两段 DNA 的编码及其内积",
        given={"strings": ["ACGT", "ACCA"]},
        call=dna,
        expected={
            "codes": [
                [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
                [1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0],
            ],
            "matches": 2.0,
        },
        note="derived",
    ),
    Example(
        place="Pattern Recognition Eq 5-57",
        title="what one row costs a multicategory machine, by its true class",
        zh="多类支持向量机：单个样本按真实类别的损失",
        given={"f": [0.6, -0.1, -0.5]},
        call=multicategory_losses,
        expected={"losses": [0.4, 1.1, 1.5]},
        note="derived",
    ),
    Example(
        place="Pattern Recognition Eq 5-57",
        title="multicategory machine of three classes on a line",
        zh="多类支持向量机：直线上的三个类",
        given={"x": [-2, -1.5, 0, 0.3, 2, 2.2], "y": [0, 0, 1, 1, 2, 2], "lam": 0.1, "points": [1.0, -0.7]},
        call=multicategory,
        expected={
            "objective": 0.2483908594,
            "b": [0.0310383, -0.0174571, -0.0135812],
            "f": [[-0.3216280, 0.3204891, 0.0011390], [0.0912751, 0.2808956, -0.3721706]],
        },
        atol=1e-7,
        note="derived",
    ),
    Example(
        place="Pattern Recognition Eq 5-56",
        title="support vector machine as a mean hinge loss with a penalty",
        zh="支持向量机的正则化形式",
        given={
            "X": [[0, 2], [1, 3], [0.5, 0.5], [3, 1], [4, 0], [2.5, 2], [-2, -1], [-1, -2], [-3, 0]],
            "y": [1, 1, 1, -1, -1, -1, -1, -1, -1],
            "lam": 0.05,
        },
        call=mean_hinge,
        expected={
            "w, b": [-1 / 7, 6 / 7, -10 / 7],
            "those of the soft margin with C = 1/(2nλ)": [-1 / 7, 6 / 7, -10 / 7],
            "objective": 0.4504535147,
        },
        note="derived; λ is the inverse of C, not its like",
    ),
    Example(
        place="Pattern Recognition Eq 5-56, 5-57",
        title="of two classes it is an ordinary machine",
        zh="多类支持向量机：两类时即普通支持向量机",
        given={
            "X": [[0, 2], [1, 3], [0.5, 0.5], [3, 1], [4, 0], [2.5, 2], [-2, -1], [-1, -2], [-3, 0]],
            "y": [1, 1, 1, 2, 2, 2, 2, 2, 2],
            "lam": 0.05,
        },
        call=multicategory_of_two,
        expected={"objective": 0.4504535147, "f1": [-10 / 7, -1 / 7, 6 / 7]},
        note="derived",
    ),
]
