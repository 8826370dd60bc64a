from tercet.feature.column_inference import Column
from tercet.feature.records import Records
from tercet.feature.schema import Schema, infer_schema
from tercet.feature.selection.mutual_information import mutual_info_classif, mutual_info_regression
from tercet.feature.selection.r_relief_f import RReliefF
from tercet.feature.selection.relief import Relief
from tercet.feature.selection.relief_f import ReliefF
from tercet.feature.table_encoder import TableEncoder

__all__ = [
    "Column",
    "RReliefF",
    "Records",
    "Relief",
    "ReliefF",
    "Schema",
    "TableEncoder",
    "infer_schema",
    "mutual_info_classif",
    "mutual_info_regression",
]
