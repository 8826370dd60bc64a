"""What happens before the pages are read: code is executed, pages are generated."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util import logging

from docs.site import gallery, gallery_pages
from docs.site.generated import write_pages
from docs.site.jobs import Job, JobError, clean, do
from docs.site.run_blocks import BlockError, page_job

log = logging.getLogger(__name__)
NOT_PAGES = ("_build", "_cache", "_static", "_templates", "stored_outputs")


def pages(docs: Path) -> list[tuple[str, Path]]:
    """The pages of the site, by their names."""
    found = []
    for file in sorted(docs.rglob("*.md")):
        name = file.relative_to(docs).with_suffix("").as_posix()
        if name.split("/")[0] not in NOT_PAGES:
            found.append((name, file))
    return found


def prepare(app: Sphinx, config: Config) -> None:
    """Execute the code of all pages and scripts, and generate the pages that nobody writes."""
    docs, cache = Path(app.srcdir), Path(app.srcdir) / "_cache"
    jobs: list[Job] = []
    try:
        page_jobs = {name: job for name, file in pages(docs) if (job := page_job(name, file))}
        scripts = gallery.scripts(docs / "gallery")
        script_jobs = {script.name: gallery.script_job(script, docs / "gallery") for script in scripts}
        jobs = [*page_jobs.values(), *script_jobs.values()]
        done = do(jobs, cache, say=lambda name: log.info("executing %s", name))
    except (JobError, BlockError) as error:
        raise ExtensionError(f"code of the documentation failed\n{error}") from None
    log.info("%d of %d jobs executed", len(done), len(jobs))
    clean(jobs, cache)
    config.tercet_results = {name: job.folder(cache).name for name, job in page_jobs.items()}
    folders = {name: job.folder(cache) for name, job in script_jobs.items()}
    write_pages(docs, gallery_pages.pages(scripts, folders))


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Make MathJax a part of the site: the program for TeX, its fonts and the TeX packages it loads when needed."""
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    assert found is not None
    assert found.origin is not None
    source, target = (
        Path(found.origin).parent / "static" / "mathjax",
        Path(app.outdir) / "_static" / "mathjax",
    )
    if error is None and app.builder.format == "html" and not target.exists():
        for part in ("output/chtml/fonts", "input/tex/extensions"):
            shutil.copytree(source / part, target / part)
        shutil.copy(source / "tex-chtml.js", target)


def setup(app: Sphinx) -> None:
    app.connect("config-inited", prepare, priority=900)
    app.connect("build-finished", copy_mathjax)
