"""Story: who gets a loan? From a table of words to rules one can argue with
zh: 故事：谁能得到贷款？从一张词语表到可以争论的规则

Fifteen applications in words: which column tells most, what a rule learner makes of it, and what a Bayesian
network says about an applicant of whom one answer is missing. An answer that is not known lies between the
two that are.

zh: 十五份申请：哪一列信息最多，规则学出什么，贝叶斯网怎样判断缺一项回答的申请人。缺失时的概率介于两种回答之间。

family: datasets
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.datasets import load_loans
from tercet.graphical import BayesianNetworkClassifier
from tercet.metrics import information_gain
from tercet.rules import SequentialCoveringClassifier

loans = load_loans()
gains = [information_gain(loans.target, loans.data[:, j], base=2) for j in range(loans.data.shape[1])]
for name, gain in zip(loans.feature_names, gains):
    print(f"{name:12} information gain {gain:.3f}")
model = SequentialCoveringClassifier().fit(loans.data, loans.target)
print(model.ruleset_)
network = BayesianNetworkClassifier().fit(loans.data, loans.target)
yes = list(network.classes_).index("yes")
applicants = np.array([["youth", "no", house, "good"] for house in ("no", "yes", None)], object)
chances = network.predict_proba(applicants)[:, yes]
print("P(loan) without a house, with one, not answered:", chances.round(2))
figure, axes = plt.subplots(1, 2, figsize=(11, 3.6))
axes[0].barh(loans.feature_names, gains)
axes[0].set_title("information gain, bits")
bars = axes[1].bar(["no house", "owns a house", "not answered"], chances)
axes[1].bar_label(bars, fmt="%.2f")
axes[1].set_ylim(0, 0.85)
axes[1].set_title("P(loan) of a young applicant without work")
figure.tight_layout()
