"""A small site, built: directives, gallery, languages, search, links."""

import json
import shutil
from types import SimpleNamespace

import pytest
from docs.site import DOCS
from docs.site.book import code_of, film
from docs.site.draft import NAME_PAGE
from docs.site.line_breaks import joined
from docs.site.links import broken_links
from docs.site.references import IndexedPythonDomain
from docs.site.search import SearchBoth
from PIL import Image
from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry, PythonDomain
from sphinx.errors import ExtensionError

CONF = """
extensions = ["myst_parser", "sphinx_design", "sphinx.ext.mathjax", "docs.site"]
exclude_patterns = ["_cache", "_build"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
mathjax_path = "mathjax/tex-chtml.js"
html_theme = "pydata_sphinx_theme"
html_search_language = "en-zh"
templates_path = ["_templates"]
html_theme_options = {"navbar_center": ["site-sections"], "navbar_end": ["language-switch"]}
html_sidebars = {"**": ["site-pages"]}
tercet_reference = False
"""
PAGES = {
    "index.md": "# Home\n\n```{toctree}\nguide/index\ngallery/index\nzh/index\n```\n",
    "guide/index.md": "# Guide\n\n```{pages}\nsecond first\n```\n",
    "guide/first.md": "# First\n\n$x^2$\n\n```{run} draw\n:alt: a line\nimport matplotlib.pyplot as plt\n"
    "plt.plot([1, 2])\nprint('drawn')\n```\n\n"
    "```{run} other\n:requires: not_a_package\nimport not_a_package\n```\n",
    "guide/second.md": "# Second\n\nwords\n",
    "zh/index.md": "# 首页\n\n```{toctree}\nguide/index\ngallery/index\n```\n",
    "zh/guide/index.md": "# 指南\n\n```{pages}\n```\n",
    "zh/guide/first.md": "# 第一页\n\n感知机\n\n```{again} draw\n:alt: 一条线\n```\n",
    "stored_outputs/guide/first/other.txt": "stored before\n",
    "gallery/line.py": '"""A line\nzh: 一条直线\n\nLines are\nstraight.\n\n'
    'zh: 直线是，\n直的。\n\nfamily: tree\n"""\n'
    "import matplotlib.pyplot as plt\n\nfig, ax = plt.subplots()\nax.plot([1, 2])\nprint('straight')\n",
}


def write(folder, pages):
    for path, text in pages.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (folder / "conf.py").write_text(CONF, encoding="utf-8")
    shutil.copytree(DOCS / "_templates", folder / "_templates", dirs_exist_ok=True)


def build(folder, **settings):
    """Build the site; what Sphinx said."""
    import io

    status, warning = io.StringIO(), io.StringIO()
    out = folder / "_build"
    places = folder, folder, out, folder / "_build" / "doctrees"
    app = Sphinx(*places, "html", settings, status=status, warning=warning)
    app.build()
    return status.getvalue(), warning.getvalue()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    write(folder, PAGES)
    status, warning = build(folder)
    assert warning == ""
    assert "2 of 2 jobs executed" in status
    return folder


def html(site, page):
    return (site / "_build" / f"{page}.html").read_text(encoding="utf-8")


def test_a_block_shows_code_output_and_picture(site):
    text = html(site, "guide/first")
    assert "drawn" in text
    assert 'alt="a line"' in text
    assert "stored before" in text
    assert len(list((site / "_build" / "_images").glob("draw-1.png"))) == 1


def test_again_shows_the_same_picture_in_chinese(site):
    text = html(site, "zh/guide/first")
    assert "drawn" in text
    assert "_images/draw-1.png" in text
    assert 'alt="一条线"' in text
    assert 'lang="zh-CN"' in text


def test_pages_link_to_the_other_language(site):
    assert 'href="../zh/guide/first.html"' in html(site, "guide/first")
    assert 'href="../../guide/first.html"' in html(site, "zh/guide/first")
    assert 'href="../zh/guide/index.html"' in html(site, "guide/second")  # it has no Chinese page


def test_pages_of_a_folder_come_in_the_order_asked_for(site):
    text = html(site, "guide/index")
    assert 0 < text.find("second.html") < text.find("first.html")


def test_the_gallery_has_a_page_in_each_language(site):
    assert "Lines are straight." in html(site, "gallery/line")
    assert "直线是，直的。" in html(site, "zh/gallery/line")
    assert "straight" in html(site, "gallery/line")
    assert "thumbnail.png" in html(site, "gallery/index")


def test_nothing_is_executed_or_read_again_without_a_change(site):
    status, _ = build(site)
    assert "0 of 2 jobs executed" in status
    assert "0 added, 0 changed, 0 removed" in status
    page = site / "guide" / "second.md"
    page.write_text("# Second\n\nother words\n", encoding="utf-8")
    assert "0 of 2 jobs executed" in build(site)[0]


def test_another_result_is_shown_on_both_pages(site):
    page = site / "guide" / "first.md"
    page.write_text(PAGES["guide/first.md"].replace("'drawn'", "'drawn anew'"), encoding="utf-8")
    assert "1 of 2 jobs executed" in build(site)[0]
    assert "drawn anew" in html(site, "guide/first")
    assert "drawn anew" in html(site, "zh/guide/first")


def test_links_are_whole_and_nothing_comes_from_outside(site):
    assert broken_links(site / "_build") == []
    assert (site / "_build" / "_static" / "mathjax" / "tex-chtml.js").exists()


def test_both_languages_are_in_the_index(site):
    index = (site / "_build" / "searchindex.js").read_text(encoding="utf-8")
    terms = json.loads(index[index.index("{") : index.rindex("}") + 1])["terms"]
    assert {"感知", "知机", "word"} <= set(terms)
    assert "splitQuery" in (site / "_build" / "_static" / "language_data.js").read_text(encoding="utf-8")


