"""Story: from fifteen applications to rules a clerk can use
zh: 实例：从十五份申请到柜员能用的规则

The texts' loan table, end to end: grow a tree, see how certain it can be with so few rows by leaving one
out, and hand out the rules. Two questions are enough, and the other two columns are never asked for.

zh: 书中的贷款申请表，从头到尾：长一棵树，用留一法看十五行数据能有多大把握，再写成规则。两个问题就够了，
另外两列根本不用问。

family: tree
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import LeaveOneOut, cross_val_score

from tercet.datasets import load_loans
from tercet.plot import plot_tree
from tercet.tree import DecisionTreeClassifier, extract_rules

loans = load_loans()
tree = DecisionTreeClassifier(algorithm="c45")
right = cross_val_score(tree, loans.data, loans.target, cv=LeaveOneOut()).sum()
print(f"leaving one out, {right:.0f} of 15 are right")
tree.fit(loans.data, loans.target)
print(extract_rules(tree, feature_names=loans.feature_names))

fig, ax = plt.subplots(figsize=(6.5, 4))
plot_tree(tree, loans.feature_names, class_names=["no", "yes"], ax=ax)
