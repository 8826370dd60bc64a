"""Build the documentation: `python -m docs`. Warnings are errors, and every link is followed."""

from __future__ import annotations

import sys

from sphinx.cmd.build import main as sphinx_build

from docs.site.jobs import DOCS
from docs.site.links import broken_links


def main() -> int:
    target = DOCS / "_build" / "html"
    arguments = ["-W", "--keep-going", "-j", "2", "-q", "-b", "html", "-d", str(DOCS / "_build" / "doctrees")]
    status = sphinx_build([*arguments, *sys.argv[1:], str(DOCS), str(target)])
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
