"""Engine: the objective of logistic regression as sums over chunks of rows, and its solvers."""
