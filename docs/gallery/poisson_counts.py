"""Counts want a Poisson regression
zh: 计数数据该用泊松回归

Least squares may predict negative counts and trusts large counts too much. A Poisson regression predicts
the logarithm of the rate: never negative, and its variance grows with its mean as counts do.

zh: 最小二乘会预测出负的计数，而且过分相信大的计数。泊松回归预测速率的对数：不会为负，
方差也像计数那样随均值增长。

family: linear_model
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.linear_model import LinearRegression, PoissonRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-2, 2, 150))[:, None]
count = rng.poisson(np.exp(1.2 * x[:, 0]))
line = LinearRegression().fit(x, count)
rate = PoissonRegressor(alpha=0.0).fit(x, count)

fig, ax = plt.subplots(figsize=(6, 4))
ax.plot(x, count, ".", color="0.6", label="counts")
ax.plot(x, line.predict(x), label="least squares")
ax.plot(x, rate.predict(x), label="Poisson regression")
ax.plot(x, np.exp(1.2 * x), "k:", label="true rate")
ax.axhline(0, color="0.8", linewidth=0.8)
ax.legend()
print("least squares at x = -2:", round(float(line.predict([[-2.0]])[0]), 2))
print("Poisson slope (true 1.2):", round(float(rate.coef_[0]), 3))
