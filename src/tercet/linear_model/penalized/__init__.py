"""Linear models with a free choice of loss and penalty."""
