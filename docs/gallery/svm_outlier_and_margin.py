"""One row can ruin a hard margin
zh: 一个样本就能毁掉硬间隔

With an infinite price of slack the widest margin must respect every row, and one stray row turns the whole
hyperplane. A finite C lets that row be wrong and keeps the margin that all the others agree on.

zh: 松弛的代价无穷大时，间隔必须照顾每一个样本，一个离群样本就能把超平面扳过来。有限的 C 允许它犯错，
保住其余样本一致认可的间隔。

family: svm
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.plot import plot_margins
from tercet.svm import SVC

rng = np.random.default_rng(1)
X = np.vstack([rng.normal([-2, 0], 0.6, (30, 2)), rng.normal([2, 0], 0.6, (30, 2)), [[0.4, 1.6]]])
y = np.r_[np.zeros(30), np.ones(30), 0]

fig, axes = plt.subplots(1, 2, figsize=(9.5, 4), sharey=True)
for ax, C in zip(axes, (np.inf, 0.1)):
    model = SVC(kernel="linear", C=C).fit(X, y)
    plot_margins(model, X, y, ax=ax)
    width = 2 / np.linalg.norm(model.coef_)
    ax.set_title(f"C = {C:g}: margin {width:.2f}")
    print(f"C = {C:g}: margin {width:.2f}, {model.support_.size} support vectors")
axes[0].get_legend().remove()
