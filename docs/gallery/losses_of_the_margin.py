"""A wrong label weighs differently in every loss
zh: 同一个错误标签，各种损失给它的分量不同

A row with a wrong label far from the boundary moves a model by the slope of the loss there: the exponential loss
lets it dominate, the hinge and the logistic loss bound its pull, and a penalty bounds all of them.

zh: 离边界很远的错误标签按损失在该处的斜率拉动模型：
指数损失让它压倒一切，合页损失和逻辑斯谛损失限制它的拉力，惩罚则限制所有样本。

family: losses
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.losses import loss
from tercet.penalties import penalty

margins = np.linspace(-4, 2, 301)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name in ("hinge", "logistic", "exponential", "squared_hinge"):
    left.plot(margins, loss(name).value(1, margins), label=name)
    right.plot(margins, -loss(name).gradient(1, margins), label=name)
    print(f"{name:14s} pull of a row at margin -4: {-loss(name).gradient(1, np.array([-4.0]))[0]:6.2f}")
left.set(xlabel="margin", ylabel="loss", ylim=(0, 12))
right.set(xlabel="margin", ylabel="pull on the score", ylim=(0, 12))
left.legend()
print("L2 takes a coefficient of 3 to", penalty("l2", strength=1.0).prox([3.0], step=1.0).round(2))
