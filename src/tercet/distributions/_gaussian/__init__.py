"""Several Gaussians side by side, shared by Gaussian mixtures and hidden Markov models."""
