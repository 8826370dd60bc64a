"""Data cleaning: impossible values, outliers, missing values, contradictory rows."""
