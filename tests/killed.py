"""Runs that are killed at some call of the clock and gone on with, beside the run that nobody disturbed."""

import fewatoms as fa
from fewatoms.callbacks import Checkpoint


class Killed(Exception):
    """What happens to a run."""


class After:
    """Kills a run after so many calls."""

    def __init__(self, calls):
        self.calls, self.seen = calls, 0

    def __call__(self, progress):
        self.seen += 1
        if self.seen > self.calls:
            raise Killed


def counted(run):
    """What a run answers, and how often the clock calls."""
    clock = After(1 << 40)
    return run(clock), clock.seen


def gone_on_with(run, file, resumed, kills):
    """The answer of a run that is killed after so many calls, gone on with, killed again ...: resumed(file, callback)
    goes on. Also how often the clock called the last time."""
    for i, calls in enumerate([*kills, 1 << 40]):
        clock = After(calls)
        try:
            if i == 0 or not file.exists():
                return run([Checkpoint(file, 0.0), clock]), clock.seen
            return resumed(file, clock), clock.seen
        except Killed:
            pass
    raise AssertionError("nobody kills the last one")


def resume(*args, **again):
    """Goes on with a checkpoint, writing it at every call."""
    return lambda file, callback: fa.resume(file, *args, callback=callback, every=0.0, **again)
