"""How many threads BLAS has, while small problems are solved: one, whoever else is at work in this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import ClassVar

from fewatoms._types import Foreign

Threads = list[tuple[Foreign, int]]  # libraries, and how many threads each is to use


class _Solo:
    """One who wants BLAS kept to one thread.

    Most libraries have one number of threads for the whole process: the first of all who want one sees to it, whatever
    thread they are in, and the last puts back what was there. (threadpoolctl lets the first thread that ever told them
    do so, and forgets what others tell; between us the lock keeps order.) Some have a number for each thread: there
    everybody tells and puts back what concerns them alone. Whoever is interrupted in the middle of coming or going is
    gone all the same once nobody refers to it any more.
    """

    lock: ClassVar[threading.RLock] = threading.RLock()
    inside: ClassVar[dict[int, int]] = {}  # those who want it, and the threads that they are in
    before: ClassVar[Threads] = []

    def __init__(self) -> None:
        self.own: Threads = []
        with _Solo.lock:
            found = [(library, count) for library in _libraries() if (count := library.get_num_threads() or 1) > 1]
            self.own = [(library, count) for library, count in found if _of_each_thread(library)]
            first = not _Solo.inside
            if first:
                _Solo.before = [(library, count) for library, count in found if not _of_each_thread(library)]
            _Solo.inside[id(self)] = threading.get_ident()
            _told([(library, 1) for library, _ in [*self.own, *(_Solo.before if first else [])]])

    def gone(self) -> None:
        with _Solo.lock:
            own, self.own = self.own, []
            _told(own)
            if _Solo.inside.pop(id(self), None) is not None or _Solo.before:
                _Solo.settle()

    __del__ = gone

    @staticmethod
    def settle() -> None:
        """Put back what was there, if nobody is left."""
        if not _Solo.inside:
            _told(_Solo.before)
            _Solo.before = []

    @staticmethod
    def after_fork() -> None:
        """Other threads are not there in the child, nor is what they wanted."""
        _Solo.lock, mine = threading.RLock(), threading.get_ident()
        _Solo.inside = {who: thread for who, thread in _Solo.inside.items() if thread == mine}
        _Solo.settle()


def _of_each_thread(library: Foreign) -> bool:
    """Whether every thread has a number of its own."""
    return library.internal_api == "mkl" or vars(library).get("threading_layer") == "openmp"


def _told(counts: Threads) -> None:
    """Tell libraries how many threads to use."""
    for library, count in counts:
        controlled = "clear_controlling_thread" in dir(library)  # by one thread, since threadpoolctl 3.8
        if controlled:
            library.clear_controlling_thread(force=True)
        library.set_num_threads(count)
        if controlled:
            library.clear_controlling_thread(force=True)


if "register_at_fork" in vars(os):
    # while nobody is in the middle of coming or going
    os.register_at_fork(
        before=lambda: _Solo.lock.acquire(),
        after_in_parent=lambda: _Solo.lock.release(),
        after_in_child=_Solo.after_fork,
    )


@contextmanager
def single_thread() -> Iterator[None]:
    """Keep BLAS to one thread: small solves spend more time waking threads than computing."""
    one = _Solo()
    try:
        yield
    finally:
        one.gone()


@cache
def _libraries() -> list[Foreign]:
    """The handles on BLAS's threads: finding the loaded libraries takes milliseconds, so it is done once."""
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


__all__ = ["single_thread"]
