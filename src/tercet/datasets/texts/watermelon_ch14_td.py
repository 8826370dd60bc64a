"""Watermelon notes, chapter 14, section 14.4.2: temporal differences (时序差分学习)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

P = [[[0.8, 0.2, 0.0], [0.1, 0.9, 0.0]], [[0.0, 0.5, 0.5], [0.6, 0.0, 0.4]], [[0.0, 0.0, 1.0]] * 2]
R = [[[1.0, 2.0, 0.0], [0.0, 3.0, 0.0]], [[0.0, 0.0, 5.0], [-1.0, 0.0, 8.0]], [[0.0, 0.0, 0.0]] * 2]


def state_update(V: list[float], reward: float, learning_rate: float, discount: float) -> dict[str, Any]:
    from tercet.rl import td_update

    options: dict[str, Any] = {"learning_rate": learning_rate, "discount": discount}
    return {
        "V(x)": td_update(np.array(V), 0, reward, 1, **options),
        "V(x) at the end": td_update(np.array(V), 0, reward, 1, terminated=True, **options),
    }


def action_updates(
    Q: list[list[float]], reward: float, learning_rate: float, discount: float, epsilon: float
) -> dict[str, Any]:
    from tercet.rl import epsilon_greedy_policy, q_learning_update, sarsa_update

    policy = epsilon_greedy_policy(Q, epsilon)
    options: dict[str, Any] = {"learning_rate": learning_rate, "discount": discount}
    step = 0, 0, reward, 1  # in state 0 action 0, which leads to state 1
    return {
        "Sarsa": sarsa_update(np.array(Q), *step, 0, **options),
        "Q-learning": q_learning_update(np.array(Q), *step, **options),
        "expected Sarsa": sarsa_update(np.array(Q), *step, probabilities=policy[1], **options),
        "Sarsa at the end": sarsa_update(np.array(Q), *step, terminated=True, **options),
        "Q-learning at the end": q_learning_update(np.array(Q), *step, terminated=True, **options),
    }


def learned_from_steps(P: Any, R: Any, discount: float, n_episodes: int) -> dict[str, Any]:
    from tercet.rl import MDP, QLearning, Sarsa, Schedule, TemporalDifference

    mdp = MDP(P, R, start=0)
    rate = Schedule("exponential", 0.5, 0.002, length=4000, per="visit")
    options: dict[str, Any] = {"discount": discount, "learning_rate": rate, "random_state": 0}
    uniform = TemporalDifference(n_episodes=n_episodes, **options).fit(mdp)
    sarsa = Sarsa(n_episodes, epsilon=1.0, expected=True, **options).fit(mdp)
    agent = QLearning(n_episodes, epsilon=0.5, **options).fit(mdp)
    return {
        "V of the uniform policy": uniform.V_,
        "Q of the uniform policy": sarsa.Q_[:2],
        "optimal V": agent.V_,
        "optimal policy": agent.policy_[:2].tolist(),
    }


EXAMPLES = [
    Example(
        place="watermelon notes ch. 14, eq. 14.19-14.21",
        title="one update of the value of a state",
        zh="时序差分更新",
        given={"V": [0.5, 2.0], "reward": 1.0, "learning_rate": 0.1, "discount": 0.9},
        call=state_update,
        expected={"V(x)": 0.73, "V(x) at the end": 0.55},
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 14, Alg 10, 11",
        title="one update of Sarsa, Q-learning and expected Sarsa",
        zh="Sarsa 与 Q-学习的更新",
        given={
            "Q": [[0.5, 0.0], [1.0, 2.0]],
            "reward": 1.0,
            "learning_rate": 0.1,
            "discount": 0.9,
            "epsilon": 0.2,
        },
        call=action_updates,
        expected={
            "Sarsa": 0.64,
            "Q-learning": 0.73,
            "expected Sarsa": 0.721,
            "Sarsa at the end": 0.55,
            "Q-learning at the end": 0.55,
        },
        note="derived; Alg 11 as printed is Sarsa: Q-learning needs a' = argmax Q(x', a'); a terminal x' has the "
        "value 0",
    ),
    Example(
        place="watermelon notes ch. 14, eq. 14.20",
        title="values of a model of three states, learned from steps",
        zh="由采样学得值函数",
        given={"P": P, "R": R, "discount": 0.9, "n_episodes": 5000},
        call=learned_from_steps,
        expected={
            "V of the uniform policy": [8.46934881, 6.24093442, 0.0],
            "Q of the uniform policy": [[8.42129934, 8.51739827], [5.30842049, 7.17344835]],
            "optimal V": [10.16927634, 8.09140923, 0.0],
            "optimal policy": [1, 1],
        },
        rtol=0.02,
        note="derived; the exact values are those of linear equations",
    ),
]
