"""Samplers of latent Dirichlet allocation: topics of words, drawn in blocks of documents.

tokens.py       counts as lists of words; shards and blocks of documents; random numbers keyed by content
dense.py        all topics of a word at once, sixteen running sums side by side
packed.py       the topics that a word has, as short lists: for many topics, and when words have few of them
sampler.py      the state of a run, its sweeps and its likelihood
count_table.py  counts as updates of priors want them
inference.py    topics of new documents, with the topics' words held fixed
"""
