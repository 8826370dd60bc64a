"""Li, appendix B: the Newton method and the quasi-Newton methods (牛顿法和拟牛顿法)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

DERIVED = "The appendix has no numbers; these are derived from its formulas."
QUADRATIC = {"H": [[4, 1], [1, 3]], "b": [1, 2], "x0": [2, 1]}
END = {
    "x": [[2, 1], [78 / 331, 112 / 331], [1 / 11, 7 / 11]],
    "inverse": [[3 / 11, -1 / 11], [-1 / 11, 4 / 11]],
}


def newton(x0: float, passes: int) -> dict[str, Any]:
    from tercet.optimize import minimize

    found = minimize(
        lambda x: np.exp(x[0]) - 2 * x[0],
        [x0],
        jac=lambda x: np.exp(x) - 2,
        hess=lambda x: np.exp(x)[:, None],
        method="newton",
        safeguard=False,
        tol=1e-12,
        keep=True,
    )
    return {"x": np.ravel(found.trajectory)[: passes + 1], "limit": found.x[0]}


def quartic(x0: Any, safeguard: bool) -> dict[str, Any]:
    from tercet.optimize import minimize

    def f(x: np.ndarray) -> float:
        return x[0] ** 4 + x[0] * x[1] + (1 + x[1]) ** 2

    def gradient(x: np.ndarray) -> np.ndarray:
        return np.array([4 * x[0] ** 3 + x[1], x[0] + 2 * (1 + x[1])])

    def hessian(x: np.ndarray) -> np.ndarray:
        return np.array([[12 * x[0] ** 2, 1.0], [1.0, 2.0]])

    end = minimize(
        f,
        x0,
        jac=gradient,
        hess=hessian,
        method="newton",
        safeguard=safeguard,
        keep=True,
        callback=lambda step: True,
    )
    x0, x1 = end.trajectory
    p = x1 - x0
    return {"p": p, "g·p": gradient(x0) @ p, "f": [f(x0), f(x1)], "falls": f(x1) < f(x0)}


def quasi(H: Any, b: Any, x0: Any, method: str, **options: Any) -> dict[str, Any]:
    from tercet.optimize import Quadratic, bfgs_update, broyden_update, minimize

    f = Quadratic(H, b)
    found = minimize(
        f.value,
        x0,
        jac=f.gradient,
        method=method,
        line_search="exact",
        initial=np.eye(2),
        tol=1e-10,
        keep=True,
        **options,
    )
    delta = found.trajectory[1] - found.trajectory[0]
    y = f.gradient(found.trajectory[1]) - f.gradient(found.trajectory[0])
    alpha = {"dfp": 1.0, "bfgs": 0.0}.get(method, options.get("alpha", 0.0))
    return {
        "step": found.history["step"],
        "x": found.trajectory,
        "g1": f.gradient(found.trajectory[1]),
        "G1": broyden_update(np.eye(2), delta, y, alpha),
        "B1": bfgs_update(np.eye(2), delta, y),
        "inverse": found.hess_inv if "hess_inv" in found else np.linalg.inv(found.hess),
    }


def rank_one(inverse: Any, u: Any, v: Any) -> dict[str, Any]:
    from tercet.optimize import sherman_morrison

    return {"inverse": sherman_morrison(inverse, u, v)}


EXAMPLES = [
    Example(
        place="Li Alg B.1",
        title="Newton's full steps to the minimum of exp(x) - 2x",
        zh="牛顿法",
        given={"x0": 0.0, "passes": 5},
        call=newton,
        expected={
            "x": [0.0, 1.0, 0.7357588823, 0.6940422999, 0.6931475811, 0.6931471806],
            "limit": np.log(2),
        },
        note=DERIVED,
    ),
    Example(
        place="Li Alg B.1",
        title="a Newton step where the Hessian is indefinite: f rises",
        zh="海赛矩阵不正定时牛顿法失效",
        given={"x0": [0.0, 0.0], "safeguard": False},
        call=quartic,
        expected={"p": [-2.0, 0.0], "g·p": 0.0, "f": [1.0, 17.0], "falls": False},
        note=DERIVED,
    ),
    Example(
        place="Li Alg B.1",
        title="the same step with the safeguard: f falls",
        zh="海赛矩阵不正定时的修正",
        given={"x0": [0.0, 0.0], "safeguard": True},
        call=quartic,
        expected={"falls": True},
        note=DERIVED,
    ),
    Example(
        place="Li Alg B.2",
        title="DFP on a quadratic function",
        zh="DFP 算法",
        given={**QUADRATIC, "method": "dfp"},
        call=quasi,
        expected={
            "step": [73 / 331, 1514 / 3641],
            "g1": [93 / 331, -248 / 331],
            "G1": np.array([[192555, -160609], [-160609, 419101]]) / 501134,
            **END,
        },
        note=f"{DERIVED} The text's remark on Broyden's class cites (B.23) for the update; it is (B.24).",
    ),
    Example(
        place="Li Alg B.3",
        title="BFGS on a quadratic function, with B",
        zh="BFGS 算法",
        given={**QUADRATIC, "method": "bfgs", "form": "b"},
        call=quasi,
        expected={
            "step": [73 / 331, 331 / 803],
            "B1": np.array([[92404, 35491], [35491, 42281]]) / 24163,
            **END,
        },
        note=DERIVED,
    ),
    Example(
        place="Li Alg B.3",
        title="BFGS on a quadratic function, with the inverse G",
        zh="BFGS 算法（关于逆矩阵的迭代公式）",
        given={**QUADRATIC, "method": "bfgs", "form": "inverse"},
        call=quasi,
        expected={
            "step": [73 / 331, 331 / 803],
            "G1": np.array([[42281, -35491], [-35491, 92404]]) / 109561,
            **END,
        },
        note=DERIVED,
    ),
    Example(
        place="Li Eq B.32",
        title="Broyden's class at α = 1/2",
        zh="Broyden 类算法",
        given={**QUADRATIC, "method": "broyden", "alpha": 0.5},
        call=quasi,
        expected={"step": [73 / 331, 1002268 / 2420913], **END},
        note=DERIVED,
    ),
    Example(
        place="Li app. B",
        title="the Sherman-Morrison formula",
        zh="Sherman-Morrison 公式",
        given={"inverse": [[0.5, 0], [0, 0.25]], "u": [1, 1], "v": [1, 2]},
        call=rank_one,
        expected={"inverse": [[0.375, -0.125], [-0.0625, 0.1875]]},
        note=DERIVED,
    ),
]
