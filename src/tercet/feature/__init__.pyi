from tercet.feature.column_inference import Column
from tercet.feature.records import Records
from tercet.feature.schema import Schema, infer_schema
from tercet.feature.table_encoder import TableEncoder

__all__ = ["Column", "Records", "Schema", "TableEncoder", "infer_schema"]
