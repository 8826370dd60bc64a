"""Li, chapter 19: Monte Carlo methods and Markov chains (蒙特卡罗法与马尔可夫链)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

DERIVED = "The pages are missing from the text; these numbers are derived from the definitions."


def parabola(x: Any) -> Any:
    return 6 * x * (1 - x)


def accepted(c: float, at: Any, size: int) -> dict[str, Any]:
    from tercet.distributions import Uniform
    from tercet.sampling import accept_reject

    q = Uniform(0, 1)
    found = accept_reject(parabola, q, size, c=c, random_state=0)
    mean, variance = found.samples.mean(), found.samples.var()
    return {
        "p / (c q)": [parabola(x) / (c * q.pdf(x)) for x in at],
        "acceptance rate": round(found.acceptance_rate, 2),
        "mean": round(mean, 2),
        "variance": round(variance, 2),
    }


def integral(bounds: Any, size: int) -> dict[str, Any]:
    from tercet.sampling import monte_carlo_integral

    found = monte_carlo_integral(lambda x: np.exp(-(x**2) / 2), bounds, size=size, random_state=0)
    low, high = found.interval(0.999)
    return {"value": round(found.value, 2), "0.855624391892149 inside": bool(low < 0.855624391892149 < high)}


def rare_event(size: int) -> dict[str, Any]:
    from tercet.distributions import Gaussian
    from tercet.sampling import importance_sampling, monte_carlo_expectation

    exact = 0.0013498980316300933
    found = importance_sampling(lambda x: x > 3, Gaussian(0, 1), Gaussian(3, 1), size, random_state=0)
    plain = monte_carlo_expectation(lambda x: x > 3, Gaussian(0, 1), size, random_state=0)
    low, high = found.interval(0.999)
    return {
        "P(X > 3)": round(found.value, 4),
        "exact value inside": bool(low < exact < high),
        "error below a tenth of the plain one": found.standard_error < 0.1 * plain.standard_error,
    }


def chain(P: Any) -> dict[str, Any]:
    from tercet.sampling import MarkovChain

    found = MarkovChain(P, convention="column")
    several = len(found.stationary_distributions())
    return {
        "stationary distributions": found.stationary_distributions(),
        "irreducible": found.is_irreducible(),
        "period": max(found.periods().values()),
        "reversible": found.is_reversible(),
        "unique": several == 1,
        "P²": found.power(2),
    }


def averages(P: Any, f: Any, length: int) -> dict[str, Any]:
    from tercet.sampling import MarkovChain

    found = MarkovChain(P, convention="column")
    path = found.time_average(f, length, burn_in=100, start=1, random_state=0)
    low, high = path.interval(0.999)
    many = found.simulate(6, size=2000, start=1, random_state=0)[:, -1]
    return {
        "stationary mean": found.expectation(f),
        "time average within its interval": bool(low < found.expectation(f) < high),
        "shares of 2000 paths after 5 steps": np.round(np.bincount(many, minlength=3) / 2000, 1),
    }


EXAMPLES = [
    Example(
        place="Li Alg 19.1",
        title="accept-reject sampling of 6x(1 - x) under a uniform envelope",
        zh="接受-拒绝抽样法",
        given={"c": 1.5, "at": [0.1, 0.5, 0.9], "size": 40_000},
        call=accepted,
        expected={"p / (c q)": [0.36, 1.0, 0.36], "acceptance rate": 0.67, "mean": 0.5, "variance": 0.05},
        note=DERIVED,
    ),
    Example(
        place="Li ch. 19, sec. 19.1",
        title="Monte Carlo integration of exp(-x²/2) from 0 to 1",
        zh="蒙特卡罗积分",
        given={"bounds": (0, 1), "size": 100_000},
        call=integral,
        expected={"value": 0.86, "0.855624391892149 inside": True},
        note=DERIVED,
    ),
    Example(
        place="Li ch. 19, sec. 19.1",
        title="importance sampling of a rare event",
        zh="重要性抽样法：小概率事件",
        given={"size": 20_000},
        call=rare_event,
        expected={
            "P(X > 3)": 0.0013,
            "exact value inside": True,
            "error below a tenth of the plain one": True,
        },
        note=DERIVED,
    ),
    Example(
        place="Li ch. 19, sec. 19.2",
        title="a reversible chain of three states",
        zh="三个状态的可逆马尔可夫链",
        given={"P": [[0.5, 0.5, 0.25], [0.25, 0, 0.25], [0.25, 0.5, 0.5]]},
        call=chain,
        expected={
            "stationary distributions": [[0.4, 0.2, 0.4]],
            "irreducible": True,
            "period": 1,
            "reversible": True,
            "unique": True,
        },
        note=DERIVED,
    ),
    Example(
        place="Li ch. 19, sec. 19.2",
        title="the ergodic theorem: time averages are stationary means",
        zh="遍历定理：时间平均等于平稳分布下的均值",
        given={
            "P": [[0.5, 0.5, 0.25], [0.25, 0, 0.25], [0.25, 0.5, 0.5]],
            "f": [1.0, 2.0, 4.0],
            "length": 20_000,
        },
        call=averages,
        expected={
            "stationary mean": 2.4,
            "time average within its interval": True,
            "shares of 2000 paths after 5 steps": [0.4, 0.2, 0.4],
        },
        note=DERIVED,
    ),
    Example(
        place="Li ch. 19, sec. 19.2",
        title="a chain of two states, and two steps of it",
        zh="两个状态的马尔可夫链及其两步转移",
        given={"P": [[0.9, 0.5], [0.1, 0.5]]},
        call=chain,
        expected={"stationary distributions": [[5 / 6, 1 / 6]], "P²": [[0.86, 0.70], [0.14, 0.30]]},
        note=DERIVED,
    ),
    Example(
        place="Li ch. 19, sec. 19.2",
        title="a periodic chain",
        zh="周期为 3 的马尔可夫链",
        given={"P": [[0, 0, 1], [1, 0, 0], [0, 1, 0]]},
        call=chain,
        expected={
            "stationary distributions": [[1 / 3] * 3],
            "irreducible": True,
            "period": 3,
            "reversible": False,
        },
        note=DERIVED,
    ),
    Example(
        place="Li ch. 19, sec. 19.2",
        title="a reducible chain: the stationary distributions are (a, 0, 1 - a)",
        zh="可约的马尔可夫链：平稳分布不唯一",
        given={"P": [[1, 1 / 3, 0], [0, 1 / 3, 0], [0, 1 / 3, 1]]},
        call=chain,
        expected={
            "stationary distributions": [[1.0, 0, 0], [0, 0, 1.0]],
            "irreducible": False,
            "unique": False,
        },
        note=DERIVED,
    ),
]
