"""Inference in products of factors."""
