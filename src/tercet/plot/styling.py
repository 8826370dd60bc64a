"""Style of the pictures: colours, fonts, labels in the reader's language, and helpers that all plots share."""

from __future__ import annotations

import functools
import re
import sys
import threading
import unicodedata
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from tercet.core.lazy import optional_module
from tercet.core.messages import Message

INK = "#1f2328"  # text and axes; `to_svg` turns it into the page's own colour
MATPLOTLIB = ("tercet.plot needs", "plot")  # what needs it, and the extra that installs it
ACCENT, SECOND = "#1b7fc1", "#d55e00"
# Okabe and Ito's colours: their blue a little lighter, so that dark pages suit it as well, no black, which is
# the ink's part, and their yellow darker and last.
COLOURS = (ACCENT, "#e69f00", "#009e73", "#cc79a7", "#56b4e9", SECOND, "#8c8c8c", "#c9b800")
MARKERS = "os^Dv*PX"
WIDTH, HEIGHT = 6.4, 4.0
POINTS = 2000  # a cloud of more is sampled
MANY = 300  # a cloud of more has smaller points

Drawing = TypeVar("Drawing", bound=Callable[..., Any])

_translate: ContextVar[Callable[[Any], str]] = ContextVar("translate", default=str)
_lock = threading.RLock()  # matplotlib's settings are global: one thread at a time
_shown: deque[Any] = deque()  # our figures that pyplot keeps
_OPEN = 10  # so many of them


@contextmanager
def style(translate: Callable[[Any], str] | None = None) -> Iterator[None]:
    """Tercet's plot style, for the pictures drawn inside.

    Parameters
    ----------
    translate : callable, optional
        Takes a `Message` (a string that knows its template and values) or a plain string, and gives the text
        that is drawn. By default what is in force already: English at first.

    Examples
    --------
    >>> with style(translate=str.upper):
    ...     ax = get_axes()
    ...     translated("true class")
    'TRUE CLASS'
    """
    mpl = optional_module("matplotlib", *MATPLOTLIB)
    token = _translate.set(translate) if translate else None
    try:
        with _lock, mpl.rc_context(_settings()):
            yield
    finally:
        if token:
            _translate.reset(token)


def translated(template: str, **values: Any) -> str:
    """A label in the reader's language."""
    return _translate.get()(Message(template, **values) if values else template)


def styled(function: Drawing) -> Drawing:
    """Draw in Tercet's style, unless the caller brings Axes of their own."""

    @functools.wraps(function)
    def drawn(*arguments: Any, **settings: Any) -> Any:
        with style() if settings.get("ax") is None else nullcontext():
            return function(*arguments, **settings)

    return drawn  # type: ignore[return-value]


def get_axes(ax: Any = None, height: float = HEIGHT) -> Any:
    """The caller's Axes, or those of a new figure."""
    if ax is not None:
        return ax
    Figure = optional_module("matplotlib.figure", *MATPLOTLIB).Figure
    size: Any = {"figsize": (WIDTH, height), "layout": "constrained"}
    if not _uses_pyplot():
        return Figure(**size).subplots()
    import matplotlib.pyplot as plt

    # pyplot keeps every figure until it is closed, and complains of many; one that it has let go of can still
    # be drawn on and saved.
    while len(_shown) >= _OPEN:
        oldest = _shown.popleft()()
        if oldest is not None:
            plt.close(oldest)
    figure = plt.figure(**size)
    _shown.append(weakref.ref(figure))
    return figure.subplots()


def _uses_pyplot() -> bool:
    """Whether the figure belongs to pyplot: in a notebook, at a prompt, or in a script that imported it."""
    here = threading.current_thread() is threading.main_thread()
    return here and ("matplotlib.pyplot" in sys.modules or hasattr(sys, "ps1"))


