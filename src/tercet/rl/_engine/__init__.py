"""What reinforcement learning does in compiled loops: the model in arrays, and random numbers."""
