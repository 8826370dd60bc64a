"""A matrix of low rank comes back from part of its entries
zh: 低秩矩阵可以由部分元素恢复

Below a certain share of known entries nothing can be recovered, above it nearly everything: the change is
sudden.

zh: 已知元素少于某个比例时什么也恢复不了，超过它就几乎全部恢复，转变十分突然。

family: decomposition
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.decomposition import MatrixCompletion

rng = np.random.default_rng(0)
A = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 30))
shares, errors = [0.15, 0.2, 0.25, 0.3, 0.4, 0.5], []
for share in shares:
    seen = rng.random(A.shape) < share
    seen[np.arange(40), np.arange(40) % 30] = True  # something of every row and column
    known = np.where(seen, A, np.nan)
    filled = MatrixCompletion(algorithm="admm", tol=1e-3, max_iter=2000).fit_transform(known)
    errors.append(np.linalg.norm(filled - A) / np.linalg.norm(A))
figure, ax = plt.subplots(figsize=(7, 3.5))
ax.plot(shares, errors, "o-")
ax.set_xlabel("share of known entries, rank 2, 40 x 30")
ax.set_ylabel("relative error")
