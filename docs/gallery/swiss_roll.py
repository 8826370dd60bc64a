"""Too many neighbours tear a manifold apart
zh: 近邻太多会毁掉流形

Isomap unrolls the roll with 10 neighbours; with 40 there are edges across the layers, and one short cut is
enough.

zh: 10 个近邻时 Isomap 把瑞士卷展开；40 个近邻时出现跨层的边，一条短路就足以毁掉结果。

family: manifold
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.manifold import Isomap

rng = np.random.default_rng(0)
t = 1.5 * np.pi * (1 + 2 * rng.random(600))
X = np.column_stack([t * np.cos(t), 21 * rng.random(600), t * np.sin(t)])
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6))
axes[0].scatter(X[:, 0], X[:, 2], c=t, s=8)
axes[0].set_title("seen from the side")
for k, ax in zip((10, 40), axes[1:]):
    Z = Isomap(n_neighbors=k).fit_transform(X)
    ax.scatter(Z[:, 0], Z[:, 1], c=t, s=8)
    ax.set_title(f"Isomap, {k} neighbours")
