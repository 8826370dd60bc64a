"""Exact neighbour search: linear scan, kd-tree, and the choice between them."""
