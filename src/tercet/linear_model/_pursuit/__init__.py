"""Engine of orthogonal matching pursuit: many signals over one Gram matrix."""
