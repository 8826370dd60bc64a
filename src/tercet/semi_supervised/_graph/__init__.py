"""Passes over the graph of label propagation, dense and sparse."""
