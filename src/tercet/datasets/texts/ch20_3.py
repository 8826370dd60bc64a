"""Li, chapter 20, 20.3: collapsed Gibbs sampling of latent Dirichlet allocation (LDA 的吉布斯抽样算法)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

DOCUMENTS = [[0, 1, 0], [1, 2]]


def by_counts(documents: Any, z: Any, alpha: Any, beta: Any, places: Any) -> dict[str, Any]:
    from tercet.topic import lda_conditional, lda_counts, lda_log_joint, lda_phi, lda_theta

    counts = lda_counts(documents, z, len(alpha), len(beta))
    return {
        "n_mk": counts.doc_topic,
        "n_kv": counts.topic_word,
        "log p(w, z)": lda_log_joint(documents, z, alpha, beta),
        "theta": lda_theta(counts.doc_topic, alpha),
        "phi": lda_phi(counts.topic_word, beta),
        "conditionals": [lda_conditional(documents, z, alpha, beta, *place) for place in places],
    }


def two_groups(documents: list[list[int]], sweeps: int) -> dict[str, Any]:
    from tercet.topic import LatentDirichletAllocation

    X = np.zeros((6, 6))
    for d, words in enumerate(documents):
        X[d, words] = 1
    model = LatentDirichletAllocation(
        2,
        learning_method="gibbs",
        doc_topic_prior=0.1,
        topic_word_prior=0.1,
        max_iter=sweeps,
        thin=5,
        random_state=0,
    ).fit(X)
    words, topics = model.components_.argmax(axis=0), model.transform(X).argmax(axis=1)
    return {
        "words with the first": words == words[0],
        "documents with the first": topics == topics[0],
        "of one topic": bool(words[0] == topics[0]),
    }


EXAMPLES = [
    Example(
        place="Li Alg 20.2",
        title="counts, joint probability and a full conditional of collapsed Gibbs sampling",
        zh="收缩吉布斯抽样的计数、联合概率与满条件分布",
        given={
            "documents": DOCUMENTS,
            "z": [[0, 1, 0], [1, 1]],
            "alpha": [0.5, 0.5],
            "beta": [0.1, 0.1, 0.1],
            "places": [(0, 1)],
        },
        call=by_counts,
        expected={
            "n_mk": [[2, 1], [0, 2]],
            "n_kv": [[2, 0, 0], [0, 2, 1]],
            "log p(w, z)": -9.420244937843208,
            "theta": [[0.625, 0.375], [1 / 6, 5 / 6]],
            "phi": [[0.9130434783, 0.0434782609, 0.0434782609], [0.0303030303, 0.6363636364, 0.3333333333]],
            "conditionals": [[0.3125, 0.6875]],
        },
        note="derived",
    ),
    Example(
        place="Li Tables 13.3, 13.4",
        title="LDA by Gibbs sampling parts two groups of words",
        zh="LDA 的吉布斯抽样把两组单词分开",
        given={"documents": [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]], "sweeps": 60},
        call=two_groups,
        expected={
            "words with the first": [True] * 3 + [False] * 3,
            "documents with the first": [True] * 3 + [False] * 3,
            "of one topic": True,
        },
        note="table 13.3 is shifted in the print",
    ),
]
