"""scikit-learn's callbacks, told of the library's progress. Before scikit-learn 1.9 there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fewatoms._types import Foreign
from fewatoms.records import Progress

__all__ = ["Hearing", "Tasks", "tasks", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., object])

try:
    from sklearn.callback import CallbackSupportMixin as Hearing
    from sklearn.callback import with_callbacks
except ImportError:

    class Hearing:  # type: ignore[no-redef]
        """Nothing to hear."""

    def with_callbacks(method: Method) -> Method:
        return method


class Tasks:
    """The tasks of one `fit`, of which the whole is one, and what is done between two looks at the clock another.

    A callback that asks for an end gets the best answer so far, as with StopIteration elsewhere.
    """

    def __init__(self, estimator: Foreign, X: object, y: object) -> None:
        self._told = {"estimator": estimator, "X": X, "y": y}
        self._fit = estimator._init_callback_context(max_subtasks=None)
        self._fit.call_on_fit_task_begin(**self._told)
        self._stopped = False

    def __call__(self, intermediate_result: Progress) -> None:
        if not self._stopped:
            step = self._fit.subcontext(task_name=intermediate_result.stage)
            step.call_on_fit_task_begin(**self._told)
            self._stopped = step.call_on_fit_task_end(**self._told)
        if self._stopped:
            raise StopIteration

    def end(self) -> None:
        """All attributes are there."""
        self._fit.call_on_fit_task_end(**self._told, reconstruction_attributes={})


def tasks(estimator: object, X: object, y: object) -> Tasks | None:
    """Those of a `fit` that somebody listens to."""
    return Tasks(estimator, X, y) if "_skl_callbacks" in vars(estimator) else None
