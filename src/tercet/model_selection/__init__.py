"""Which method is better, and how sure one can be."""

from tercet.model_selection.paired_test import PairedTest, corrected_interval, corrected_paired_test, holm

__all__ = ["PairedTest", "corrected_interval", "corrected_paired_test", "holm"]
