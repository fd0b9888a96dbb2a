"""Seeds as scikit-learn gives them."""

from __future__ import annotations

import numpy as np


def seed(random_state: object) -> object:
    """What the library takes as a seed, None for a fixed one; a RandomState gives one away."""
    return int(random_state.randint(2**31 - 1)) if isinstance(random_state, np.random.RandomState) else random_state
