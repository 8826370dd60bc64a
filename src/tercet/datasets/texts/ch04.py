"""Li, chapter 4: naive Bayes (朴素贝叶斯法)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

# Table 4.1: two features, the class.
X1 = [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3]
X2 = list("SMMSSSMMLLLMMLL")
Y = [-1, -1, 1, 1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, -1]


def naive_bayes(alpha: float, x: list[Any]) -> dict[str, Any]:
    from tercet.naive_bayes import CategoricalNB

    rows = [list(row) for row in zip(X1, X2)]
    model = CategoricalNB(alpha=alpha, smooth_prior=True, categories=[[1, 2, 3], ["S", "M", "L"]]).fit(
        rows, Y
    )
    negative, positive = np.exp(model.predict_joint_log_proba([x]))[0]
    first, second = (np.exp(table) for table in model.feature_log_prob_)
    return {
        "P(Y = 1)": np.exp(model.class_log_prior_)[1],
        "P(X1 | Y = 1)": first[1],
        "P(X2 | Y = 1)": second[1],
        "P(X1 | Y = -1)": first[0],
        "P(X2 | Y = -1)": second[0],
        "score of Y = 1": positive,
        "score of Y = -1": negative,
        "posterior of Y = -1": model.predict_proba([x])[0, 0],
        "y": int(model.predict([x])[0]),
    }


def counts(sizes: list[int], n_classes: int) -> dict[str, Any]:
    from tercet.naive_bayes import parameter_counts

    full, naive = parameter_counts(sizes, n_classes)
    return {"without independence": full, "with independence": naive}


EXAMPLES = [
    Example(
        place="Li Ex 4.1",
        title="naive Bayes by maximum likelihood on Table 4.1",
        zh="朴素贝叶斯法：极大似然估计",
        given={"alpha": 0.0, "x": [2, "S"]},
        call=naive_bayes,
        expected={
            "P(Y = 1)": 9 / 15,
            "P(X1 | Y = 1)": [2 / 9, 3 / 9, 4 / 9],
            "P(X2 | Y = 1)": [1 / 9, 4 / 9, 4 / 9],
            "P(X1 | Y = -1)": [3 / 6, 2 / 6, 1 / 6],
            "P(X2 | Y = -1)": [3 / 6, 2 / 6, 1 / 6],
            "score of Y = 1": 1 / 45,
            "score of Y = -1": 1 / 15,
            "posterior of Y = -1": 3 / 4,
            "y": -1,
        },
    ),
    Example(
        place="Li Ex 4.2",
        title="naive Bayes with Laplace smoothing on Table 4.1",
        zh="朴素贝叶斯法：贝叶斯估计（拉普拉斯平滑）",
        given={"alpha": 1.0, "x": [2, "S"]},
        call=naive_bayes,
        expected={
            "P(Y = 1)": 10 / 17,
            "P(X1 | Y = 1)": [3 / 12, 4 / 12, 5 / 12],
            "P(X2 | Y = 1)": [2 / 12, 5 / 12, 5 / 12],
            "P(X1 | Y = -1)": [4 / 9, 3 / 9, 2 / 9],
            "P(X2 | Y = -1)": [4 / 9, 3 / 9, 2 / 9],
            "score of Y = 1": 5 / 153,
            "score of Y = -1": 28 / 459,
            "posterior of Y = -1": 28 / 43,
            "y": -1,
        },
    ),
    Example(
        place="Li ch. 4, 4.1.1",
        title="how many conditional probabilities there are in Table 4.1",
        zh="条件概率分布的参数个数",
        given={"sizes": [3, 3], "n_classes": 2},
        call=counts,
        expected={"without independence": 18, "with independence": 12},
        note="derived",
    ),
]
