"""Scale first, then ask the neighbours
zh: 先标准化，再问近邻

The wines have thirteen measurements; one of them, proline, runs to 1680 and decides every distance alone.
Standardised columns make the neighbours real ones.

zh: 葡萄酒有十三项指标，其中脯氨酸的数值高达 1680，一列就决定了全部距离。标准化之后，近邻才是真正的近邻。

family: neighbors
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tercet.neighbors import KNeighborsClassifier

wine = load_wine()
ks = (1, 3, 5, 7, 11, 15, 21, 31)
fig, ax = plt.subplots(figsize=(6, 4))
for name, steps in (("as measured", []), ("standardised", [StandardScaler()])):
    models = [make_pipeline(*steps, KNeighborsClassifier(k)) for k in ks]
    scores = [cross_val_score(model, wine.data, wine.target, cv=5).mean() for model in models]
    ax.plot(ks, scores, "o-", label=name)
    print(f"{name}: best accuracy {max(scores):.3f}")
ax.set(xlabel="k", ylabel="accuracy of held-out folds")
ax.legend()
