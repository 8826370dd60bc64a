"""Li, chapter 9: the EM algorithm and its extensions (EM 算法及其推广)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tercet.datasets.texts import Example

TOSSES = [1, 1, 0, 1, 0, 0, 1, 0, 1, 1]
POINTS = [-1, 0, 1, 4, 5, 7]


def three_coins(tosses: list[int], start: tuple[float, float, float]) -> dict[str, Any]:
    from tercet.mixture import ThreeCoins

    column = np.array(tosses)[:, None]
    model = ThreeCoins(init=start).fit(column)
    return {
        "pi, p, q": [model.pi_, model.p_, model.q_],
        "log-likelihood, start": len(tosses) * model.lower_bounds_[0],
        "log-likelihood, pass 1": len(tosses) * model.lower_bounds_[1],
        "share of heads": model.pi_ * model.p_ + (1 - model.pi_) * model.q_,
    }


def functions(tosses: list[int], start: tuple[float, float, float]) -> dict[str, Any]:
    from tercet.optimize import (
        EnumerableModel,
        em,
        h_function,
        latent_posterior,
        log_likelihood,
        lower_bound,
        q_function,
    )

    y = np.array(tosses)

    def log_joint(y: np.ndarray, theta: Any) -> np.ndarray:
        pi, p, q = theta
        return np.log(np.column_stack([pi * np.where(y, p, 1 - p), (1 - pi) * np.where(y, q, 1 - q)]))

    def maximise(y: np.ndarray, mu: np.ndarray, theta: Any) -> np.ndarray:
        return np.append(mu[:, 0].mean(), y @ mu / mu.sum(axis=0))

    model = EnumerableModel(y, log_joint, maximise)
    end = em(model, model.chunks, start, stop="parameters", tol=1e-9).theta
    heads = int(np.flatnonzero(y)[0])
    tails = int(np.flatnonzero(y == 0)[0])
    mu = latent_posterior(model.joint, start)[:, 0]
    return {
        "mu of heads, tails": [mu[heads], mu[tails]],
        "theta 1": end,
        "Q(theta 0, theta 0)": q_function(model.joint, start, start),
        "Q(theta 1, theta 0)": q_function(model.joint, end, start),
        "H(theta 0, theta 0)": h_function(model.joint, start, start),
        "H(theta 1, theta 0)": h_function(model.joint, end, start),
        "L(theta 1) - B(theta 1, theta 0)": log_likelihood(model.joint, end)
        - lower_bound(model.joint, end, start),
    }


def normals(points: list[float], weights: list[float], means: list[float], variance: float) -> dict[str, Any]:
    from tercet.core.steps import ConvergenceWarning
    from tercet.mixture import GaussianMixture

    X = np.array(points, dtype=float)[:, None]
    given: Any = {
        "weights_init": weights,
        "means_init": np.array(means)[:, None],
        "precisions_init": np.full((2, 1, 1), 1 / variance),
        "reg_covar": 0.0,
    }
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is stopped in the middle
        for passes in (1, 2, 2000):
            model = GaussianMixture(2, max_iter=passes, tol=0.0, **given).fit(X)
            name = f"pass {passes}" if passes < 2000 else "end"
            found |= {
                f"{name}: weights": model.weights_,
                f"{name}: means": model.means_[:, 0],
                f"{name}: variances": model.covariances_[:, 0, 0],
                f"{name}: log-likelihood": len(points) * model.score(X),
            }
    return {"start: log-likelihood": len(points) * model.lower_bounds_[0], **found}


def old_mean(
    points: list[float], weights: list[float], means: list[float], variance: float
) -> dict[str, Any]:
    from tercet.optimize import EnumerableModel, em

    y = np.array(points, dtype=float)

    def log_joint(y: np.ndarray, theta: Any) -> np.ndarray:
        a, mu, var = theta
        return np.log(a) - 0.5 * np.log(2 * np.pi * var) - (y[:, None] - mu) ** 2 / (2 * var)

    def shares(y: np.ndarray, g: np.ndarray, theta: Any) -> Any:
        return g.mean(axis=0), theta[1], theta[2]

    def centres(y: np.ndarray, g: np.ndarray, theta: Any) -> Any:
        return theta[0], y @ g / g.sum(axis=0), theta[2]

    def spreads(y: np.ndarray, g: np.ndarray, theta: Any) -> Any:
        return theta[0], theta[1], (g * (y[:, None] - theta[1]) ** 2).sum(axis=0) / g.sum(axis=0)

    def all_at_once(y: np.ndarray, g: np.ndarray, theta: Any) -> Any:
        return spreads(y, g, centres(y, g, shares(y, g, theta)))

    start = np.array(weights), np.array(means), np.full(2, variance)
    runs = {}
    for name, order in (("new", (shares, centres, spreads)), ("old", (shares, spreads, centres))):
        model = EnumerableModel(y, log_joint, all_at_once, parts=order)
        runs[name] = em(model, model.chunks, start, variant="gem3", tol=1e-12, max_iter=2000)
    return {
        "new mean: log-likelihood, pass 1": runs["new"].values[1],
        "old mean: log-likelihood, pass 1": runs["old"].values[1],
        "old mean: variances, pass 1": spreads(y, posterior(log_joint(y, start)), start)[2],
        "log-likelihood, end": [runs["new"].value, runs["old"].value],
        "never falls": [runs["new"].monotone, runs["old"].monotone],
    }


def posterior(joint: np.ndarray) -> np.ndarray:
    from tercet.optimize import latent_posterior

    return latent_posterior(lambda _: joint, None)


EXAMPLES = [
    Example(
        place="Li Ex 9.1",
        title="three coins, from 0.5, 0.5, 0.5",
        zh="三硬币模型，初值 0.5、0.5、0.5",
        given={"tosses": TOSSES, "start": (0.5, 0.5, 0.5)},
        call=three_coins,
        expected={
            "pi, p, q": [0.5, 0.6, 0.6],
            "log-likelihood, start": -6.9314718056,
            "log-likelihood, pass 1": -6.7301166701,
            "share of heads": 0.6,
        },
    ),
    Example(
        place="Li Ex 9.1",
        title="three coins, from 0.4, 0.6, 0.7",
        zh="三硬币模型，初值 0.4、0.6、0.7",
        given={"tosses": TOSSES, "start": (0.4, 0.6, 0.7)},
        call=three_coins,
        expected={
            "pi, p, q": [76 / 187, 51 / 95, 119 / 185],
            "log-likelihood, start": -6.8083313093,
            "log-likelihood, pass 1": -6.7301166701,
            "share of heads": 0.6,
        },
        note="printed to 4 digits; the likelihood depends on the share of heads alone: its maximum is the same",
    ),
    Example(
        place="Li ch. 9, eq. 9.11-9.20",
        title="Q, H and the lower bound of the three coins",
        zh="三硬币模型的 Q 函数、H 函数与下界",
        given={"tosses": TOSSES, "start": (0.4, 0.6, 0.7)},
        call=functions,
        expected={
            "mu of heads, tails": [4 / 11, 8 / 17],
            "theta 1": [76 / 187, 51 / 95, 119 / 185],
            "Q(theta 0, theta 0)": -13.5068862631,
            "Q(theta 1, theta 0)": -13.4286716240,
            "H(theta 0, theta 0)": -6.6985549539,
            "H(theta 1, theta 0)": -6.6985549539,
            "L(theta 1) - B(theta 1, theta 0)": 0.0,
        },
        note="derived",
    ),
    Example(
        place="Li Alg 9.2",
        title="EM for a mixture of two Gaussians",
        zh="高斯混合模型的 EM 算法",
        given={"points": POINTS, "weights": [0.5, 0.5], "means": [0.0, 3.0], "variance": 4.0},
        call=normals,
        expected={
            "start: log-likelihood": -15.5308033946,
            "pass 1: weights": [0.4051724449, 0.5948275551],
            "pass 1: means": [0.2906441473, 4.2851169978],
            "pass 1: variances": [2.4063216687, 5.7189222764],
            "pass 1: log-likelihood": -14.1765052895,
            "pass 2: weights": [0.4181480869, 0.5818519131],
            "pass 2: means": [0.0387669006, 4.5552077803],
            "pass 2: variances": [1.1135021136, 4.8014222009],
            "pass 2: log-likelihood": -13.4845953423,
            "end: weights": [0.4993834177, 0.5006165823],
            "end: means": [-0.0011887018, 5.3279503300],
            "end: variances": [0.6663621523, 1.5771193621],
            "end: log-likelihood": -12.7235040128,
        },
        rtol=1e-6,
        note="derived: the text has no numbers; the new mean is in the variance, which eq. 9.31 leaves open",
    ),
    Example(
        place="Li Alg 9.5",
        title="GEM: the variance with the new mean, and with the old",
        zh="GEM 算法 3：方差用新均值与用旧均值",
        given={"points": POINTS, "weights": [0.5, 0.5], "means": [0.0, 3.0], "variance": 4.0},
        call=old_mean,
        expected={
            "new mean: log-likelihood, pass 1": -14.1765052895,
            "old mean: log-likelihood, pass 1": -14.2918419752,
            "old mean: variances, pass 1": [2.4907956891, 7.3704479743],
            "log-likelihood, end": [-12.7235040128, -12.7235040128],
            "never falls": [True, True],
        },
        rtol=1e-6,
        note="derived",
    ),
]
