"""Local weights, the matrices of the variants of LLE, and their null spaces."""
