"""Story: a diagnosis is a decision with a cost
zh: 实例：诊断是有代价的决策

Real data from end to end: scale, fit, estimate by cross-validation, then choose the threshold by what
errors cost. To miss a malignant tumour is taken to cost twenty times as much as a false alarm, and the best
threshold is then far from one half.

zh: 真实数据，从头到尾：标准化、拟合、交叉验证，再按错误的代价选阈值。
设漏掉一个恶性肿瘤的代价是误报的二十倍，最好的阈值就远离二分之一。

family: linear_model
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tercet.linear_model import LogisticRegression

cells = load_breast_cancer()
malignant = cells.target == 0
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.5))
p = cross_val_predict(model, cells.data, malignant, cv=10, method="predict_proba")[:, 1]
thresholds = np.linspace(0.01, 0.99, 99)
missed = np.array([(malignant & (p < t)).sum() for t in thresholds])
alarms = np.array([(~malignant & (p >= t)).sum() for t in thresholds])
cost = 20 * missed + alarms
best = thresholds[cost.argmin()]

fig, ax = plt.subplots(figsize=(6, 4))
ax.plot(thresholds, cost)
ax.axvline(best, color="0.5", linestyle="--")
ax.set(xlabel="threshold", ylabel="20 x missed + false alarms", title=f"best threshold {best:.2f}")
half = np.abs(thresholds - 0.5).argmin()
print(f"threshold 0.50: {missed[half]} missed, {alarms[half]} false alarms, cost {cost[half]}")
print(
    f"threshold {best:.2f}: {missed[cost.argmin()]} missed, {alarms[cost.argmin()]} false alarms, cost {cost.min()}"
)
