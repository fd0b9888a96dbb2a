"""Tangents: transposes of each other, derivatives of where they lead, and back in the set with as many atoms."""

import numpy as np
import pytest

from contracts.families import generator
from faces.small import FACES
from fewatoms.faces import Cone

TURN = {"factors", "factors, square", "factors of one row", "scaled factors", "mapped factors", "mapped and scaled"}
TURN |= {"block factors", "block factors of entries", "scaled block factors"}
NONE = {name for name in FACES if "symmetric" in name}
FREE = [name for name in FACES if FACES[name](generator(0)).cone is Cone.FREE and FACES[name](generator(0)).tangent]


def tangent_of(name, seed):
    rng = generator(seed)
    face = FACES[name](rng)
    c = face.project(rng.standard_normal(face.dim))
    return face, c, face.tangent(c), rng


@pytest.mark.parametrize("name", [name for name in FREE if tangent_of(name, 0)[2] is not None])
def test_tangents_are_tangents(name):
    face, c, tangent, rng = tangent_of(name, 1)
    d, z = rng.standard_normal(tangent.dim), rng.standard_normal(face.shape)
    pushed = tangent.push(d)
    assert np.vdot(pushed, z).real == pytest.approx(d @ tangent.pull(z), rel=1e-9, abs=1e-9)
    here, h = face.point(c), 1e-6
    moved = [other.point(e) for other, e in (tangent.moved(h * d), tangent.moved(-h * d))]
    np.testing.assert_allclose((moved[0] - moved[1]) / (2 * h), pushed, atol=1e-4 * np.abs(pushed).max())
    still, e = tangent.moved(0.0 * d)
    np.testing.assert_allclose(still.point(e), here, atol=1e-12)
    far, e = tangent.moved(d)
    assert far.size <= face.size
    assert e.shape == (far.dim,)


def test_who_has_none():
    for name in NONE:
        assert tangent_of(name, 0)[2] is None, name
    for name in TURN:
        assert tangent_of(name, 0)[2] is not None, name


@pytest.mark.parametrize("name", ["factors", "block factors", "block factors of entries"])
def test_a_step_leads_to_the_nearest_point_with_as_many_atoms(name):
    """Truncated singular values of each block: nothing nearer has as many."""
    face, c, tangent, rng = tangent_of(name, 2)
    d = rng.standard_normal(tangent.dim)
    goal = face.point(c) + tangent.push(d)
    moved, e = tangent.moved(d)
    pieces = getattr(face, "pieces", lambda c: [(0, face, c)])(c)
    windows = [face.tiles.window(b) for b, _, _ in pieces] if hasattr(face, "tiles") else [(slice(None), slice(None))]
    left = sum(
        np.sum(np.linalg.svd(goal[window], compute_uv=False)[one.size :] ** 2)
        for window, (_, one, _) in zip(windows, pieces, strict=True)
    )
    assert np.linalg.norm(goal - moved.point(e)) ** 2 == pytest.approx(left, abs=1e-10)
