"""Updates of non-negative factors: coordinate descent, multiplicative rules and projected gradients."""
