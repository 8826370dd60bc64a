"""Presorted columns and the scans over them that find the best condition."""
