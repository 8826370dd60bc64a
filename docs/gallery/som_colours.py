"""A self-organising map sorts colours
zh: 自组织映射给颜色排序

Two thousand random colours have three numbers each. A map of 24 x 24 units lays them out in the plane, so
that neighbours look alike. Three dimensions do not fit into two without breaks, which the U-matrix shows.

zh: 两千种随机颜色各有三个数。24 x 24 个单元的映射把它们排在平面上，使相邻的颜色相近。
三维放不进二维，难免有断裂，U 矩阵显示断裂在哪里。

family: neural_network
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet import Recorder
from tercet.neural_network import SOM
from tercet.plot import plot_u_matrix

colours = np.random.default_rng(0).random((2000, 3))
recorder = Recorder()
start = np.random.default_rng(1).random((24, 24, 3))
model = SOM((24, 24), init=start, max_iter=30).set_callbacks(recorder).fit(colours)
print(f"quantisation error {model.quantization_error_:.3f}, topographic error {model.topographic_error_:.3f}")

figure, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
for ax, k in zip(axes, (0, 8, 29)):
    ax.imshow(np.clip(recorder.frames[k].estimator.weights_, 0, 1))
    ax.set_title(f"pass {k + 1}")
    ax.set_axis_off()
plot_u_matrix(model, ax=axes[3])
axes[3].set_title("U-matrix")
