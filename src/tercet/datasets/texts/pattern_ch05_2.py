"""Pattern Recognition, chapter 5.2: piecewise-linear discriminants (分段线性判别函数)."""

from __future__ import annotations

from tercet.datasets.texts import Example

EXAMPLES: list[Example] = []
