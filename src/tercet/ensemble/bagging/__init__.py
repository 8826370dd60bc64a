"""Bagging: members fitted side by side on samples of rows and columns."""
