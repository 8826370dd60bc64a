"""The project URLs of a release (`hatch_build.py`)."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parent.parent / "hatch_build.py"


@pytest.fixture
def hook(monkeypatch):
    """The module as the build loads it; hatchling itself is in the environment of builds only."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    spec = importlib.util.spec_from_file_location("hatch_build", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def urls(hook):
    metadata = {}
    hook.ProjectURLs().update(metadata)
    return metadata["urls"]


def test_urls_are_those_of_the_repository_that_releases(hook, monkeypatch):
    monkeypatch.setenv("TERCET_REPOSITORY", "https://forge.example/team/tercet/")
    found = urls(hook)
    assert found["Source"] == "https://forge.example/team/tercet"
    assert {"Homepage", "Documentation", "Issues", "Changelog"} < found.keys()
    inside = [url.partition("/blob/main/")[2] for url in found.values() if "/blob/" in url]
    assert inside
    assert all((FILE.parent / path).is_file() for path in inside)


def test_a_build_without_a_repository_has_none(hook, monkeypatch):
    monkeypatch.delenv("TERCET_REPOSITORY", raising=False)
    assert urls(hook) == {}


def test_another_address_is_refused(hook, monkeypatch):
    monkeypatch.setenv("TERCET_REPOSITORY", "team/tercet")
    with pytest.raises(ValueError, match="TERCET_REPOSITORY='team/tercet' must begin with https://"):
        urls(hook)
