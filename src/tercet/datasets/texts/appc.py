"""Li, appendix C: Lagrangian duality (拉格朗日对偶性)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

NOTE = "The text states theorems only; the numbers follow from them."


def one_variable(alpha: float) -> dict[str, Any]:
    """min x² subject to 1 - x <= 0."""
    from tercet.optimize import Lagrangian, solve_qp

    lagrangian = Lagrangian(lambda x: float(x @ x), [lambda x: 1 - x[0]])
    dual = lagrangian.solve([0.0])
    program = solve_qp([[2.0]], G=[[-1.0]], h=[-1.0])
    return {
        "theta_D": lagrangian.theta_D([alpha], x0=[0.0]),
        "x": dual.x,
        "alpha": dual.alpha,
        "d": dual.fun,
        "p": lagrangian.theta_P(program.x),
        "program_alpha": program.alpha,
    }


def _two_variables() -> Any:
    from tercet.optimize import Lagrangian

    return Lagrangian(lambda x: float(x @ x), [lambda x: x[0] - 0.5], [lambda x: x[0] + x[1] - 2])


def two_variables(alpha: float, beta: float) -> dict[str, Any]:
    """min x₁² + x₂² subject to x₁ + x₂ = 2, x₁ <= 0.5."""
    from tercet.optimize import solve_qp

    lagrangian = _two_variables()
    program = solve_qp([[2.0, 0.0], [0.0, 2.0]], G=[[1.0, 0.0]], h=[0.5], A=[[1.0, 1.0]], b=[2.0])
    x, multipliers = program.x, (program.alpha, program.beta)
    return {
        "x": x,
        "p": program.fun,
        "alpha": program.alpha,
        "beta": program.beta,
        "theta_D": lagrangian.theta_D([alpha], [beta], x0=[0.0, 0.0]),
        "d": lagrangian.theta_D(*multipliers, x0=[0.0, 0.0]),
        "kkt": lagrangian.kkt(x, *multipliers).worst,
        "gap": lagrangian.gap(x, *multipliers).gap,
    }


def primal_function(points: list[list[float]]) -> dict[str, Any]:
    return {"theta_P": [_two_variables().theta_P(point) for point in points]}


EXAMPLES = [
    Example(
        place="Li app. C, eq. C.10",
        title="the dual of a problem in one variable",
        zh="对偶问题",
        given={"alpha": 1.0},
        call=one_variable,
        expected={"theta_D": 0.75, "x": [1.0], "alpha": [2.0], "d": 1.0, "p": 1.0, "program_alpha": [2.0]},
        atol=1e-6,
        note=NOTE + " theta_D(a) = a - a²/4.",
    ),
    Example(
        place="Li app. C, Thm C.2, C.3",
        title="strong duality and the KKT conditions",
        zh="强对偶性与KKT条件",
        given={"alpha": 1.0, "beta": -2.0},
        call=two_variables,
        expected={
            "x": [0.5, 1.5],
            "p": 2.5,
            "alpha": [2.0],
            "beta": [-3.0],
            "theta_D": 2.25,
            "d": 2.5,
            "kkt": 0.0,
            "gap": 0.0,
        },
        atol=1e-8,
        note=NOTE + " theta_D(a, b) = -((a + b)² + b²)/4 - 2b - a/2.",
    ),
    Example(
        place="Li app. C, eq. C.7",
        title="the primal function is infinite where a constraint is broken",
        zh="原始问题",
        given={"points": [[1.0, 1.0], [0.0, 2.0]]},
        call=primal_function,
        expected={"theta_P": [float("inf"), 4.0]},
        note=NOTE,
    ),
]
