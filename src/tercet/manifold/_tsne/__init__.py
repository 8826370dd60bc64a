"""Kernels of t-SNE: probabilities of neighbours, attraction, and repulsion by three methods."""
