"""A forest carries its own test set
zh: 森林自带测试集

Each tree of a forest leaves out about a third of the rows. Letting every row be judged by the trees that
did not see it gives the out-of-bag error, which follows the error on new rows without setting any rows
aside.

zh: 森林的每棵树都有大约三分之一的样本没有见过。让每个样本只由没见过它的树来判断，就得到包外误差；
它与新样本上的误差一致，而不必留出任何样本。

family: ensemble
"""

import matplotlib.pyplot as plt

from tercet.datasets import two_moons
from tercet.ensemble import RandomForestClassifier

X, y = two_moons(400, noise=0.35, random_state=0)
new, truth = two_moons(4000, noise=0.35, random_state=1)
sizes = [20, 40, 80, 160, 320]
outside, fresh = [], []
forest = RandomForestClassifier(warm_start=True, oob_score=True, random_state=0)
for n in sizes:
    forest.set_params(n_estimators=n).fit(X, y)
    outside.append(1 - forest.oob_score_)
    fresh.append(1 - forest.score(new, truth))

fig, ax = plt.subplots(figsize=(6, 4))
ax.semilogx(sizes, outside, "o-", label="out-of-bag rows")
ax.semilogx(sizes, fresh, "o-", label="4000 new rows")
ax.set(xlabel="trees", ylabel="error")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.legend()
print(f"with {sizes[-1]} trees: out of bag {outside[-1]:.3f}, new rows {fresh[-1]:.3f}")
