"""Clique trees, counts and sampling compiled for speed."""
