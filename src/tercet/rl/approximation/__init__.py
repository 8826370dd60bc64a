"""Values of many states from few numbers: linear functions of features, and kernels."""
