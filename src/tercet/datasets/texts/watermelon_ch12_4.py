"""Watermelon notes, chapter 12, 12.4: Metropolis-Hastings (MH 采样)."""

from __future__ import annotations

from tercet.datasets.texts import Example
from tercet.datasets.texts.ch19_4 import metropolis

EXAMPLES = [
    Example(
        place="watermelon notes Fig 14.9",
        title="Metropolis-Hastings on three states",
        zh="三个状态上的 Metropolis-Hastings 采样",
        given={"p": [0.2, 0.5, 0.3], "Q": [[0.5, 0.25, 0.25], [0.3, 0.4, 0.3], [0.1, 0.6, 0.3]]},
        call=metropolis,
        expected={
            "acceptance": [[1, 1, 0.6], [1 / 3, 1, 1], [1, 5 / 6, 1]],
            "K": [[0.6, 0.25, 0.15], [0.1, 0.6, 0.3], [0.1, 0.5, 0.4]],
            "p K": [0.2, 0.5, 0.3],
            "reversible": True,
        },
        note="derived; the acceptance formula is missing from the text",
    ),
]
