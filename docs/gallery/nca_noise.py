"""A learned metric ignores columns of noise
zh: 学出来的度量会忽略噪声列

Neighbours by Euclidean distance get worse with every column of noise; neighbourhood components analysis
learns to give noise no weight.

zh: 每多一列噪声，欧氏距离下的近邻就更差；近邻成分分析会学到不给噪声权重。

family: metric_learning
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from tercet.metric_learning import NeighborhoodComponentsAnalysis
from tercet.neighbors import KNeighborsClassifier

X, y = load_iris(return_X_y=True)
noise = np.random.default_rng(0).normal(size=(150, 12))
counts = [0, 3, 6, 12]
curves = {"Euclidean": [], "NCA": []}
for count in counts:
    rows = np.hstack([X - X.mean(axis=0), noise[:, :count]])
    curves["Euclidean"].append(cross_val_score(KNeighborsClassifier(5), rows, y, cv=5).mean())
    nca = make_pipeline(NeighborhoodComponentsAnalysis(2, random_state=0), KNeighborsClassifier(5))
    curves["NCA"].append(cross_val_score(nca, rows, y, cv=5).mean())
figure, ax = plt.subplots(figsize=(7, 3.5))
for name, scores in curves.items():
    ax.plot(counts, scores, "o-", label=name)
ax.set_xlabel("columns of noise beside the four of iris")
ax.set_ylabel("accuracy of 5 neighbours")
ax.legend()
