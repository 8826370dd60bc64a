"""Greedy pursuits: linear models with few coefficients that are not zero."""
