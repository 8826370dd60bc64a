"""Li, chapter 13: introduction to unsupervised learning (无监督学习概论)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example


def clusters(X: Any, k: int) -> dict[str, Any]:
    from tercet.cluster import KMeans

    model = KMeans(k, n_init=5, random_state=0).fit(X)
    order = np.argsort(model.cluster_centers_[:, 0])
    return {
        "clusters": order.argsort()[model.labels_],
        "centres": model.cluster_centers_[order],
        "inertia": model.inertia_,
    }


def topics(X: Any, k: int) -> dict[str, Any]:
    from tercet.topic import LSA

    model = LSA(k, algorithm="nmf", tol=1e-10, max_iter=5000, random_state=0).fit(np.transpose(X))
    order = np.argsort(model.components_.argmax(axis=1))
    documents = model.documents_[:, order].T
    return {
        "words of the topics": model.topic_word_distribution()[order],
        "topics of the documents": documents / documents.sum(axis=0),
    }


EXAMPLES = [
    Example(
        place="Li Table 13.1",
        title="k-means, k = 2",
        zh="k 均值聚类，k = 2",
        given={"X": [[1, 1], [1, 0], [0, 2], [2, 4], [3, 5]], "k": 2},
        call=clusters,
        expected={
            "clusters": [0, 0, 0, 1, 1],
            "centres": [[2 / 3, 1.0], [2.5, 4.5]],
            "inertia": 11 / 3,
        },
    ),
    Example(
        place="Li Table 13.3, 13.4",
        title="two topics of six documents",
        zh="六个文本的两个话题",
        given={
            "X": [
                [1, 1, 0, 0, 0, 0],
                [1, 0, 1, 0, 0, 0],
                [0, 1, 1, 0, 0, 0],
                [0, 0, 0, 1, 1, 0],
                [0, 0, 0, 1, 0, 1],
                [0, 0, 0, 0, 1, 1],
            ],
            "k": 2,
        },
        call=topics,
        expected={
            "words of the topics": [[1 / 3, 1 / 3, 1 / 3, 0, 0, 0], [0, 0, 0, 1 / 3, 1 / 3, 1 / 3]],
            "topics of the documents": [[1.0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]],
        },
        atol=1e-4,
        note="the print of table 13.3 is shifted: the six words and documents are restored",
    ),
]
