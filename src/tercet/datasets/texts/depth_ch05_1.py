"""Machine Learning in Depth, chapter 5: Markov chains and conjugate priors (马氏链与共轭先验)."""

from __future__ import annotations

import math
from typing import Any

from tercet.datasets.texts import Example

P = [[0.65, 0.28, 0.07], [0.15, 0.67, 0.18], [0.12, 0.36, 0.52]]
LIMIT = [104 / 363, 532 / 1089, 245 / 1089]


def generations(P: Any, start: Any, which: list[int]) -> dict[str, Any]:
    from tercet.sampling import MarkovChain

    chain = MarkovChain(P, start=start)
    table = chain.distributions(max(which))
    return {
        **{f"n = {n}": table[n] for n in which},
        "stationary": chain.stationary_distribution(),
        "second eigenvalue": chain.convergence_rate(),
        "reversible": chain.is_reversible(),
        "P²⁰": chain.power(20)[0],
    }


def order_statistic(n: int, k: int, x: float) -> dict[str, Any]:
    from tercet.distributions import Beta

    member = Beta.order_statistic(k, n)
    return {
        "a, b": [member.a, member.b],
        "mode": member.mode,
        "mean": member.mean,
        "density": member.pdf(x),
        "constant": member.pdf(x) / (x ** (k - 1) * (1 - x) ** (n - k)),
    }


def gamma_identities(n: int, x: float) -> dict[str, Any]:
    from tercet.distributions import beta_function, gamma_function

    return {
        "Γ(n)": float(gamma_function(n)),
        "Γ(x + 1)": float(gamma_function(x + 1)),
        "x Γ(x)": float(x * gamma_function(x)),
        "1 / B(7, 4)": float(1 / beta_function(7, 4)),
    }


def boys_and_girls(boys: int, girls: int, pseudo: float) -> dict[str, Any]:
    from tercet.distributions import Beta, bernoulli_estimates

    return {
        "maximum likelihood": bernoulli_estimates([1] * boys + [0] * girls).mle,
        "with pseudo-counts": Beta(pseudo, pseudo).posterior(boys, girls).mean,
        "girls, maximum likelihood": bernoulli_estimates([1, 1]).mle,
        "girls, Beta(5, 5)": Beta(pseudo, pseudo).posterior(2, 0).mean,
    }


EXAMPLES = [
    Example(
        place="Machine Learning in Depth ch. 5, Thm 01",
        title="three classes of income: generations from (0.21, 0.68, 0.11)",
        zh="收入阶层的马氏链：从 (0.21, 0.68, 0.11) 出发",
        given={"P": P, "start": [0.21, 0.68, 0.11], "which": [1, 2, 3, 4, 5, 6, 7, 10]},
        call=generations,
        expected={
            "n = 1": [0.2517, 0.554, 0.1943],
            "n = 2": [0.270021, 0.511604, 0.218375],
            "n = 3": [0.278459, 0.496996, 0.224545],
            "n = 4": [0.282493, 0.491792, 0.225715],
            "n = 5": [0.284475, 0.489856, 0.225669],
            "n = 6": [0.285468, 0.489097, 0.225435],
            "n = 7": [0.285971, 0.488783, 0.225247],
            "n = 10": [0.286428, 0.488552, 0.225020],
            "stationary": LIMIT,
            "second eigenvalue": 0.518489,
            "reversible": False,
        },
        atol=6e-7,
        note="the print is wrong at n = 4, 5, 6 and 8, and has 0.286 for 0.2865 in the limit; the chain is not "
        "reversible, though the text says that every stationary distribution has detailed balance",
    ),
    Example(
        place="Machine Learning in Depth ch. 5, Thm 01",
        title="the same limit from (0.75, 0.15, 0.1)",
        zh="收入阶层的马氏链：从 (0.75, 0.15, 0.1) 出发到同一极限",
        given={"P": P, "start": [0.75, 0.15, 0.1], "which": [1, 2, 3, 5, 8, 9, 10, 20]},
        call=generations,
        expected={
            "n = 1": [0.522, 0.3465, 0.1315],
            "n = 2": [0.407055, 0.425655, 0.167290],
            "n = 3": [0.348509, 0.459389, 0.192103],
            "n = 5": [0.303036, 0.481625, 0.215339],
            "n = 8": [0.288797, 0.487622, 0.223581],
            "n = 9": [0.287691, 0.488059, 0.224250],
            "n = 10": [0.287118, 0.488283, 0.224599],
            "n = 20": [0.286502, 0.488521, 0.224977],
            "P²⁰": [0.286502, 0.488521, 0.224977],
            "stationary": LIMIT,
        },
        atol=2e-6,
        note="the print has the limit at n = 9 and 10 already; convergence is slower",
    ),
    Example(
        place="Machine Learning in Depth ch. 5, eq. 5.8, 5.9",
        title="the 7th smallest of 10 uniform numbers",
        zh="10 个均匀随机数中第 7 小的数",
        given={"n": 10, "k": 7, "x": 2 / 3},
        call=order_statistic,
        expected={
            "a, b": [7.0, 4.0],
            "mode": 2 / 3,
            "mean": 7 / 11,
            "density": 2.7312909617,
            "constant": 840.0,
        },
        note="the text calls it the 7th largest, which would be Beta(4, 7)",
    ),
    Example(
        place="Machine Learning in Depth ch. 5, 5.3.3.2",
        title="the Gamma function is a factorial of real numbers",
        zh="伽马函数是阶乘在实数上的推广",
        given={"n": 5, "x": 2.5},
        call=gamma_identities,
        expected={
            "Γ(n)": 24.0,
            "Γ(x + 1)": 15 * math.sqrt(math.pi) / 8,
            "x Γ(x)": 15 * math.sqrt(math.pi) / 8,
            "1 / B(7, 4)": 840.0,
        },
        note="derived; 840 = 10! / (6! 3!) is the constant of the density in 5.3.3.3",
    ),
    Example(
        place="Machine Learning in Depth ch. 5, eq. 5.15",
        title="boys and girls: maximum likelihood and pseudo-counts",
        zh="男女生比例：极大似然与伪计数",
        given={"boys": 1, "girls": 4, "pseudo": 5.0},
        call=boys_and_girls,
        expected={
            "maximum likelihood": 0.2,
            "with pseudo-counts": 0.4,
            "girls, maximum likelihood": 1.0,
            "girls, Beta(5, 5)": 7 / 12,
        },
    ),
]
