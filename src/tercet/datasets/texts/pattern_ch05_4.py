"""Pattern Recognition, chapter 5.4: multilayer perceptrons (多层感知器神经网络)."""

from __future__ import annotations

from tercet.datasets.texts import Example

EXAMPLES: list[Example] = []
