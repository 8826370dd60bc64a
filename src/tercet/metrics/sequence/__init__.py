"""Tagged sequences: phrases and tagging schemes, allowed transitions, scores (Li ch. 1.9)."""

from __future__ import annotations

from tercet.metrics.sequence.schemes import (
    allowed_transitions,
    convert_scheme,
    guess_scheme,
    spans_to_tags,
    tags_to_spans,
)
from tercet.metrics.sequence.scores import (
    sequence_accuracy,
    span_f1,
    span_precision,
    span_recall,
    span_report,
    span_scores,
    tag_accuracy,
    tag_scores,
)

__all__ = [
    "allowed_transitions",
    "convert_scheme",
    "guess_scheme",
    "sequence_accuracy",
    "span_f1",
    "span_precision",
    "span_recall",
    "span_report",
    "span_scores",
    "spans_to_tags",
    "tag_accuracy",
    "tag_scores",
    "tags_to_spans",
]
