"""Spikes behind a blur: columns beside each other are alike, so the first atoms sit beside the true ones, and two must
move at once. However the data come, as many spikes are found as were planted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa

BLURS = [(256, 3.0, 8, 0.02), (256, 4.0, 12, 0.005), (512, 6.0, 8, 0.01)]  # columns, width, spikes, noise


def apart(rng, n, width, count):
    """Places of spikes, two widths from each other."""
    places = [int(rng.integers(5, n - 5))]
    while len(places) < count:
        j = int(rng.integers(5, n - 5))
        if min(abs(j - i) for i in places) >= 2 * width:
            places.append(j)
    return places


def blurred(n, width, count, noise, seed):
    """The blur, data with that share of noise, and the loss of the planted spikes."""
    rng = np.random.default_rng(seed)
    places = apart(rng, n, width, count)
    H = gaussian_filter1d(np.eye(n), width, axis=0, mode="constant")
    clean = H[:, places] @ (rng.uniform(1, 3, count) * rng.choice([-1, 1], count))
    e = rng.standard_normal(n)
    b = clean + noise * np.linalg.norm(clean) / np.linalg.norm(e) * e
    left = b - H[:, places] @ np.linalg.lstsq(H[:, places], b, rcond=None)[0]
    return H, b, 0.5 * float(left @ left)


def hidden(H):
    return LinearOperator(H.shape, matvec=lambda x: H @ x, rmatvec=lambda y: H.T @ y, dtype=float)


@pytest.mark.parametrize("door", ["array", "black box"])
@pytest.mark.parametrize("blur", BLURS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_as_many_spikes_as_were_planted(blur, door, seed):
    n, _, count, _ = blur
    H, b, planted = blurred(*blur, seed)
    M = H if door == "array" else hidden(H)
    alpha = 1.1 * planted
    assert fa.fit(M, b, atoms=fa.SignedOneHot(n), k=count, alpha=alpha).success
    open_ = fa.fit(M, b, atoms=fa.SignedOneHot(n), alpha=alpha)
    assert open_.success
    assert open_.cardinality <= count


@pytest.mark.parametrize("blur", BLURS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_number_of_spikes_alone_is_enough(blur, seed):
    H, b, planted = blurred(*blur, seed)
    assert fa.fit(H, b, atoms=fa.SignedOneHot(blur[0]), k=blur[2]).loss <= planted * (1 + 1e-9)


def two_sensors(n, width, count, noise, seed):
    """Spikes that two sensors see, each through a blur of its own and with a size of its own: groups of two columns."""
    rng = np.random.default_rng(seed)
    places = apart(rng, n, width, count)
    M = np.zeros((2 * n, 2 * n))
    for sensor, share in enumerate((1.0, 0.8)):
        M[sensor * n : (sensor + 1) * n, sensor::2] = gaussian_filter1d(
            np.eye(n), share * width, axis=0, mode="constant"
        )
    columns = np.array([2 * j + sensor for j in places for sensor in range(2)])
    clean = M[:, columns] @ (rng.uniform(1, 3, columns.size) * rng.choice([-1, 1], columns.size))
    e = rng.standard_normal(2 * n)
    b = clean + noise * np.linalg.norm(clean) / np.linalg.norm(e) * e
    left = b - M[:, columns] @ np.linalg.lstsq(M[:, columns], b, rcond=None)[0]
    return M, b, 0.5 * float(left @ left)


@pytest.mark.parametrize("seed", [3, 13, 14, 16])
def test_groups_have_neighbours_too(seed):
    M, b, planted = two_sensors(256, 4.0, 12, 0.005, seed)
    s = fa.fit(M, b, atoms=fa.Groups(np.repeat(np.arange(256), 2)), k=12)
    assert s.loss <= planted * (1 + 1e-9)
