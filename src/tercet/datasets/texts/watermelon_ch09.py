"""Watermelon notes, chapter 9: learning theory (计算学习理论)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def concentration(n_samples: int, epsilon: float) -> dict[str, Any]:
    from tercet.theory import hoeffding_bound, mcdiarmid_bound

    shares = [1 / n_samples] * n_samples
    return {
        "one-sided": hoeffding_bound(epsilon, n_samples),
        "two-sided": hoeffding_bound(epsilon, n_samples, two_sided=True),
        "McDiarmid": mcdiarmid_bound(epsilon, shares),
        "McDiarmid, two-sided": mcdiarmid_bound(epsilon, shares, two_sided=True),
    }


def realizable(n_hypotheses: int, epsilon: float, delta: float) -> dict[str, Any]:
    from tercet.theory import realizable_confidence, realizable_sample_size

    rows = realizable_sample_size(n_hypotheses, epsilon, delta)
    return {
        "rows": rows,
        "power": realizable_confidence(n_hypotheses, rows, epsilon, exponential=False),
        "exponential": realizable_confidence(n_hypotheses, rows, epsilon),
    }


def agnostic(n_samples: int, n_hypotheses: int, delta: float) -> dict[str, Any]:
    from tercet.theory import finite_class_bound

    return {
        "one hypothesis": finite_class_bound(1, n_samples, delta, two_sided=True),
        "all hypotheses": finite_class_bound(n_hypotheses, n_samples, delta, two_sided=True),
    }


def vc(n_points: int, vc_dimension: int, n_samples: int, delta: float) -> dict[str, Any]:
    from tercet.theory import sauer_bound, vc_confidence

    return {
        "sum": sauer_bound(n_points, vc_dimension),
        "power": sauer_bound(n_points, vc_dimension, form="power"),
        "9.23": vc_confidence(vc_dimension, n_samples, delta, form="growth"),
        "9.34": vc_confidence(vc_dimension, n_samples, delta, form="rademacher"),
    }


def known_dimensions(line: Any, plane: Any) -> dict[str, Any]:
    from tercet.theory import largest_shattered

    return {
        name: len(largest_shattered(points, name))
        for name, points in (
            ("thresholds", line),
            ("intervals", line),
            ("rectangles", plane),
            ("half-spaces", plane),
        )
    }


def rademacher(points: Any) -> dict[str, Any]:
    import itertools

    from tercet.theory import dichotomies, massart_bound, rademacher_complexity

    classes = {
        name: dichotomies(points, name) for name in ("thresholds", "two-sided thresholds", "intervals")
    }
    classes["all labellings"] = list(itertools.product((-1, 1), repeat=len(points)))
    return {
        "labellings": [len(labellings) for labellings in classes.values()],
        "complexity": [rademacher_complexity(labellings) for labellings in classes.values()],
        "Massart": massart_bound(classes["thresholds"]),
    }


def rademacher_gaps(complexity: float, n_samples: int, delta: float) -> dict[str, Any]:
    from tercet.theory import rademacher_bound

    return {
        "9.31": [
            rademacher_bound(complexity, n_samples, delta, empirical=e, values="real") for e in (False, True)
        ],
        "9.32": [rademacher_bound(complexity, n_samples, delta, empirical=e) for e in (False, True)],
    }


def stable(beta: float, n_samples: int, largest_loss: float, delta: float) -> dict[str, Any]:
    from tercet.theory import stability_bound

    return {
        kind: stability_bound(beta, n_samples, delta, largest_loss=largest_loss, kind=kind)
        for kind in ("empirical", "leave-one-out")
    }


EXAMPLES = [
    Example(
        place="watermelon notes Eq 9.5 to 9.7",
        title="a mean of 100 variables and its expectation",
        zh="Hoeffding 不等式与 McDiarmid 不等式",
        given={"n_samples": 100, "epsilon": 0.1},
        call=concentration,
        expected={
            "one-sided": 0.1353352832,
            "two-sided": 0.2706705665,
            "McDiarmid": 0.1353352832,
            "McDiarmid, two-sided": 0.2706705665,
        },
        note="derived; with c_i = 1/m McDiarmid's inequality is Hoeffding's",
    ),
    Example(
        place="watermelon notes Eq 9.11 to 9.13",
        title="rows that a finite class needs when it holds the target",
        zh="可分情形下有限假设空间的样本数",
        given={"n_hypotheses": 1000, "epsilon": 0.1, "delta": 0.05},
        call=realizable,
        expected={"rows": 100, "power": 0.0265613989, "exponential": 0.0453999298},
        atol=1e-10,
        note="derived; (ln 1000 + ln 20) / 0.1 = 99.03",
    ),
    Example(
        place="watermelon notes Eq 9.15, 9.16",
        title="difference of the two errors, of one hypothesis and of a thousand",
        zh="不可分情形下有限假设空间的误差界",
        given={"n_samples": 200, "n_hypotheses": 1000, "delta": 0.05},
        call=agnostic,
        expected={"one hypothesis": 0.0960322791, "all hypotheses": 0.1627623631},
        atol=1e-10,
        note="derived; 9.15 is for one hypothesis that is fixed beforehand",
    ),
    Example(
        place="watermelon notes Eq 9.20",
        title="VC dimension of thresholds, intervals, rectangles and half-planes",
        zh="几类假设空间的 VC 维",
        given={
            "line": [0.0, 1.0, 2.0, 3.0],
            "plane": [[0, 1], [1, 0], [0, -1], [-1, 0], [0, 0], [1, 1]],
        },
        call=known_dimensions,
        expected={"thresholds": 1, "intervals": 2, "rectangles": 4, "half-spaces": 3},
        note="derived by enumeration on a few points",
    ),
    Example(
        place="watermelon notes Eq 9.21 to 9.23, 9.34",
        title="Sauer's lemma and the bounds by the VC dimension",
        zh="Sauer 引理与基于 VC 维的泛化误差界",
        given={"n_points": 10, "vc_dimension": 3, "n_samples": 1000, "delta": 0.05},
        call=vc,
        expected={"sum": 176, "power": 743.9087749, "9.23": 0.4638007947, "9.34": 0.2408281224},
        atol=1e-7,
        note="derived",
    ),
    Example(
        place="watermelon notes Eq 9.29",
        title="Rademacher complexity of classes on four points of a line",
        zh="四个点上的经验 Rademacher 复杂度",
        given={"points": [0.0, 1.0, 2.0, 3.0]},
        call=rademacher,
        expected={
            "labellings": [5, 8, 11, 16],
            "complexity": [0.59375, 0.75, 0.84375, 1.0],
            "Massart": 0.8970612890,
        },
        atol=1e-10,
        note="derived; the text writes delta_i for the random signs",
    ),
    Example(
        place="watermelon notes Eq 9.31, 9.32",
        title="bounds by the Rademacher complexity",
        zh="基于 Rademacher 复杂度的泛化误差界",
        given={"complexity": 0.1, "n_samples": 100, "delta": 0.05},
        call=rademacher_gaps,
        expected={"9.31": [0.3223873415, 0.6074304547], "9.32": [0.2223873415, 0.5074304547]},
        atol=1e-10,
        note="derived",
    ),
    Example(
        place="watermelon notes Eq 9.39, 9.40",
        title="bounds of a stable learner",
        zh="基于稳定性的泛化误差界",
        given={"beta": 0.01, "n_samples": 100, "largest_loss": 1.0, "delta": 0.05},
        call=stable,
        expected={"empirical": 0.6319367077, "leave-one-out": 0.6219367077},
        atol=1e-10,
        note="derived; beta = 1/m is 9.40",
    ),
]
