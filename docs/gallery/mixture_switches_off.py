"""A variational mixture switches off what it does not need
zh: 变分混合模型会关掉多余的分量

Ask for ten components where three clouds are. Maximum likelihood uses all ten; the variational mixture with
a small prior weight gives seven of them next to nothing.

zh: 数据只有三团，却要求十个分量。极大似然会把十个都用上；先验权重很小的变分混合模型，
让多余的分量权重几乎为零。

family: mixture
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from tercet.mixture import BayesianGaussianMixture, GaussianMixture

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(c, 0.5, (150, 2)) for c in ([0, 0], [3, 0], [1.5, 3])])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    plain = GaussianMixture(10, random_state=0).fit(X)
    sparse = BayesianGaussianMixture(
        n_components=10, weight_concentration_prior=1e-3, max_iter=500, random_state=0
    ).fit(X)

fig, ax = plt.subplots(figsize=(6.5, 4))
place = np.arange(10)
for shift, (name, model) in zip((-0.2, 0.2), (("maximum likelihood", plain), ("variational", sparse))):
    weights = np.sort(model.weights_)[::-1]
    ax.bar(place + shift, weights, 0.4, label=name)
    print(f"{name}: {(weights > 0.01).sum()} components above 0.01")
ax.set(xlabel="component, by weight", ylabel="weight")
ax.legend()
