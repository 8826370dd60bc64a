"""Li, appendix A: gradient descent (梯度下降法)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

DERIVED = "The appendix has no numbers; these are derived from its formulas."


def descend(A: Any, x0: Any, passes: int) -> dict[str, Any]:
    from tercet.optimize import Quadratic, minimize

    f = Quadratic(A)
    # As callables: the search along the line is then numerical, without the quadratic's closed form.
    found = minimize(f.value, x0, jac=f.gradient, method="gd", tol=1e-8, keep=True)
    x = found.trajectory[: passes + 1]
    return {"step": found.history["step"][:passes], "x": x, "f": [f.value(point) for point in x]}


def stops(A: Any, x0: Any, tol: float) -> dict[str, Any]:
    from tercet.optimize import Quadratic, minimize

    f = Quadratic(A)
    found = [
        minimize(f, x0, method="gd", stop=rule, tol=tol, norm=2) for rule in ("gradient", "value", "step")
    ]
    three = minimize(f, x0, method="gd", stop=("gradient", "value", "step"), tol=tol, norm=2)
    return {"passes": [run.nit for run in found], "first": three.criterion, "passes of all": three.nit}


EXAMPLES = [
    Example(
        place="Li Alg A.1",
        title="steepest descent with exact line search zigzags to the minimum",
        zh="梯度下降法（一维精确搜索）",
        given={"A": [[1, 0], [0, 4]], "x0": [4, 1], "passes": 3},
        call=descend,
        expected={
            "step": [0.4, 0.4, 0.4],
            "x": [[4, 1], [12 / 5, -3 / 5], [36 / 25, 9 / 25], [108 / 125, -27 / 125]],
            "f": [10, 18 / 5, 162 / 125, 1458 / 3125],
        },
        note=DERIVED,
    ),
    Example(
        place="Li Alg A.1",
        title="its three stopping rules: gradient, change of f, change of x",
        zh="梯度下降法的三种停止条件",
        given={"A": [[1, 0], [0, 4]], "x0": [4, 1], "tol": 1e-3},
        call=stops,
        # |g_k| = 0.6^k 4√2, f_(k-1) - f_k = 6.4 · 0.36^(k-1), |x_k - x_(k-1)| = 0.4 · 0.6^(k-1) · 4√2
        expected={"passes": [17, 10, 17], "first": "value", "passes of all": 10},
        note=DERIVED,
    ),
]
