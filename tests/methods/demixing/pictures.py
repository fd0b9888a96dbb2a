"""Small pictures over three scales, with their parts."""

import numpy as np

import fewatoms as fa

SIDE, K = 24, (4, 2, 1)


def scales(side=SIDE, block=6):
    shape = side, side
    return fa.SignedOneHot(shape) + fa.BlockRankOne(shape, (block, block)) + fa.RankOne(*shape)


def drawn(seed, side=SIDE, block=6, k=K, noise=0.0):
    """(b, parts): entries of size 1 to 2, blocks and a matrix of Gaussian factors of that size, at random places."""
    rng = np.random.default_rng(seed)
    parts = []
    for count, n in zip(k, (1, block, side), strict=True):
        part, across = np.zeros((side, side)), side // n
        for place in rng.choice(across**2, count, replace=n == side):
            i, j = n * (place // across), n * (place % across)
            u, v = (rng.choice([-1.0, 1.0], n) * rng.uniform(1.0, 2.0, n) for _ in range(2))
            part[i : i + n, j : j + n] += np.outer(u, v)
        parts.append(part)
    b = sum(parts)
    return b + noise * rng.standard_normal(b.shape), parts


def worst(s, parts):
    """The largest relative error of a part."""
    pairs = zip(s.parts, parts, strict=True)
    return max(float(np.linalg.norm(found.x - part) / np.linalg.norm(part)) for found, part in pairs)
