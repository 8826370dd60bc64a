"""A chain with small steps does not cross the valley
zh: 步子太小的链越不过山谷

Two hills: with small steps each chain stays on its hill and R-hat is far from 1; with larger steps all
chains visit both.

zh: 两座山峰：步长小时每条链困在自己的峰上，R-hat 远离 1；步长大时各链都能走遍两座峰。

family: sampling
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.plot import plot_trace
from tercet.sampling import MetropolisHastings


def log_density(x):
    return np.logaddexp(-0.5 * (x[0] + 3) ** 2, -0.5 * (x[0] - 3) ** 2)


figure, axes = plt.subplots(2, 1, figsize=(9, 4.6))
for scale, ax in zip((0.4, 4.0), axes):
    sampler = MetropolisHastings(log_density, scale=scale, adapt=False, n_chains=3, random_state=1)
    chains = sampler.sample(600, start=[0.0])
    plot_trace(chains, ax=ax)
    ax.set_title(f"steps of {scale}: R-hat {chains.rhat()[0]:.2f}")
figure.tight_layout()
