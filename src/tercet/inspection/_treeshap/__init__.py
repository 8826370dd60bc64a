"""Kernels of TreeSHAP: contributions of features to the scores of sums of trees."""
