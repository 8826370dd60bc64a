"""Watermelon notes, chapter 11.6: semi-supervised clustering (半监督聚类)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

LINE = [1.0, 2.0, 3.0, 8.0, 9.0, 10.0, 5.2]


def constrained(x: list[float], start: list[int], **links: Any) -> dict[str, Any]:
    from tercet.cluster import COPKMeans

    model = COPKMeans(2, init=start).fit(np.array(x)[:, None], **links)
    return {"labels": model.labels_, "means": model.cluster_centers_.ravel()}


def contradicted(x: list[float], pair: list[int]) -> dict[str, Any]:
    from tercet.cluster import COPKMeans

    try:
        COPKMeans(2).fit(np.array(x)[:, None], must_link=[pair], cannot_link=[pair])
    except ValueError as error:
        return {"error": "contradict" in str(error)}
    return {"error": False}


def seeded(x: list[float], seeds: list[int]) -> dict[str, Any]:
    from tercet.cluster import SeededKMeans

    model = SeededKMeans(2).fit(np.array(x)[:, None], seeds)
    return {"labels": model.labels_, "means": model.cluster_centers_.ravel()}


EXAMPLES = [
    Example(
        place="watermelon notes ch. 11, Fig 13.7",
        title="constrained k-means of seven numbers without constraints",
        zh="七个数的约束 k 均值聚类，没有约束",
        given={"x": LINE, "start": [0, 5]},
        call=constrained,
        expected={"labels": [0, 0, 0, 1, 1, 1, 0], "means": [2.8, 9.0]},
        note="derived; the text has no numbers",
    ),
    Example(
        place="watermelon notes ch. 11, Fig 13.7",
        title="constrained k-means of seven numbers: the third and the fourth must be linked",
        zh="七个数的约束 k 均值聚类：第三个与第四个必连",
        given={"x": LINE, "start": [0, 5], "must_link": [(2, 3)]},
        call=constrained,
        expected={"labels": [0, 0, 0, 0, 1, 1, 0], "means": [3.84, 9.5]},
        note="derived; the text has no numbers",
    ),
    Example(
        place="watermelon notes ch. 11, Fig 13.7",
        title="constrained k-means of seven numbers: the seventh and the first cannot be linked",
        zh="七个数的约束 k 均值聚类：第七个与第一个勿连",
        given={"x": LINE, "start": [0, 5], "cannot_link": [(6, 0)]},
        call=constrained,
        expected={"labels": [0, 0, 0, 1, 1, 1, 1], "means": [2.0, 8.05]},
        note="derived; the text has no numbers, and says that must-links alone belong to this method",
    ),
    Example(
        place="watermelon notes ch. 11, Fig 13.7",
        title="a pair that must and cannot be linked is an error",
        zh="同一对样本既必连又勿连时报错",
        given={"x": LINE, "pair": [2, 3]},
        call=contradicted,
        expected={"error": True},
        note="derived; the text has no numbers",
    ),
    Example(
        place="watermelon notes ch. 11, Fig 13.9",
        title="constrained seed k-means of seven numbers: the first and the seventh, and the sixth, are labelled",
        zh="七个数的约束种子 k 均值聚类：第一、第七个为一类，第六个为另一类",
        given={"x": LINE, "seeds": [0, -1, -1, -1, -1, 1, 0]},
        call=seeded,
        expected={"labels": [0, 0, 0, 1, 1, 1, 0], "means": [2.8, 9.0]},
        note="derived; the text has no numbers",
    ),
    Example(
        place="watermelon notes ch. 11, Fig 13.9",
        title="constrained seed k-means of seven numbers: a seed stays though another mean is nearer",
        zh="七个数的约束种子 k 均值聚类：种子样本即使离另一均值更近也不改变",
        given={"x": LINE, "seeds": [0, -1, 1, -1, -1, 1, -1]},
        call=seeded,
        expected={"labels": [0, 0, 1, 1, 1, 1, 1], "means": [1.5, 7.04]},
        note="derived; the text has no numbers",
    ),
]
