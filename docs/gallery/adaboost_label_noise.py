"""Wrong labels hurt boosting more than a forest
zh: 错误标记对提升的伤害大于森林

The exponential loss of AdaBoost has no upper bound, so mislabelled rows collect weight round after round. A
forest averages over trees that each see a mislabelled row or not, and shrugs.

zh: AdaBoost 的指数损失没有上界，标错的样本一轮轮积累权值。森林对许多棵树取平均，有的树见过这个错误，
有的没有，因此不为所动。

family: ensemble
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.datasets import two_moons
from tercet.ensemble import AdaBoostClassifier, RandomForestClassifier
from tercet.tree import DecisionTreeClassifier

X, y = two_moons(400, noise=0.2, random_state=0)
new, truth = two_moons(3000, noise=0.2, random_state=1)
rng = np.random.default_rng(0)
shares = (0.0, 0.1, 0.2, 0.3)
errors = {"AdaBoost": [], "forest": []}
for share in shares:
    noisy = np.where(rng.random(400) < share, 1 - y, y)
    boosted = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=60, random_state=0)
    grown = RandomForestClassifier(60, min_samples_leaf=5, random_state=0)
    for name, model in zip(errors, (boosted, grown)):
        errors[name].append(1 - model.fit(X, noisy).score(new, truth))

fig, ax = plt.subplots(figsize=(6, 4))
for name, values in errors.items():
    ax.plot(shares, values, "o-", label=name)
    print(name, np.round(values, 3))
ax.set(xlabel="share of wrong labels", ylabel="error on new rows")
ax.legend()
