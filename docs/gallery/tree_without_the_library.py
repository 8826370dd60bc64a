"""A forest leaves the library
zh: 森林离开本库

A fitted forest can be written as a Python file that needs only NumPy, and predicts the same to the last bit.

zh: 拟合好的森林可以写成只需 NumPy 的 Python 文件，预测逐比特相同。

family: export
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.datasets import two_moons
from tercet.ensemble import RandomForestClassifier
from tercet.export import export_python
from tercet.plot import plot_regions

X, y = two_moons(200, noise=0.25, random_state=0)
sizes, lines = (1, 5, 20, 50), []
for n in sizes:
    model = RandomForestClassifier(n, random_state=0).fit(X, y)
    text = export_python(model)
    module = {"__name__": "exported"}
    exec(text, module)
    assert np.array_equal(module["predict"](module["MODEL"], X.tolist()), model.predict(X))
    lines.append(len(text) / 1024)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
plot_regions(model, X, y, ax=left)
right.plot(sizes, lines, "o-")
right.set(xlabel="trees", ylabel="size of the file (KiB)")
print("the same predictions for", sizes, "trees")
