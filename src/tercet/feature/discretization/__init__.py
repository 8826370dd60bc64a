"""Discretisation of numeric columns into intervals."""
