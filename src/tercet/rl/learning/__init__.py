"""Learning a table of values from experience: Monte Carlo methods and temporal differences."""
