"""Engine: centred design matrices and the solvers of least squares and ridge problems."""
