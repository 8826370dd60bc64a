"""Story: seventeen watermelons, words and numbers in one table
zh: 实例：十七个西瓜，文字与数字同在一张表里

Six columns of words, two of numbers, seventeen rows: too few to hold any out, so leave out one at a time.
Naive Bayes with a distribution for each column needs no encoding, and its factors say which column speaks
for a melon.

zh: 六列文字、两列数字，只有十七行，分不出测试集，于是用留一法。每列一个分布的朴素贝叶斯不需要编码，
它的每个因子都说明哪一列在为这个瓜说话。

family: naive_bayes
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import LeaveOneOut, cross_val_score

from tercet.datasets import load_watermelon
from tercet.naive_bayes import MixedNB
from tercet.tree import DecisionTreeClassifier

melons = load_watermelon("3.0")
for name, model in (("naive Bayes", MixedNB()), ("C4.5 tree", DecisionTreeClassifier(algorithm="c45"))):
    right = cross_val_score(model, melons.data, melons.target, cv=LeaveOneOut()).sum()
    print(f"{name}: {right:.0f} of 17 right, leaving one out")

model = MixedNB().fit(melons.data, melons.target)
melon = melons.data[:1]
empty = melon.copy()
empty[0, :] = None
prior = np.log(model.predict_proba(empty)[0])
evidence = []
for j in range(melon.shape[1]):
    one = empty.copy()
    one[0, j] = melon[0, j]
    score = np.log(model.predict_proba(one)[0]) - prior
    evidence.append(score[1] - score[0])

fig, ax = plt.subplots(figsize=(6.5, 4))
ax.barh(melons.feature_names, evidence)
ax.axvline(0, color="0.5", linewidth=0.8)
ax.set(xlabel="log-odds for a good melon", title="what speaks for the first melon")
fig.tight_layout()
