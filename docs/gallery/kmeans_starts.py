"""K-means ends in different local minima
zh: k 均值会停在不同的局部极小

The sum of squares that k-means reaches depends on where it starts: of 200 random starts on thirty melons
only some find the best value, so try many and keep the least.

zh: k 均值得到的平方和取决于初值：三十个西瓜，二百次随机初始化，只有一部分达到最好的值，所以要多试几次取最小。

family: cluster
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.cluster import KMeans
from tercet.datasets import load_watermelon

X = load_watermelon("4.0").data
values = {}
for init in ("random", "k-means++"):
    values[init] = [KMeans(3, init=init, n_init=1, random_state=s).fit(X).inertia_ for s in range(200)]
    best = np.min(values[init])
    share = np.mean(np.array(values[init]) < best + 1e-6)
    print(f"{init:10} best {best:.3f}, found by {share:.0%} of the starts")
figure, ax = plt.subplots(figsize=(7, 3.5))
ax.hist(list(values.values()), bins=20, label=list(values))
ax.set_xlabel("sum of squared distances at the end")
ax.set_ylabel("starts")
ax.legend()
