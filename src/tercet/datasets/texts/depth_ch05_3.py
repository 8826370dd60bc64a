"""Machine Learning in Depth, chapter 5: counting topic words (按主题词统计) and pLSA."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

TOPICS = {
    "爱情": ["爱", "爱上"],
    "武侠": ["小龙女", "杨过", "武功", "教"],
    "教育": ["教", "学习", "英语", "语感", "培养", "英文"],
    "音乐": ["歌曲", "听"],
    "体育": ["篮球", "足球", "运动"],
}
DOCUMENTS = [
    ["小龙女", "教", "杨过", "武功", "后来", "爱上", "了", "杨过"],
    ["学习", "英语", "重在", "培养", "语感", "多", "听", "英文", "歌曲", "可以", "培养", "语感"],
]


def dictionary(topics: Any, documents: Any) -> dict[str, Any]:
    from tercet.topic import count_topic_words

    found = count_topic_words(documents, topics)
    names = list(topics)
    return {"counts": found, "topics": [names[k] for k in found.argmax(axis=1)]}


def em(counts: Any, phi: Any, theta: Any, passes: int) -> dict[str, Any]:
    from tercet.topic import PLSA

    model = PLSA(len(phi), components_init=phi, doc_topic_init=theta, max_iter=passes, tol=0.0).fit(counts)
    values = [*model.history_["log_likelihood"], model.log_likelihood_]
    return {
        "phi": model.components_,
        "theta": model.doc_topic_,
        "ll": [values[k] for k in (0, 1, 2, 10) if k < len(values)],
        "limit": values[-1],
    }


GIVEN = {
    "counts": [[4, 1, 0], [0, 2, 3], [2, 2, 2]],
    "phi": [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]],
    "theta": [[0.6, 0.4], [0.3, 0.7], [0.5, 0.5]],
}
EXAMPLES = [
    Example(
        place="Machine Learning in Depth sec. 5.1",
        title="topics of documents by counting the words of each topic",
        zh="按主题词统计文档的主题",
        given={"topics": TOPICS, "documents": DOCUMENTS},
        call=dictionary,
        expected={"counts": [[1, 5, 1, 0, 0], [0, 0, 7, 2, 0]], "topics": ["武侠", "教育"]},
        note="the text's topics; its bar charts are lost, the counts are ours (a word may belong to two topics)",
    ),
    Example(
        place="Machine Learning in Depth sec. 5.3.4",
        title="one step of pLSA by EM",
        zh="pLSA的EM算法的一步",
        given={**GIVEN, "passes": 1},
        call=em,
        expected={
            "phi": [[0.58824083, 0.28216273, 0.12959644], [0.17231743, 0.34133517, 0.48634740]],
            "theta": [[0.75157895, 0.24842105], [0.20780488, 0.79219512], [0.5, 0.5]],
            "ll": [-16.764282983, -15.611711599],
        },
        atol=1e-8,
        note="derived",
    ),
    Example(
        place="Machine Learning in Depth sec. 5.3.4",
        title="pLSA by EM until it ends",
        zh="pLSA的EM算法直到收敛",
        given={**GIVEN, "passes": 1000},
        call=em,
        expected={
            "phi": [[0.79655002, 0.20344998, 0.0], [0.0, 0.40950808, 0.59049192]],
            "ll": [-16.764282983, -15.611711599, -14.254905070, -12.462287139],
            "limit": -12.461568377,
        },
        atol=1e-8,
        note="derived",
    ),
]
