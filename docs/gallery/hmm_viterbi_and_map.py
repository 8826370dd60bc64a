"""The best path is not the path of best states
zh: 最优路径不等于逐时刻最优的状态

Viterbi's algorithm finds the most likely path as a whole; posterior decoding takes the most likely state at
each step. The second makes fewer single mistakes on average and jumps more often between states.

zh: 维特比算法求整体上最可能的路径；后验解码在每个时刻取最可能的状态。后者平均来说单点错误更少，
却在状态之间跳得更勤。

family: sequence
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.sequence import CategoricalHMM

model = CategoricalHMM(random_state=4)
model.startprob_ = [0.5, 0.5]
model.transmat_ = [[0.9, 0.1], [0.1, 0.9]]
model.emissionprob_ = [[0.7, 0.3], [0.3, 0.7]]
seen, states = model.sample(400)
seen, states = np.ravel(seen), np.ravel(states)
path = model.predict([seen])[0]
posterior = model.predict_proba([seen])[0]
single = posterior.argmax(axis=1)

fig, ax = plt.subplots(figsize=(9, 3.6))
for level, (name, values) in enumerate((("posterior", single), ("Viterbi", path), ("true", states))):
    ax.step(range(150), 0.8 * values[:150] + 1.5 * level, where="mid", label=name)
ax.set(xlabel="step", yticks=[])
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
for name, values in (("Viterbi", path), ("posterior", single)):
    print(f"{name:9s} {np.mean(values != states):.3f} wrong, {np.sum(np.diff(values) != 0)} changes of state")
