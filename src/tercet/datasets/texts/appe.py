"""Li, appendix E: the KL divergence and the Dirichlet distribution (KL 散度的定义和狄利克雷分布的性质)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

DERIVED = "The appendix has no numbers; these are derived from its formulas."


def discrete(Q: Any, P: Any) -> dict[str, Any]:
    from tercet.metrics.information import kl_divergence

    return {"D(Q||P)": kl_divergence(Q, P), "D(P||Q)": kl_divergence(P, Q)}


def gaussians(Q: Any, P: Any) -> dict[str, Any]:
    from tercet.distributions import Gaussian
    from tercet.metrics.information import kl_density, kl_gaussian

    q, p = Gaussian(*Q), Gaussian(*P)
    return {
        "closed form": kl_gaussian(*Q, *P),
        "log-partition": q.kl(p),
        "integral": kl_density(q.logpdf, p.logpdf),
    }


def dirichlet(alpha: Any, theta: Any) -> dict[str, Any]:
    from tercet.distributions import Dirichlet

    member = Dirichlet(alpha)
    return {
        "eta": member.natural,
        "A": member.log_partition,
        "log p": member.logpdf(theta),
        "E[log theta]": member.mean_statistics,
    }


EXAMPLES = [
    Example(
        place="Li Eq E.1",
        title="the KL divergence of two discrete distributions is not symmetric",
        zh="离散分布的 KL 散度",
        given={"Q": [0.5, 0.5], "P": [0.9, 0.1]},
        call=discrete,
        expected={"D(Q||P)": 0.5108256238, "D(P||Q)": 0.3680642072},
        note=DERIVED,
    ),
    Example(
        place="Li Eq E.2",
        title="the KL divergence of two Gaussians, given as (mean, variance)",
        zh="连续分布的 KL 散度",
        given={"Q": (0, 1), "P": (1, 4)},
        call=gaussians,
        expected={"closed form": 0.4431471806, "log-partition": 0.4431471806, "integral": 0.4431471806},
        note=DERIVED,
    ),
    Example(
        place="Li Eq E.6, E.7",
        title="the Dirichlet distribution as an exponential family",
        zh="狄利克雷分布与对数的数学期望",
        given={"alpha": [1, 2, 3], "theta": [0.2, 0.3, 0.5]},
        call=dirichlet,
        expected={
            "eta": [0.0, 1.0, 2.0],
            "A": -4.0943445622,
            "log p": 1.5040773968,
            "E[log theta]": [-137 / 60, -77 / 60, -47 / 60],
        },
        note=DERIVED,
    ),
]
