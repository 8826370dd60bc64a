"""Texts as numbers: words, counts, tf-idf weights, retrieval."""
