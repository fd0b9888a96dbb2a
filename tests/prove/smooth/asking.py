"""Questions about answers of `fit`, and searches through to their end."""

import warnings
from dataclasses import replace

import numpy as np

import fewatoms as fa
from fewatoms.proofs.question import posed
from fewatoms.proofs.smooth import Smooth, SmoothChecker


def question(M, b, *, gap=1e-4, **words):
    """What is asked about the answer of `fit`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = fa.fit(M, b, **words)
    return posed(solution, gap=gap, seconds=60.0, cap=None, frobenius=None)


def searched(about, *, standings=10**6, memory=None):
    """A search through that many standings, and all that it told."""
    search, told = Smooth().open(about), []
    if memory is not None:
        search.question = replace(about, memory=memory)
    for standing in search.standings():
        told.append(standing)
        if len(told) >= standings:
            break
    return search, told


def checked(about, tree, share=1.0):
    """What a check of a tree comes to."""
    return SmoothChecker().check(about, tree, share, np.random.default_rng(0))


def groups(rng, m=30, count=12, size=3, k=3, snr=1.0, ridge=0.2, **words):
    """A question about groups of columns."""
    M = rng.standard_normal((m, count * size))
    c = np.zeros(count * size)
    c[: k * size] = rng.standard_normal(k * size)
    signal = M @ c
    noise = rng.standard_normal(m)
    b = signal + noise * np.linalg.norm(signal) / np.linalg.norm(noise) / np.sqrt(snr)
    return question(M, b, atoms=fa.Groups(np.repeat(np.arange(count), size)), k=k, ridge=ridge, **words)


def labelled(rng, loss, m=60, n=20, k=3, ridge=0.02, **words):
    """A question about classes of single columns."""
    M = rng.standard_normal((m, n))
    margin = M[:, :k].sum(axis=1) + rng.logistic(size=m)
    b = np.digitize(margin, [-1.0, 1.0]) if isinstance(loss, fa.Multinomial) else (margin > 0).astype(int)
    return question(M, b, atoms=fa.SignedOneHot(n), k=k, loss=loss, ridge=ridge, **words)
