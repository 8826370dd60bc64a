"""Four linkages, four ideas of a cluster
zh: 四种类间距离，四种“类”

Single linkage follows a chain of neighbours and finds the moons; Ward, complete and average linkage look
for compact groups and cut them.

zh: 最短距离沿着近邻链走，能找到月牙；Ward、最长距离与平均距离找的是紧凑的类，会把月牙切开。

family: cluster
"""

import matplotlib.pyplot as plt

from tercet.cluster import AgglomerativeClustering
from tercet.datasets import two_moons
from tercet.metrics import adjusted_rand_score
from tercet.plot import plot_clusters

X, y = two_moons(300, noise=0.05, random_state=0)
figure, axes = plt.subplots(1, 4, figsize=(13, 3))
for linkage, ax in zip(("single", "ward", "complete", "average"), axes):
    labels = AgglomerativeClustering(2, linkage=linkage).fit_predict(X)
    plot_clusters(X, labels, ax=ax).get_legend().remove()
    ax.set_title(f"{linkage}, ARI {adjusted_rand_score(y, labels):.2f}")
figure.tight_layout()
