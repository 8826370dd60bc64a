from tercet.feature.column_inference import Column
from tercet.feature.records import Records
from tercet.feature.resampling.random_over_sampler import RandomOverSampler
from tercet.feature.resampling.random_under_sampler import RandomUnderSampler
from tercet.feature.resampling.resampled import Resampled
from tercet.feature.resampling.smote import SMOTE
from tercet.feature.schema import Schema, infer_schema
from tercet.feature.selection.las_vegas_wrapper import LasVegasWrapper
from tercet.feature.selection.mrmr import MRMR
from tercet.feature.selection.mutual_information import mutual_info_classif, mutual_info_regression
from tercet.feature.selection.r_relief_f import RReliefF
from tercet.feature.selection.relief import Relief
from tercet.feature.selection.relief_f import ReliefF
from tercet.feature.selection.stability_selection import StabilitySelection
from tercet.feature.selection.subset_information import subset_information_gain
from tercet.feature.selection.subset_search import SubsetSearch
from tercet.feature.table_encoder import TableEncoder

__all__ = [
    "MRMR",
    "SMOTE",
    "Column",
    "LasVegasWrapper",
    "RReliefF",
    "RandomOverSampler",
    "RandomUnderSampler",
    "Records",
    "Relief",
    "ReliefF",
    "Resampled",
    "Schema",
    "StabilitySelection",
    "SubsetSearch",
    "TableEncoder",
    "infer_schema",
    "mutual_info_classif",
    "mutual_info_regression",
    "subset_information_gain",
]
