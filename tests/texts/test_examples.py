"""Every worked example of the texts, with the texts' numbers."""

import pytest

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
