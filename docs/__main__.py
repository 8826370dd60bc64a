"""Build the documentation: `python -m docs`. Warnings are errors, and every link is followed.

`python -m docs --draft` checks the same and draws less (`docs/site/draft.py`).
"""

from __future__ import annotations

import sys

from sphinx.cmd.build import main as sphinx_build

from docs.site.jobs import DOCS
from docs.site.links import broken_links


def main() -> int:
    options = sys.argv[1:]
    name, more = "html", ["-j", "2"]
    if "--draft" in options:  # one process: forks read and write much twice
        options.remove("--draft")
        name, more = "draft", ["-D", "tercet_draft=1", "-D", "smartquotes=0"]
    target = DOCS / "_build" / name
    arguments = ["-W", "--keep-going", "-q", "-b", "html", "-d", str(DOCS / "_build" / f"{name}-doctrees")]
    status = sphinx_build([*arguments, *more, *options, str(DOCS), str(target)])
    if status:
        return status
    problems = broken_links(target)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"The documentation is {(target / 'index.html').relative_to(DOCS.parent)}.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
