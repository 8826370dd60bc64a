"""Watering a watermelon (给西瓜浇水)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tercet.core.catalog import method
from tercet.rl.mdp import MDP

STATES = {"en": ["healthy", "dry", "overwatered", "dead"], "zh": ["健康", "缺水", "溢水", "凋亡"]}
ACTIONS = {"en": ["water", "wait"], "zh": ["浇水", "不浇水"]}
HEALTHY, DRY, OVERWATERED, DEAD = range(4)
OUTCOMES = {  # probabilities of the next states, after water and wait
    HEALTHY: ({HEALTHY: 0.6, OVERWATERED: 0.4}, {HEALTHY: 0.6, DRY: 0.4}),
    DRY: ({HEALTHY: 0.5, DRY: 0.5}, {DRY: 0.4, DEAD: 0.6}),
    OVERWATERED: ({OVERWATERED: 0.6, DEAD: 0.4}, {HEALTHY: 0.6, OVERWATERED: 0.4}),
    DEAD: ({DEAD: 1.0}, {DEAD: 1.0}),
}
GAINS = [1.0, -1.0, -1.0, -100.0]  # of the next states


@method(
    zh="给西瓜浇水",
    task="reinforcement learning",
    model="states healthy, dry, overwatered, dead (健康, 缺水, 溢水, 凋亡); actions water, wait (浇水, 不浇水)",
    strategy="1 for a healthy plant, -1 for one that is dry or overwatered, -100 for a dead one",
    texts=["watermelon notes ch. 14, sec. 14.1"],
)
def watermelon_watering(*, language: Literal["en", "zh"] = "en", dead_is_terminal: bool = False) -> MDP:
    """Watering a watermelon plant, the watermelon book's example of a Markov decision process.

    The notes follow the book (Zhou, Machine Learning, ch. 16) but leave the example out; the numbers are
    those of the book's figure 16.2. The best policy waters a healthy or dry plant and waits while it is
    overwatered.

    Parameters
    ----------
    language : {"en", "zh"}, default="en"
        Whether states and actions have English or Chinese names.
    dead_is_terminal : bool, default=False
        Whether an episode ends when the plant dies. In the book it stays dead, for -100 at each step.

    Returns
    -------
    MDP
        Four states and two actions; an episode begins with a healthy plant.

    Examples
    --------
    >>> mdp = watermelon_watering()
    >>> mdp.states, mdp.actions
    (['healthy', 'dry', 'overwatered', 'dead'], ['water', 'wait'])
    >>> mdp.expected_rewards().round(2)
    array([[   0.2,    0.2],
           [   0. ,  -60.4],
           [ -40.6,    0.2],
           [-100. , -100. ]])
    """
    if language not in STATES:
        raise ValueError(f"watermelon_watering: language must be 'en' or 'zh'; got {language!r}.")
    P = np.zeros((4, 2, 4))
    for state, outcomes in OUTCOMES.items():
        for action, chances in enumerate(outcomes):
            P[state, action, list(chances)] = list(chances.values())
    R = np.broadcast_to(np.array(GAINS), P.shape)
    ends = [STATES[language][DEAD]] if dead_is_terminal else None
    first = STATES[language][HEALTHY]
    return MDP(P, R, terminal=ends, start=first, states=STATES[language], actions=ACTIONS[language])
