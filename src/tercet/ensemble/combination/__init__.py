"""Combination of several estimators: averages, votes, stacking, and measures of their diversity."""
