"""Linear models."""

from tercet.linear_model.perceptron import Perceptron

__all__ = ["Perceptron"]
