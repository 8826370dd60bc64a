"""With few rows, assume more
zh: 样本少时，多作假设

Linear discriminant analysis assumes more than logistic regression and quadratic analysis. While rows are
few the assumption pays; with many rows the flexible models catch up.

zh: 线性判别分析的假设比逻辑斯谛回归和二次判别更强。样本少时假设带来好处；样本多了，灵活的模型就赶上来。

family: discriminant_analysis
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from tercet.linear_model import LogisticRegression

rng = np.random.default_rng(0)
d = 10
spread = np.linalg.cholesky(0.5 * np.eye(d) + 0.5)


def draw(n):
    y = np.tile([0, 1], n // 2)
    return rng.normal(size=(n, d)) @ spread.T + 0.5 * y[:, None] * np.r_[np.ones(5), -np.ones(5)], y


new, truth = draw(4000)
sizes = (30, 60, 120, 240, 480)
models = {
    "linear discriminant": LinearDiscriminantAnalysis(),
    "logistic, weak penalty": LogisticRegression(C=100.0, max_iter=1000),
    "quadratic discriminant": QuadraticDiscriminantAnalysis(reg_param=1e-3),
}
fig, ax = plt.subplots(figsize=(6, 4))
samples = {n: [draw(n) for _ in range(8)] for n in sizes}
for name, model in models.items():
    errors = [np.mean([1 - model.fit(*rows).score(new, truth) for rows in samples[n]]) for n in sizes]
    ax.semilogx(sizes, errors, "o-", label=name)
    print(f"{name:23s}", np.round(errors, 3))
ax.set(xlabel="training rows", ylabel="error on new rows")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.legend()
