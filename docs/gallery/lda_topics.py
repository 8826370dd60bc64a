"""Topics from nothing but counts
zh: 只凭计数找出话题

Documents mix words of three themes; latent Dirichlet allocation finds the themes without being told of
them.

zh: 文本混合了三个主题的单词，潜在狄利克雷分配在不知道主题的情况下把它们找出来。

family: topic
"""

import numpy as np

from tercet.plot import plot_top_words
from tercet.topic import LatentDirichletAllocation

themes = [
    ["ship", "sea", "wave", "storm", "harbour", "sailor"],
    ["tree", "leaf", "wood", "root", "bird", "moss"],
    ["star", "moon", "sun", "cloud", "comet", "planet"],
]
rng = np.random.default_rng(0)
documents = []
for share in rng.dirichlet([0.3, 0.3, 0.3], size=150):
    documents.append([str(rng.choice(themes[z])) for z in rng.choice(3, size=25, p=share)])
model = LatentDirichletAllocation(3, learning_method="gibbs", max_iter=150, random_state=0).fit(documents)
plot_top_words(model, 6)
