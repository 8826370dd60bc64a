"""What happens before the pages are read: code is executed, pages are generated."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util import logging

from docs.site import book_pages, choosing, draft, gallery, gallery_pages, reference_pages, source_pages
from docs.site.generated import write_pages
from docs.site.jobs import Job, JobError, clean, do, result
from docs.site.run_blocks import BlockError, page_job

log = logging.getLogger(__name__)
GUIDES = ("start/", "guide/", "migration/", "developing/")
NOT_PAGES = ("_build", "api", "book", "_cache", "_static", "_templates", "stored_outputs")


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
    written = dict(pages(docs))
    try:
        page_jobs = {name: job for name, file in written.items() if (job := page_job(name, file))}
        scripts = gallery.scripts(docs / "gallery")
        script_jobs = {script.name: gallery.script_job(script, docs / "gallery") for script in scripts}
        reference_jobs = reference_pages.jobs() if config.tercet_reference else {}
        book_jobs = book_pages.jobs() if config.tercet_reference else {}
        choice_jobs = choosing.jobs() if config.tercet_reference else {}
        if config.tercet_draft:
            page_jobs, script_jobs, book_jobs = map(draft.drafted, (page_jobs, script_jobs, book_jobs))
        named = (reference_jobs, book_jobs, choice_jobs, page_jobs, script_jobs)
        jobs = [job for group in named for job in group.values()]
        count = execute(jobs, cache)
        reference = {module: result(job, cache) for module, job in reference_jobs.items()}
        source_jobs = source_pages.jobs(
            entry["source"][0]
            for about in reference.values()
            for entry in about["names"].values()
            if entry["source"]
        )
        if config.tercet_draft:
            source_jobs = [*map(draft.draft_of, source_jobs)]
        count += execute(source_jobs, cache)
    except (JobError, BlockError) as error:
        raise ExtensionError(f"code of the documentation failed\n{error}") from None
    jobs += source_jobs
    log.info("%d of %d jobs executed", count, len(jobs))
    if not config.tercet_draft:
        clean(jobs, cache)
    config.tercet_results = {name: job.folder(cache).name for name, job in page_jobs.items()}
    config.tercet_source = [str(job.folder(cache)) for job in source_jobs]
    folders = {name: job.folder(cache) for name, job in (script_jobs | book_jobs).items()}
    texts = gallery_pages.pages(scripts, folders)
    if reference:
        guides = {name: file for name, file in written.items() if name.startswith(GUIDES)}
        book = {name: result(job, cache) for name, job in book_jobs.items()}
        names = {
            path: entry["page"] for about in reference.values() for path, entry in about["names"].items()
        }
        texts |= book_pages.pages(book, folders, names)
        examples = book_pages.places_of_names(book, names)
        texts |= reference_pages.pages(reference, scripts, guides, examples)
        texts |= choosing.pages({name: result(job, cache) for name, job in choice_jobs.items()}, names)
    write_pages(docs, texts)


def execute(jobs: list[Job], cache: Path) -> int:
    """Do the jobs that are not in the cache; how many that were."""
    return len(do(jobs, cache, say=lambda name: log.info("executing %s", name)))


def copy_source(app: Sphinx, error: Exception | None) -> None:
    """Put the pages of the source into the site."""
    if error is None and app.config.tercet_source:
        source_pages.copy(map(Path, app.config.tercet_source), Path(app.outdir) / "_source")


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
    app.add_config_value("tercet_reference", True, "")
    app.add_config_value("tercet_source", [], "")
    app.connect("config-inited", prepare, priority=900)
    app.connect("build-finished", copy_source)
    app.connect("build-finished", copy_mathjax)
