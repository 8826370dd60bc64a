"""Which method is better, and how sure one can be."""

from tercet.model_selection.compare import PairedTest, corrected_interval, corrected_paired_test, holm

__all__ = ["PairedTest", "corrected_interval", "corrected_paired_test", "holm"]
