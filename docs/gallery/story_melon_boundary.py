"""Story: good melons, from clusters to a boundary
zh: 故事：好瓜在哪里，从聚类到分界

Thirty melons without labels fall into groups by density and sugar; seventeen with labels need a curved
boundary, which the SVC draws and a line cannot. The clusters are not the classes: grouping and predicting
are different questions.

zh: 三十个无标签的西瓜成组；十七个有标签的西瓜需要弯曲的分界，直线做不到。类簇不等于类别：分组与预测是两个问题。

family: datasets
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import LeaveOneOut, cross_val_score

from tercet.cluster import KMeans, choose_n_clusters
from tercet.datasets import load_watermelon
from tercet.linear_model import LogisticRegression
from tercet.naive_bayes import GaussianNB
from tercet.plot import plot_clusters
from tercet.svm import SVC

many, labelled = load_watermelon("4.0"), load_watermelon("3.0alpha")
choice = choose_n_clusters(many.data, range(2, 7), "silhouette", random_state=0)
groups = KMeans(choice.n_clusters, n_init=20, random_state=0).fit(many.data)
print("clusters by silhouette:", choice.n_clusters)
models = {"logistic": LogisticRegression(C=100), "naive Bayes": GaussianNB(), "SVC": SVC(C=100)}
for name, model in models.items():
    score = cross_val_score(model, labelled.data, labelled.target, cv=LeaveOneOut()).mean()
    print(f"{name:12} leave-one-out accuracy {score:.2f}")
svc = models["SVC"].fit(labelled.data, labelled.target)
grid = np.meshgrid(np.linspace(0.2, 0.8, 150), np.linspace(0.0, 0.5, 150))
values = svc.decision_function(np.column_stack([g.ravel() for g in grid])).reshape(grid[0].shape)
figure, axes = plt.subplots(1, 2, figsize=(10, 4))
plot_clusters(many.data, groups.labels_, ["density", "sugar"], ax=axes[0]).get_legend().remove()
axes[0].set_title("30 melons, clusters")
axes[1].contourf(*grid, values > 0, alpha=0.25, levels=1)
axes[1].scatter(*labelled.data.T, c=labelled.target)
axes[1].set_title("17 melons, good or bad, and the SVC's boundary")
figure.tight_layout()
