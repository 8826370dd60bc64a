"""Studies ML, chapter 3: linear models (线性模型)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def log_linear(X: Any, y: Any) -> dict[str, Any]:
    from tercet.linear_model import LogLinearRegression

    model = LogLinearRegression().fit(X, y)
    return {"w": model.coef_, "b": model.intercept_}


def logistic_newton(X: Any, y: Any, passes: int, ask: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.core.callbacks import Recorder
    from tercet.linear_model import LogisticRegression

    recorder = Recorder()
    model = LogisticRegression(C=np.inf, solver="newton", tol=1e-12).set_callbacks(recorder).fit(X, y)
    frames = [frame.attributes for frame in recorder.frames[:passes]]
    return {
        "beta": [[*frame["coef_"][0], *frame["intercept_"]] for frame in frames],
        "loss": [len(y) * fun for fun in model.history_["fun"][:passes]],
        "limit": [*model.coef_[0], *model.intercept_],
        "loss at the limit": len(y) * model.history_["fun"][-1],
        "p": model.predict_proba(ask)[:, 1],
    }


EXAMPLES = [
    Example(
        place="Studies ML Eq 3.14",
        title="log-linear regression",
        zh="对数线性回归",
        given={"X": [[1], [2], [3], [4]], "y": [2, 4, 9, 14]},
        call=log_linear,
        expected={"w": [0.66486607], "b": 0.06676570},
    ),
    Example(
        place="Studies ML Eq 3.29-3.31",
        title="Newton's method for logistic regression",
        zh="对数几率回归的牛顿法",
        given={
            "X": [[0], [1], [2], [3], [4], [5]],
            "y": [0, 0, 1, 0, 1, 1],
            "passes": 3,
            "ask": [[2.5], [6]],
        },
        call=logistic_newton,
        expected={
            "beta": [[0.8, -2.0], [1.10977578, -2.77443945], [1.20612462, -3.01531155]],
            "loss": [2.606451462, 2.484874317, 2.478024485],
            "limit": [1.21402759, -3.03506896],
            "loss at the limit": 2.477986835,
            "p": [0.5, 0.98592384],
        },
        atol=1e-8,
        note="made for the text's formulas; 3.18 and 3.19 print -w'x + b for -(w'x + b)",
    ),
]
