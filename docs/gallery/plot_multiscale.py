"""
Multiscale low rank: pixels, patches, tiles and a background in one picture
===========================================================================

What one sees at several scales is often simple at each: a few hot pixels, a few small patches, some larger tiles, and
a background that is a product of two profiles. Each scale is a set of its own, and the picture their sum. Told how many
atoms there are of each, and nothing of where, how strong, or of which shape, ``fit`` takes them apart.
"""

import matplotlib.pyplot as plt
import numpy as np

import fewatoms as fa

rng = np.random.default_rng(4)
side, k = 64, (12, 8, 4, 1)
shape = side, side


def profile(n):
    """A wave under a window."""
    t = np.linspace(0, 1, n)
    return np.hanning(n + 2)[1:-1] * (1 + 0.8 * np.cos(2 * np.pi * (rng.uniform(0, 2) * t + rng.random())))


planted = []
for count, n in zip(k, (1, 4, 16, side), strict=True):
    part, across = np.zeros(shape), side // n
    for place in rng.choice(across**2, count, replace=False):
        i, j = n * (place // across), n * (place % across)
        atom = np.outer(profile(n), profile(n)) if n > 1 else np.ones((1, 1))
        part[i : i + n, j : j + n] = rng.choice([-1, 1]) * rng.uniform(0.7, 1.3) * atom / np.abs(atom).max()
    planted.append(part)
picture = sum(planted) + 0.02 * rng.standard_normal(shape)

# %%
# One line for the model: a set for each scale. ``BlockRankOne`` has rank-one matrices inside the blocks of a grid.

atoms = fa.SignedOneHot(shape) + fa.BlockRankOne(shape, (4, 4)) + fa.BlockRankOne(shape, (16, 16)) + fa.RankOne(*shape)
s = fa.fit(fa.Identity(shape), picture, atoms=atoms, k=k)
for name, part, truth in zip(("pixels", "4 x 4", "16 x 16", "whole"), s.parts, planted, strict=True):
    error = np.linalg.norm(part.x - truth) / np.linalg.norm(truth)
    print(f"{name:8s} {part.cardinality:3d} atoms, {error:.1%} from the planted part")

# %%
# The same from half of the cells: the others are filled in by what the atoms say about them. Small blocks need most of
# their cells to be known, so here are two scales.

seen = rng.random(shape) < 0.5
coarse = planted[2] + planted[3]
two = fa.BlockRankOne(shape, (16, 16)) + fa.RankOne(*shape)
filled = fa.fit(fa.Sampling(*np.nonzero(seen), shape), coarse[seen], atoms=two, k=(4, 1))
print(f"half of the cells seen: {np.linalg.norm(filled.x - coarse) / np.linalg.norm(coarse):.1e} from the truth")

# %%
# Above: what is given, and the four parts that were found. Below: the planted ones.

fig, axes = plt.subplots(2, 5, figsize=(12, 5.2), layout="constrained")
titles = ("pixels", "blocks of 4 x 4", "blocks of 16 x 16", "rank one")
for ax, image, title in zip(axes[0], (picture, *(p.x for p in s.parts)), ("the picture", *titles), strict=True):
    ax.imshow(image, cmap="RdBu_r", vmin=-1.3, vmax=1.3, interpolation="nearest")
    ax.set_title(title)
left = picture - s.x
axes[1, 0].imshow(left, cmap="RdBu_r", vmin=-1.3, vmax=1.3, interpolation="nearest")
axes[1, 0].set_title("what is left: noise")
for ax, truth in zip(axes[1, 1:], planted, strict=True):
    ax.imshow(truth, cmap="RdBu_r", vmin=-1.3, vmax=1.3, interpolation="nearest")
    ax.set_title("planted")
for ax in axes.ravel():
    ax.set_xticks([])
    ax.set_yticks([])
plt.show()
