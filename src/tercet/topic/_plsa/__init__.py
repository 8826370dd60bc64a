"""Engine of PLSA: expected counts in one pass over the counts that are not zero."""
