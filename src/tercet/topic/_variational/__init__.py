"""Engine of variational inference for latent Dirichlet allocation."""
