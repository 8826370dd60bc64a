"""Watermelon notes, chapter 14, section 6: imitation learning (模仿学习)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

SHOWN = [
    [
        ("healthy", "water"),
        ("overwatered", "wait"),
        ("healthy", "wait"),
        ("dry", "water"),
        ("healthy", "water"),
    ]
]


def clone(shown: Any) -> dict[str, Any]:
    from tercet.rl import BehaviourCloning, watermelon_watering

    model = BehaviourCloning().fit(shown, watermelon_watering(dead_is_terminal=True))
    states = ["healthy", "dry", "overwatered"]
    return {
        "π(x, water)": model.predict_proba(states)[:, 0],
        "π(x)": [model.actions_[a] for a in model.predict(states)],
    }


def feature_sums(states: Any, features: Any, discount: float) -> dict[str, Any]:
    from tercet.rl import MDP, demonstrated_features

    anything = MDP(np.full((2, 1, 2), 0.5), [0.0, 0.0])
    return {"x̄*": demonstrated_features(anything, [[(x, 0) for x in states]], features, discount=discount)}


def weights(expert: Any, policies: Any) -> dict[str, Any]:
    from tercet.rl import max_margin_weights

    found = max_margin_weights(expert, policies)
    return {"w*": found.coef, "margin": found.margin}


def corridor(n: int, discount: float) -> dict[str, Any]:
    from tercet.rl import ApprenticeshipLearning, grid_world

    world = grid_world("S" + "." * (n - 1), actions=("left", "right"))
    shown = [[(min(t, n - 1), "right") for t in range(100)]]
    found: dict[str, Any] = {}
    for algorithm in ("max-margin", "projection"):
        model = ApprenticeshipLearning(algorithm, discount=discount, tol=1e-4, random_state=0)
        model.fit(world, shown)
        found[f"{algorithm}: the best state"] = int(model.rewards_.argmax())
        found[f"{algorithm}: the policy"] = [world.actions[a] for a in model.policy_]
    return found


def trajectories(rewards: Any) -> dict[str, Any]:
    from tercet.rl import MDP, soft_policy

    both = [[[1, 0], [0, 1]], [[1, 0], [0, 1]]]  # from either state, to stay or to go
    soft = soft_policy(MDP(both, [0.0, 0.0], start=0), rewards, horizon=2)
    return {"log Z": soft.V[0, 0], "π_0": soft.probabilities[0, 0], "visits": soft.visits}


Z = 2 * np.exp(0.0) + 2 * np.exp(
    1.0
)  # paths 00, 01 (which ends after two steps) with reward 0, and 10, 11 with 1

EXAMPLES = [
    Example(
        place="watermelon notes ch. 14, sec. 14.6.1",
        title="behaviour cloning: shares of an expert's actions",
        zh="直接模仿学习：专家动作的频率",
        given={"shown": SHOWN},
        call=clone,
        expected={"π(x, water)": [2 / 3, 1.0, 0.0], "π(x)": ["water", "water", "wait"]},
        note="The text gives no numbers; these are ours.",
    ),
    Example(
        place="watermelon notes ch. 14, eq. 14.27",
        title="discounted feature sum of a trajectory of three states",
        zh="三个状态的轨迹的折扣特征和",
        given={"states": [0, 0, 1], "features": [[1.0, 0.0], [0.0, 1.0]], "discount": 0.9},
        call=feature_sums,
        expected={"x̄*": [1.9, 0.81]},
        note="The text gives no numbers; these are ours. Sec. 14.6.2 prints R(x) = wᵀw for wᵀx.",
    ),
    Example(
        place="watermelon notes ch. 14, eq. 14.29",
        title="weights of the largest margin between an expert and two policies",
        zh="专家与两个策略之间间隔最大的权重",
        given={"expert": [2.0, 1.0], "policies": [[1.0, 0.0], [0.0, 2.0]]},
        call=weights,
        expected={"w*": [2 / np.sqrt(5), 1 / np.sqrt(5)], "margin": 3 / np.sqrt(5)},
        note="The text gives no numbers; these are ours.",
    ),
    Example(
        place="watermelon notes ch. 14, Alg 13",
        title="apprenticeship learning from an expert who walks to the end of a corridor",
        zh="逆强化学习：专家走到走廊尽头",
        given={"n": 5, "discount": 0.9},
        call=corridor,
        expected={
            f"{algorithm}: the {what}": value
            for algorithm in ("max-margin", "projection")
            for what, value in (("best state", 4), ("policy", ["right"] * 5))
        },
        note="The text gives no numbers; these are ours. Line 6 of the algorithm is min over i = 1 ... t.",
    ),
    Example(
        place="watermelon notes ch. 14, sec. 14.6.2",
        title="maximum entropy: trajectories of two steps with probabilities exp(reward) / Z",
        zh="最大熵逆强化学习：两步轨迹的概率正比于 exp(奖赏)",
        given={"rewards": [0.0, 1.0]},
        call=trajectories,
        expected={
            "log Z": np.log(Z),
            "π_0": [2 / Z, 2 * np.exp(1.0) / Z],
            "visits": [1 + 2 / Z, 2 * np.exp(1.0) / Z],
        },
        note="Not in the text: the method of Ziebart et al. (2008); the numbers are worked out from its formula.",
    ),
]
