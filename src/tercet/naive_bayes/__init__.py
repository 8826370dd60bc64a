"""Bayes decisions, and classifiers that learn the joint probability of a row and its class."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
