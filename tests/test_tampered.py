"""Files whose numbers were changed: what would be misread later is refused when it is read."""

from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from answers import answer, cases
from fewatoms import files


def changed(it, path, **new):
    """What is kept of an answer, with other arrays or words in the node that a path of numbers leads to."""
    if path:
        inner = [changed(one, path[1:], **new) if i == path[0] else one for i, one in enumerate(it.inner)]
        return replace(it, inner=tuple(inner))
    arrays = {name: value for name, value in new.items() if isinstance(value, np.ndarray)}
    told = {name: value for name, value in new.items() if name not in arrays}
    return replace(it, arrays={**it.arrays, **arrays}, told={**it.told, **told})


def ones(*shape):
    return np.ones(shape)


CHANGES = {
    "signed": [
        ((), {"c": np.array(["1", "2", "3"])}),
        ((), {"c": ones(3) + 1j}),
        ((), {"free": np.array(["1"])}),
        ((0,), {"indices": np.array([0, 1, -2])}),
        ((0,), {"indices": np.array([0, 1, 20])}),
        ((0,), {"indices": ones(3)}),
        ((0,), {"indices": np.array([[0, 1, 2]])}),
        ((0,), {"signs": ones(2)}),
        ((0,), {"signs": np.array(["+", "-", "+"])}),
        ((0,), {"shape": [10**12]}),
        ((0,), {"shape": [-20]}),
        ((0,), {"shape": [4, 20]}),
    ],
    "groups, strings": [
        ((0,), {"indices": np.array([-1, 1, 2, 3])}),
        ((0,), {"starts": np.array([0, 1])}),
        ((0,), {"starts": np.array([0, 9, 4])}),
        ((0,), {"directions": ones(1)}),
        ((0,), {"weights": ones(9)}),
        ((0,), {"names": np.array(["a"] * 9)}),
    ],
    "completion": [((0,), {"U": ones(3)}), ((0,), {"V": np.array([["a"]])})],
    "nonnegative factors": [((0,), {"P": ones(2, 9)}), ((0,), {"Q": ones(2, 2) + 1j})],
    "psd, complex": [((0,), {"V": ones(3)})],
}
CASES = [(name, path, new) for name, some in CHANGES.items() for path, new in some]


@pytest.mark.parametrize(("name", "path", "new"), CASES, ids=[f"{name}, {next(iter(new))}" for name, _, new in CASES])
def test_answers_that_were_changed_are_refused(name, path, new, tmp_path):
    files.save(tmp_path / "answer", changed(answer(name).kept(), path, **new))
    with pytest.raises(ValueError, match=r"^file must be one that save\(\) wrote"):
        fa.load(tmp_path / "answer")


@pytest.mark.parametrize(
    "new", [{"left": ones(4, 2) + 1j}, {"left": np.full((4, 2), "1")}, {"row_biases": np.array(["a"])}], ids=str
)
def test_models_that_were_changed_are_refused(new, tmp_path):
    files.save(tmp_path / "model", changed(answer("biases").model.kept(), (), **new))
    with pytest.raises(ValueError, match=r"^file must be one that save\(\) wrote"):
        fa.load(tmp_path / "model")


@pytest.mark.parametrize(
    "new", [{"c": np.array(["1"] * 6)}, {"loss": ones(1)}, {"status": np.array(["a", "b"])}], ids=str
)
def test_several_answers_that_were_changed_are_refused(new, tmp_path):
    case = cases()["signed"]
    made = fa.fit_many(case.M, np.column_stack([case.b, case.b]), atoms=fa.SignedOneHot(20), k=3)
    files.save(tmp_path / "answers", changed(made.kept(), (), **new))
    with pytest.raises(ValueError, match=r"^file must be one that save\(\) wrote"):
        fa.load(tmp_path / "answers")
