"""Watermelon notes, chapter 1: linear models (线性模型)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

# The watermelon data 3.0α that the notes rely on: density and sugar content; the first eight are good.
WATERMELON = [
    *([0.697, 0.460], [0.774, 0.376], [0.634, 0.264], [0.608, 0.318], [0.556, 0.215], [0.403, 0.237]),
    *([0.481, 0.149], [0.437, 0.211], [0.666, 0.091], [0.243, 0.267], [0.245, 0.057], [0.343, 0.099]),
    *([0.639, 0.161], [0.657, 0.198], [0.360, 0.370], [0.593, 0.042], [0.719, 0.103]),
]
GOOD = [1] * 8 + [0] * 9


def fisher(X: Any, y: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.discriminant_analysis import LinearDiscriminantAnalysis, rayleigh_quotient

    model = LinearDiscriminantAnalysis("fisher").fit(X, y)
    mu0, mu1 = model.means_
    w = -model.coef_[0]  # the text's w points to class 0
    return {
        "mu0": mu0,
        "mu1": mu1,
        "Sw": model.within_scatter_,
        "w": w,
        "J": rayleigh_quotient(w, np.outer(mu0 - mu1, mu0 - mu1), model.within_scatter_),
        "threshold": model.intercept_[0],
        "good": np.flatnonzero(model.predict(X)) + 1,
        "right": round(model.score(X, y) * len(y)),
    }


def several_classes(X: Any, y: Any) -> dict[str, Any]:
    from tercet.discriminant_analysis import LinearDiscriminantAnalysis, fisher_directions, scatter_matrices

    S = scatter_matrices(X, y)
    model = LinearDiscriminantAnalysis("fisher").fit(X, y)
    return {
        **S._asdict(),
        "eigenvalues": model.eigenvalues_,
        "from S_t and S_b": fisher_directions(total=S.total, between=S.between)[0],
        "WᵀS_wW": model.scalings_.T @ S.within @ model.scalings_,
    }


def rescaling(y: Any, m_plus: int, m_minus: int) -> dict[str, Any]:
    from tercet.multiclass import rescale

    scaled = rescale(y, m_minus / m_plus)
    return {"y": scaled, "positive": scaled > 0.5}


def decoding(code: Any, output: Any) -> dict[str, Any]:
    from tercet.multiclass import code_distances

    hamming = code_distances([output], code, "hamming")[0]
    euclidean = code_distances([output], code, "euclidean")[0]
    return {"hamming": hamming, "euclidean": euclidean**2, "class": hamming.argmin() + 1}


def regression(X: Any, y: Any) -> dict[str, Any]:
    from tercet.linear_model import LinearRegression

    model = LinearRegression().fit(X, y)
    return {"w": model.coef_, "b": model.intercept_}


def log_linear(X: Any, y: Any) -> dict[str, Any]:
    from tercet.linear_model import GeneralizedLinearRegressor, LogLinearRegression

    model = LogLinearRegression().fit(X, y)
    general = GeneralizedLinearRegressor(link="log", strategy="least_squares").fit(X, y)
    return {
        "w": model.coef_,
        "b": model.intercept_,
        "w with g = ln": general.coef_,
        "b with g = ln": general.intercept_,
    }


def logistic(X: Any, y: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.core.callbacks import Recorder
    from tercet.linear_model import LogisticRegression

    recorder = Recorder()
    model = LogisticRegression(C=np.inf, solver="newton", tol=1e-12).set_callbacks(recorder).fit(X, y)
    first = recorder.frames[0].attributes
    start = LogisticRegression(C=np.inf, max_iter=0).fit(X, y)
    return {
        "l at 0": -start.predict_log_proba(X)[range(len(y)), y].sum(),
        "first": [*first["coef_"][0], *first["intercept_"]],
        "beta": [*model.coef_[0], *model.intercept_],
        "l": len(y) * model.history_["fun"][-1],
        "right": round(model.score(X, y) * len(y)),
        "p": model.predict_proba(X[:1])[0, 1],
    }


EXAMPLES = [
    Example(
        place="watermelon notes Eq 1.26",
        title="two-class Fisher discriminant on the watermelons",
        zh="线性判别分析 (西瓜数据集 3.0α)",
        given={"X": WATERMELON, "y": GOOD},
        call=fisher,
        expected={
            "mu0": [0.4961111111, 0.1542222222],
            "mu1": [0.57375, 0.27875],
            "Sw": [[0.4201903889, 0.0217632778], [0.0217632778, 0.1642570556]],
            "w": [-0.1465098166, -0.7387155671],
            "J": 0.1033654673,
            "threshold": -0.2382942379,
            "good": [1, 2, 3, 4, 5, 14, 15],
            "right": 12,
        },
        rtol=1e-8,
        note="Scatter sums as in 1.23; with the covariances of 1.22 the classes would weigh the same.",
    ),
    Example(
        place="watermelon notes Eq 1.29",
        title="scatter matrices and generalised eigenvalues of three classes",
        zh="多元LDA",
        given={
            "X": [[1, 2], [2, 3], [3, 3], [6, 5], [7, 8], [8, 7], [1, 8], [2, 9], [3, 8]],
            "y": [0, 0, 0, 1, 1, 1, 2, 2, 2],
        },
        call=several_classes,
        expected={
            "within": [[6.0, 3.0], [3.0, 6.0]],
            "between": [[50, 35 / 3], [35 / 3, 458 / 9]],
            "total": [[56, 44 / 3], [44 / 3, 512 / 9]],
            "eigenvalues": [12.9271400103, 6.9000204835],
            "from S_t and S_b": [12.9271400103, 6.9000204835],
            "WᵀS_wW": [[1.0, 0.0], [0.0, 1.0]],
        },
        note="The print drops the outer sum over the classes in S_w.",
    ),
    Example(
        place="watermelon notes Eq 1.31",
        title="rescaling of probabilities for 20 positive and 80 negative samples",
        zh="再缩放",
        given={"y": [0.30, 0.20, 0.15], "m_plus": 20, "m_minus": 80},
        call=rescaling,
        expected={"y": [0.6315789474, 0.5, 0.4137931034], "positive": [True, False, False]},
        note="The print has y/(1+y) on both sides; odds are y/(1-y).",
    ),
    Example(
        place="watermelon notes ch. 1, sec. 1.8",
        title="decoding a binary output code",
        zh="纠错输出码: 二元码",
        given={
            "code": [[-1, 1, -1, 1, 1], [1, -1, -1, 1, -1], [-1, 1, 1, -1, 1], [-1, -1, 1, 1, -1]],
            "output": [-1, -1, 1, -1, 1],
        },
        call=decoding,
        expected={"hamming": [3.0, 4.0, 1.0, 2.0], "euclidean": [12.0, 16.0, 4.0, 8.0], "class": 3},
    ),
    Example(
        place="watermelon notes ch. 1, sec. 1.8",
        title="decoding a ternary output code",
        zh="纠错输出码: 三元码",
        given={
            "code": [
                [1, 1, -1, -1, 1, 1, -1],
                [1, -1, 0, 1, 0, 1, 1],
                [-1, 0, 1, 1, -1, -1, 0],
                [0, 1, 1, -1, 1, 0, 1],
            ],
            "output": [-1, 1, 1, -1, 1, -1, 1],
        },
        call=decoding,
        expected={"hamming": [4.0, 5.0, 3.0, 1.0], "euclidean": [16.0, 18.0, 10.0, 2.0], "class": 4},
        note="A class that a classifier does not use counts one half.",
    ),
    Example(
        place="watermelon notes Eq 1.6",
        title="linear regression on one feature",
        zh="一元线性回归",
        given={"X": [[1], [2], [3], [4], [5]], "y": [2.2, 4.1, 6.2, 7.9, 10.1]},
        call=regression,
        expected={"w": [1.96], "b": 0.22},
    ),
    Example(
        place="watermelon notes Eq 1.10",
        title="linear regression on two features",
        zh="多元线性回归",
        given={"X": [[1, 2], [2, 1], [3, 4], [4, 3], [5, 5]], "y": [3, 4, 8, 9, 12]},
        call=regression,
        expected={"w": [31 / 18, 13 / 18], "b": -2 / 15},
    ),
    Example(
        place="watermelon notes Eq 1.10",
        title="linear regression on features that depend on each other",
        zh="多元线性回归: 不满秩",
        given={"X": [[1, 2], [2, 4], [3, 6]], "y": [1, 2, 3]},
        call=regression,
        expected={"w": [0.2, 0.4], "b": 0.0},
        note="Of all solutions, that of least norm.",
    ),
    Example(
        place="watermelon notes Eq 1.12",
        title="log-linear regression",
        zh="对数线性回归",
        given={"X": [[0], [1], [2], [3]], "y": [1, 2, 5, 9]},
        call=log_linear,
        expected={
            "w": [0.7507964464],
            "b": -0.001242252,
            "w with g = ln": [0.7507964464],
            "b with g = ln": -0.001242252,
        },
    ),
    Example(
        place="watermelon notes Eq 1.21",
        title="logistic regression on the watermelons by Newton's method",
        zh="对数几率回归 (西瓜数据集 3.0α)",
        given={"X": WATERMELON, "y": GOOD},
        call=logistic,
        expected={
            "l at 0": 11.783502069,
            "first": [1.7263025007, 8.7041712325, -2.8896094507],
            "beta": [3.1583296623, 12.5211957919, -4.4288645102],
            "l": 8.683660584,
            "right": 12,
            "p": 0.971591342,
        },
        note="made for the text's formulas; 1.20 is the negative log-likelihood",
    ),
]
