"""Maximum entropy models and distributions (最大熵)."""
