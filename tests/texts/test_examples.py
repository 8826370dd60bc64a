"""Every worked example of the texts, with the texts' numbers."""

import re

import pytest

from tercet import methods
from tercet.datasets.texts import chapters, examples


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(e, id=f"{c}:{e.place}:{e.title}", marks=pytest.mark.xdist_group(c))
        for c in chapters()
        for e in examples(c)
    ],
)
def test_example(example):
    assert example.differences() == {}


@pytest.mark.parametrize("chapter", chapters())
def test_places_are_unique(chapter):
    places = [(e.place, e.title) for e in examples(chapter)]
    assert places
    assert len(set(places)) == len(places)


def test_no_line_of_a_file_is_cited():
    """A reader has the chapter, the section or the equation, not the lines of our transcription."""
    cited = [f"{e.place} {e.note}" for c in chapters() for e in examples(c)]
    cited += [place for card in methods() for place in card.texts]
    assert [words for words in cited if re.search(r"\bL\d{3,5}\b", words)] == []
