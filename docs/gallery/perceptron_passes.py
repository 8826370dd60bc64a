"""The perceptron moves once for each mistake
zh: 感知机：错一次，动一次

Each pass of the perceptron moves the line as often as it was wrong. On separable data the mistakes run out
after a finite number of passes, as Novikoff's theorem promises; the line that is left is a line that works,
not the one in the middle.

zh: 感知机每误分一次就移动一次直线。数据线性可分时，误分次数有限（Novikoff 定理），几遍之后不再出错；
最后得到的是一条能分开的线，不一定在正中间。

family: linear_model
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.linear_model import Perceptron

rng = np.random.default_rng(2)
X = np.vstack([rng.normal([1, 1], 1.0, (60, 2)), rng.normal([3, 3], 1.0, (60, 2))])
y = np.repeat([-1, 1], 60)
keep = y * (X.sum(axis=1) - 4) > 0.4
X, y = X[keep], y[keep]
model = Perceptron(shuffle=False).fit(X, y)

fig, ax = plt.subplots(figsize=(5.5, 4.5))
ax.scatter(*X.T, c=y, cmap="coolwarm", s=18)
x = np.linspace(-2, 6, 2)
w, b = model.coef_[0], model.intercept_[0]
ax.plot(x, -(w[0] * x + b) / w[1], "k")
mistakes = model.history_["mistakes"]
ax.set(xlim=(-2, 6), ylim=(-2, 6), title=f"{len(mistakes)} passes, {sum(mistakes)} mistakes")
print("mistakes in each pass:", mistakes)
