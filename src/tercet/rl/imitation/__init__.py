"""Learning from demonstrations: behaviour cloning and inverse reinforcement learning."""
