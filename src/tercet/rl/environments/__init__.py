"""Embedded environments, also registered with gymnasium.

The module is what `gymnasium.make("tercet.rl.environments:tercet/FrozenLake-v0")` imports, whether or not a
model of it was used before: it registers the environments as soon as it is imported, where gymnasium is
installed.
"""

import contextlib

from tercet.rl.environments.registration import register_environments

with contextlib.suppress(ImportError):
    register_environments()
