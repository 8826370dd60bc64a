"""Pictures of what a method learned (needs matplotlib: `pip install tercet[plot]`)."""

from tercet.plot.learning import plot_history, plot_regions, replay

__all__ = ["plot_history", "plot_regions", "replay"]
