"""Labels travel along the data
zh: 标签沿着数据传播

Six labels and 294 rows without one: pass by pass the labels reach every row of their moon, without crossing
the gap.

zh: 六个标签，294 个无标签样本：标签一轮一轮传遍各自的月牙，而不越过空隙。

family: semi_supervised
"""

import numpy as np

from tercet import Recorder
from tercet.datasets import two_moons
from tercet.plot import plot_spreading
from tercet.semi_supervised import LabelSpreading

X, truth = two_moons(300, noise=0.08, random_state=0)
y = np.full(300, -1)
for c in (0, 1):
    y[np.random.default_rng(0).choice(np.flatnonzero(truth == c), 3, replace=False)] = c
recorder = Recorder()
model = LabelSpreading("knn", n_neighbors=8, alpha=0.9, max_iter=1000).set_callbacks(recorder).fit(X, y)
print("accuracy", np.mean(model.transduction_ == truth))
plot_spreading(recorder, X, y)
