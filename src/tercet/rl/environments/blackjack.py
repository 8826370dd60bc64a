"""Blackjack (二十一点) with an infinite deck, as a finite model."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.rl.environments.grid_world import transition_matrices
from tercet.rl.mdp import MDP

CARDS = {
    card: (4 if card == 10 else 1) / 13 for card in range(1, 11)
}  # an ace is 1; jack, queen and king are 10
STICK, HIT = 0, 1
WON, DRAWN, LOST = "won", "drawn", "lost"
BUST = 22  # the dealer's sum, where it is above 21


class Hand(NamedTuple):
    """Sum of a hand, with an ace counted as 11 where that does not make it more than 21, and whether one is."""

    total: int
    usable_ace: int

    def plus(self, card: int) -> Hand:
        """The hand with one more card."""
        hard = self.total - 10 * self.usable_ace + card
        has_ace = self.usable_ace == 1 or card == 1
        return Hand(hard + 10, 1) if has_ace and hard + 10 <= 21 else Hand(hard, 0)


EMPTY = Hand(0, 0)


@method(
    zh="二十一点",
    task="reinforcement learning",
    model="states (sum of the player, card of the dealer, usable ace); cards are drawn with replacement",
    strategy="1 for a win, 0 for a draw, -1 for a loss",
    peers=["gymnasium Blackjack-v1"],
)
def blackjack(*, sab: bool = True, natural: bool = False) -> MDP:
    """Blackjack against a dealer who sticks on 17 or more, with cards from an infinite deck.

    The player hits (takes a card) or sticks, and loses with more than 21. Then the dealer draws. The rules
    are those of gymnasium's Blackjack-v1; the model is exact, with all that the dealer may draw in the
    probabilities.

    Parameters
    ----------
    sab : bool, default=True
        The rules of Sutton and Barto, gymnasium's default: a natural (ace and ten at once) wins unless the
        dealer has one, too.
    natural : bool, default=False
        Without `sab`: whether a natural that wins pays 1.5.

    Returns
    -------
    MDP
        States are (sum, card of the dealer, usable ace) like gymnasium's observations, ("natural", card of
        the dealer) for a natural that the rules favour, and the terminal "won", "drawn" and "lost". Actions
        are "stick" and "hit".

    Examples
    --------
    >>> mdp = blackjack()
    >>> mdp
    MDP(293 states, 2 actions, 3 terminal)
    >>> mdp.expected_rewards()[mdp.state_index((20, 10, 0))].round(3)
    array([ 0.435, -0.923])
    """
    special = sab or natural
    dealers = range(1, 11)
    states: list[Any] = [(total, d, 0) for total in range(4, 22) for d in dealers]
    states += [(total, d, 1) for total in range(12, 22) for d in dealers]
    states += [("natural", d) for d in dealers] if special else []
    states += [WON, DRAWN, LOST]
    place = {state: k for k, state in enumerate(states)}
    rows = [
        (place[x], a, place[u], p, r)
        for x in states[:-3]
        for a in (STICK, HIT)
        for u, p, r in (_after_stick(x, sab) if a == STICK else _after_hit(x))
    ]
    start = np.zeros(len(states))
    for first, chance in CARDS.items():
        for second, other in CARDS.items():
            hand = EMPTY.plus(first).plus(second)
            for d, shown in CARDS.items():
                is_natural = special and hand.total == 21
                start[place["natural", d] if is_natural else place[hand.total, d, hand.usable_ace]] += (
                    chance * other * shown
                )
    ends = [WON, DRAWN, LOST]
    P, R = transition_matrices([np.array(column) for column in zip(*rows)], len(states), 2)
    return MDP(P, R, terminal=ends, start=start, states=states, actions=["stick", "hit"])


def _after_hit(state: Any) -> list[tuple[Any, float, float]]:
    """Next states of a hit, with probabilities and rewards."""
    hand, dealer = (Hand(21, 1), state[1]) if state[0] == "natural" else (Hand(state[0], state[2]), state[1])
    found = []
    for card, chance in CARDS.items():
        new = hand.plus(card)
        found.append(
            (LOST, chance, -1.0) if new.total > 21 else ((new.total, dealer, new.usable_ace), chance, 0.0)
        )
    return found


def _after_stick(state: Any, sab: bool) -> list[tuple[Any, float, float]]:
    """Results of sticking, with probabilities and rewards."""
    is_natural, dealer = state[0] == "natural", state[1]
    mine = 21 if is_natural else state[0]
    chances = {WON: 0.0, DRAWN: 0.0, LOST: 0.0}
    for theirs, chance in dealer_outcomes(EMPTY.plus(dealer)).items():
        chances[WON if theirs == BUST or mine > theirs else DRAWN if mine == theirs else LOST] += chance
    if is_natural and sab:  # a draw only with another natural
        chances[DRAWN] = CARDS[10] if dealer == 1 else CARDS[1] if dealer == 10 else 0.0
        chances[WON] = 1.0 - chances[DRAWN]
    gains = {WON: 1.5 if is_natural and not sab else 1.0, DRAWN: 0.0, LOST: -1.0}
    return [(end, chance, gains[end]) for end, chance in chances.items() if chance > 0]


@functools.cache
def dealer_outcomes(hand: Hand) -> dict[int, float]:
    """Probabilities of the dealer's last sum, from 17 to 21 or `BUST`, from the cards on the table.

    Examples
    --------
    >>> chances = dealer_outcomes(EMPTY.plus(6))
    >>> round(chances[BUST], 4), round(sum(chances.values()), 10)
    (0.4232, 1.0)
    """
    if hand.total > 21:
        return {BUST: 1.0}
    if hand.total >= 17:
        return {hand.total: 1.0}
    found: dict[int, float] = {}
    for card, chance in CARDS.items():
        for total, p in dealer_outcomes(hand.plus(card)).items():
            found[total] = found.get(total, 0.0) + chance * p
    return found
