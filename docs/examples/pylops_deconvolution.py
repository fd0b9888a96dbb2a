"""Deconvolution with an operator of PyLops, passed as it is: a few spikes from a blurred trace.

Needs the package pylops.
"""

import numpy as np
import pylops
from pylops.utils.wavelets import ricker

import fewatoms as fa


def main():
    rng = np.random.default_rng(0)
    n, k = 301, 6
    reflectivity = np.zeros(n)
    reflectivity[np.sort(rng.choice(np.arange(20, 280, 12), k, replace=False))] = rng.choice([-1, 1], k) * (
        1 + rng.random(k)
    )
    wavelet, _, center = ricker(np.arange(41) * 0.004, f0=20)
    M = pylops.signalprocessing.Convolve1D(n, h=wavelet, offset=center)
    noise = rng.standard_normal(n)
    clean = M @ reflectivity
    b = clean + 0.02 * np.linalg.norm(clean) / np.linalg.norm(noise) * noise

    s = fa.fit(M, b, atoms=fa.SignedOneHot(n), k=k, misfit=0.021)
    print(s.message)
    print("place  planted   found")
    for place in sorted(set(np.flatnonzero(reflectivity)) | set(s.indices)):
        print(f"{place:5d}  {reflectivity[place]:7.3f} {s.x[place]:7.3f}")
    print(f"{s.products} products with the operator")
    return reflectivity, s


if __name__ == "__main__":
    main()
