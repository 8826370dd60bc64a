"""Engine of matrix completion: ridge regressions of many rows over one table, shrunken singular values."""
