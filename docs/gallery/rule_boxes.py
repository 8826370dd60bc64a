"""Rules are boxes, and pruning keeps them few
zh: 规则是矩形，剪枝使它们变少

Sequential covering draws a box for every last row; RIPPER weighs rules against the bits they cost, and ends
with fewer.

zh: 序贯覆盖会为最后几个样本也画矩形；RIPPER 权衡规则的描述长度，规则更少。

family: rules
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from tercet.plot import plot_rule_boxes
from tercet.rules import RIPPERClassifier, SequentialCoveringClassifier

cancer = load_breast_cancer()
X, y = cancer.data[:, [20, 21]], cancer.target_names[cancer.target]
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2))
for model, ax in zip((SequentialCoveringClassifier(), RIPPERClassifier(random_state=0)), axes):
    model.fit(X, y)
    plot_rule_boxes(model, X, y, ax=ax)
    ax.set_title(f"{type(model).__name__}: {len(model.ruleset_.rules)} rules")
figure.tight_layout()
