"""Watermelon notes, chapter 13, 13.1-13.3: rule learning (规则学习)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.datasets.texts import Example


def scores(
    gains: list[tuple[int, int]], statistics: list[tuple[int, int]], totals: tuple[int, int]
) -> dict[str, Any]:
    from tercet.rules import foil_gain, likelihood_ratio_statistic

    P, N = totals
    p, n = np.array(gains).T
    p2, n2 = np.array(statistics).T
    return {
        "FOIL gain": foil_gain(p, n, P, N),
        "likelihood ratio statistic": likelihood_ratio_statistic(p2, n2, P, N),
    }


def single_conditions() -> dict[str, Any]:
    from tercet.datasets import load_watermelon
    from tercet.rules import Condition, Rule, foil_gain

    table = load_watermelon("2.0")
    good = table.target == 1
    best: dict[str, tuple[float, str]] = {}
    gains: dict[str, float] = {}
    for j, name in enumerate(table.feature_names_zh):
        for value in sorted(set(table.data[:, j])):
            covers = Rule((Condition(name, "=", value),), 1).covers(table.data, table.feature_names_zh)
            p, n = int((covers & good).sum()), int((covers & ~good).sum())
            gains[f"{name}={value}"] = float(foil_gain(p, n, good.sum(), (~good).sum()))
            if p > 1:
                best[name] = max(best.get(name, (0.0, "")), (p / (p + n), f"{name}={value} {p}/{p + n}"))
    ordered = sorted(best.values(), reverse=True)
    leaders = sorted(gains, key=lambda key: -gains[key])[:2]
    return {
        "best rule of each attribute": [text for _, text in ordered[:5]],
        "largest FOIL gains": leaders,
        "their gains": [gains[key] for key in leaders],
    }


def covering(algorithm: Literal["top-down", "bottom-up"]) -> dict[str, Any]:
    from tercet.datasets import load_watermelon
    from tercet.rules import SequentialCoveringClassifier

    table = load_watermelon("2.0")
    model = SequentialCoveringClassifier(algorithm, class_order=[1, 0]).fit(table.data, table.target)
    return {
        "rules": [str(rule) for rule in model.ruleset_],
        "errors": int((model.predict(table.data) != table.target).sum()),
    }


def conflict(melon: list[Any]) -> dict[str, Any]:
    from tercet.rules import Condition, Rule, RuleSet

    rules = RuleSet(
        [
            Rule((Condition("根蒂", "=", "蜷缩"), Condition("脐部", "=", "凹陷")), "好瓜"),
            Rule((Condition("纹理", "=", "模糊"),), "坏瓜"),
            Rule((Condition("色泽", "=", "浅白"),), "坏瓜"),
        ],
        default="坏瓜",
        feature_names=["色泽", "根蒂", "纹理", "脐部"],
    )
    found = {how: rules.with_resolution(how).predict([melon])[0] for how in ("order", "vote", "shortest")}
    return {**found, "default": rules.predict([["青绿", "硬挺", "清晰", "平坦"]])[0]}


EXAMPLES = [
    Example(
        place="watermelon notes ch. 13, sec. 13.2, 13.3",
        title="FOIL gain and likelihood ratio statistic of rules, 8 positive and 9 negative rows",
        zh="规则的 FOIL 增益与似然率统计量（8 个正例、9 个反例）",
        given={
            "gains": [(5, 0), (7, 2), (5, 3)],
            "statistics": [(5, 0), (7, 2), (4, 4)],
            "totals": (8, 9),
        },
        call=scores,
        expected={
            "FOIL gain": [5.4373142063, 5.0742493331, 2.0469546807],
            "likelihood ratio statistic": [10.8746284125, 5.1389500196, 0.0400054485],
        },
        rtol=1e-8,
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 13, sec. 13.2",
        title="rules of one condition for good watermelons (2.0)",
        zh="西瓜数据集 2.0 上好瓜的单文字规则",
        given={},
        call=single_conditions,
        expected={
            "best rule of each attribute": [
                "纹理=清晰 7/9",
                "脐部=凹陷 5/7",
                "色泽=乌黑 4/6",
                "根蒂=蜷缩 5/8",
                "敲声=浊响 6/10",
            ],
            "largest FOIL gains": ["纹理=清晰", "脐部=凹陷"],
            "their gains": [5.074249, 3.010180],
        },
        rtol=1e-6,
        note="derived",
    ),
    *(
        Example(
            place="watermelon notes ch. 13, sec. 13.2",
            title=f"sequential covering {algorithm} on watermelons 2.0",
            zh=f"西瓜数据集 2.0 上的序贯覆盖（{chinese}）",
            given={"algorithm": algorithm},
            call=covering,
            expected={"rules": rules, "errors": 0},
            note="derived",
        )
        for algorithm, chinese, rules in (
            (
                "top-down",
                "自顶向下",
                [
                    "1 ← (x3=清晰) ∧ (x5=硬滑)",
                    "1 ← (x4=稍凹) ∧ (x2=浊响) ∧ (x0=青绿)",
                    "1 ← (x0=乌黑) ∧ (x2=浊响) ∧ (x3=稍糊)",
                ],
            ),
            (
                "bottom-up",
                "自底向上",
                [
                    "1 ← (x0=青绿) ∧ (x2=浊响) ∧ (x3=清晰)",
                    "1 ← (x3=清晰) ∧ (x5=硬滑)",
                    "1 ← (x3=稍糊) ∧ (x5=软粘)",
                ],
            ),
        )
    ),
    Example(
        place="watermelon notes ch. 13, sec. 13.1",
        title="conflicts of rules: order, vote and a meta-rule; the default rule",
        zh="规则冲突的消解：排序、投票与元规则；缺省规则",
        given={"melon": ["浅白", "蜷缩", "模糊", "凹陷"]},
        call=conflict,
        expected={"order": "好瓜", "vote": "坏瓜", "shortest": "坏瓜", "default": "坏瓜"},
        note="derived",
    ),
]
