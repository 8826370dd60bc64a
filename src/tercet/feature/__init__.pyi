from tercet.feature.cleaning.contradiction_filter import ContradictionFilter
from tercet.feature.cleaning.group_imputer import GroupImputer
from tercet.feature.cleaning.missing_filter import MissingFilter
from tercet.feature.cleaning.missing_threshold import MissingThreshold
from tercet.feature.cleaning.outlier_cleaner import OutlierCleaner
from tercet.feature.cleaning.outlier_filter import OutlierFilter
from tercet.feature.cleaning.range_cleaner import RangeCleaner
from tercet.feature.cleaning.rule_filter import RuleFilter
from tercet.feature.column_inference import Column
from tercet.feature.combination.feature_cross import FeatureCross
from tercet.feature.combination.tree_leaf_encoder import TreeLeafEncoder
from tercet.feature.discretization.bin_table import BinTable
from tercet.feature.discretization.kbins_discretizer import KBinsDiscretizer
from tercet.feature.encoding.cluster_encoder import ClusterEncoder
from tercet.feature.encoding.count_encoder import CountEncoder
from tercet.feature.encoding.dummy_encoder import DummyEncoder
from tercet.feature.encoding.ordinal_encoder import OrdinalEncoder
from tercet.feature.encoding.target_encoder import TargetEncoder
from tercet.feature.hashing.feature_hasher import FeatureHasher
from tercet.feature.hashing.hash_bucket_encoder import HashBucketEncoder
from tercet.feature.records import Records
from tercet.feature.resampling.random_over_sampler import RandomOverSampler
from tercet.feature.resampling.random_under_sampler import RandomUnderSampler
from tercet.feature.resampling.resampled import Resampled
from tercet.feature.resampling.smote import SMOTE
from tercet.feature.schema import Schema, infer_schema
from tercet.feature.selection.chi_square import chi2
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
from tercet.feature.text.count_vectorizer import CountVectorizer
from tercet.feature.text.hashing_vectorizer import HashingVectorizer
from tercet.feature.text.similarity import cosine_similarity, inner_product_similarity
from tercet.feature.text.tfidf_transformer import TfidfTransformer
from tercet.feature.text.tfidf_vectorizer import TfidfVectorizer
from tercet.feature.text.tokenization import strip_accents_ascii, strip_accents_unicode, strip_tags
from tercet.feature.text.vector_space_retrieval import Ranking, VectorSpaceRetrieval
from tercet.feature.transformation.date_time_features import DateTimeFeatures
from tercet.feature.transformation.group_statistics import GroupStatistics
from tercet.feature.transformation.log_transformer import LogTransformer
from tercet.feature.transformation.row_statistics import RowStatistics

__all__ = [
    "MRMR",
    "SMOTE",
    "BinTable",
    "ClusterEncoder",
    "Column",
    "ContradictionFilter",
    "CountEncoder",
    "CountVectorizer",
    "DateTimeFeatures",
    "DummyEncoder",
    "FeatureCross",
    "FeatureHasher",
    "GroupImputer",
    "GroupStatistics",
    "HashBucketEncoder",
    "HashingVectorizer",
    "KBinsDiscretizer",
    "LasVegasWrapper",
    "LogTransformer",
    "MissingFilter",
    "MissingThreshold",
    "OrdinalEncoder",
    "OutlierCleaner",
    "OutlierFilter",
    "RReliefF",
    "RandomOverSampler",
    "RandomUnderSampler",
    "RangeCleaner",
    "Ranking",
    "Records",
    "Relief",
    "ReliefF",
    "Resampled",
    "RowStatistics",
    "RuleFilter",
    "Schema",
    "StabilitySelection",
    "SubsetSearch",
    "TableEncoder",
    "TargetEncoder",
    "TfidfTransformer",
    "TfidfVectorizer",
    "TreeLeafEncoder",
    "VectorSpaceRetrieval",
    "chi2",
    "cosine_similarity",
    "infer_schema",
    "inner_product_similarity",
    "mutual_info_classif",
    "mutual_info_regression",
    "strip_accents_ascii",
    "strip_accents_unicode",
    "strip_tags",
    "subset_information_gain",
]
