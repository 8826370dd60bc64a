"""Engines of the decompositions: products of centred rows, block Lanczos, randomised range finding."""
