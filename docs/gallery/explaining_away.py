"""A second cause explains the first away
zh: 另一个原因把前一个解释掉

Wet grass makes rain likelier; knowing that the sprinkler was on takes it back nearly to what it was. Two
causes become dependent when their effect is seen.

zh: 草地湿了，下雨更可能；得知洒水器开着，又几乎回到原来的值。结果一旦被观测，两个原因就不再独立。

family: graphical
"""

import matplotlib.pyplot as plt

from tercet.graphical import BayesianNetwork

network = BayesianNetwork.from_tables(
    {
        "rain": [0.8, 0.2],
        "sprinkler": [0.6, 0.4],
        "wet": (["sprinkler", "rain"], [[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]]),
    },
    states=["no", "yes"],
)
cases = {
    "nothing known": {},
    "sprinkler on": {"sprinkler": "yes"},
    "grass wet": {"wet": "yes"},
    "grass wet,\nsprinkler on": {"wet": "yes", "sprinkler": "yes"},
}
chances = [float(network.query(["rain"], evidence).table[1]) for evidence in cases.values()]
figure, ax = plt.subplots(figsize=(7, 3.5))
bars = ax.bar(list(cases), chances)
ax.bar_label(bars, fmt="%.2f")
ax.set(ylabel="P(rain)", ylim=(0, 0.45))
