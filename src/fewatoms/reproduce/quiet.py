"""What other packages log while they work is not for our readers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silent(logger: str) -> Iterator[None]:
    """Nothing from this logger inside."""
    speaker = logging.getLogger(logger)
    before, speaker.disabled = speaker.disabled, True
    try:
        yield
    finally:
        speaker.disabled = before
