"""Let the classes choose the bins
zh: 让类别来决定分箱

Bins of equal frequency cut through the place where the classes change; cuts by description length fall on
it, and there are as many as pay.

zh: 等频分箱会切在无关的位置；按描述长度的切点落在类别变化之处，个数由数据决定。

family: feature
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from tercet.feature import KBinsDiscretizer
from tercet.plot import plot_bins

cancer = load_breast_cancer()
X, y = cancer.data[:, [0]], cancer.target
figure, axes = plt.subplots(1, 2, figsize=(11, 3.8))
for strategy, ax in zip(("quantile", "mdl"), axes):
    model = KBinsDiscretizer(strategy=strategy, encode="ordinal").fit(X, y)
    plot_bins(model, X, y, ax=ax)
    ax.set_title(strategy)
    ax.set_xlabel("mean radius")
figure.tight_layout()
