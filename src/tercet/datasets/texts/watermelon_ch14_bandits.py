"""Watermelon notes, chapter 14, section 14.2: K-armed bandits (K-摇臂赌博机)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def running_means(rewards: list[float]) -> dict[str, Any]:
    from tercet.rl import BanditAgent, incremental_mean

    Q, means, agent = 0.0, [], BanditAgent(n_arms=2)
    seen = []
    for count, reward in enumerate(rewards):
        Q = incremental_mean(Q, reward, count)
        means.append(float(Q))
        seen.append(float(agent.partial_fit(1, reward).Q_[1]))
    return {"Q": means, "Q of an agent": seen, "count": agent.counts_.tolist()}


def softmax_probabilities(Q: list[float]) -> dict[str, Any]:
    from tercet.rl import softmax_policy

    return {f"tau={tau:g}": softmax_policy(Q, tau) for tau in (0.1, 1.0, 0.01, 1e9)}


def exploration_rates(times: list[int]) -> dict[str, Any]:
    from tercet.rl import Schedule

    return {"epsilon": [Schedule("inverse_sqrt")(t) for t in times]}


def baselines(means: list[float], n_steps: int) -> dict[str, Any]:
    from tercet.rl import Bandit, BanditAgent

    bandit = Bandit([[mean] for mean in means])  # arms that always give the same reward
    explore = BanditAgent("explore-only", n_steps).fit(bandit)
    exploit = BanditAgent("exploit-only", n_steps, random_state=0).fit(bandit)
    return {
        "explore-only, reward": explore.cumulative_reward_,
        "explore-only, regret": float(explore.regret_[-1]),
        "explore-only, count": explore.counts_.tolist(),
        "exploit-only, arms used": int((exploit.counts_ > 0).sum()),
    }


EXAMPLES = [
    Example(
        place="watermelon notes ch. 14, eq. 14.1",
        title="the mean of the rewards 1, 0, 1, 1, updated one by one",
        zh="增量式均值",
        given={"rewards": [1, 0, 1, 1]},
        call=running_means,
        expected={"Q": [1, 0.5, 2 / 3, 0.75], "Q of an agent": [1, 0.5, 2 / 3, 0.75], "count": [0, 4]},
        note="derived; in Alg 2 Q is updated with the count of line 12 before it is raised",
    ),
    Example(
        place="watermelon notes ch. 14, eq. 14.2",
        title="softmax probabilities of two arms at several temperatures",
        zh="softmax 算法的选择概率",
        given={"Q": [0.4, 0.2]},
        call=softmax_probabilities,
        expected={
            "tau=0.1": [0.88079708, 0.11920292],
            "tau=1": [0.549834, 0.450166],
            "tau=0.01": [1.0, 0.0],
            "tau=1e+09": [0.5, 0.5],
        },
        rtol=1e-6,
        atol=1e-8,
        note="derived; Alg 3 is printed as a copy of Alg 2, Alg 4 is the softmax algorithm",
    ),
    Example(
        place="watermelon notes ch. 14, Alg 2",
        title="the probability to explore, 1/√t",
        zh="逐渐减小的 ε",
        given={"times": [1, 4, 100, 10000]},
        call=exploration_rates,
        expected={"epsilon": [1.0, 0.5, 0.1, 0.01]},
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 14, sec. 14.2.1",
        title="exploring only and exploiting only, with arms that always give the same",
        zh="仅探索与仅利用",
        given={"means": [0.25, 0.5, 0.75], "n_steps": 300},
        call=baselines,
        expected={
            "explore-only, reward": 150.0,
            "explore-only, regret": 75.0,
            "explore-only, count": [100, 100, 100],
            "exploit-only, arms used": 1,
        },
        note="derived",
    ),
]
