"""Engine of the curves over thresholds: scores of two classes, sorted and merged."""
