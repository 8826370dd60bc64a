"""Only the support vectors matter
zh: 只有支持向量起作用

Fit a support vector machine, throw away every row that is not a support vector, fit again: the decision
function is the same. It is the dual problem made visible: rows with alpha = 0 are not in the sum.

zh: 拟合一次，扔掉所有不是支持向量的样本，再拟合一次，决策函数不变。这就是看得见的对偶问题：
alpha = 0 的样本不在求和之中。

family: svm
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.datasets import two_moons
from tercet.plot import plot_margins
from tercet.svm import SVC

X, y = two_moons(300, noise=0.2, random_state=0)
full = SVC(C=10, gamma=1.0, tol=1e-6).fit(X, y)
few = SVC(C=10, gamma=1.0, tol=1e-6).fit(X[full.support_], y[full.support_])
grid = np.random.default_rng(0).uniform(-2, 3, (500, 2))
difference = np.abs(full.decision_function(grid) - few.decision_function(grid)).max()

fig, axes = plt.subplots(1, 2, figsize=(9.5, 4))
plot_margins(full, X, y, ax=axes[0])
axes[0].get_legend().remove()
axes[0].set_title(f"{len(X)} rows")
plot_margins(few, X[full.support_], y[full.support_], ax=axes[1])
axes[1].set_title(f"the {full.support_.size} support vectors")
axes[0].set(xlim=axes[1].get_xlim(), ylim=axes[1].get_ylim())
print(f"largest difference of the two decision functions: {difference:.1e}")
