"""Engine of the kernel machines: block-coordinate descent on the dual, with cached rows of the Gram matrix."""
