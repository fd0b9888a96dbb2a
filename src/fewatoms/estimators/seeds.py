"""Seeds as scikit-learn gives them."""

from __future__ import annotations

from sklearn.utils import check_random_state

from fewatoms._types import Foreign


def seed(random_state: Foreign) -> int | None:
    """One number for the generator of a run; None is a fixed one."""
    return None if random_state is None else int(check_random_state(random_state).randint(2**31 - 1))
