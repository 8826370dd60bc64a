"""Transformations of columns: logarithms, statistics as features, dates and times."""
