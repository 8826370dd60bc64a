"""One radius does not suit two densities
zh: 一个半径不能同时适合两种密度

DBSCAN needs one eps for all clusters; HDBSCAN looks at every distance at once and finds a tight and a loose
cluster together.

zh: DBSCAN 对所有的类只有一个 eps；HDBSCAN 同时考察所有距离，能一起找到紧的类与松的类。

family: cluster
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.cluster import DBSCAN, HDBSCAN
from tercet.plot import plot_clusters

rng = np.random.default_rng(0)
X = np.vstack(
    [
        rng.normal([0, 0], 0.1, (150, 2)),
        rng.normal([4, 0], 0.8, (150, 2)),
        rng.uniform([-2, -3], [7, 3], (30, 2)),
    ]
)
models = {f"DBSCAN, eps {eps}": DBSCAN(eps=eps) for eps in (0.1, 0.3)}
models["HDBSCAN"] = HDBSCAN(min_cluster_size=15)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4))
for (name, model), ax in zip(models.items(), axes):
    labels = model.fit_predict(X)
    plot_clusters(X, labels, ax=ax)
    if ax.get_legend():
        ax.get_legend().remove()
    ax.set_title(f"{name}: {labels.max() + 1} clusters, {np.sum(labels == -1)} noise")
figure.tight_layout()
