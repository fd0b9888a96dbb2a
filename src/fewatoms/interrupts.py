"""Ctrl-C, heard instead of raised: whoever works ends with what there is by then."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import Self


class Presses:
    """While it is entered, the first Ctrl-C is noted, and the second raises KeyboardInterrupt at once.

    Python hears signals in the main thread alone: entered in another one, or where Ctrl-C is ignored, it does nothing.
    It may be entered several times over; what was there before comes back when the outermost block ends.

    heard : whether there was one
    when : the time of it, by the monotonic clock
    """

    def __init__(self) -> None:
        self.heard, self.when = False, 0.0
        self._depth = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._depth += 1
        if self._depth == 1 and _listening():
            self._stack.enter_context(self._handled())
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._stack.close()

    @contextmanager
    def _handled(self) -> Iterator[None]:
        with _counted() as presses:

            def handler(number: int, frame: FrameType | None) -> None:
                if presses() > 1 or self.heard:
                    raise KeyboardInterrupt
                self.heard, self.when = True, time.monotonic()

            before = signal.signal(signal.SIGINT, handler)
            try:
                yield
            finally:
                if signal.getsignal(signal.SIGINT) is handler:  # somebody else's stays
                    signal.signal(signal.SIGINT, before)


def _listening() -> bool:
    """Whether Ctrl-C comes here, and whoever hears it now can be put back."""
    if threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGINT) not in (None, signal.SIG_IGN)


@contextmanager
def _counted() -> Iterator[Callable[[], int]]:
    """How often Ctrl-C was pressed since somebody asked. Python calls a handler once for all that come during one long
    step of compiled code; the wakeup descriptor has a byte for each."""
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)

        def count() -> int:
            with suppress(BlockingIOError):
                return reader.recv(256).count(int(signal.SIGINT))
            return 0

        try:
            yield count
        finally:
            signal.set_wakeup_fd(before)


__all__ = ["Presses"]
