"""Kernels of neighbour graphs: shortest paths and the nearest rows of different components."""
