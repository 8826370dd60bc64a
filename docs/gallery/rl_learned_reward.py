"""A reward learned on one map holds on another
zh: 在一张地图上学到的奖赏，换一张地图也适用

On the left map, an expert goes to the goal, mostly by road and rarely through mud. Inverse reinforcement learning
finds the reward of each kind of ground that makes these ways most probable. On the right map, where nobody has
demonstrated anything, planning with this reward makes a detour around the mud, as the expert would.

zh: 在左边的地图上，专家走向终点，大多沿路而行，很少走进泥地。逆强化学习求出每种地面的奖赏，
使这些轨迹的概率最大。右边的地图没有任何范例，用学到的奖赏做规划，会像专家那样绕开泥地。

family: rl
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from tercet.plot import plot_episode
from tercet.rl import MaximumEntropyIRL, ValueIteration, evaluate, grid_world, soft_policy

KINDS = {"road": "S.", "grass": "g", "mud": "m"}  # letters of the maps
OWN = {"road": -2.0, "grass": -3.0, "mud": -6.0}  # the expert's rewards, which are to be found


def grounds(world):
    """Kind of ground of each state, as indicators."""
    letters = world.grid[tuple(world.positions.T)]
    return np.stack([np.isin(letters, list(kind)) for kind in KINDS.values()], axis=1).astype(float)


def with_rewards(rows, rewards):
    return grid_world(rows, rewards={"G": 0.0} | {a: rewards[kind] for kind in KINDS for a in KINDS[kind]})


known = with_rewards(["Sggmmmg", ".gmmmgS", "..gmmgg", "g....gg", "Smmg..G"], OWN)
features = grounds(known)
expert = soft_policy(known, features @ list(OWN.values()), horizon=100).probabilities[0]
demonstrations = known.simulate(expert, n_episodes=500, random_state=0)
model = MaximumEntropyIRL(horizon=100).fit(known, demonstrations, features)
learned = dict(zip(KINDS, model.coef_.round(2).tolist()))
print("learned rewards:", learned)

rows = ["gggmmmmS", "gmmmmmm.", "gmG.mmm.", "gmm.mmm.", "ggg....."]
plan = ValueIteration(discount=1.0).fit(with_rewards(rows, learned))
new = with_rewards(rows, OWN)
best = ValueIteration(discount=1.0).fit(new).V_[new.start > 0]
print("return by the expert's rewards:", evaluate(plan, new, n_episodes=1).mean, "of at most", best[0])

figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
ways = [(known, demonstrations[0], "one of 500 demonstrations")]
ways += [(new, new.simulate(plan.policy_)[0], "planned with the learned reward")]
for ax, (world, way, title) in zip(axes, ways):
    kind = world.as_grid(grounds(world) @ [0, 1, 2])  # the goal as the road
    ax.imshow(kind, cmap=ListedColormap(["#f4efe1", "#c9dfb5", "#a48a76"]))
    plot_episode(way, world, ax=ax)
    ax.set_title(title)
