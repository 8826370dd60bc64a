"""Engines of ensembles: what exists only for speed."""
