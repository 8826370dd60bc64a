"""Story: a diagnosis with costs, from raw table to a decision
zh: 故事：带代价的诊断，从原始数据到决策

Compare three models by cross-validation with a corrected test, check whether probabilities can be trusted,
choose the threshold that costs least on validation rows, and report what it does on test rows, with an
interval.

zh: 用修正的检验比较三个模型，检查概率是否可信，按代价选阈值，最后在测试样本上报告结果与区间。

family: datasets
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tercet.linear_model import LogisticRegression
from tercet.metrics import expected_calibration_error, min_cost_threshold, proportion_interval
from tercet.model_selection import corrected_paired_test
from tercet.naive_bayes import GaussianNB
from tercet.plot import plot_calibration, plot_roc
from tercet.rules import RIPPERClassifier

X, y = load_breast_cancer(return_X_y=True)
tumour = 1 - y
X, X_test, tumour, tumour_test = train_test_split(X, tumour, test_size=0.3, random_state=0, stratify=tumour)
models = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "naive Bayes": GaussianNB(),
    "RIPPER": RIPPERClassifier(random_state=0),
}
scores = {name: cross_val_score(model, X, tumour, cv=10) for name, model in models.items()}
for name, score in scores.items():
    print(f"{name:20} accuracy {score.mean():.3f}")
sizes = {"n_train": 0.9 * len(X), "n_test": 0.1 * len(X)}
test = corrected_paired_test(scores["logistic regression"], scores["naive Bayes"], **sizes)
print(f"logistic regression against naive Bayes: p = {test.p_value:.3f}")
model = models["logistic regression"]
risk = cross_val_predict(model, X, tumour, cv=10, method="predict_proba")[:, 1]
print(f"calibration error {expected_calibration_error(tumour, risk):.3f}")
choice = min_cost_threshold(tumour, risk, [[0, 1], [20, 0]])
risk_test = model.fit(X, tumour).predict_proba(X_test)[:, 1]
found = int(np.sum(risk_test[tumour_test == 1] >= choice.threshold))
alarms = int(np.sum(risk_test[tumour_test == 0] >= choice.threshold))
interval = proportion_interval(found, int(tumour_test.sum()))
print(
    f"threshold {choice.threshold:.3f}: {found} of {tumour_test.sum()} tumours found"
    f" ({interval.low:.2f} to {interval.high:.2f}), {alarms} false alarms"
)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2))
plot_roc(tumour_test, risk_test, ax=axes[0])
plot_calibration(tumour_test, risk_test, bins=5, ax=axes[1])
figure.tight_layout()
