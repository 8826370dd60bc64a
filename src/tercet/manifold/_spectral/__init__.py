"""Eigenvectors of graph Laplacians."""
