"""Learning the graph of a Bayesian network."""
