"""Settings of the documentation. `make docs` builds it."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import tercet  # noqa: E402

project = "Tercet"
author = copyright = "The Tercet developers"
version = release = tercet.__version__
language = "en"

extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton", "sphinx.ext.mathjax", "docs.site"]
root_doc = "index"
exclude_patterns = ["_build", "_cache", "stored_outputs", "streaming.md", "README.md"]
templates_path = ["_templates"]
default_role = "literal"
maximum_signature_line_length = 88
toc_object_entries = False
html_use_index = False
# Two families may have a class of one name; types in signatures name them without their module.
suppress_warnings = ["config.cache", "ref.python"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "fieldlist", "attrs_inline"]
myst_heading_anchors = 3
myst_ref_domains = ["std"]  # links name pages and headings; names of the library are `py:obj`
myst_dmath_double_inline = True

mathjax_path = "mathjax/tex-chtml.js"  # a part of the site: no page asks another host for anything
html_static_path = ["_static"]

html_theme = "pydata_sphinx_theme"
html_title = "Tercet"
html_show_sourcelink = False
html_copy_source = False
html_search_language = "en-zh"
html_css_files = ["site.css"]
html_js_files = ["player.js"]
html_sidebars = {"index": [], "zh/index": [], "search": [], "**": ["site-pages"]}
html_theme_options = {
    "logo": {"text": "Tercet"},
    "navbar_start": ["site-logo"],
    "navbar_center": ["site-sections"],
    "navbar_end": ["language-switch", "theme-switcher"],
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "navigation_with_keys": False,
    "search_bar_text": "Search · 搜索",
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_selector = "div:not(.run-output) > div.highlight > pre"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
