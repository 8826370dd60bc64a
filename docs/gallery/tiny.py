"""A tiny picture
zh: 一张小图

The one lesson is that it is tiny.

zh: 道理是它很小。

family: linear_model
"""

import matplotlib.pyplot as plt

from tercet.linear_model import Perceptron

model = Perceptron().fit([[3, 3], [4, 3], [1, 1]], [1, 1, -1])
fig, ax = plt.subplots()
ax.plot([1, 2])
print(model.coef_)
