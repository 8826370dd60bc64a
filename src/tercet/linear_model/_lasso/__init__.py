"""Engine: regularisation paths of the elastic net by coordinate descent with warm starts."""
