"""Rows taken away or added, so that classes come to the sizes one wants."""
