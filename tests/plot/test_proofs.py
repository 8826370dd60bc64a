"""Pictures of proofs and search trees."""

import pytest

from tercet.plot import plot_proof, to_svg
from tercet.rules.logic import Program

PROGRAM = Program("""
    parent(ann, tom). parent(tom, eve). parent(tom, ian).
    祖先(X, Y) :- parent(X, Y).
    祖先(X, Y) :- parent(X, Z), 祖先(Z, Y).
""")


def test_a_proof_is_drawn_from_left_to_right():
    ax = plot_proof(PROGRAM.prove("祖先(ann, eve)"))
    texts = {text.get_text(): text.get_position() for text in ax.texts}
    assert list(texts) == ["祖先(ann, eve)", "parent(ann, tom)", "祖先(tom, eve)", "parent(tom, eve)"]
    assert texts["祖先(ann, eve)"][0] < texts["parent(ann, tom)"][0] == texts["祖先(tom, eve)"][0]
    assert texts["祖先(tom, eve)"][0] < texts["parent(tom, eve)"][0]
    assert len(ax.lines) == 3
    assert ax.get_title(loc="left") == "4 nodes"
    assert to_svg(ax).startswith("<svg")


def test_a_search_tree_shows_how_branches_end():
    tree = PROGRAM.search_tree("祖先(ann, W)")
    ax = plot_proof(tree)
    colours = [text.get_bbox_patch().get_edgecolor() for text in ax.texts]
    assert len(set(colours)) == 3  # open, success, failure
    assert len(ax.texts) == len(ax.lines) + 1


def test_of_a_large_tree_the_root_is_drawn():
    tree = PROGRAM.search_tree("祖先(X, Y)")
    ax = plot_proof(tree, most=4)
    assert len(ax.texts) == 4
    assert ax.get_title(loc="left").startswith("4 of ")
    assert any(text.get_text().endswith(" …") for text in ax.texts)


def test_what_is_no_tree_is_refused():
    with pytest.raises(ValueError, match="needs a Proof or a SearchTree; got NoneType"):
        plot_proof(None)
    with pytest.raises(ValueError, match="most must be at least 1"):
        plot_proof(PROGRAM.prove("parent(ann, tom)"), most=0)
