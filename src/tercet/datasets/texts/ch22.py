"""Li, chapter 22: summary of unsupervised methods (无监督学习方法总结)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example
from tercet.datasets.texts.ch18 import COUNTS, TOPIC_DOC, WORD_TOPIC


def divergence_view(counts: Any, word_topic: Any, topic_doc: Any) -> dict[str, Any]:
    from tercet.metrics import entropy, kl_divergence
    from tercet.topic import plsa_step

    n = np.transpose(counts).astype(float)
    theta, phi = np.transpose(topic_doc), np.transpose(word_topic)
    D, shares = n / n.sum(), n.sum(axis=1) / n.sum()
    P = shares[:, None] * (theta @ phi)
    kl, h = float(kl_divergence(D.ravel(), P.ravel())), float(entropy(D.ravel()))
    conditional = plsa_step(n, theta, phi)[2]
    return {
        "KL(D||P)": kl,
        "H(D)": h,
        "Σ n log P(w,d)": conditional + float((n.sum(axis=1) * np.log(shares)).sum()),
        "-N (KL + H)": -n.sum() * (kl + h),
        "sum of UV with V = P(z|d)": float((theta @ phi).sum()),
        "sum of UV with V = P(z,d)": float(P.sum()),
    }


EXAMPLES = [
    Example(
        place="Li Table 22.3",
        title="PLSA is a factorisation by the KL divergence",
        zh="PLSA是KL散度下的矩阵分解",
        given={"counts": COUNTS, "word_topic": WORD_TOPIC, "topic_doc": TOPIC_DOC},
        call=divergence_view,
        expected={
            "KL(D||P)": 0.45049121107131385,
            "H(D)": 1.6769877743224173,
            "Σ n log P(w,d)": -19.14731086854358,
            "-N (KL + H)": -19.14731086854358,
            "sum of UV with V = P(z|d)": 3.0,
            "sum of UV with V = P(z,d)": 1.0,
        },
        note="derived; with columns of V that sum to 1, as printed, UV sums to the number of documents, not to 1",
    ),
]
