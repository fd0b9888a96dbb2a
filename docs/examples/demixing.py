"""Stars and texture: an image as a sum of a few bright pixels and a few waves.

Pixels are sparse as they are, waves in the discrete cosine transform. Nobody says how many there are of either, nor how
strong the noise is; an atom of one part looks like many faint ones to the other, and that is enough to tell them apart.
"""

import numpy as np
from scipy.fft import dctn, idctn
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa


def cosines(h, w):
    """From the coefficients of the two-dimensional cosine transform to the image."""
    return LinearOperator(
        (h * w, h * w),
        matvec=lambda c: idctn(c.reshape(h, w), norm="ortho").ravel(),
        rmatvec=lambda x: dctn(x.reshape(h, w), norm="ortho").ravel(),
        dtype=float,
    )


def main():
    h = w = 64
    n, rng = h * w, np.random.default_rng(0)
    stars, waves = np.zeros(n), np.zeros(n)
    stars[rng.choice(n, 60, replace=False)] = rng.uniform(1.0, 3.0, 60)
    waves[rng.choice(n, 40, replace=False)] = rng.standard_normal(40) * 10.0
    texture = cosines(h, w).matvec(waves)
    image = stars + texture + 0.05 * rng.standard_normal(n)

    s = fa.fit(fa.Identity(n), image, atoms=fa.SignedOneHot(n) + fa.Mapped(cosines(h, w), fa.SignedOneHot(n)))
    errors = []
    for name, part, truth in zip(("stars", "texture"), s.parts, (stars, texture), strict=True):
        errors.append(np.linalg.norm(part.x - truth) / np.linalg.norm(truth))
        print(f"{name}: {part.cardinality} atoms, relative error {errors[-1]:.1%}")
    return s, errors


if __name__ == "__main__":
    main()
