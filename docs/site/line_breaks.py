"""Line breaks in the source of Chinese text are no spaces on the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

WIDE = r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]"
# Beside bold words and code a text begins or ends with its line break.
BREAK = re.compile(rf"(?<={WIDE})\n(?=\S|\Z)|(?:\A|(?<=\S))\n(?={WIDE})")


def joined(text: str) -> str:
    """Text whose line breaks beside Chinese characters are gone.

    Examples
    --------
    >>> joined("离最近的\\n样本，\\nSVM"), joined("\\n改了"), joined("plain\\nwords")
    ('离最近的样本，SVM', '改了', 'plain\\nwords')
    """
    return BREAK.sub("", text)


def join_lines(app: Sphinx, doctree: Any) -> None:
    for node in list(doctree.findall(nodes.Text)):
        literal = isinstance(node.parent, nodes.literal_block | nodes.math_block | nodes.raw)
        if "\n" in node and not literal:
            node.parent.replace(node, nodes.Text(joined(str(node))))


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", join_lines)
