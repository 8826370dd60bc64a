"""The READMEs tell the truth."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_twenty_lines(name, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, name, "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "[[1. 1.]] [-3.]"
    assert printed[1] == "[2, 1, 1, 2, 1, 0]"
    assert float(printed[-1]) < 1e-6


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(name):
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / name).read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_make_commands_exist():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for name in ("README.md", "README.zh-CN.md", "CONTRIBUTING.md"):
        named = re.findall(r"`?make ([a-z-]+)", (ROOT / name).read_text(encoding="utf-8"))
        assert set(named) - {"are"} <= set(targets), name
