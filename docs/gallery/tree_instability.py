"""Trees are unstable, and forests live on it
zh: 决策树不稳定，森林正好以此为生

Grow a tree on two bootstrap samples of the same wines and another question may stand at the root, with all
below it changed. A model that changes so much has a large variance, and averaging a hundred such trees is
what a forest does about it.

zh: 对同一批葡萄酒作两次自助抽样，树根上的问题就可能不同，下面也全变了。变化如此之大就是方差大；
把一百棵这样的树平均起来，便是森林的办法。

family: tree
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from tercet.tree import DecisionTreeClassifier

wine = load_wine()
rng = np.random.default_rng(0)
roots = Counter()
for _ in range(100):
    rows = rng.integers(0, len(wine.target), len(wine.target))
    tree = DecisionTreeClassifier(max_depth=3).fit(wine.data[rows], wine.target[rows])
    roots[wine.feature_names[tree.tree_.feature[0]]] += 1

fig, ax = plt.subplots(figsize=(6.5, 3.6))
names, counts = zip(*roots.most_common())
ax.barh(names[::-1], counts[::-1])
ax.set_xlabel("times at the root, of 100 bootstrap samples")
fig.tight_layout()
print(roots.most_common())
