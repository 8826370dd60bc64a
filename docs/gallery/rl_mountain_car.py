"""A car too weak for the hill learns to swing
zh: 动力不足的小车学会先退后进

Position and speed are continuous, so there are infinitely many states. Tile coding turns them into binary features,
eight of which are 1 at a time. Sarsa learns values that are linear in these features, and within a hundred episodes
the car has learned to swing back before it drives up.

zh: 位置与速度都是连续的，状态有无穷多个。瓦片编码把它们变成二值特征，每次恰有八个取 1。
Sarsa 学习这些特征的线性值函数，不到一百个回合，小车就学会了先后退再冲上山。

family: rl
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.rl import LinearSarsa, MountainCar, TileCoding

features = TileCoding(n_tiles=8, n_tilings=8)
agent = LinearSarsa(features, n_episodes=100, discount=1.0, learning_rate=0.5, normalize=True, epsilon=0.0)
agent.set_params(random_state=0).fit(MountainCar())
print("steps of the first episodes:", agent.episode_lengths_[:5])
print("steps of the last episodes: ", agent.episode_lengths_[-5:])

env = MountainCar()
path, terminated = [env.reset(seed=1)[0]], False
while not terminated and len(path) < 500:
    observation, _, terminated, _, _ = env.step(agent.predict([path[-1]])[0])
    path.append(observation)
x, v = np.array(path).T

figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
axes[0].plot(agent.episode_lengths_)
axes[0].set(xlabel="episode", ylabel="steps to the top", ylim=(0, None))
positions, speeds = np.linspace(-1.2, 0.6, 80), np.linspace(-0.07, 0.07, 80)
points = np.stack(np.meshgrid(positions, speeds), axis=-1).reshape(-1, 2)
cost = -agent.action_values(points).max(axis=1).reshape(80, 80)
image = axes[1].contourf(positions, speeds, cost, levels=16, cmap="cividis_r")
axes[1].plot(x, v, color="white", lw=1.5)
axes[1].set(xlabel="position", ylabel="speed", title=f"greedy: {len(path) - 1} steps")
figure.colorbar(image, label="steps to go")
