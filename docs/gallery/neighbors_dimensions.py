"""In many dimensions nobody is near
zh: 维数高了，谁都不近

Draw points in a cube and compare the nearest with the farthest. In two dimensions the nearest is some
seventy times nearer; in a hundred dimensions all are about equally far, and "nearest" means little.

zh: 在立方体里随机撒点，比较最近与最远的点。二维时最近的点近得多；一百维时所有点几乎一样远，
“最近”就没有多少意义了。

family: neighbors
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.neighbors import NearestNeighbors

rng = np.random.default_rng(0)
dimensions = (1, 2, 5, 10, 20, 50, 100, 200)
ratios = []
for d in dimensions:
    cube = rng.random((1000, d))
    distances = NearestNeighbors(n_neighbors=1000).fit(cube).kneighbors(cube[:50])[0]
    ratios.append(np.median(distances[:, 1] / distances[:, -1]))

fig, ax = plt.subplots(figsize=(6, 4))
ax.semilogx(dimensions, ratios, "o-")
ax.set(xlabel="dimensions", ylabel="nearest / farthest distance", ylim=(0, 1))
for d, r in zip(dimensions, ratios):
    print(f"{d:4d} dimensions: nearest / farthest = {r:.3f}")
