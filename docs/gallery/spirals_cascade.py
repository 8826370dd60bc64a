"""A network that chooses its own size
zh: 自己决定大小的网络

Cascade-correlation adds hidden units, one at a time, until two intertwined spirals are separated; a linear
classifier is not better than chance, and one layer of a few RBF units bends too little.

zh: 级联相关网络逐个增加隐单元，直到把两条缠绕的螺旋线分开；线性分类器与随机猜测无异，单层的少量 RBF 单元弯曲不够。

family: neural_network
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.linear_model import LogisticRegression
from tercet.neural_network import CascadeCorrelationClassifier, RBFNetworkClassifier
from tercet.plot import plot_regions

turn = np.arange(97) * np.pi / 16
radius = 6.5 * (104 - np.arange(97)) / 104
arm = np.column_stack([radius * np.sin(turn), radius * np.cos(turn)])
X, y = np.vstack([arm, -arm]), np.repeat([0, 1], 97)
models = (
    LogisticRegression(),
    RBFNetworkClassifier(16, random_state=0),
    CascadeCorrelationClassifier(25, candidate_tol=1e-3, random_state=0),
)
fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True)
for ax, model in zip(axes, models):
    model.fit(X, y)
    plot_regions(model, X, y, ax=ax, resolution=100)
    if ax is not axes[-1]:
        ax.get_legend().remove()
    ax.set_title(type(model).__name__)
    print(f"{type(model).__name__:30} errors {(model.predict(X) != y).sum():3d} of {len(y)}")
print(f"hidden units: {len(models[-1].hidden_intercept_)}")
