"""Information gain loves identifiers
zh: 信息增益偏爱编号

Add a column that is different in every row. It has the largest information gain of all, because each of its
branches is pure, and it is worth nothing. The gain ratio divides by the entropy of the split and sees
through it.

zh: 加一列每行都不同的编号。它的每个分支都是纯的，信息增益最大，却毫无用处。信息增益比除以划分本身的熵，
于是识破了它。

family: tree
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.datasets import load_loans
from tercet.tree import InformationSelector

loans = load_loans()
X = np.column_stack([loans.data, [f"no. {i}" for i in range(15)]]).astype(object)
names = [*loans.feature_names, "identifier"]
scores = {c: InformationSelector(criterion=c).fit(X, loans.target).scores_ for c in ("gain", "ratio")}

fig, ax = plt.subplots(figsize=(6.5, 4))
place = np.arange(len(names))
for shift, (name, values) in zip((-0.2, 0.2), scores.items()):
    ax.bar(place + shift, values, 0.4, label=f"information {name}" if name == "gain" else "gain ratio")
ax.set_xticks(place, names)
ax.legend()
for name, values in scores.items():
    print(name, "prefers", names[int(np.argmax(values))])
