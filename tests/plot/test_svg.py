"""SVG for a page, the house style, and where figures live."""

import json
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import tercet.plot
from tercet.core.messages import Message
from tercet.plot import (
    plot_confusion,
    plot_importance,
    plot_intervals,
    plot_predictions,
    plot_regions,
    plot_residuals,
    style,
    to_svg,
)
from tercet.plot.styling import CHINESE_FILES, INK, short_name


def parsed(svg):
    """As a browser reads it: inline SVG needs no namespaces, XML does."""
    return ElementTree.fromstring(svg)


class Left:
    classes_ = np.array([0, 1])

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def figures():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 2)), rng.integers(0, 2, 500)
    with style():
        return [
            plot_importance(["age & <height>", "price in $ and $", "名字\x00"], [0.3, 0.1, -0.1]),
            plot_confusion(y, rng.integers(0, 2, 500)),
            plot_regions(Left(), X, y, ["a", "b"]),
            plot_residuals(X[:, 0], X[:, 1]),
            plot_intervals(["A", "B"], [0.9, 0.8], [0.85, 0.7], [0.95, 0.9], baseline=0.5),
        ]


def test_svg_stands_alone(figures):
    ids, references = [], []
    for ax in figures:
        svg = to_svg(ax.figure)
        assert "http" not in svg
        assert not re.search(r"<\?xml|<!DOCTYPE|<metadata|xmlns|xlink|<style|font-family|" + INK, svg)
        assert "currentColor" in svg
        root = parsed(svg)
        assert root.tag == "svg"
        assert root.get("role") == "img"
        assert root[0].tag == "title"
        assert root[0].text
        assert not re.search(r"\.\d{3}", re.sub(r'href="data:[^"]*"', "", svg)), "two decimals are enough"
        ids += [element.get("id") for element in root.iter() if element.get("id")]
        references += re.findall(r'(?:url\(|href=")#([^)"]+)', svg)
        for image in root.iter("image"):
            assert image.get("href").startswith("data:image/png;base64,")
        assert len(svg) < 60_000
    assert len(ids) == len({*ids})
    assert {*ids} == {*references}, "ids that nothing refers to are dropped, the others are there"


def test_svg_keeps_words_and_numbers(figures):
    words = [element.text for element in parsed(to_svg(figures[0])).iter("text")]
    assert {"age & <height>", "price in $ and $", "名字 "} <= {*words}
    assert "loss of score when shuffled" in words
    again = to_svg(figures[0], title="<Importance>", description="Which columns count.")
    assert [(e.tag, e.text) for e in list(parsed(again))[:2]] == [
        ("title", "<Importance>"),
        ("desc", "Which columns count."),
    ]


def test_every_point_of_a_cloud_is_in_the_svg(figures):
    svg = to_svg(figures[3])
    places = re.findall(r"M([-\d.]+) ([-\d.]+)h0", svg)
    assert len(places) == 500
    offsets = figures[3].collections[0]
    inches = figures[3].figure.get_size_inches()
    pixels = offsets.get_offset_transform().transform(offsets.get_offsets())
    x, y = (pixels / figures[3].figure.dpi * 72).T
    drawn = np.array(places, dtype=float)
    np.testing.assert_allclose(drawn[:, 0], x, atol=0.01)
    np.testing.assert_allclose(72 * inches[1] - drawn[:, 1], y, atol=0.01)


def test_to_svg_leaves_the_figure_as_it_was(figures):
    figure = figures[1].figure
    before = figure.canvas, figure.get_facecolor(), figure.dpi
    to_svg(figure)
    assert (figure.canvas, figure.get_facecolor(), figure.dpi) == before


def test_style_translates_and_restores():
    settings = dict(mpl.rcParams)
    heard = []

    def translate(text):
        heard.append(text)
        return "译文"

    with style(translate=translate):
        ax = plot_predictions([1, 2, 3], [1, 2, 4])
        share = plot_confusion([0, 1], [0, 1])
    assert ax.get_xlabel() == ax.get_ylabel() == share.get_title(loc="left") == "译文"
    assert any(isinstance(text, Message) and text.template == "{share} of {n} right" for text in heard)
    assert dict(mpl.rcParams) == settings
    assert plot_predictions([1, 2, 3], [1, 2, 4]).get_xlabel() == "true value"


def test_every_label_has_its_chinese():
    from tercet.cli import translation

    folder = Path(tercet.plot.__file__).parent
    said = {
        template
        for file in folder.glob("*.py")
        for template in re.findall(r'\btranslated\(\s*"([^"]+)"', file.read_text(encoding="utf-8"))
    }
    chinese = json.loads((Path(translation.__file__).parent / "zh" / "plot.json").read_text(encoding="utf-8"))
    assert said - {*chinese} == set()
    assert {*chinese} - said - {"score"} == set(), "no longer said"
    for english, text in chinese.items():
        assert sorted(re.findall(r"{\w+}", english)) == sorted(re.findall(r"{\w+}", text))


def test_names_are_made_fit_to_draw():
    assert short_name("short") == "short"
    assert short_name("a\nb\x00") == "a b "
    assert short_name("$x$ and $y$") == r"\$x\$ and \$y\$"
    assert short_name("0123456789" * 5, 11) == "0123456…789"
    wide = short_name("机器学习方法" * 5, 12)
    assert sum(2 if ord(c) > 0x2E80 else 1 for c in wide) <= 12
    assert plot_importance(["$\\frac{1}{2}$"], [1.0]).figure.savefig is not None


def test_chinese_is_in_pictures_too_where_a_font_has_it(tmp_path):
    from matplotlib.font_manager import findSystemFonts

    there = any(re.search(CHINESE_FILES, file) for file in findSystemFonts())
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        plot_importance(["年龄", "身高"], [1.0, 0.5]).figure.savefig(tmp_path / "a.png")
    assert there != any("missing from" in str(warning.message) for warning in heard)


def test_own_axes_are_drawn_on():
    figure, (left, right) = plt.subplots(1, 2)
    assert plot_predictions([1, 2], [1, 2], ax=left) is left
    assert plot_confusion([0, 1], [0, 1], ax=right) is right
    assert len(figure.axes) == 2
    plt.close(figure)


def test_many_figures_do_not_pile_up():
    plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(100):
            ax = plot_predictions([1, 2], [1, 2])
    assert plt.gcf() is ax.figure, "a script can ask pyplot for the last one"
    assert len(plt.get_fignums()) <= 20
    plt.close("all")


def test_threads_draw_the_same():
    def draw(k):
        return re.sub(r"t[0-9a-f]+-\d+-", "", to_svg(plot_importance([f"column {k}", "b"], [k + 1.0, 0.5])))

    alone = [draw(k) for k in range(12)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(draw, range(12))) == alone
    assert len({*alone}) == 12


def test_a_program_without_pyplot_stays_without():
    code = """if True:
        import sys
        import tercet.plot as plot
        assert "matplotlib" not in sys.modules
        svg = plot.to_svg(plot.plot_importance(["名字", "b"], [1.0, 0.5]))
        assert "matplotlib.pyplot" not in sys.modules
        assert "名字" in svg
        """
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
