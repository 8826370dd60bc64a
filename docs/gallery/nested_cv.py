"""The score that chose a model flatters it
zh: 用来挑选的分数会奉承模型

On pure noise the best of many settings scores above chance in cross-validation; nested cross-validation,
which repeats the choice in every fold, does not.

zh: 在纯噪声上，许多设定中最好的那个在交叉验证里高于随机；嵌套交叉验证在每折内重做挑选，就不会。

family: model_selection
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from tercet.model_selection import nested_cross_validation
from tercet.neighbors import KNeighborsClassifier

plain, nested = [], []
for seed in range(3):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 5)), rng.integers(2, size=60)
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": range(1, 16, 2), "p": [1, 2]}, cv=3)
    nested.append(nested_cross_validation(search, X, y, cv=3).score)
    plain.append(search.fit(X, y).best_score_)
print(f"best score of the search {np.mean(plain):.3f}, nested {np.mean(nested):.3f}, truth 0.5")
figure, ax = plt.subplots(figsize=(6, 3.6))
ax.plot([0, 1], [plain, nested], "o-", color="0.6")
ax.axhline(0.5, color="C3")
ax.set_xticks([0, 1], ["best score of the search", "nested cross-validation"])
ax.set_xlim(-0.3, 1.3)
ax.set_ylabel("accuracy on noise")
