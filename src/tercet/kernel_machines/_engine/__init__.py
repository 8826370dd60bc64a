"""Engines of the kernel machines: the training Gram matrix, blocked factorisations, low-rank preconditioners."""
