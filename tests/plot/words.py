"""What stands at an axis."""


def ticks(ax, side):
    """The labels of the ticks, in order."""
    return [label.get_text() for label in getattr(ax, f"get_{side}ticklabels")()]