def test_a_draft_executes_and_links_the_same(tmp_path):
    name = {"api/tercet.x.Name.rst": ":orphan:\n\nName\n====\n\n:doc:`/guide/second`\n"}
    write(tmp_path, {**PAGES, **name})
    status, warning = build(tmp_path, tercet_draft=True)
    assert all("already registered" in line for line in warning.splitlines())  # by the builds before
    assert "2 of 2 jobs executed" in status
    assert "drawn" in html(tmp_path, "guide/first")
    assert 'href="../zh/guide/first.html"' in html(tmp_path, "guide/first")
    assert broken_links(tmp_path / "_build") == []
    (coarse,) = (tmp_path / "_build" / "_images").glob("draw-1.png")
    with Image.open(coarse) as picture:
        assert picture.width < 300
    assert "site-sections" not in (page := html(tmp_path, "api/tercet.x.Name"))
    assert 'href="../guide/second.html"' in page
    (tmp_path / "_build" / "guide" / "second.html").unlink()
    assert "api/tercet.x.Name.html: there is no ../guide/second.html" in broken_links(tmp_path / "_build")


@pytest.mark.parametrize(
    ("page", "named"),
    [("api/tercet.svm.SVC", True), ("api/tercet.core.functions.phi", True), ("api/tercet.svm", False)],
)
def test_pages_of_public_names(page, named):
    assert bool(NAME_PAGE.fullmatch(page)) == named


def test_names_in_references_are_those_that_sphinx_finds():
    found = []
    for kind in (PythonDomain, IndexedPythonDomain):
        domain = kind(SimpleNamespace(domaindata={}, config=None))
        for name, what in {
            "tercet.svm.SVC": "class", "tercet.svm.SVC.fit": "method", "tercet.tree.Tree": "class",
            "tercet.tree.Tree.fit": "method", "tercet.cluster.k_means": "function", "SVC": "data",
        }.items():  # fmt: skip
            domain.data["objects"][name] = ObjectEntry("page", name, what, False)
        asked = [
            (module, owner, name, role, mode)
            for module in (None, "tercet.svm")
            for owner in (None, "SVC")
            for name in (
                "SVC",
                "fit",
                "fit()",
                "Tree",
                "svm.SVC",
                "Tree.fit",
                "means",
                "nothing",
                "",
                "tercet.tree.Tree",
            )
            for role in (None, "class", "meth", "obj", "unknown")
            for mode in (0, 1)
        ]
        found.append([domain.find_obj(None, *one) for one in asked])
    assert found[0] == found[1]
    assert sum(map(bool, found[0])) > 50


def test_chinese_is_cut_into_pairs():
    assert SearchBoth({}).split("SVM 支持向量机, ok") == [
        "SVM", *"支持向量机", "支持", "持向", "向量", "量机", "ok",
    ]  # fmt: skip


def test_an_error_in_a_block_fails_the_build(tmp_path):
    write(tmp_path, {"index.md": "# Home\n\n```{run} wrong\nraise RuntimeError('no')\n```\n"})
    with pytest.raises(ExtensionError, match=r"page/index: block wrong(.|\n)*RuntimeError: no"):
        build(tmp_path)


def test_a_block_that_is_not_there_and_output_that_is_not_stored_are_warnings(tmp_path):
    pages = {
        "index.md": "# Home\n\n```{run} other\n:requires: not_a_package\nx = 1\n```\n",
        "zh/index.md": "---\norphan: true\n---\n# 首页\n\n```{again} nothing\n```\n",
    }
    write(tmp_path, pages)
    warning = build(tmp_path)[1]
    assert "there is no stored_outputs/index/other.txt" in warning
    assert "page index has no run block 'nothing'" in warning


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ('<a href="gone.html">x</a>', "there is no gone.html"),
        ('<a href="#gone">x</a>', "there is no anchor #gone"),
        ('<script src="https://example.org/x.js"></script>', "script loads https://example.org/x.js"),
    ],
)
def test_wrong_links_are_told(tmp_path, page, said):
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    assert broken_links(tmp_path) == [f"index.html: {said}"]
    (tmp_path / "index.html").write_text('<p id="here"><a href="#here">x</a></p>', encoding="utf-8")
    assert broken_links(tmp_path) == []


def test_a_film_of_frames_that_are_drawn(tmp_path):
    code = "frames = list(range(30))\n\n\ndef draw(frame, ax):\n    ax.set_title(f'frame {frame}')\n"
    made = film(code, tmp_path)
    assert made["passes"] == [1, 4, 6, 9, 12, 14, 17, 19, 22, 25, 27, 30]
    assert "frame 29" in (tmp_path / made["frames"][-1]).read_text(encoding="utf-8")


def countdown(n):
    return [] if n == 0 else [n, *even(n)]


def even(n):
    return countdown(n - 1)


def call_of_an_example():
    return countdown(3)


def test_the_code_of_an_example_holds_what_it_calls_once():
    code = code_of(call_of_an_example)
    assert [line for line in code.splitlines() if line.startswith("def")] == [
        "def even(n):",
        "def countdown(n):",
        "def call_of_an_example():",
    ]


def test_line_breaks_in_chinese_are_no_spaces():
    assert joined("离最近的\n样本，\nSVM 与\n核；plain\nwords") == "离最近的样本，SVM 与核；plain\nwords"
    assert [joined(part) for part in ("文件。\n", "\n改了", "\nand")] == [
        "文件。",
        "改了",
        "\nand",
    ]  # beside **bold**
