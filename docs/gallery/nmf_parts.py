"""Components that can only add up look like parts
zh: 只能相加的成分像零件

PCA describes digits by differences from their mean, with both signs; NMF must build them from non-negative
pieces, which turn out to be strokes.

zh: PCA 用与均值的差异（有正有负）描述数字；NMF 只能用非负的部件相加，得到的部件像笔画。

family: decomposition
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from tercet.decomposition import NMF, PCA
from tercet.plot import plot_atoms

X = load_digits().data
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2))
plot_atoms(PCA(16).fit(X), (8, 8), ax=axes[0])
plot_atoms(NMF(16, max_iter=400).fit(X), (8, 8), ax=axes[1])
axes[0].set_title("PCA")
axes[1].set_title("NMF")
