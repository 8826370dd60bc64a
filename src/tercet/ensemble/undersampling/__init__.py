"""Ensembles for classes of very different sizes: members on undersampled rows."""
