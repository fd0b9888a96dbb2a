"""Blocks of rows that come wrong in the middle of a run: what a loader raises passes through and names the block, what
it returns is refused by its name or, where nobody asked it again, the answer holds what it says."""

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa

M, N, CUTS = 48, 10, [(0, 20), (20, 21), (21, 48)]  # a block of one row among them


class Broken(Exception):
    """What a loader of somebody's own may raise."""


def breaks(block):
    raise Broken("the file is gone")


def spoiled(block, value):
    block = block.copy()
    block[len(block) // 2, 3] = value
    return block


FAULTS = {
    "raises": breaks,
    "nan": lambda block: spoiled(block, np.nan),
    "infinite": lambda block: spoiled(block, -np.inf),
    "shorter": lambda block: block[:-1],
    "longer": lambda block: np.concatenate([block, block[:1]]),
    "narrower": lambda block: block[:, :-1],
    "a vector": lambda block: block.ravel(),
    "words": lambda block: block.astype(str),
    "objects": lambda block: np.full(block.shape, None),
    "complex": lambda block: block + 1j,
    "nothing": lambda block: None,
    "masked": lambda block: np.ma.masked_less(block, np.sort(block.ravel())[1]),
    "single": lambda block: block.astype(np.float32),
    "sparse": sp.csr_array,
    "read-only": lambda block: np.lib.stride_tricks.as_strided(block, writeable=False),
    "columns first": np.asfortranarray,
}
SOUND = {"single", "sparse", "read-only", "columns first"}
ELSEWHERE = {"nan", "infinite"}  # in a column that a pass may have no use for

rng = np.random.default_rng(2)
TALL, WIDE = rng.standard_normal((M, N)), rng.standard_normal((M, 40))
LABELS = np.where(TALL[:, 1] + 0.5 * rng.standard_normal(M) > 0, "yes", "no")
NOISE = 0.1 * rng.standard_normal(M)
FAMILIES = {
    "tall": (TALL, TALL[:, 2] - 2 * TALL[:, 7] + NOISE, {"k": 2}),
    "tall, bound": (TALL, TALL[:, 2] - 2 * TALL[:, 7] + NOISE, {"misfit": 0.3}),
    "tall, Huber": (TALL, TALL[:, 2] - 2 * TALL[:, 7] + NOISE, {"k": 2, "loss": fa.Huber(0.5)}),
    "labels": (TALL, LABELS, {"k": 2, "loss": fa.Logistic(), "free": "intercept", "ridge": 0.05}),
    "wide": (WIDE, WIDE[:, 2] - 2 * WIDE[:, 7] + NOISE, {"k": 2}),
    "wide, Huber": (WIDE, WIDE[:, 2] - 2 * WIDE[:, 7] + NOISE, {"k": 2, "loss": fa.Huber(0.5)}),
}


class Loaders:
    """Functions that load the rows of A; the call `at` of that of one block does something else."""

    def __init__(self, A, fault, at, where=2):
        self.A, self.fault, self.at, self.where, self.calls = A, fault, at, where, 0

    def _loaded(self, i, first, last):
        block = self.A[first:last].copy()
        if i == self.where:
            self.calls += 1
            if self.calls == self.at:
                return FAULTS[self.fault](block)
        return block

    def all(self):
        return [lambda i=i, cut=cut: self._loaded(i, *cut) for i, cut in enumerate(CUTS)]


def fitted(loaders, b, words):
    rows, columns = [last - first for first, last in CUTS], loaders.A.shape[1]
    M = fa.RowBlocks(loaders.all(), rows, columns, engine="serial")
    return fa.fit(M, b, atoms=fa.SignedOneHot(columns), **words)


def tried(loaders, b, words):
    """The answer, or what was raised."""
    try:
        return fitted(loaders, b, words), None
    except (Broken, ValueError, TypeError) as error:
        return None, error


@pytest.mark.sampled(6)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("at", [1, 2, 3, 5])
@pytest.mark.parametrize("where", [1, 2])
def test_what_a_loader_does_wrong_is_named(family, fault, at, where):
    A, b, words = FAMILIES[family]
    loaders, expected = Loaders(A, fault, at, where), fitted(Loaders(A, fault, 0), b, words)
    s, error = tried(loaders, b, words)
    if error is None:
        assert fault in SOUND | ELSEWHERE or loaders.calls < at
        rel = 1e-5 if fault == "single" else 1e-9
        np.testing.assert_allclose(s.x, expected.x, rtol=0, atol=rel * np.abs(expected.x).max())
        assert s.loss == pytest.approx(expected.loss, rel=rel)
    else:
        assert loaders.calls >= at
        assert fault not in SOUND
        told = " ".join([str(error), *getattr(error, "__notes__", [])])
        assert isinstance(error, Broken) == (fault == "raises")
        # whoever looks for the place of a number that is none finds it gone
        assert f"block {where}" in told or (fault in ELSEWHERE and "M must" in told), told
        assert "\n" not in str(error)
    again = fitted(Loaders(A, fault, 0), b, words)
    np.testing.assert_array_equal(again.x, expected.x)
