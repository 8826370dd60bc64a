"""Longer codes forgive more mistakes
zh: 码越长，越能容错

Ten digits by error-correcting output codes: each letter of the code is one two-class problem, and the class
with the nearest word wins. With more letters than needed, single wrong answers are outvoted.

zh: 用纠错输出码区分十个数字：每个码位是一个二类问题，取码字最近的类。码位多于所需时，
个别错误的回答会被纠正。

family: multiclass
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tercet.linear_model import RidgeClassifier
from tercet.multiclass import OutputCodeClassifier

digits = load_digits()
train, test, a, b = train_test_split(digits.data / 16, digits.target, stratify=digits.target, random_state=0)
letters = (5, 10, 20, 40, 80)
scores = []
for n in letters:
    model = OutputCodeClassifier(RidgeClassifier(), code_size=n / 10, n_draws=20, random_state=0)
    scores.append(model.fit(train, a).score(test, b))
    print(f"{n:3d} letters: accuracy {scores[-1]:.3f}")

fig, ax = plt.subplots(figsize=(6, 4))
ax.semilogx(letters, scores, "o-")
ax.set(xlabel="letters of the code", ylabel="accuracy on new digits")
ax.set_xticks(letters, letters)
ax.minorticks_off()
