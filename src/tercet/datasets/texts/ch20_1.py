"""Li, chapter 20: the Dirichlet distribution and variational inference (狄利克雷分布与变分推理)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tercet.datasets.texts import Example

DERIVED = "The text has no numbers here; these are derived from its formulas."


def dirichlet(alpha: Any) -> dict[str, Any]:
    from tercet.distributions import Dirichlet

    member = Dirichlet(alpha)
    return {
        "mean": member.mean,
        "variance": member.var,
        "Cov(θ_1, θ_2)": member.covariance[0, 1],
        "E[log θ]": member.mean_statistics,
        "log B": member.log_partition,
        "log p at the mean": member.logpdf(member.mean),
    }


def conjugate(alpha: Any, counts: Any) -> dict[str, Any]:
    from tercet.distributions import Dirichlet, DirichletMultinomial
    from tercet.metrics.information import kl_dirichlet

    prior = Dirichlet(alpha)
    after = prior.posterior(counts)
    # One outcome after the other, each by the predictive distribution of what came before.
    steps, seen = 0.0, np.zeros(len(alpha))
    for k in np.repeat(np.arange(len(counts)), counts):
        steps += np.log(prior.posterior(seen).mean[k])
        seen[k] += 1
    return {
        "posterior": after.alpha,
        "posterior mean": after.mean,
        "log evidence": prior.log_evidence(counts),
        "log evidence, outcome by outcome": steps,
        "P of the counts": DirichletMultinomial(alpha, int(np.sum(counts))).pdf(counts),
        "D(posterior ‖ prior)": kl_dirichlet(after.alpha, alpha),
    }


def coordinate_ascent(p: Any) -> dict[str, Any]:
    from sklearn.exceptions import ConvergenceWarning

    from tercet.graphical import mean_field

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one update is all there is
        first = mean_field(p, order=[1, 0], max_iter=1)
    found = mean_field(p, order=[1, 0])
    return {
        "first q2": first.q[1],
        "q1": found.q[0],
        "q2": found.q[1],
        "ELBO": found.elbo,
        "log p(x)": found.log_evidence(),
        "ELBO never falls": bool(np.all(np.diff(found.elbos) >= -1e-12)),
    }


EXAMPLES = [
    Example(
        place="Li ch. 20, sec. 20.1",
        title="moments of the Dirichlet distribution",
        zh="狄利克雷分布的矩",
        given={"alpha": [2, 3, 5]},
        call=dirichlet,
        expected={
            "mean": [0.2, 0.3, 0.5],
            "variance": [0.8 / 55, 1.05 / 55, 1.25 / 55],
            "Cov(θ_1, θ_2)": -0.3 / 55,
            "E[log θ]": [-1.828968253968, -1.328968253968, -0.745634920635],
            "log B": -8.930626469173578,
            "log p at the mean": 2.1406542258478254,
        },
        note=DERIVED,
    ),
    Example(
        place="Li ch. 20, sec. 20.1",
        title="the Dirichlet distribution is conjugate to the multinomial one",
        zh="狄利克雷分布与多项分布共轭",
        given={"alpha": [1, 1, 1], "counts": [2, 0, 1]},
        call=conjugate,
        expected={
            "posterior": [3.0, 1.0, 2.0],
            "posterior mean": [1 / 2, 1 / 6, 1 / 3],
            "log evidence": float(np.log(1 / 30)),
            "log evidence, outcome by outcome": float(np.log(1 / 30)),
            "P of the counts": 0.1,
        },
        note=DERIVED,
    ),
    Example(
        place="Li eq. 20.35-20.38",
        title="mean-field coordinate ascent on a table of two latent variables",
        zh="两个隐变量的平均场变分推理",
        given={"p": [[0.12, 0.04], [0.02, 0.22]]},
        call=coordinate_ascent,
        expected={
            "first q2": [0.3430703308, 0.6569296692],
            "q1": [0.2555673775, 0.7444326225],
            "q2": [0.1817847714, 0.8182152286],
            "ELBO": -1.1808065879166671,
            "log p(x)": -0.916290731874155,
            "ELBO never falls": True,
        },
        note=DERIVED,
    ),
]
