"""Gaussian components: densities and statistics by matrix products over tables of features."""
