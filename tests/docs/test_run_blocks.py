"""The `run` blocks of pages: what is found, executed, refused and kept."""

from dataclasses import replace

import pytest
from docs.site.jobs import Job, JobError, clean, do, result
from docs.site.run_blocks import BlockError, blocks_of, page_job, run_page


def run(tmp_path, text):
    file = tmp_path / "page.md"
    file.write_text(text, encoding="utf-8")
    return run_page(str(file), "guide/page", tmp_path)


def test_blocks_share_one_namespace_and_show_what_they_print(tmp_path):
    found = run(tmp_path, "```{run} one\nx = 2\n```\n\n```{run} two\nprint(x + 1)\n```\n")
    assert found["one"]["output"] == ""
    assert found["two"] == {"code": "print(x + 1)", "output": "3\n", "pictures": [], "error": ""}


def test_warnings_are_part_of_the_output(tmp_path):
    found = run(tmp_path, "```{run} one\nimport warnings\nwarnings.warn('look')\n```\n")
    assert found["one"]["output"] == "UserWarning: look\n"


def test_open_figures_become_pictures(tmp_path):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.figure()\nplt.plot([2, 1])"
    found = run(tmp_path, f"```{{run}} one\n:alt: lines\n{code}\n```\n\n```{{run}} two\nx = 1\n```\n")
    assert found["one"]["pictures"] == ["one-1.png", "one-2.png"]
    assert found["two"]["pictures"] == []
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in found["one"]["pictures"])


def test_an_error_names_page_block_and_line(tmp_path):
    with pytest.raises(BlockError, match=r'block two(.|\n)*"guide/page.md", line 6(.|\n)*ZeroDivisionError'):
        run(tmp_path, "```{run} one\nx = 0\n```\n\n```{run} two\nprint(1 / x)\n```\n")


def test_an_expected_error_is_shown(tmp_path):
    found = run(tmp_path, "```{run} one\n:raises: ZeroDivisionError\n1 / 0\n```\n")
    assert found["one"]["error"] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("code", ["x = 1", "raise KeyError"])
def test_an_expected_error_that_does_not_come_fails(tmp_path, code):
    with pytest.raises(BlockError, match=r"ZeroDivisionError|KeyError"):
        run(tmp_path, f"```{{run}} one\n:raises: ZeroDivisionError\n{code}\n```\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```{run} one\nx = 1\n```\n```{run} one\nx = 2\n```\n", "two blocks are called 'one'"),
        ("```{run}\nx = 1\n```\n", "needs a name"),
        ("```{run} one\n:colour: red\nx = 1\n```\n", "unknown options"),
    ],
)
def test_blocks_are_named_once_and_have_known_options(tmp_path, text, said):
    with pytest.raises(BlockError, match=said):
        run(tmp_path, text)


def test_a_block_without_its_packages_is_not_executed(tmp_path):
    found = run(tmp_path, "```{run} one\n:requires: numpy not_a_package\nraise ValueError\n```\n")
    assert found["one"]["output"] is None
    assert run(tmp_path, "```{run} one\n:requires: numpy\nprint(1)\n```\n")["one"]["output"] == "1\n"


def test_blocks_inside_other_directives_are_found():
    text = "::::{tab-set}\n:::{tab-item} A\n  ```{run} one\n  print(1)\n  ```\n:::\n::::\n"
    assert [(block.name, block.code) for block in blocks_of(text)] == [("one", "print(1)")]


def test_prose_does_not_count_in_the_digest_and_code_does(tmp_path):
    file = tmp_path / "page.md"
    digests = []
    for text in (
        "a\n\n```{run} one\nx = 1\n```\n",
        "another\n```{run} one\nx = 1\n```\n",
        "```{run} one\nx = 2\n```\n",
    ):
        file.write_text(text, encoding="utf-8")
        digests.append(page_job("page", file).digest)
    assert digests[0] == digests[1] != digests[2]


def test_jobs_are_done_once_and_what_is_not_asked_for_goes(tmp_path):
    pages = {}
    for name in ("one", "two"):
        pages[name] = tmp_path / f"{name}.md"
        pages[name].write_text(f"```{{run}} block\nprint({name!r})\n```\n", encoding="utf-8")
    jobs = [page_job(name, file) for name, file in pages.items()]
    cache = tmp_path / "cache"
    assert do(jobs, cache) == ["page/one", "page/two"]
    assert result(jobs[1], cache)["block"]["output"] == "two\n"
    assert do(jobs, cache) == []
    clean(jobs[:1], cache)
    assert do(jobs, cache, workers=1) == ["page/two"]


def test_long_jobs_begin_first(tmp_path):
    jobs = []
    for name in ("a/short", "b/long", "c/longest/name"):
        file = tmp_path / f"{name.replace('/', '-')}.md"
        file.write_text("```{run} block\nx = 1\n```\n", encoding="utf-8")
        job = page_job(name, file)
        jobs.append(replace(job, long=name == "b/long"))
    begun = []
    do(jobs, tmp_path / "cache", workers=1, say=begun.append)
    assert begun == ["page/b/long", "page/c/longest/name", "page/a/short"]


def test_every_failing_job_is_told_and_a_process_that_dies_is_replaced(tmp_path):
    texts = {"bad": "1 / 0", "dead": "import os\nos._exit(1)", "good": "print(1)"}
    jobs = []
    for name, code in texts.items():
        file = tmp_path / f"{name}.md"
        file.write_text(f"```{{run}} block\n{code}\n```\n", encoding="utf-8")
        jobs.append(page_job(name, file))
    with pytest.raises(JobError) as caught:
        do(jobs, tmp_path / "cache", workers=1)
    assert "page/bad: block block" in str(caught.value)
    assert "page/dead: the process that did it has died" in str(caught.value)
    assert do(jobs[2:], tmp_path / "cache") == []


def test_another_library_is_another_digest(monkeypatch):
    job = Job("name", "docs.site.run_blocks:run_page")
    free = Job("name", "docs.site.run_blocks:run_page", library=False)
    before = job.digest, free.digest
    monkeypatch.setattr("docs.site.jobs.library_digest", lambda: "another")
    assert job.digest != before[0]
    assert free.digest == before[1]
