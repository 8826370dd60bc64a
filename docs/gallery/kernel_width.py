"""The width of the kernel is the model
zh: 核的宽度就是模型

Kernel ridge regression with the same penalty and three widths: too wide sees nothing, too narrow remembers
noise. Leave-one-out errors come in closed form and point to the middle.

zh: 惩罚相同、宽度不同的核岭回归：太宽什么也看不见，太窄把噪声也记住了。留一法误差有闭式解，
一算便知该取中间。

family: kernel_machines
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.kernel_machines import KernelRidge

rng = np.random.default_rng(0)
t = np.sort(rng.uniform(0, 10, 80))[:, None]
target = np.sin(t[:, 0]) + 0.5 * np.sin(3 * t[:, 0]) + 0.3 * rng.normal(size=80)
gammas = np.logspace(-2, 3, 21)
alpha = 0.1
errors = []
for gamma in gammas:
    fit = KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma, loo=True).fit(t, target)
    errors.append(np.mean((target - fit.loo_) ** 2))
best = gammas[int(np.argmin(errors))]

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
left.loglog(gammas, errors)
left.axvline(best, color="0.5", linestyle="--")
left.set(xlabel="gamma", ylabel="leave-one-out squared error")
grid = np.linspace(0, 10, 400)[:, None]
right.plot(t, target, ".", color="0.6")
for gamma in (0.01, best, 1000.0):
    right.plot(
        grid,
        KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma).fit(t, target).predict(grid),
        label=f"gamma {gamma:.3g}",
    )
right.legend()
print(f"least leave-one-out error at gamma = {best:.3g}")
