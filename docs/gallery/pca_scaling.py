"""The largest unit wins, unless you scale
zh: 不做标准化，单位最大的列说了算

Principal components of raw columns are those of the column with the largest numbers; with scale=True all
columns have a say.

zh: 不标准化的主成分只是数值最大的那一列；scale=True 之后各列才都有发言权。

family: decomposition
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from tercet.decomposition import PCA
from tercet.plot import plot_embedding

wine = load_wine()
figure, axes = plt.subplots(1, 2, figsize=(9, 4))
for scale, ax in zip((False, True), axes):
    model = PCA(2, scale=scale).fit(wine.data)
    plot_embedding(model.transform(wine.data), target=wine.target, ax=ax)
    ax.set_title(f"scale={scale}: {model.explained_variance_ratio_[0]:.1%} in the first component")
figure.tight_layout()
