"""Kernels of multidimensional scaling: the Guttman transform and isotonic regression."""
