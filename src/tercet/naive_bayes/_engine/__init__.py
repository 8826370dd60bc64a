"""Kernels and tables that several classifiers share."""
