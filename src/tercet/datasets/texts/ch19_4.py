"""Li, chapter 19, 19.4 and 19.5: Metropolis-Hastings and Gibbs sampling (马尔可夫链蒙特卡罗法)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example


def reversible(p: np.ndarray, K: np.ndarray) -> bool:
    flow = p[:, None] * K
    return bool(np.allclose(flow, flow.T, rtol=0, atol=1e-12))


def metropolis(p: Any, Q: Any, acceptance: str = "metropolis-hastings") -> dict[str, Any]:
    from tercet.sampling import acceptance_probabilities, metropolis_hastings_kernel

    K = metropolis_hastings_kernel(p, Q, acceptance)  # type: ignore[arg-type]
    return {
        "acceptance": acceptance_probabilities(p, Q, acceptance),  # type: ignore[arg-type]
        "K": K,
        "p K": np.asarray(p) @ K,
        "reversible": reversible(np.asarray(p), K),
        "moves": 1.0 - float(np.asarray(p) @ np.diagonal(K)),
    }


def gibbs(J: Any, order: Any = None) -> dict[str, Any]:
    from tercet.sampling import gibbs_kernel

    p = np.ravel(J)
    K = gibbs_kernel(J, order=order)
    return {
        "K": K,
        "stationary": p @ K,
        "systematic scan reversible": reversible(p, K),
        "random scan reversible": reversible(p, gibbs_kernel(J, scan="random")),
    }


def bivariate_normal(r: float, n: int) -> dict[str, Any]:
    from tercet.sampling import GibbsSampler, normal_conditionals

    conditionals = normal_conditionals([0.0, 0.0], [[1.0, r], [r, 1.0]])
    sampler = GibbsSampler(conditionals, vectorized=True, n_chains=100, burn_in=20, random_state=0)
    chains = sampler.sample(n, start=[0.0, 0.0])
    first = chains.draws[:, :, 0]
    given = chains.draws[:, :, 1]
    return {
        "conditional variance": float((first[:, 1:] - r * given[:, :-1]).var()),
        "lag-1 autocorrelation": float(np.mean(first[:, 1:] * first[:, :-1]) / np.mean(first**2)),
    }


EXAMPLES = [
    Example(
        place="Li ch. 19, 19.4",
        title="Metropolis kernel of three states, symmetric proposal",
        zh="三个状态上对称建议分布的 Metropolis 转移核",
        given={"p": [0.2, 0.3, 0.5], "Q": [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]},
        call=metropolis,
        expected={
            "K": [[0, 0.5, 0.5], [1 / 3, 1 / 6, 0.5], [0.2, 0.3, 0.5]],
            "p K": [0.2, 0.3, 0.5],
            "reversible": True,
        },
        note="derived: these pages are missing from the text",
    ),
    Example(
        place="Li ch. 19, 19.4",
        title="Metropolis-Hastings kernel of three states",
        zh="三个状态上的 Metropolis-Hastings 转移核",
        given={"p": [0.2, 0.3, 0.5], "Q": [[0.1, 0.6, 0.3], [0.4, 0.2, 0.4], [0.3, 0.3, 0.4]]},
        call=metropolis,
        expected={
            "acceptance": [[1, 1, 1], [1, 1, 1], [0.4, 0.8, 1]],
            "K": [[0.1, 0.6, 0.3], [0.4, 0.2, 0.4], [0.12, 0.24, 0.64]],
            "p K": [0.2, 0.3, 0.5],
            "reversible": True,
        },
        note="derived: these pages are missing from the text",
    ),
    Example(
        place="Li ch. 19, 19.5",
        title="Gibbs sampling on a table of two by two",
        zh="二乘二联合分布表上的吉布斯抽样",
        given={"J": [[0.1, 0.2], [0.3, 0.4]]},
        call=gibbs,
        expected={
            "K": [
                [1 / 12, 1 / 6, 9 / 28, 3 / 7],
                [1 / 9, 2 / 9, 2 / 7, 8 / 21],
                [1 / 12, 1 / 6, 9 / 28, 3 / 7],
                [1 / 9, 2 / 9, 2 / 7, 8 / 21],
            ],
            "stationary": [0.1, 0.2, 0.3, 0.4],
            "systematic scan reversible": False,
            "random scan reversible": True,
        },
        note="derived: these pages are missing from the text",
    ),
    Example(
        place="Li ch. 19, 19.5",
        title="Gibbs sampling of a bivariate normal distribution",
        zh="二元正态分布的吉布斯抽样",
        given={"r": 0.5, "n": 1000},
        call=bivariate_normal,
        expected={"conditional variance": 0.75, "lag-1 autocorrelation": 0.25},
        rtol=0.0,
        atol=0.02,
        note="derived; 100 000 draws, so that 0.02 are some six standard errors",
    ),
]
