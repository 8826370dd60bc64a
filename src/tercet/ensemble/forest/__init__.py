"""Forests: trees grown side by side."""
