"""Li, chapter 1, 1.5 and 1.8: cross-validation and evaluation (交叉验证, 评价指标)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example
from tercet.datasets.texts.ch01 import T, X


def splits(n: int, S: int) -> dict[str, Any]:
    import numpy as np
    from sklearn.model_selection import KFold, LeaveOneOut, train_test_split

    rows = np.arange(n)
    learn, test = train_test_split(rows, test_size=0.3, random_state=0)
    learn_2, validation = train_test_split(learn, test_size=2 / 7, random_state=0)
    folds = [fold for _, fold in KFold(S, shuffle=True, random_state=0).split(rows)]
    return {
        "7 : 3": [len(learn), len(test)],
        "5 : 2 : 3": [len(learn_2), len(validation), len(test)],
        "disjoint": sorted([*learn_2, *validation, *test]) == list(range(n)),
        "folds": [len(fold) for fold in folds],
        "each row once": sorted(np.concatenate(folds).tolist()) == list(range(n)),
        "S = N": [fold.tolist() for _, fold in LeaveOneOut().split(rows)] == [[i] for i in range(n)],
    }


def chosen_degree(x: Any, y: Any) -> dict[str, Any]:
    from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_score

    from tercet.linear_model import PolynomialRegression

    degrees = list(range(8))
    options: dict[str, Any] = {"cv": LeaveOneOut(), "scoring": "neg_mean_squared_error"}
    search = GridSearchCV(PolynomialRegression(0), {"degree": degrees}, **options).fit(x, y)
    errors = [-cross_val_score(PolynomialRegression(degree), x, y, **options).mean() for degree in degrees]
    return {"best degree": search.best_params_["degree"], "least": errors.index(min(errors))}


def classification_measures(y: Any, predicted: Any) -> dict[str, Any]:
    from sklearn.metrics import (
        accuracy_score,
        confusion_matrix,
        f1_score,
        precision_score,
        recall_score,
        zero_one_loss,
    )

    tn, fp, fn, tp = confusion_matrix(y, predicted).ravel().tolist()
    return {
        "error rate": zero_one_loss(y, predicted),
        "accuracy": accuracy_score(y, predicted),
        "TP, FN, FP, TN": [tp, fn, fp, tn],
        "P": precision_score(y, predicted),
        "R": recall_score(y, predicted),
        "F1": f1_score(y, predicted),
    }


EXAMPLES = [
    Example(
        place="Li Section 1.5.2",
        title="hold-out, S folds and leave-one-out",
        zh="训练集、验证集与测试集，S 折与留一交叉验证",
        given={"n": 10, "S": 4},
        call=splits,
        expected={
            "7 : 3": [7, 3],
            "5 : 2 : 3": [5, 2, 3],
            "disjoint": True,
            "folds": [3, 3, 2, 2],
            "each row once": True,
            "S = N": True,
        },
        note="the text has no numbers; S does not divide N here, and folds differ by one row at most",
    ),
    Example(
        place="Li Section 1.5.2",
        title="the degree of a polynomial by leave-one-out",
        zh="用留一交叉验证选择多项式次数",
        given={"x": X, "y": T},
        call=chosen_degree,
        expected={"best degree": 3, "least": 3},
        note="the data are those of Example 1.1",
    ),
    Example(
        place="Li eq. 1.20, 1.21, 1.41-1.44",
        title="error rate, accuracy, precision, recall and F1",
        zh="误差率、精确率、准确率、召回率与 F1 值",
        given={"y": [1, 1, 1, 1, 0, 0, 0, 0, 0, 0], "predicted": [1, 1, 1, 0, 1, 0, 0, 0, 0, 0]},
        call=classification_measures,
        expected={
            "error rate": 0.2,
            "accuracy": 0.8,
            "TP, FN, FP, TN": [3, 1, 1, 5],
            "P": 0.75,
            "R": 0.75,
            "F1": 0.75,
        },
        note="the text has no numbers; these are derived from its formulas",
    ),
]