def short_name(text: Any, width: int = 24) -> str:
    """A name from the data, shortened for drawing: on one line, with dollar signs escaped.

    The middle is left out: long names tend to differ at their ends.

    Examples
    --------
    >>> short_name("measurement number 17", width=14)
    'measureme…r 17'
    """
    line = "".join(c if c.isprintable() else " " for c in str(text))
    wide = [2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line]
    if sum(wide) > width:
        head = int(np.searchsorted(np.cumsum(wide), 2 * (width - 1) // 3 + 1, side="right"))
        tail = int(np.searchsorted(np.cumsum(wide[::-1]), (width - 1) // 3, side="right"))
        line = f"{line[:head].rstrip()}…{line[len(line) - tail :].lstrip()}"
    return line.replace("$", r"\$")


def short_number(value: float) -> str:
    """A number with three significant digits.

    Examples
    --------
    >>> short_number(0.12345), short_number(1234.5), short_number(-2e-7)
    ('0.123', '1234', '-2e-07')
    """
    return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def finite_array(values: Any, what: str, *, missing: bool = False) -> np.ndarray:
    """Values as an array of finite numbers (some NaN where `missing`), or an error that names them."""
    array = np.asarray(values, dtype=float)
    if array.size == 0:
        raise ValueError(f"{what} is empty: there is nothing to draw.")
    bad = ~np.isfinite(array)
    if bad.any() if not missing else bad.all():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{what} must be finite numbers; at {place} it has {array[place]}.")
    return array


def check_same_length(**arrays: Any) -> None:
    """Raise an error that names the arrays unless all have one length."""
    lengths = {what: len(array) for what, array in arrays.items()}
    if len({*lengths.values()}) > 1:
        raise ValueError(f"lengths differ: {', '.join(f'{k} has {n}' for k, n in lengths.items())}.")


def sample_indices(n: int, limit: int = POINTS) -> np.ndarray:
    """Indices of the points to draw: all n, or a fixed random sample of `limit`."""
    if n <= limit:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, limit, replace=False))


def scatter(ax: Any, x: Any, y: Any, **settings: Any) -> Any:
    """Scatter plot, with small and transparent points when there are many."""
    n = len(x)
    look: Any = {"s": 22 if n <= MANY else 12, "alpha": 0.85 if n <= MANY else 0.6, "linewidths": 0}
    return ax.scatter(x, y, **{**look, **settings})


def label_axes(ax: Any, x: str = "", y: str = "", title: str = "") -> Any:
    """Set what is given, and leave the rest as it was."""
    if x:
        ax.set_xlabel(x)
    if y:
        ax.set_ylabel(y)
    if title:
        ax.set_title(title)
    return ax


def fading_colormap(low: str | None, high: str) -> Any:
    """Colour map from one colour over transparent to another, for light pages and dark ones."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    ends = [to_rgba(high, 0.0), to_rgba(high, 0.95)]
    if low is not None:
        ends = [to_rgba(low, 0.95), to_rgba(low, 0.0), *ends]
        return LinearSegmentedColormap.from_list("ramp", list(zip((0, 0.5, 0.5, 1), ends)))
    return LinearSegmentedColormap.from_list("ramp", ends)


@functools.cache
def _settings() -> Any:
    from cycler import cycler

    return {
        "font.family": _fonts(),
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.labelsize": 9,
        "legend.fontsize": 8.5,
        "legend.frameon": False,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        **dict.fromkeys(
            ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
        ),
        "axes.linewidth": 0.7,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.facecolor": "none",
        "axes.grid": False,
        "axes.axisbelow": True,
        "axes.prop_cycle": cycler(color=COLOURS),
        "grid.color": INK,
        "grid.alpha": 0.12,
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.6,
        "xtick.major.width": 0.7,
        "ytick.major.width": 0.7,
        "image.composite_image": False,
        "svg.fonttype": "none",
    }


CHINESE_FILES = r"(?i)(NotoSans(CJK|SC)-?R|SourceHanSans|PingFang|msyh\.|wqy-microhei|simhei)"
CHINESE = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "PingFang SC",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "SimHei",
    "Noto Sans CJK JP",
    "Arial Unicode MS",
)


def _fonts() -> list[str]:
    """DejaVu Sans, and after it a font with Chinese if the machine has one."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    def found() -> list[str]:
        there = {font.name for font in fontManager.ttflist}
        return [font for font in CHINESE if font in there][:1]

    if not found():  # matplotlib caches the fonts it found first
        files = sorted(file for file in findSystemFonts() if re.search(CHINESE_FILES, file))
        for file in files[:1]:
            fontManager.addfont(file)
    return ["DejaVu Sans", *found()]
