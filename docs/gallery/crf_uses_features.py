"""A CRF reads the ending of a word it never saw
zh: 条件随机场读得懂没见过的词的词尾

An HMM tagger takes every unseen word for the same rare one, unless it is told to look at endings. A
conditional random field describes a token by anything you like, here by its ending, and tags new words of
an invented language rightly.

zh: 隐马尔可夫标注器默认把没见过的词都当作同一个罕见词。条件随机场可以用任何东西描述一个词，这里用词尾，
于是虚构语言里的新词也能标对。

family: sequence
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.sequence import CRF, HMMTagger

rng = np.random.default_rng(0)
endings = {"N": "o", "V": "as", "A": "a"}
follows = {"N": ["V", "N"], "V": ["A", "N"], "A": ["N", "A"]}


def sentence():
    words, tags, tag = [], [], "N"
    for _ in range(8):
        stem = "".join(rng.choice(list("bdklmnprst"), 2)) + rng.choice(list("eiu"))
        words.append(stem + endings[tag])
        tags.append(tag)
        tag = follows[tag][rng.integers(2)]
    return words, tags


def described(words):
    return [{"word": w, "ending": w[3:]} for w in words]


test = [sentence() for _ in range(100)]
sizes = (2, 4, 8, 16, 32)
scores = {"CRF": [], "HMM": []}
for n in sizes:
    X, y = zip(*[sentence() for _ in range(n)])
    crf = CRF(c2=0.1).fit([described(w) for w in X], list(y))
    hmm = HMMTagger().fit(list(X), list(y))
    answers = {
        "CRF": crf.predict([described(w) for w, _ in test]),
        "HMM": hmm.predict([w for w, _ in test]),
    }
    for name, tags in answers.items():
        scores[name].append(np.mean([a == b for row, (_, t) in zip(tags, test) for a, b in zip(row, t)]))

fig, ax = plt.subplots(figsize=(6, 4))
for name, values in scores.items():
    ax.semilogx(sizes, values, "o-", label=name)
    print(name, np.round(values, 3))
ax.set(xlabel="training sentences", ylabel="share of tags right")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.legend()
