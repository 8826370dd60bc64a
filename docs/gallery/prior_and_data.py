"""A prior is data seen before
zh: 先验就是事先见过的数据

A Beta prior acts as so many heads and tails. With ten throws the prior still speaks; with a thousand it is silent.

zh: Beta 先验相当于事先见过若干次正面和反面。只掷十次时先验还有发言权，掷一千次后它就沉默了。

family: distributions
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.distributions import Beta

x = np.linspace(0.001, 0.999, 400)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharex=True)
for ax, throws in zip(axes, (10, 1000)):
    heads = int(0.7 * throws)
    for prior in (Beta(1, 1), Beta(20, 20)):
        after = prior.posterior(heads, throws - heads)
        ax.plot(x, after.pdf(x), label=f"prior Beta({prior.a:g}, {prior.b:g})")
        print(throws, prior, "posterior mean", round(float(after.mean), 3))
    ax.set(title=f"{heads} heads of {throws}", xlabel="probability of heads")
axes[0].legend()
