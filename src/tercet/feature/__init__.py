"""From tables to numbers: what the columns are, and features made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tercet.core.lazy import lazily

if TYPE_CHECKING:
    from tercet.feature.columns import Column
    from tercet.feature.encoder import TableEncoder
    from tercet.feature.records import Records
    from tercet.feature.schema import Schema, look

__all__ = ["Column", "Records", "Schema", "TableEncoder", "look"]
# Looking at a table does without scikit-learn.
__getattr__, __dir__ = lazily(
    __name__,
    {
        "Column": f"{__name__}.columns",
        "Records": f"{__name__}.records",
        "Schema": f"{__name__}.schema",
        "TableEncoder": f"{__name__}.encoder",
        "look": f"{__name__}.schema",
    },
)
