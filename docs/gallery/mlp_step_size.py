"""Standard and accumulated back-propagation at several step sizes
zh: 不同步长下的标准BP与累积BP

Standard back-propagation updates the weights after every row, accumulated back-propagation once per epoch. At the
same step size, the second needs many more epochs.

zh: 标准 BP 算法每个样例更新一次权重，累积 BP 算法每轮更新一次。步长相同时，后者需要多得多的轮数。

family: neural_network
"""

import warnings

import matplotlib.pyplot as plt

from tercet.datasets import two_moons
from tercet.neural_network import MLPClassifier

warnings.simplefilter("ignore")  # some of the runs end before they converge
X, y = two_moons(150, noise=0.2, random_state=0)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for solver, ax in zip(("bp", "accumulated-bp"), axes):
    for rate in (0.01, 0.1, 1.0):
        model = MLPClassifier(
            8, "logistic", solver=solver, loss="squared_error", momentum=0.0, learning_rate_init=rate,
            max_iter=200, tol=0.0, n_iter_no_change=200, random_state=0,
        ).fit(X, y)  # fmt: skip
        ax.plot(model.loss_curve_, label=f"step size {rate}")
        print(f"{solver}, step size {rate}: error {model.loss_:.4f}, accuracy {model.score(X, y):.3f}")
    ax.set(title=solver, xlabel="epoch", ylabel="mean error")
axes[0].legend()
