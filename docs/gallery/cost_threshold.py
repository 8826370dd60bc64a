"""The threshold follows from the costs
zh: 阈值由代价决定

If a missed tumour costs as much as ten or a hundred false alarms, the best threshold falls far below one
half.

zh: 漏诊一个肿瘤若相当于十次或一百次误报，最优阈值就远低于二分之一。

family: metrics
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tercet.linear_model import LogisticRegression
from tercet.metrics import min_cost_threshold

X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), LogisticRegression())
risk = cross_val_predict(model, X, y, method="predict_proba")[:, 0]
tumour = 1 - y
thresholds = np.linspace(0.001, 0.999, 300)
figure, ax = plt.subplots(figsize=(7, 3.8))
for miss in (1, 10, 100):
    costs = [np.mean(np.where(tumour == 1, miss * (risk < t), risk >= t)) for t in thresholds]
    choice = min_cost_threshold(tumour, risk, [[0, 1], [miss, 0]])
    line = ax.semilogy(thresholds, costs, label=f"a miss costs {miss} false alarms")[0]
    ax.plot(choice.threshold, choice.value, "o", color=line.get_color())
    print(f"cost {miss:3}: threshold {choice.threshold:.3f}")
ax.set_xlabel("threshold")
ax.set_ylabel("mean cost")
ax.legend()
