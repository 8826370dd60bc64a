"""Importing this module imports every estimator, which the lazy families do not.

A fork server imports it once, so that the processes it forks need not import anything.
"""

from __future__ import annotations

from tercet.core.catalog import methods

for card in methods():
    if card.kind == "estimator":
        card.load()
