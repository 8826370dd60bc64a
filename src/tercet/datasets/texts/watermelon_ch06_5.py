"""Watermelon notes, chapter 6, 6.1, 6.4 and 6.5: combination and diversity (结合策略与多样性)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def majority(T: list[int], epsilon: list[float]) -> dict[str, Any]:
    from tercet.ensemble import vote_error

    found = vote_error(T, epsilon)
    return {"error": found.error, "bound": found.bound}


def votes(h: list[list[str]], w: list[float]) -> dict[str, Any]:
    from tercet.ensemble import majority_vote, plurality_vote, weighted_vote

    return {
        "majority": majority_vote(h, reject="reject").tolist(),
        "plurality": plurality_vote(h).tolist(),
        "weighted": weighted_vote(h, w).tolist(),
    }


def decomposition(h: list[float], w: list[float], f: float) -> dict[str, Any]:
    from tercet.ensemble import error_ambiguity, weighted_average

    found = error_ambiguity(h, f, w)
    return {"H": weighted_average(h, w), "Ē": found.mean_error, "Ā": found.ambiguity, "E": found.error}


def measures(h_i: list[int], h_j: list[int]) -> dict[str, Any]:
    from tercet.ensemble import contingency_table, correlation, disagreement, kappa, q_statistic

    a, b, c, d = contingency_table(h_i, h_j)
    m = a + b + c + d
    return {
        "a, b, c, d": [a, b, c, d],
        "dis": disagreement(h_i, h_j),
        "rho": correlation(h_i, h_j),
        "Q": q_statistic(h_i, h_j),
        "p1": (a + d) / m,
        "p2": ((a + b) * (a + c) + (c + d) * (b + d)) / m**2,
        "kappa": kappa(h_i, h_j),
    }


EXAMPLES = [
    Example(
        place="watermelon notes ch. 6, eq. 6.1-6.3",
        title="error of a majority vote, and Hoeffding's bound",
        zh="集成的错误率与 Hoeffding 不等式的上界",
        given={"T": [5, 11, 21, 25], "epsilon": [0.3, 0.3, 0.3, 0.35]},
        call=majority,
        expected={
            "error": [0.16308, 0.0782247910, 0.0263899407, 0.0604449136],
            "bound": [0.670320, 0.4147829, 0.1863740, 0.3246525],
        },
        rtol=0,
        atol=5e-8,
        note="derived; the left side of 6.3 is P(H(x) ≠ f(x)), and a tie counts as an error",
    ),
    Example(
        place="watermelon notes ch. 6, eq. 6.19-6.21",
        title="majority, plurality and weighted votes",
        zh="绝对多数、相对多数与加权投票",
        given={
            "h": [["good", "good", "good", "bad", "bad"], ["good", "bad", "bad", "fair", "fair"]],
            "w": [1.0, 1.0, 1.0, 2.0, 2.0],
        },
        call=votes,
        expected={
            "majority": ["good", "reject"],
            "plurality": ["good", "bad"],
            "weighted": ["bad", "fair"],
        },
        note="derived; of equally many votes the first label wins",
    ),
    Example(
        place="watermelon notes ch. 6, eq. 6.22-6.27",
        title="error-ambiguity decomposition",
        zh="误差-分歧分解",
        given={"h": [2, 3.5, 5], "w": [0.2, 0.5, 0.3], "f": 4},
        call=decomposition,
        expected={"H": 3.65, "Ē": 1.225, "Ā": 1.1025, "E": 0.1225},
        note="derived; 6.26 leaves out the weights on its right side",
    ),
    Example(
        place="watermelon notes ch. 6, eq. 6.28-6.32",
        title="diversity of two classifiers",
        zh="两个分类器的多样性度量",
        given={"h_i": [1, 1, 1, 1, 1, -1, -1, -1, -1, 1], "h_j": [1, 1, -1, 1, 1, -1, 1, -1, -1, -1]},
        call=measures,
        expected={
            "a, b, c, d": [4.0, 2.0, 1.0, 3.0],
            "dis": 0.3,
            "rho": 0.4082482905,
            "Q": 0.7142857143,
            "p1": 0.7,
            "p2": 0.5,
            "kappa": 0.4,
        },
        note="derived; |Q| >= |ρ|, the print has it the other way round",
    ),
]
