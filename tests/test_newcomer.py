"""What `python -m tests.newcomer` says about a name that has no card."""

import sys

from tests import newcomer


def test_a_name_without_card_is_looked_for_in_the_sources():
    """Nothing is imported for it: some modules of scikit-learn warn when they are."""
    loaded = set(sys.modules)
    assert list(newcomer.classes_without_card("ClauseSearch")) == ["tercet.rules.logic.clause_search"]
    assert list(newcomer.classes_without_card("MultilayerPerceptronClassifier")) == []
    assert set(sys.modules) == loaded
