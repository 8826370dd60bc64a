"""Watermelon notes, chapter 5: Bayes classifiers (贝叶斯分类器)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tercet.datasets.texts import Example


def risk(posterior: list[float], costs: list[list[float]]) -> dict[str, Any]:
    from tercet.naive_bayes import bayes_decision, conditional_risk

    return {
        "conditional risk": conditional_risk(posterior, costs),
        "decision": int(bayes_decision(posterior, costs)) + 1,
        "decision of equal costs": int(bayes_decision(posterior)) + 1,
    }


def densities(melon: list[float], ddof: int) -> dict[str, Any]:
    from tercet.datasets import load_watermelon
    from tercet.distributions import Gaussian
    from tercet.naive_bayes import GaussianNB

    X, y = load_watermelon("3.0alpha", return_X_y=True)
    model = GaussianNB(ddof=ddof, var_smoothing=0).fit(X, y)
    good = [Gaussian(*moments) for moments in zip(model.theta_[1], model.var_[1])]
    return {
        "mean density": model.theta_[1, 0],
        "its standard deviation": np.sqrt(model.var_[1, 0]),
        "p(density | good)": np.exp(good[0].logpdf(melon[0])),
        "p(sugar | good)": np.exp(good[1].logpdf(melon[1])),
        "good": int(model.predict([melon])[0]),
    }


def naive(ddof: int, alpha: float) -> dict[str, Any]:
    from tercet.datasets import load_watermelon
    from tercet.naive_bayes import MixedNB

    X, y = load_watermelon("3.0", return_X_y=True)
    model = MixedNB(ddof=ddof, alpha=alpha, smooth_prior=alpha > 0, var_smoothing=0).fit(X, y)
    bad, good = np.exp(model.predict_joint_log_proba(X[:1]))[0]
    return {"P(good) p(x | good)": good, "P(bad) p(x | bad)": bad, "good": int(model.predict(X[:1])[0])}


def averaged(min_count: float) -> dict[str, Any]:
    from tercet.datasets import load_watermelon
    from tercet.naive_bayes import AODE, SPODE

    table = load_watermelon("2.0")
    X, y, names = table.data, table.target, list(table.feature_names)
    model = AODE(min_count=min_count).fit(X, y)
    bad, good = np.exp(model.predict_joint_log_proba(X[:1]))[0]
    sound, navel = names.index("sound"), names.index("navel")
    rows = (X[:, sound] == "浊响") & (y == 1)
    start = np.concatenate([[0], np.cumsum(model.n_values_)])
    a = start[sound] + np.asarray(model.categories_[sound]).tolist().index("浊响")
    b = start[navel] + np.asarray(model.categories_[navel]).tolist().index("凹陷")
    pairs, sizes = model.pair_count_, model.n_values_
    one = SPODE(parent=names.index("texture")).fit(X, y)
    single = np.exp(one.predict_joint_log_proba(X[:1]))[0]
    return {
        "P(good, 浊响)": (pairs[a, a, 1] + 1) / (rows.size + 2 * sizes[sound]),
        "P(凹陷 | good, 浊响)": (pairs[a, b, 1] + 1) / (pairs[a, a, 1] + sizes[navel]),
        "AODE, good": good,
        "AODE, bad": bad,
        "posterior of good": model.predict_proba(X[:1])[0, 1],
        "SPODE by texture, good": single[1],
        "SPODE by texture, bad": single[0],
        "counts of the values of x1": [
            int(pairs[v, v].sum()) for v in model._values(model._check(X[:1], reset=False))[0]
        ],
    }


def tree_augmented() -> dict[str, Any]:
    from tercet.datasets import load_watermelon
    from tercet.naive_bayes import TAN

    table = load_watermelon("2.0")
    model = TAN().fit(table.data, table.target)
    names, told = list(table.feature_names), model.conditional_mutual_information_
    pairs = sorted(((told[i, j], names[i], names[j]) for i in range(6) for j in range(i)), reverse=True)
    edges = sorted(" ".join(sorted(names[k] for k in edge)) for edge in model.edges_)
    return {
        "the six largest": [value for value, _, _ in pairs[:6]],
        "of": [" ".join(sorted(pair)) for _, *pair in pairs[:6]],
        "tree": edges,
    }


def two_coins(heads: list[int], tosses: int, start: list[float]) -> dict[str, Any]:
    from tercet.core.steps import ConvergenceWarning
    from tercet.optimize import EnumerableModel, em

    def log_joint(heads: np.ndarray, p: np.ndarray) -> np.ndarray:
        return np.log(0.5) + np.outer(heads, np.log(p)) + np.outer(tosses - heads, np.log1p(-p))

    def maximise(heads: np.ndarray, posterior: np.ndarray, p: np.ndarray) -> np.ndarray:
        return heads @ posterior / (tosses * posterior.sum(axis=0))

    model, found = EnumerableModel(np.array(heads), log_joint, maximise), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is stopped in the middle
        for passes in (1, 10, 1000):
            climb = em(model, model.chunks, np.array(start), max_iter=passes, tol=0.0)
            found[f"after {passes}" if passes < 1000 else "limit"] = climb.theta
    return found


EXAMPLES = [
    Example(
        place="watermelon notes ch. 5, eq. 5.2, 5.3",
        title="conditional risk of three decisions, and the best of them",
        zh="条件风险与贝叶斯判定准则",
        given={"posterior": [0.6, 0.3, 0.1], "costs": [[0, 1, 10], [2, 0, 5], [4, 3, 0]]},
        call=risk,
        expected={"conditional risk": [1.3, 1.7, 3.3], "decision": 1, "decision of equal costs": 1},
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 5, sec. 5.4",
        title="normal densities of watermelon 1 (3.0), variances divided by n-1",
        zh="西瓜数据集 3.0 第 1 号瓜的正态概率密度（方差除以 n-1）",
        given={"melon": [0.697, 0.460], "ddof": 1},
        call=densities,
        expected={
            "mean density": 0.57375,
            "its standard deviation": 0.1292105148,
            "p(density | good)": 1.9590,
            "p(sugar | good)": 0.7881,
            "good": 1,
        },
        rtol=1e-4,
        note="derived",
    ),
    *(
        Example(
            place="watermelon notes ch. 5, eq. 5.7",
            title=f"naive Bayes on watermelon 1 (3.0): {words}",
            zh=f"西瓜数据集 3.0 第 1 号瓜的朴素贝叶斯判别（{chinese}）",
            given={"ddof": ddof, "alpha": alpha},
            call=naive,
            expected={"P(good) p(x | good)": good, "P(bad) p(x | bad)": bad, "good": 1},
            rtol=1e-5,
            note="derived",
        )
        for words, chinese, ddof, alpha, good, bad in (
            ("variances divided by n-1", "方差除以 n-1", 1, 0.0, 0.0523787189, 6.8584e-05),
            ("variances divided by n", "方差除以 n", 0, 0.0, 0.0445523103, 4.3658767e-05),
            ("Laplace's correction", "拉普拉斯修正", 1, 1.0, 0.0256310245, 7.7223606e-05),
        )
    ),
    Example(
        place="watermelon notes ch. 5, eq. 5.8 (AODE)",
        title="AODE and SPODE on watermelon 1 (2.0)",
        zh="西瓜数据集 2.0 第 1 号瓜的 AODE 与 SPODE",
        given={"min_count": 0},
        call=averaged,
        expected={
            "P(good, 浊响)": 0.3043478261,
            "P(凹陷 | good, 浊响)": 0.4444444444,
            "AODE, good": 0.1089236595,
            "AODE, bad": 0.0041498703,
            "posterior of good": 0.9632993650,
            "SPODE by texture, good": 0.0233739130,
            "SPODE by texture, bad": 0.0002086957,
            "counts of the values of x1": [6, 8, 10, 9, 7, 12],
        },
        rtol=1e-6,
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 5, eq. 5.8 (TAN)",
        title="TAN on watermelons 2.0: conditional mutual information and the tree",
        zh="西瓜数据集 2.0 上的 TAN：条件互信息与最大生成树",
        given={},
        call=tree_augmented,
        expected={
            "the six largest": [0.862060, 0.551063, 0.509119, 0.462252, 0.433416, 0.404579],
            "of": [
                "navel root",
                "navel texture",
                "root sound",
                "texture touch",
                "root texture",
                "colour texture",
            ],
            "tree": [
                "colour texture",
                "navel root",
                "navel texture",
                "root sound",
                "texture touch",
            ],
        },
        rtol=2e-6,
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 5, eq. 5.14, 5.15",
        title="EM: two coins, of which nobody knows which was tossed",
        zh="EM 算法：不知道抛的是哪一枚的两枚硬币",
        given={"heads": [5, 9, 8, 4, 7], "tosses": 10, "start": [0.6, 0.5]},
        call=two_coins,
        expected={
            "after 1": [0.7130122354, 0.5813393083],
            "after 10": [0.7967441495, 0.5196586622],
            "limit": [0.7967890669, 0.5195831201],
        },
        note="derived",
    ),
]
