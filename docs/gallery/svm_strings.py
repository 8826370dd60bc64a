"""A classifier of words that never saw a number
zh: 不用任何数字特征的单词分类器

A kernel is a similarity that is an inner product, so a support vector machine can work on strings directly.
The subsequence kernel of the texts compares two words by the subsequences that they share, gaps allowed.

zh: 核是一种内积形式的相似度，所以支持向量机可以直接处理字符串。
书中的字符串核按两个单词共有的（可带间隔的）子序列来比较它们。

family: kernel_machines
"""

import matplotlib.pyplot as plt
import numpy as np

from tercet.kernels import Subsequence
from tercet.svm import SVC

latin = ["visio", "natio", "ratio", "actio", "lectio", "portio"]
finnish = ["kukka", "pukki", "tikku", "lakki", "kakku", "sukka"]
words = latin + finnish
kernel = Subsequence(2, 0.5)
gram = kernel(words)
size = np.sqrt(np.diag(gram))
model = SVC(kernel=kernel).fit(words, [0] * 6 + [1] * 6)
print(
    dict(
        zip(
            ["mansio", "tukki"],
            ["Latin" if c == 0 else "Finnish" for c in model.predict(["mansio", "tukki"])],
        )
    )
)

fig, ax = plt.subplots(figsize=(5.6, 5))
ax.imshow(gram / np.outer(size, size), cmap="Blues")
ax.set_xticks(range(12), words, rotation=90)
ax.set_yticks(range(12), words)
ax.set_title("normalised string kernel")
fig.tight_layout()
