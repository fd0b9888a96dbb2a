"""Nothing odd comes of odd data: columns of zeros, no data, one number, explicit zeros."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from methods.listed.test_view import shuffled

# Nothing in the data --------------------------------------------------------------------------------------------------


def degenerate():
    """name -> M, b."""
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((8, 12)), rng.standard_normal(8)
    gaps = A.copy()
    gaps[:, ::2] = 0
    thin = A * (np.abs(A) > 0.7)
    zeros = sp.csc_array(thin)
    zeros.data[::3] = 0.0
    return {
        "zero columns": (gaps, b),
        "zero matrix": (np.zeros((8, 12)), b),
        "empty sparse matrix": (sp.csc_array((8, 12)), b),
        "duplicated columns": (np.repeat(A[:, :3], 4, axis=1), b),
        "opposite columns": (np.concatenate([A[:, :6], -A[:, :6]], axis=1), b),
        "rank one": (np.outer(A[:, 0], A[0]), b),
        "rank two": (A[:, :2] @ A[:2], b),
        "b orthogonal to all columns": (A - np.outer(b, b @ A) / (b @ b), b),
        "one row": (A[:1], b[:1]),
        "one column": (A[:, :1], b),
        "one number": (A[:1, :1], b[:1]),
        "explicit zeros": (zeros, b),
        "unsorted indices": (shuffled(thin), b),
        "sparse zero columns": (sp.csr_array(gaps * (np.abs(gaps) > 1)), b),
        "no data": (A, np.zeros(8)),
        "booleans": (A > 0, b > 0),
    }


DEGENERATE = degenerate()
ASKED = {
    "one": {"k": 1},
    "all": {"k": 12},
    "bound": {"k": 3, "misfit": 0.1},
    "bound alone": {"misfit": 0.1},
    "tight bound": {"k": 12, "misfit": 1e-9},
    "huber": {"k": 2, "loss": fa.Huber(0.5)},
    "logistic": {"k": 2, "loss": fa.Logistic(), "cap": 5.0},
    "free": {"k": 2, "free": "intercept"},
    "huber, free": {"k": 2, "loss": fa.Huber(0.5), "free": "intercept"},
    "cap": {"k": 2, "cap": 0.3},
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", ASKED)
@pytest.mark.parametrize("name", DEGENERATE)
def test_nothing_odd_comes_of_odd_data(name, way, capsys):
    M, b = DEGENERATE[name]
    m, n = M.shape
    options = dict(ASKED[way])
    if (name, way) == ("booleans", "logistic"):
        M, b = np.where(b, 1.0, -1.0)[:, None] * M, np.zeros(m)  # as labels they would be part of the loss
    if "free" in options and m == 1:
        options.pop("free")
    if "k" in options:
        options["k"] = min(options["k"], n)
    A = M.toarray() if sp.issparse(M) else np.asarray(M, dtype=float)
    for atoms in (fa.SignedOneHot(n), fa.NonnegativeOneHot(n)):
        s = fa.fit(M, b, atoms=atoms, **options)
        assert np.isfinite(s.x).all()
        assert np.isfinite(s.loss)
        left = b - A @ s.x - (s.free_coefficients[0] if s.free_coefficients.size else 0.0)
        loss = options.get("loss", fa.LeastSquares())
        size = loss.value(np.asarray(b, dtype=float))
        assert s.loss == pytest.approx(loss.value(left), rel=1e-7, abs=1e-20 * size)
        assert s.loss <= size * (1 + 1e-9)
        assert np.count_nonzero(s.x) <= s.cardinality <= options.get("k", n)
        if "misfit" in options:
            held = loss.value(left) <= options["misfit"] ** 2 * size * (1 + 1e-9) + 1e-25 * size
            assert s.success == held
            assert s.success == (s.status in (fa.Status.BOUND_MET, fa.Status.ZERO))
        else:
            assert s.status in (fa.Status.SMALLEST_LOSS, fa.Status.ZERO)
        assert f"{s.loss:.6g}" in s.message
        assert "nan" not in str(s.certificate).lower()
    out = capsys.readouterr()
    assert out.out == out.err == ""
