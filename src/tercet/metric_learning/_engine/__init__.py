"""Sums over pairs of rows, by blocks and on threads."""
