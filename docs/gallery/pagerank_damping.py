"""The damping factor decides how many passes PageRank needs
zh: 阻尼因子决定 PageRank 的迭代次数

Errors shrink by the damping factor in each pass of the iteration; extrapolation needs far fewer passes for
the same scores.

zh: 迭代法每轮误差缩小为阻尼因子倍；外推法得到同样的结果，轮数少得多。

family: graph
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array

from tercet.graph import PageRank

rng = np.random.default_rng(0)
tail = rng.integers(0, 2000, 6000)
head = (tail + rng.integers(1, 20, 6000)) % 2000
graph = csr_array((np.ones(6000), (tail, head)), shape=(2000, 2000))
figure, ax = plt.subplots(figsize=(7, 3.8))
for damping in (0.5, 0.85, 0.95):
    for algorithm, style in (("iteration", "-"), ("extrapolation", "--")):
        model = PageRank(damping, algorithm=algorithm).fit(graph)
        ax.semilogy(model.history_["change"], style, label=f"{algorithm}, d = {damping}")
ax.set_xlabel("pass")
ax.set_ylabel("change")
ax.legend(fontsize=8)
