"""AdaBoost looks where it was wrong
zh: AdaBoost 盯着错过的地方

After every round the rows that were misclassified weigh more, so that the next stump must care about them.
After a few rounds nearly all the weight sits along the border between the classes.

zh: 每一轮之后，误分样本的权值增大，下一个树桩不得不照顾它们。几轮之后，权值几乎都集中在两类的边界附近。

family: ensemble
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.datasets import two_moons
from tercet.ensemble import adaboost_round
from tercet.tree import DecisionStump

X, y = two_moons(200, noise=0.15, random_state=0)
sign = 2 * y - 1
weight = np.full(200, 1 / 200)
fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True)
shown = iter(axes)
for m in range(1, 21):
    if m in (1, 4, 20):
        ax = next(shown)
        ax.scatter(*X.T, c=y, cmap="coolwarm", s=4000 * weight)
        ax.set_title(f"weights of round {m}")
    answers = DecisionStump().fit(X, sign, sample_weight=weight).predict(X)
    step = adaboost_round(weight, answers != sign)
    weight = step.D
    if m in (1, 4, 20):
        print(
            f"round {m:2d}: error {step.error:.3f}, alpha {step.alpha:.3f}, largest weight {weight.max():.4f}"
        )
