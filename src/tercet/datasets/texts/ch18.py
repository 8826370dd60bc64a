"""Li, chapter 18: probabilistic latent semantic analysis (概率潜在语义分析)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

# Rows are words, columns documents, as in the text; the library has documents in rows.
COUNTS = [[2, 0, 1], [1, 1, 0], [0, 3, 1]]
WORD_TOPIC = [[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]
TOPIC_DOC = [[0.6, 0.5, 0.4], [0.4, 0.5, 0.6]]
TOPIC = [0.5, 0.5]
DOC_TOPIC = [[0.4, 0.3], [0.3, 0.4], [0.3, 0.3]]
DERIVED = "the text has no numbers: derived, and checked by hand"


def em(counts: Any, word_topic: Any, topic_doc: Any, passes: int) -> dict[str, Any]:
    from tercet.topic import PLSA, plsa_step

    n, phi, theta = (np.transpose(given) for given in (counts, word_topic, topic_doc))
    model = PLSA(len(phi), components_init=phi, doc_topic_init=theta, max_iter=passes, tol=0.0)
    model.fit(n)
    first = plsa_step(n, theta, phi)
    return {
        "P(w|z)": model.components_.T,
        "P(z|d)": model.doc_topic_.T,
        "log-likelihood": [*model.history_["log_likelihood"], model.log_likelihood_],
        "P(w|z), plain form": first[1].T,
        "P(z|d), plain form": first[0].T,
    }


def limit(counts: Any, word_topic: Any, topic_doc: Any) -> dict[str, Any]:
    from tercet.topic import PLSA

    n, phi, theta = (np.transpose(given) for given in (counts, word_topic, topic_doc))
    model = PLSA(len(phi), components_init=phi, doc_topic_init=theta, max_iter=300, tol=1e-15).fit(n)
    return {
        "P(w|z)": model.components_.T,
        "P(z|d)": model.doc_topic_.T,
        "log-likelihood": model.log_likelihood_,
    }


def symmetric(counts: Any, topic: Any, word_topic: Any, doc_topic: Any) -> dict[str, Any]:
    from tercet.topic import PLSA

    model = PLSA(
        len(topic),
        model="cooccurrence",
        components_init=np.transpose(word_topic),
        doc_topic_init=doc_topic,
        topic_weights_init=topic,
        max_iter=1,
        tol=0.0,
    ).fit(np.transpose(counts))
    found = model.cooccurrence()
    return {
        "P(z)": found.topic_weights,
        "P(w|z)": found.components.T,
        "P(d|z)": found.topic_document.T,
        "log-likelihood": model.log_likelihood_,
    }


def conversion(counts: Any, word_topic: Any, topic_doc: Any) -> dict[str, Any]:
    from tercet.topic import to_cooccurrence, to_generative

    lengths = np.sum(counts, axis=0)
    shares, theta, phi = lengths / lengths.sum(), np.transpose(topic_doc), np.transpose(word_topic)
    there = to_cooccurrence(shares, theta, phi)
    back = to_generative(there.topic_weights, there.topic_document, there.components)
    return {
        "P(z)": there.topic_weights,
        "P(d|z)": there.topic_document.T,
        "P(d) again": back.document_weights,
        "P(z|d) again": back.doc_topic.T,
    }


def parameters(M: int, N: int, K: int) -> dict[str, Any]:
    from tercet.topic import plsa_parameter_counts

    return plsa_parameter_counts(M, N, K)


GIVEN = {"counts": COUNTS, "word_topic": WORD_TOPIC, "topic_doc": TOPIC_DOC}
FIRST_WORDS = [[0.5041492884, 0.1719936645], [0.2516231672, 0.1944523413], [0.2442275444, 0.6335539942]]
FIRST_DOCS = [[0.7263157895, 0.3392857143, 0.4177631579], [0.2736842105, 0.6607142857, 0.5822368421]]
EXAMPLES = [
    Example(
        place="Li Alg 18.1",
        title="one EM step of the generative model",
        zh="生成模型EM算法的一步",
        given={**GIVEN, "passes": 1},
        call=em,
        expected={
            "P(w|z)": FIRST_WORDS,
            "P(z|d)": FIRST_DOCS,
            "log-likelihood": [-9.599598344121388, -8.746470088671856],
            "P(w|z), plain form": FIRST_WORDS,
            "P(z|d), plain form": FIRST_DOCS,
        },
        note=DERIVED + "; the log-likelihood leaves P(d) out, as the text does",
    ),
    Example(
        place="Li Alg 18.1",
        title="the log-likelihood of four EM steps never falls",
        zh="EM算法四步的对数似然单调不减",
        given={**GIVEN, "passes": 4},
        call=em,
        expected={
            "log-likelihood": [
                -9.599598344121388,
                -8.746470088671856,
                -7.905626642182482,
                -7.036853424635812,
                -6.501351534933525,
            ],
        },
        note=DERIVED,
    ),
    Example(
        place="Li Alg 18.1",
        title="where the EM algorithm ends",
        zh="EM算法的极限",
        given=GIVEN,
        call=limit,
        expected={
            "P(w|z)": [[0.75, 0.0], [0.25, 0.2], [0.0, 0.8]],
            "P(z|d)": [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]],
            "log-likelihood": -6.137647057286063,
        },
        atol=1e-7,
        note=DERIVED,
    ),
    Example(
        place="Li Ex 18.2",
        title="one EM step of the co-occurrence model",
        zh="共现模型EM算法的一步",
        given={"counts": COUNTS, "topic": TOPIC, "word_topic": WORD_TOPIC, "doc_topic": DOC_TOPIC},
        call=symmetric,
        expected={
            "P(z)": [0.4700854701, 0.5299145299],
            "P(w|z)": [
                [0.5324675325, 0.1566820276],
                [0.2363636364, 0.2096774194],
                [0.2311688312, 0.6336405530],
            ],
            "P(d|z)": [
                [0.4987012987, 0.1866359447],
                [0.2649350649, 0.6036866359],
                [0.2363636364, 0.2096774194],
            ],
            "log-likelihood": -18.142354268268022,
        },
        note=DERIVED + "; the log-likelihood is of P(w,d)",
    ),
    Example(
        place="Li Ex 18.1",
        title="the generative and the co-occurrence model are equal",
        zh="生成模型与共现模型等价",
        given=GIVEN,
        call=conversion,
        expected={
            "P(z)": [0.5111111111, 0.4888888889],
            "P(d|z)": [
                [0.3913043478, 0.2727272727],
                [0.4347826087, 0.4545454545],
                [0.1739130435, 0.2727272727],
            ],
            "P(d) again": [3 / 9, 4 / 9, 2 / 9],
            "P(z|d) again": TOPIC_DOC,
        },
        note=DERIVED,
    ),
    Example(
        place="Li sec. 18.1.4",
        title="how many parameters a table and the models have",
        zh="模型参数的个数",
        given={"M": 10_000, "N": 5_000, "K": 20},
        call=parameters,
        expected={"table": 50_000_000, "generative": 300_000, "cooccurrence": 300_020},
        note="O(MN) and O(MK + NK) with numbers of ours",
    ),
]
