"""Bandits: one state, several actions, and the price of finding the best one."""
