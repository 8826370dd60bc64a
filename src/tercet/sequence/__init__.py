"""Sequences: hidden Markov models, random fields, taggers."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
