"""Encodings of categorical columns as numbers."""
