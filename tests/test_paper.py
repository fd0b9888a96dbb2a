"""The paper's own experiments, as far as they are small: its method with its rule, and our default beside it."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import datasets

PAPER_K = {"blocksig": 71, "cosspike": 122, "sgnspike": 20, "spiketrn": 35}


def test_blocksig_takes_at_most_five_iterations():
    data = datasets.blocksig(levels=5)
    s = fa.fit(
        data.M, data.b, atoms=fa.SignedOneHot(1024), k=71, misfit=1e-3, method=fa.General(oracle=fa.LevelSet(), retrieval=fa.paper_rule()))
    assert s.success
    assert s.iterations <= 5
    assert s.cardinality == 71
    assert set(s.indices) == set(data.support)
    assert np.linalg.norm(data.b - data.M.matvec(s.x)) <= 1e-3 * np.linalg.norm(data.b)


@pytest.mark.parametrize("name", PAPER_K)
@pytest.mark.parametrize("seed", [0, 1])
def test_default_solves_sparco_problems(name, seed):
    data = datasets.SPARCO[name](rng=seed)
    s = fa.fit(data.M, data.b, atoms=fa.SignedOneHot(data.M.shape[1]), k=PAPER_K[name], misfit=1e-3)
    assert s.success, s.message
    assert np.count_nonzero(s.x) <= PAPER_K[name]
    assert np.linalg.norm(data.b - data.M @ s.x) <= 1e-3 * np.linalg.norm(data.b)
