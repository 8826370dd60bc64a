"""Tags of sequences: what they say (phrases), which may follow which, and how right they are (000 ch. 1.9)."""

from __future__ import annotations

from tercet.metrics.sequence.schemes import allowed, convert, guess_scheme, spans, tags_of
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
    "allowed",
    "convert",
    "guess_scheme",
    "sequence_accuracy",
    "span_f1",
    "span_precision",
    "span_recall",
    "span_report",
    "span_scores",
    "spans",
    "tag_accuracy",
    "tag_scores",
    "tags_of",
]
