"""Second derivatives straighten the path
zh: 二阶信息把路走直

In a long valley gradient descent zigzags; BFGS learns the curvature on the way, and Newton's method knows
it from the start.

zh: 在狭长的山谷里梯度下降走之字形；BFGS 边走边学曲率，牛顿法一开始就知道。

family: optimize
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.optimize import Quadratic, minimize

valley = Quadratic([[1.0, 0.0], [0.0, 25.0]], [0.0, 0.0])
grid = np.meshgrid(np.linspace(-2, 10, 200), np.linspace(-1.5, 1.5, 200))
figure, ax = plt.subplots(figsize=(9, 3.6))
ax.contour(*grid, 0.5 * (grid[0] ** 2 + 25 * grid[1] ** 2), levels=15, colors="0.85")
for method in ("gd", "bfgs", "newton"):
    found = minimize(valley, [9.0, 1.0], method=method, keep=True)
    path = np.array(found.trajectory)
    ax.plot(path[:, 0], path[:, 1], "o-", markersize=3, label=f"{method}, {found.nit} steps")
ax.legend()
