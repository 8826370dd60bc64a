"""Reinforcement learning: Markov decision processes, planning, bandits, learning by trial, imitation."""

import tercet  # noqa: F401 (waits for a thread that is importing it)
from tercet.core.lazy import lazy_package

lazy_package(__name__)
