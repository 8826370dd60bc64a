"""Notes that go to a file and come back."""

import json

import pytest

from tercet.core.messages import LONGEST, Message, pack, unpack


@pytest.mark.parametrize(
    "note",
    [
        Message("{n} rows of {name!r}", n=3, name="a{b}"),
        Message("{file}: {problem}", file="a.csv", problem=Message("line {line}", line=7)),
        Message("{{{n}}} and 100 %", n=None),
    ],
)
def test_round_trip(note):
    again = unpack(json.loads(json.dumps(pack(note))))
    assert again == note
    assert (again.template, again.values) == (note.template, note.values)


def test_what_cannot_come_back_as_it_was_is_plain_text():
    assert unpack(pack(Message("{share:.0%} of {{all}}", share=0.25))) == "25% of {all}"
    assert unpack(pack("no {note}")) == "no {note}"


@pytest.mark.parametrize(
    "template",
    [
        "{a:>1500000000}",
        "{a!r:>1500000000}",
        "{a:{a}}",
        "{a.__class__}",
        "{a[0]}",
        "{}",
        "{0}",
        "{a!s}",
        "{a",
        "{a}" * 21,
        "a" * (LONGEST + 1),
        7,
    ],
)
def test_forged_templates(template):
    with pytest.raises(ValueError, match="not a note"):
        unpack({"template": template, "values": {"a": 1}})


def test_long_values_are_cut_at_every_depth():
    packed = {"template": "{a}" * 20, "values": {"a": "x" * 10**6}}
    for _ in range(6):
        packed = {"template": "{a}" * 20, "values": {"a": packed}}
    assert len(unpack(packed)) == 20 * LONGEST
