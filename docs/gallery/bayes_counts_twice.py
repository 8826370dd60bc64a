"""Naive Bayes counts repeated evidence again
zh: 朴素贝叶斯会把重复的证据再算一遍

Copy one column and naive Bayes becomes more certain, though nothing new was said. The decision may stay
right; the probability does not.

zh: 把同一列复制几份，没有任何新信息，朴素贝叶斯却越来越有把握。判断也许还对，概率已经不对了。

family: naive_bayes
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.naive_bayes import GaussianNB

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 500)
x = rng.normal(np.where(y == 1, 1.0, -1.0), 1.5)[:, None]
grid = np.linspace(-4, 4, 200)[:, None]

fig, ax = plt.subplots(figsize=(6, 4))
for copies in (1, 2, 5, 10):
    model = GaussianNB().fit(np.repeat(x, copies, axis=1), y)
    ax.plot(grid, model.predict_proba(np.repeat(grid, copies, axis=1))[:, 1], label=f"{copies} copies")
    print(
        f"{copies:2d} copies: P(class 1 | x = 1) = {model.predict_proba(np.full((1, copies), 1.0))[0, 1]:.3f}"
    )
ax.set(xlabel="x", ylabel="P(class 1)")
ax.legend()
