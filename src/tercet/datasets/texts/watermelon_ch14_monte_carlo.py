"""Watermelon notes, chapter 14, 14.4.1: Monte Carlo reinforcement learning (蒙特卡洛强化学习)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

# (x_0, a_0, r_1), (x_1, a_1, r_2) ... of one trajectory with T = 4
TRAJECTORY = {"states": [0, 1, 0, 1, 0], "actions": [0, 1, 0, 0], "rewards": [1.0, 0.0, 2.0, 3.0]}


def on_policy(states: list[int], actions: list[int], rewards: list[float]) -> dict[str, Any]:
    from tercet.rl import Episode, monte_carlo_returns, monte_carlo_values

    episode = Episode(states, actions, np.array(rewards), terminated=False)
    found = monte_carlo_values([episode], 2, 2, returns="average")
    return {
        "R": monte_carlo_returns(rewards, returns="average"),
        "Q(x0, a)": float(found.Q[0, 0]),
        "Q(x1, b)": float(found.Q[1, 1]),
        "Q(x1, a)": float(found.Q[1, 0]),
        "count": found.n_visits.tolist(),
    }


def off_policy(rewards: list[float], greedy: list[int], epsilon: float, n_actions: int) -> dict[str, Any]:
    from tercet.rl import importance_weights, monte_carlo_returns

    p = np.where(greedy, 1 - epsilon + epsilon / n_actions, epsilon / n_actions)
    weights = importance_weights(greedy, p)
    return {"p": p, "weights": weights, "R": weights * monte_carlo_returns(rewards, returns="average")}


def control(n_episodes: int, discount: float) -> dict[str, Any]:
    from tercet.rl import MDP, MonteCarlo

    P = [[[0.8, 0.2, 0], [0.1, 0.9, 0]], [[0, 0.5, 0.5], [0.6, 0, 0.4]], [[0, 0, 1], [0, 0, 1]]]
    R = [[[1, 2, 0], [0, 3, 0]], [[0, 0, 5], [-1, 0, 8]], [[0, 0, 0], [0, 0, 0]]]
    mdp = MDP(P, R)
    agents = {
        "Alg 8": MonteCarlo(n_episodes, discount=discount, random_state=0),
        "Alg 9": MonteCarlo(n_episodes, control="off-policy", discount=discount, epsilon=0.3, random_state=0),
    }
    found: dict[str, Any] = {}
    for name, agent in agents.items():
        agent.fit(mdp)
        found[f"policy, {name}"] = agent.policy_[:2].tolist()
    found["Q, Alg 9"] = agents["Alg 9"].Q_[:2]
    return found


EXAMPLES = [
    Example(
        place="watermelon notes ch. 14, Alg 8",
        title="returns of a trajectory of four steps, and the values of its actions",
        zh="同策略蒙特卡洛：一条轨迹的回报与动作值",
        given=TRAJECTORY,
        call=on_policy,
        expected={
            "R": [1.5, 1.6666667, 2.5, 3.0],
            "Q(x0, a)": 2.0,
            "Q(x1, b)": 1.6666667,
            "Q(x1, a)": 3.0,
            "count": [[2, 0], [1, 1]],
        },
        note="derived; the text gives the algorithm without numbers",
    ),
    Example(
        place="watermelon notes ch. 14, Alg 9",
        title="weighted returns of the same trajectory, whose third action is not that of the policy",
        zh="异策略蒙特卡洛：同一条轨迹的加权回报",
        given={"rewards": TRAJECTORY["rewards"], "greedy": [1, 1, 0, 1], "epsilon": 0.2, "n_actions": 2},
        call=off_policy,
        expected={
            "p": [0.9, 0.9, 0.1, 0.9],
            "weights": [0.0, 0.0, 1.1111111, 1.0],
            "R": [0.0, 0.0, 2.77777778, 3.0],
        },
        note=(
            "derived; line 8 as printed multiplies each reward r_i by the product over j >= i of 1/p_j, without "
            "the indicator a_j = π(x_j), and gives R = 4.39197531, 1.74074074, 2.61111111, 3. By 14.18 the weight "
            "of a return is the product over all later steps j > t, and 0 where an action is not that of π. Line 4 "
            "must run the ε-greedy policy, not π"
        ),
    ),
    Example(
        place="watermelon notes ch. 14, Alg 8, 9",
        title="both algorithms on a small Markov decision process",
        zh="两种蒙特卡洛算法在一个小 MDP 上的结果",
        given={"n_episodes": 10_000, "discount": 0.9},
        call=control,
        expected={
            "policy, Alg 8": [1, 1],
            "policy, Alg 9": [1, 1],
            "Q, Alg 9": [[9.97833263, 10.16927634], [6.14113415, 8.09140923]],
        },
        atol=0.25,
        note="derived; the exact optimal values for a discount of 0.9, which sampling approaches",
    ),
]
