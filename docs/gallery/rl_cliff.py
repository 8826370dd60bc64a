"""Q-learning walks along the cliff, Sarsa keeps away from it
zh: Q-学习贴着悬崖走，Sarsa 离得远

A step off the edge costs 100. Q-learning learns the values of the best policy, which takes the shortest way, and
falls off now and then while it explores. Sarsa learns those of the policy that explores, and takes a longer way.

zh: 踏出悬崖要付出 100。Q-学习学的是最优策略的值，走最短的路，而在探索时不时会掉下去；
Sarsa 学的是带探索的策略的值，于是绕得远一些。

family: rl
"""

import matplotlib.pyplot as plt

from tercet.plot import plot_episode, plot_returns
from tercet.rl import QLearning, Sarsa, cliff_walking, compare

cliff = cliff_walking()
settings = {"discount": 1.0, "learning_rate": 0.5, "epsilon": 0.1}
result = compare({"Q-learning": QLearning(500, **settings), "Sarsa": Sarsa(500, **settings)}, cliff, seeds=20)
figure, axes = plt.subplots(3, 1, figsize=(7, 7.5), height_ratios=[2, 1, 1], layout="constrained")
plot_returns(result, window=20, ax=axes[0])
axes[0].set_ylim(-100, 0)
for ax, (name, agents) in zip(axes[1:], result.agents.items()):
    episode = cliff.simulate(agents[0].policy_, random_state=0)[0]
    plot_episode(episode, cliff, ax=ax)
    ax.set_title(f"{name}, greedy: return {episode.rewards.sum():.0f}")
    print(f"{name:10} while learning {result.mean(name, 100)[-1]:.1f}, greedy {episode.rewards.sum():.0f}")
