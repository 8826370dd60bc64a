"""Every prediction can be taken apart
zh: 每个预测都可以拆开来看

Shapley values share a prediction among the columns, and add up to it exactly; for trees they cost one pass
over the leaves.

zh: 沙普利值把一个预测分摊给各列，加起来恰好等于预测；对树只需遍历一次叶结点。

family: inspection
"""

from sklearn.datasets import load_diabetes

from tercet.ensemble import HistGradientBoostingRegressor
from tercet.inspection import contributions
from tercet.plot import plot_contributions

data = load_diabetes(as_frame=True)
model = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=8, random_state=0).fit(
    data.data, data.target
)
parts = contributions(model, data.data)
print(
    f"base value {float(parts.base_values):.1f} + contributions {parts.values[0].sum():.1f}"
    f" = prediction {model.predict(data.data[:1])[0]:.1f}"
)
plot_contributions(parts, row=0)
