"""Machine Learning in Depth, chapter 5: collapsed Gibbs sampling of topics (LDA 与吉布斯采样)."""

from __future__ import annotations

from tercet.datasets.texts import Example
from tercet.datasets.texts.ch20_3 import DOCUMENTS, by_counts

EXAMPLES = [
    Example(
        place="Machine Learning in Depth eq. 5.17-5.20",
        title="the conditional distribution of each word's topic",
        zh="每个单词的主题的条件分布",
        given={
            "documents": DOCUMENTS,
            "z": [[0, 0, 1], [1, 1]],
            "alpha": [0.5, 0.5],
            "beta": [0.1, 0.1, 0.1],
            "places": [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)],
        },
        call=by_counts,
        expected={
            "conditionals": [
                [0.1875, 0.8125],
                [0.1875, 0.8125],
                [0.982142857, 0.017857143],
                [0.785714286, 0.214285714],
                [0.25, 0.75],
            ],
            "log p(w, z)": -14.216035483,
            "theta": [[0.625, 0.375], [1 / 6, 5 / 6]],
            "phi": [[0.478260870, 0.478260870, 0.043478261], [1 / 3] * 3],
        },
        note="derived",
    ),
]
