"""Sparse coding and dictionary learning."""
