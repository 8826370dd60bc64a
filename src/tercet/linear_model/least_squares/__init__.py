"""Linear models fitted by least squares, plain and with an L2 penalty."""
