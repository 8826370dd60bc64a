"""Compressed sensing: measurements, restricted isometry, recovery of sparse vectors."""
