"""Store what blocks print that need other packages: `python -m docs.store migration/hmmlearn`.

Run where the packages are installed. Builds without them show the stored text.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from docs.site.jobs import DOCS
from docs.site.run_blocks import STORED, blocks_of, run_page


def store(page: str) -> list[Path]:
    """Execute a page and write the output of each block that requires packages, if they are there."""
    file = DOCS / f"{page}.md"
    with tempfile.TemporaryDirectory() as folder:
        results = run_page(str(file), page, Path(folder))
    written = []
    for block in blocks_of(file.read_text(encoding="utf-8")):
        output = results[block.name]["output"]
        if block.requires and output is not None:
            target = DOCS / STORED / page / f"{block.name}.txt"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(output + results[block.name]["error"], encoding="utf-8")
            written.append(target)
    return written


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m docs.store PAGE ..., as in: python -m docs.store migration/hmmlearn")
    for name in sys.argv[1:]:
        for path in store(name.removesuffix(".md")):
            print(path.relative_to(DOCS.parent))
