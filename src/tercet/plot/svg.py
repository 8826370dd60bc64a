"""A figure as SVG that can stand in the middle of an HTML page."""

from __future__ import annotations

import io
import itertools
import re
import warnings
import zlib
from typing import Any
from xml.etree import ElementTree

from tercet.plot.styling import INK, style

_count = itertools.count(1)
_NUMBER = re.compile(r"-?\d*\.\d+(?:e[-+]?\d+)?")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DISC = re.compile(r"M0 ([\d.]+)(?:C[^CLQM]+){8}z")  # how matplotlib writes a circle
_DOTS = 200  # discs in one path: overlaps are darker between paths, not within one


def to_svg(figure: Any, title: str | None = None, description: str | None = None) -> str:
    """A figure as an `<svg>` element for an HTML page.

    It refers to nothing outside, its ids are its own, text is text in the page's font, and what is drawn in
    the style's ink takes the page's colour, so that it suits light and dark pages.

    Parameters
    ----------
    figure : matplotlib Figure or Axes
    title : str, optional
        What a screen reader calls it; by default the title of the first Axes, or its labels.
    description : str, optional
        A longer text for a screen reader.

    Returns
    -------
    svg : str

    Examples
    --------
    >>> from tercet.plot import plot_importance
    >>> svg = to_svg(plot_importance(["age", "height"], [0.3, 0.1]), title="What counts")
    >>> svg[:4], "<title>What counts</title>" in svg, "http" in svg
    ('<svg', True, False)
    """
    figure = figure if hasattr(figure, "savefig") else figure.figure
    written = _rendered(figure)
    root = ElementTree.fromstring(written)
    _clean(root)
    _join_discs(root)
    _make_ids_unique(root, f"t{zlib.crc32(written):x}-{next(_count)}-")
    width, height = figure.get_size_inches()
    box = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update(
        {
            "role": "img",
            "viewBox": box,
            "width": f"{100 * width:.0f}",
            "height": f"{100 * height:.0f}",
            "stroke-linejoin": "round",
            "style": "max-width:100%;height:auto;font-variant-numeric:tabular-nums",
        }
    )
    for tag, text in (("desc", description), ("title", title or _title(figure))):
        if text:
            element = ElementTree.Element(tag)
            element.text = text
            root.insert(0, element)
    return ElementTree.tostring(root, encoding="unicode")


def _rendered(figure: Any) -> bytes:
    """What matplotlib makes of it, without a background.

    `Figure.savefig` walks through the figure twice; its canvas needs to once.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file, canvas, colour = io.BytesIO(), figure.canvas, figure.get_facecolor()
    with style(), warnings.catch_warnings():
        # The browser has glyphs that the machine has not.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        try:
            figure.set_facecolor("none")
            FigureCanvasSVG(figure).print_svg(file)
        finally:
            figure.set_facecolor(colour)
            figure.set_canvas(canvas)
    return file.getvalue()


def _title(figure: Any) -> str:
    for ax in figure.axes:
        title = ax.get_title() or ax.get_title(loc="left")
        labels = [label for label in (ax.get_ylabel(), ax.get_xlabel()) if label]
        if title or labels:
            return (title or ", ".join(labels)).replace(r"\$", "$")
    return ""


def _clean(element: Any) -> None:
    """Drop namespaces, metadata, style sheets (of the whole page) and empty groups; round numbers."""
    element.tag = element.tag.rpartition("}")[2]
    element.text = element.text if element.text and element.text.strip() else None
    element.tail = None
    for key, value in list(element.attrib.items()):
        del element.attrib[key]
        short = key.rpartition("}")[2]
        element.set(short, _compact(short, value))
    if element.tag == "text":
        _plain_text(element)
    kept: list[Any] = []
    for child in element:
        _clean(child)
        empty = child.tag in ("g", "defs") and not len(child)
        if empty or child.tag in ("metadata", "style") or child.get("style") == "fill:none":
            continue
        idle = child.tag == "g" and not set(child.attrib) - {"id"}
        kept.extend(child if idle else [child])
    element[:] = kept


def _plain_text(element: Any) -> None:
    """Text in the page's font: matplotlib measures in DejaVu Sans, which is wider than most."""
    words = re.sub(r"font:(.*?)([\d.]+px)[^;]*", r"\1;font-size:\2", element.get("style", ""))
    words = re.sub(r"font-family:[^;]*", "", words)
    words = re.sub(r"(^|;)\s*((?:bold|[6-9]00)\s*)", r"\1font-weight:bold", words)
    element.set("style", ";".join(part for part in words.split(";") if part.strip()))
    if element.get("transform", "").startswith("rotate(0 "):
        del element.attrib["transform"]
    element.text = element.text or ""


def _compact(key: str, value: str) -> str:
    if key == "style":
        value = re.sub(r"\s*([:;])\s*", r"\1", value).replace(INK, "currentColor").rstrip(";")
    if key in ("style", "d", "x", "y", "width", "height", "transform"):
        value = _NUMBER.sub(_round, value)
    if key == "transform":
        value = value.replace("rotate(-0 ", "rotate(0 ")
    if key == "d":
        value = re.sub(r"\s*([MLQCz])\s*", r"\1", " ".join(value.split()))
    return value


def _round(match: re.Match[str]) -> str:
    text = f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _join_discs(root: Any) -> None:
    """A cloud of discs as few paths of round dots: an eighth of the size."""
    radius = {}
    for path in root.iter("path"):
        disc = _DISC.fullmatch(path.get("d", ""))
        if disc and "id" in path.attrib and "stroke:" not in path.get("style", ""):
            radius[f"#{path.get('id')}"] = float(disc[1])
    for group in list(root.iter()):
        if len(group) < 8 or group.tag != "g":
            continue
        joined: list[Any] = []
        for (tag, href, look), run in itertools.groupby(group, _kind):
            dots = list(run)
            if tag != "use" or href not in radius or "stroke:" in look or len(dots) < 8:
                joined.extend(dots)
                continue
            look = (
                look.replace("fill", "stroke") + f";stroke-width:{2 * radius[href]:.4g};stroke-linecap:round"
            )
            for k in range(0, len(dots), _DOTS):
                d = "".join(f"M{dot.get('x')} {dot.get('y')}h0" for dot in dots[k : k + _DOTS])
                joined.append(ElementTree.Element("path", {"d": d, "style": look}))
        group[:] = joined


def _kind(element: Any) -> tuple[str, str, str]:
    return element.tag, element.get("href", ""), element.get("style", "")


def _make_ids_unique(root: Any, prefix: str) -> None:
    """Keep only the ids that something refers to, and make them the figure's own."""
    used = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            used.update(_REFERENCE.findall(value))
            if key == "href" and value.startswith("#"):
                used.add(value[1:])
    short = {old: f"{prefix}{k}" for k, old in enumerate(sorted(used))}
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            if key == "id":
                del element.attrib["id"]
                if value in short:
                    element.set("id", short[value])
            elif key == "href" and value[1:] in short:
                element.set("href", "#" + short[value[1:]])
            elif "url(#" in value:
                element.set(key, _REFERENCE.sub(lambda m: f"url(#{short[m[1]]})", value))
