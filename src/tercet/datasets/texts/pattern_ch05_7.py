"""Pattern Recognition, chapter 5.7: regularisation (正则化)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

X = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
Y = [3.6, 2.4, -4.4, -1.6]


def penalties(X: Any, y: Any, lam: float) -> dict[str, Any]:
    from tercet.linear_model import PenalizedRegressor

    results: dict[str, Any] = {}
    for name in ("l0", "l1", "l2", "elasticnet"):
        model = PenalizedRegressor(name, alpha=lam, fit_intercept=False).fit(X, y)
        results[name] = model.coef_
        results[f"{name} objective"] = model.objective_
    return results


def bridge(X: Any, y: Any, lam: float, q: float) -> dict[str, Any]:
    from tercet.linear_model import PenalizedRegressor

    return {"lq": PenalizedRegressor("lq", alpha=lam, q=q, fit_intercept=False).fit(X, y).coef_}


def ill_posed(A: Any, F: Any, lams: Any) -> dict[str, Any]:
    from tercet.linear_model import tikhonov

    return {f"λ = {lam:g}": tikhonov(A, F, lam) for lam in lams}


def confidence(cases: Any, eta: float) -> dict[str, Any]:
    from tercet.theory import vc_bound, vc_confidence

    return {
        "confidence": [vc_confidence(h, rows, eta) for h, rows in cases],
        "bound": vc_bound(cases[0][0], cases[0][1], eta, empirical_risk=0.1),
    }


def shattering(sets: Any) -> dict[str, Any]:
    from tercet.theory import linear_dichotomies, shatters, vc_dimension

    return {
        "labellings": [len(linear_dichotomies(points)) for points in sets],
        "shattered": [shatters(points) for points in sets],
        "VC dimension": vc_dimension(sets),
    }


EXAMPLES = [
    Example(
        place="Pattern Recognition Eq 5-108 to 5-112",
        title="five penalties on orthogonal features",
        zh="L0, L1, L2 正则化与弹性网",
        given={"X": X, "y": Y, "lam": 0.6},
        call=penalties,
        expected={
            "l0": [3.0, 0.0, 1.0],
            "l1": [2.7, -0.1, 0.7],
            "l2": [1.875, -0.25, 0.625],
            "elasticnet": [2.19230769, -0.19230769, 0.65384615],
            "l0 objective": 1.36,
            "l1 objective": 2.37,
            "l2 objective": 3.81,
        },
        note="made for the text's formulas, which have 1/l before the sum of losses",
    ),
    Example(
        place="Pattern Recognition Eq 5-111",
        title="the bridge penalty with q = 1/2",
        zh="Lq 正则化",
        given={"X": X, "y": Y, "lam": 0.6, "q": 0.5},
        call=bridge,
        expected={"lq": [2.9121, 0.0, 0.83594]},
        rtol=1e-6,
        atol=5e-7,
        note="made for the text's formula, read as a sum of powers",
    ),
    Example(
        place="Pattern Recognition Eq 5-106",
        title="an ill-posed equation",
        zh="不适定问题的正则化",
        given={"A": [[1, 1], [1, 1.0001]], "F": [2, 2.0011], "lams": [0, 1e-3, 1e-6]},
        call=ill_posed,
        expected={
            "λ = 0": [-9.0, 11.0],
            "λ = 0.001": [0.99995001, 1.00005001],
            "λ = 1e-06": [0.97528777, 1.02521048],
        },
        rtol=1e-8,
        atol=1e-8,
        note="made for the text's formula",
    ),
    Example(
        place="Pattern Recognition Eq 5-102",
        title="the confidence term of the VC bound",
        zh="VC 维与置信范围",
        given={"cases": [(3, 100), (3, 1000), (10, 1000), (100, 1000)], "eta": 0.05},
        call=confidence,
        expected={"confidence": [0.4470027, 0.1639783, 0.2595481, 0.6355747], "bound": 0.5470027},
        atol=6e-8,
        note="derived; the text has no numbers",
    ),
    Example(
        place="Pattern Recognition ch. 5.7, VC dimension",
        title="points that half-planes shatter",
        zh="打散：半平面的 VC 维是 3",
        given={
            "sets": [
                [[0, 0], [1, 0], [0, 1]],
                [[0, 0], [1, 1], [2, 2]],
                [[0, 0], [1, 0], [0, 1], [1, 1]],
                [[0, 0], [3, 0], [0, 3], [1, 1]],
            ]
        },
        call=shattering,
        expected={
            "labellings": [8, 6, 14, 14],
            "shattered": [True, False, False, False],
            "VC dimension": 3,
        },
        note="derived; the text has no points",
    ),
]
