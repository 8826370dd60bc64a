"""Watermelon notes, chapter 12, 12.5: the topic model LDA (话题模型)."""

from __future__ import annotations

from tercet.datasets.texts import Example
from tercet.datasets.texts.ch20_3 import by_counts

EXAMPLES = [
    Example(
        place="watermelon notes eq. 12.24-12.26",
        title="collapsed Gibbs sampling of LDA: one conditional and the topics of a document",
        zh="LDA 的收缩吉布斯采样：一个条件分布与文档的话题",
        given={
            "documents": [[0, 0, 1], [1, 2, 2]],
            "z": [[0, 1, 0], [1, 1, 0]],
            "alpha": [0.1, 0.1],
            "beta": [0.01, 0.01, 0.01],
            "places": [(0, 1)],
        },
        call=by_counts,
        expected={
            "conditionals": [[0.99929677, 0.00070323]],
            "theta": [[0.65625, 0.34375], [0.34375, 0.65625]],
        },
        atol=5e-9,
        note="derived",
    ),
]
