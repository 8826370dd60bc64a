"""Engine of the linear machines: dual coordinate descent, Newton's method and L1 coordinate descent."""
