"""From tables to numbers: what the columns are, and features made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tercet.core.lazy import lazily

if TYPE_CHECKING:
    from tercet.feature.column_inference import Column
    from tercet.feature.records import Records
    from tercet.feature.schema import Schema, infer_schema
    from tercet.feature.table_encoder import TableEncoder

__all__ = ["Column", "Records", "Schema", "TableEncoder", "infer_schema"]
# Looking at a table does without scikit-learn.
__getattr__, __dir__ = lazily(
    __name__,
    {
        "Column": f"{__name__}.column_inference",
        "Records": f"{__name__}.records",
        "Schema": f"{__name__}.schema",
        "TableEncoder": f"{__name__}.table_encoder",
        "infer_schema": f"{__name__}.schema",
    },
)
