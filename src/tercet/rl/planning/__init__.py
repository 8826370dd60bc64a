"""Dynamic programming in a known model: policy evaluation, policy iteration, value iteration."""
