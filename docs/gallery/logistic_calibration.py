"""Logistic regression means its probabilities, naive Bayes exaggerates
zh: 逻辑斯谛回归的概率可信，朴素贝叶斯的概率夸大

Where columns repeat each other, naive Bayes counts the same evidence several times and its probabilities
run to 0 and 1. Logistic regression, which models the probability itself, stays near the diagonal.

zh: 特征彼此重复时，朴素贝叶斯把同一份证据算了好几遍，概率趋向 0 和 1；逻辑斯谛回归直接对概率建模，
校准曲线贴近对角线。

family: linear_model
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from tercet.linear_model import LogisticRegression
from tercet.naive_bayes import GaussianNB

X, y = make_classification(6000, 20, n_informative=4, n_redundant=12, random_state=0)
train, test, a, b = train_test_split(X, y, test_size=0.5, random_state=0)

fig, ax = plt.subplots(figsize=(5, 4.5))
ax.plot([0, 1], [0, 1], "k:", label="perfect")
for name, model in (("logistic regression", LogisticRegression()), ("naive Bayes", GaussianNB())):
    p = model.fit(train, a).predict_proba(test)[:, 1]
    bins = (p * 10).astype(int).clip(0, 9)
    used = [k for k in range(10) if (bins == k).sum() > 20]
    ax.plot([p[bins == k].mean() for k in used], [b[bins == k].mean() for k in used], "o-", label=name)
    print(f"{name}: {((p < 0.01) | (p > 0.99)).mean():.2f} of the rows below 0.01 or above 0.99")
ax.set(xlabel="predicted probability", ylabel="share of positive rows")
ax.legend()
