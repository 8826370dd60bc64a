"""Kernels of graphs: in-edges, sweeps of PageRank, breadth-first levels."""
