"""Machine Learning in Depth, chapter 1: basic concepts (机器学习基本概念)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

DERIVED = "The chapter has no numbers; these are derived from its formulas."


def losses(y: Any, f: Any) -> dict[str, Any]:
    from tercet.losses import Absolute, Squared, ZeroOne

    kinds = {"0-1": ZeroOne(), "squared": Squared(), "absolute": Absolute()}
    values = {name: loss.value(y, f) for name, loss in kinds.items()}
    return values | {"empirical risk": {name: loss.total(y, f) for name, loss in kinds.items()}}


def log_loss(y: Any, P: Any) -> dict[str, Any]:
    from tercet.losses import Log

    return {"log": Log().value(y, P)}


def expected_risk(joint: Any, f: Any) -> dict[str, Any]:
    from tercet.losses import ZeroOne

    x, y = np.indices(np.shape(joint))
    return {"risk": ZeroOne().total(y.ravel(), np.asarray(f)[x.ravel()], sample_weight=np.ravel(joint))}


def risk_and_likelihood(x: Any, theta: Any, prior: Any) -> dict[str, Any]:
    from tercet.distributions import Bernoulli, Beta, posterior
    from tercet.losses import Log
    from tercet.penalties import structural_risk

    log_prior = Beta(*prior).logpdf(theta)
    log_loss = [Log().value(x, np.full(len(x), value)) for value in theta]
    empirical = [np.mean(loss) for loss in log_loss]
    structural = [structural_risk(loss, -p, 1 / len(x)) for loss, p in zip(log_loss, log_prior)]
    grid = posterior(theta, np.exp(log_prior), lambda x, value: Bernoulli(value).log_likelihood(x), x)
    return {
        "least empirical risk": theta[int(np.argmin(empirical))],
        "maximum likelihood": grid.mle,
        "least structural risk": theta[int(np.argmin(structural))],
        "maximum a posteriori": grid.mode,
    }


def generative(prior: Any, beard: Any) -> dict[str, Any]:
    from tercet.distributions import conditional, decide, product

    joint = product(prior, np.stack([beard, 1 - np.asarray(beard)], axis=1))
    of_bearded = conditional(joint, given=1)[:, 0]
    return {
        "scores": joint[:, 0],
        "P(man | beard)": of_bearded[0],
        "decision": decide(of_bearded, ["man", "woman"]),
    }


def by_counting(counts: Any) -> dict[str, Any]:
    from tercet.naive_bayes import BernoulliNB, posterior

    table = np.asarray(counts, dtype=float)  # sex x beard, no beard
    people = table.sum(axis=1)
    model = BernoulliNB(alpha=0).fit([[1], [0]] * 2, ["man"] * 2 + ["woman"] * 2, table.ravel())
    return {
        "Bayes' theorem": posterior(people / people.sum(), table[:, 0] / people),
        "P(man | beard)": model.predict_proba([[1]])[0, 0],
        "decision": model.predict([[1]])[0],
    }


def finite_class(d: int, N: int, delta: float) -> dict[str, Any]:
    from tercet.theory import finite_class_bound, finite_class_confidence, finite_class_sample_size

    epsilon = finite_class_bound(d, N, delta)
    return {
        "ε": epsilon,
        "δ of this ε": finite_class_confidence(d, N, epsilon),
        "N for ε = 0.05": finite_class_sample_size(d, 0.05, delta),
    }


EXAMPLES = [
    Example(
        place="Machine Learning in Depth ch. 1, sec. 1.2.2",
        title="0-1, squared and absolute loss, and the empirical risk",
        zh="0-1 损失、平方损失、绝对损失与经验风险",
        given={"y": [1.0, 2.0, 3.0, 3.0], "f": [1.0, 0.0, 5.0, 3.0]},
        call=losses,
        expected={
            "0-1": [0, 1, 1, 0],
            "squared": [0, 4, 4, 0],
            "absolute": [0, 2, 2, 0],
            "empirical risk": {"0-1": 0.5, "squared": 2.0, "absolute": 1.0},
        },
        note=DERIVED,
    ),
    Example(
        place="Machine Learning in Depth ch. 1, sec. 1.2.2",
        title="log loss of two rows of class probabilities",
        zh="对数损失",
        given={"y": [1, 0], "P": [[0.1, 0.7, 0.2], [0.5, 0.25, 0.25]]},
        call=log_loss,
        expected={"log": [-np.log(0.7), np.log(2)]},
        note=DERIVED,
    ),
    Example(
        place="Machine Learning in Depth ch. 1, sec. 1.2.2",
        title="expected risk of a rule under a known joint distribution",
        zh="期望风险",
        given={"joint": [[0.4, 0.1], [0.2, 0.3]], "f": [0, 1]},
        call=expected_risk,
        expected={"risk": 0.3},
        note=DERIVED,
    ),
    Example(
        place="Machine Learning in Depth ch. 1, sec. 1.4.1",
        title="least risk is greatest likelihood, with a penalty greatest posterior",
        zh="经验风险最小化与最大似然、结构风险最小化与最大后验",
        # k = 3 of n = 4: likelihood k/n = 3/4; with a Beta(4, 4) prior (k + 3)/(n + 6) = 3/5
        given={"x": [1, 1, 0, 1], "theta": np.arange(1, 20) / 20, "prior": (4, 4)},
        call=risk_and_likelihood,
        expected={
            "least empirical risk": 0.75,
            "maximum likelihood": 0.75,
            "least structural risk": 0.6,
            "maximum a posteriori": 0.6,
        },
        note=f"{DERIVED} Equation (4) prints sums of p where sums of log p are meant.",
    ),
    Example(
        place="Machine Learning in Depth ch. 1, sec. 1.3.4",
        title="generative prediction: a beard, of 60 men (30 bearded) and 40 women (1 bearded)",
        zh="贝叶斯学派下的生成模型是如何对未知样本进行预测",
        given={"prior": [0.6, 0.4], "beard": [30 / 60, 1 / 40]},
        call=generative,
        expected={"scores": [0.30, 0.01], "P(man | beard)": 30 / 31, "decision": "man"},
        note="The text gives no counts, and writes = for a posterior that is not divided by its sum.",
    ),
    Example(
        place="Machine Learning in Depth ch. 1, sec. 1.3.4",
        title="the same by a classifier that counts",
        zh="由计数学习的生成模型：有胡子的人是男是女",
        given={"counts": [[30, 30], [1, 39]]},
        call=by_counting,
        expected={"Bayes' theorem": [30 / 31, 1 / 31], "P(man | beard)": 30 / 31, "decision": "man"},
        note="The text gives no counts, and writes = for a posterior that is not divided by its sum.",
    ),
    Example(
        place="Machine Learning in Depth ch. 1, sec. 1.3.3",
        title="how far the risk of ten hypotheses can be from what 1000 rows show",
        zh="泛化误差上界（有限假设空间）",
        given={"d": 10, "N": 1000, "delta": 0.05},
        call=finite_class,
        # ln(10 / 0.05) / (2 * 0.05^2) = 1059.66
        expected={"ε": 0.051469978, "δ of this ε": 0.05, "N for ε = 0.05": 1060},
        note=f"{DERIVED} It names Hoeffding's inequality without a formula.",
    ),
]
