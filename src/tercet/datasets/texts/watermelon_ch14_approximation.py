"""Watermelon notes, chapter 14, 14.5: values as linear functions of features (值函数近似)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def linear_update(
    theta: Any, x: Any, after: Any, reward: float, discount: float, learning_rate: float
) -> dict[str, Any]:
    """One update by a function, and by LinearTD in a model of one step."""
    import numpy as np

    from tercet.rl import MDP, LinearTD, linear_td_update

    found = linear_td_update(theta, x, reward, after, discount=discount, learning_rate=learning_rate)
    step = MDP([[[0, 1]], [[0, 1]]], [[reward], [0]], terminal=[], start=0)
    agent = LinearTD(
        features=[x, after],
        n_episodes=1,
        n_steps=1,
        discount=discount,
        learning_rate=learning_rate,
        warm_start=True,
    ).fit(step)
    agent.coef_ = np.array(theta)
    return {"theta": found, "by LinearTD": agent.fit(step).coef_}


def choices(features: Any) -> dict[str, Any]:
    """LinearSarsa where the best action depends on the state: weights for each action, and the text's (x; a)."""
    from tercet.rl import MDP, LinearSarsa

    ends = [[0, 0, 1], [0, 0, 1]]
    mdp = MDP([ends, ends, ends], [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], terminal=[2])
    found: dict[str, Any] = {}
    for form in ("blocks", "concatenate"):
        agent = LinearSarsa(features, action_features=form, n_episodes=2000, epsilon=0.3, random_state=0).fit(
            mdp
        )
        advantage = agent.Q_[:2, 1] - agent.Q_[:2, 0]
        found[form] = {
            "same action in both states": bool(agent.policy_[0] == agent.policy_[1]),
            "same advantage in both states": bool(abs(advantage[0] - advantage[1]) < 1e-9),
        }
    return found


EXAMPLES = [
    Example(
        place="watermelon notes ch. 14, eq. 14.26",
        title="an update of linear values by a temporal difference",
        zh="线性值函数的一次时序差分更新",
        given={
            "theta": [0.1, -0.2, 0.3],
            "x": [1, 2, 0],
            "after": [0, 1, 1],
            "reward": 1.0,
            "discount": 0.9,
            "learning_rate": 0.1,
        },
        call=linear_update,
        expected={"theta": [0.239, 0.078, 0.3], "by LinearTD": [0.239, 0.078, 0.3]},
        note="derived; the text gives the formula only",
    ),
    Example(
        place="watermelon notes ch. 14, Alg 12",
        title="features (x; a) choose one action everywhere",
        zh="特征 (x; a) 处处选同一个动作",
        given={"features": [[1, 0], [0, 1], [0, 0]]},
        call=choices,
        expected={
            "blocks": {"same action in both states": False, "same advantage in both states": False},
            "concatenate": {"same action in both states": True, "same advantage in both states": True},
        },
        note="derived; the text's (x; a) adds the same number for an action in all states, so the best action "
        "does not depend on the state",
    ),
]
