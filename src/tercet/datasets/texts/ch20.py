"""Li, chapter 20: latent Dirichlet allocation (潜在狄利克雷分配)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

DERIVED = "The chapter has no numbers; these are derived from its formulas."
PHI = [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]
# Table 13.3, put right: rows are words, columns documents.
WORD_DOCUMENT = [
    [1, 1, 0, 0, 0, 0],
    [1, 0, 1, 0, 0, 0],
    [0, 1, 1, 0, 0, 0],
    [0, 0, 0, 1, 1, 0],
    [0, 0, 0, 1, 0, 1],
    [0, 0, 0, 0, 1, 1],
]


def dirichlet(alpha: Any) -> dict[str, Any]:
    from tercet.distributions import Dirichlet

    member = Dirichlet(alpha)
    return {
        "mean": member.mean,
        "variance": member.var,
        "E[log θ]": member.mean_statistics,
        "log B": member.log_partition,
        "log p(mean)": member.logpdf(member.mean),
    }


def one_document(document: Any, alpha: Any, phi: Any) -> dict[str, Any]:
    from tercet.topic import infer_document

    first = infer_document(document, alpha, np.log(phi), max_iter=1)
    last = infer_document(document, alpha, np.log(phi), tol=1e-14)
    return {
        "first bounds": first.elbo,
        "first γ": first.gamma,
        "first η": first.z,
        "γ": last.gamma,
        "η": last.z,
        "bound": last.elbo[-1],
        "bound below log p(w)": last.elbo[-1] <= exact_log_evidence(document, alpha, phi),
        "log p(w)": exact_log_evidence(document, alpha, phi),
    }


def exact_log_evidence(document: Any, alpha: Any, phi: Any) -> float:
    """log p(w), by a sum over all sequences of topics."""
    from itertools import product

    from tercet.distributions import Dirichlet

    alpha, phi = np.asarray(alpha, dtype=float), np.asarray(phi)
    if alpha.size == 1:
        return float(np.log(phi[0, list(document)]).sum())
    before, total = Dirichlet(alpha).log_partition, 0.0
    for z in product(range(alpha.size), repeat=len(document)):
        after = Dirichlet(alpha + np.bincount(z, minlength=alpha.size)).log_partition
        total += float(np.exp(after - before) * phi[list(z), list(document)].prod())
    return float(np.log(total))


def one_topic(document: Any, alpha: Any, phi: Any) -> dict[str, Any]:
    from tercet.topic import infer_document

    return {
        "bound": infer_document(document, alpha, np.log(phi)).elbo[-1],
        "log p(w)": exact_log_evidence(document, alpha, phi),
    }


def learned_alpha(gamma: Any, alpha: Any) -> dict[str, Any]:
    from tercet.distributions import expected_log_dirichlet
    from tercet.topic import newton_alpha
    from tercet.topic.variational_priors import alpha_objective, alpha_step

    start, logs = np.asarray(alpha, dtype=float), expected_log_dirichlet(gamma).mean(axis=0)
    found = newton_alpha(gamma, start)
    return {
        "first": start + alpha_step(start, logs),
        "α": found,
        "objective": len(gamma) * alpha_objective(found, logs),
    }


def two_blocks(X: Any, prior: float) -> dict[str, Any]:
    from tercet.topic import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        2, doc_topic_prior=prior, topic_word_prior=prior, max_iter=50, random_state=0
    )
    documents = np.asarray(X, dtype=float).T
    topics = model.fit_transform(documents).round().astype(int)
    order = np.argsort(-topics[0])  # topics have no order of their own
    return {
        "topics of documents": topics[:, order].T.tolist(),
        "words of topics": model.topic_word_distribution()[order],
    }


EXAMPLES = [
    Example(
        place="Li ch. 20, summary; eq. 20.50",
        title="mean, variance, expected logarithms and normaliser of a Dirichlet distribution",
        zh="狄利克雷分布的均值、方差与对数期望",
        given={"alpha": [2, 3, 5]},
        call=dirichlet,
        expected={
            "mean": [0.2, 0.3, 0.5],
            "variance": [0.8 / 55, 1.05 / 55, 1.25 / 55],
            "E[log θ]": [-1.828968253968, -1.328968253968, -0.745634920635],
            "log B": -8.930626469173578,
            "log p(mean)": 2.1406542258478254,
        },
        note=DERIVED,
    ),
    Example(
        place="Li Alg 20.4",
        title="variational parameters of one document, and its evidence lower bound",
        zh="变分参数估计与证据下界",
        given={"document": [0, 0, 1, 2], "alpha": [0.5, 0.5], "phi": PHI},
        call=one_document,
        expected={
            "first bounds": [-6.4049181324777145, -5.2714158507957665],
            "first γ": [20 / 7, 15 / 7],
            "first η": [[6 / 7, 1 / 7], [6 / 7, 1 / 7], [0.5, 0.5], [1 / 7, 6 / 7]],
            "γ": [3.393949474671, 1.606050525329],
            "η": [
                [0.9386605145, 0.0613394855],
                [0.9386605145, 0.0613394855],
                [0.7183457276, 0.2816542724],
                [0.2982827181, 0.7017172819],
            ],
            "bound": -5.1742601474242615,
            "bound below log p(w)": True,
            "log p(w)": -4.64794721534415,
        },
        note=f"{DERIVED} Step (4) of the algorithm leaves out that η must be divided by its sum.",
    ),
    Example(
        place="Li Eq 20.47",
        title="with one topic the evidence lower bound is the likelihood itself",
        zh="只有一个话题时证据下界等于对数似然",
        given={"document": [0, 1], "alpha": [0.7], "phi": [[0.2, 0.8]]},
        call=one_topic,
        expected={"bound": -1.8325814637483098, "log p(w)": -1.8325814637483098},
        note=DERIVED,
    ),
    Example(
        place="Li Eq 20.65-20.68",
        title="Newton's method for the prior α",
        zh="参数 α 的牛顿法",
        given={"gamma": [[3, 1], [1, 4], [2, 2], [5, 0.8]], "alpha": [1, 1]},
        call=learned_alpha,
        expected={
            "first": [0.823107456377, 0.498201895587],
            "α": [0.91483448, 0.68570645],
            "objective": 0.24923780473830037,
        },
        note=f"{DERIVED} Sec. 20.4.3 calls (20.65) and (20.66) gradient and Hessian: read (20.66) and (20.67).",
    ),
    Example(
        place="Li Tables 13.3, 13.4",
        title="two blocks of words are two topics",
        zh="话题分析的引例：两组单词分成两个话题",
        given={"X": WORD_DOCUMENT, "prior": 0.01},
        call=two_blocks,
        expected={
            "topics of documents": [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]],
            "words of topics": [[1 / 3, 1 / 3, 1 / 3, 0, 0, 0], [0, 0, 0, 1 / 3, 1 / 3, 1 / 3]],
        },
        atol=0.005,
        note="Table 13.3 is shifted in print; this is the table that table 13.4 belongs to.",
    ),
]
