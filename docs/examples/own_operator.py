"""An operator of your own: any object with `shape`, `apply` and `adjoint`. Here: a blur, seen at some places.

What it knows beyond that, it may offer (`fewatoms.capabilities`): this one knows its columns, so that they are read and
not multiplied out.
"""

import numpy as np

import fewatoms as fa
from fewatoms.testing import check_operator


class Blur:
    """x -> (kernel * x) at some places, a convolution that begins again at the other end."""

    def __init__(self, kernel, n, places):
        self.spectrum = np.fft.rfft(kernel, n)
        self.n, self.places = n, places
        self.shape = (places.size, n)

    def apply(self, x):
        return np.fft.irfft(self.spectrum * np.fft.rfft(x), self.n)[self.places]

    def adjoint(self, y):
        whole = np.zeros(self.n)
        whole[self.places] = y
        return np.fft.irfft(self.spectrum.conj() * np.fft.rfft(whole), self.n)


class KnownBlur(Blur):
    """The same with the lengths of its columns, and the columns themselves: a matrix at hand, never formed."""

    image_size = property(lambda self: self.shape[0])

    def read(self, indices):
        kernel = np.fft.irfft(self.spectrum, self.n)
        return kernel[(self.places[:, None] - np.asarray(indices)) % self.n]

    def times(self, X):
        return np.stack([self.apply(x) for x in X.T], axis=1)

    def column_lengths(self, weights=None):
        kernel, at = np.fft.irfft(self.spectrum, self.n) ** 2, np.zeros(self.n)
        at[self.places] = 1.0 if weights is None else weights
        return np.sqrt(np.maximum(np.fft.irfft(np.fft.rfft(kernel).conj() * np.fft.rfft(at), self.n), 0.0))


def main():
    rng = np.random.default_rng(0)
    n = 400
    places = np.sort(rng.choice(n, 300, replace=False))
    kernel = np.exp(-0.5 * (np.arange(-10, 11) / 1.5) ** 2)
    x = np.zeros(n)
    x[[40, 120, 260, 333]] = [1.0, 2.0, 1.5, -1.0]
    found = []
    for M in (Blur(kernel, n, places), KnownBlur(kernel, n, places)):
        check_operator(M)
        s = fa.fit(M, M.apply(x), atoms=fa.SignedOneHot(n), k=4, misfit=1e-6)
        print(f"{type(M).__name__}: spikes at {sorted(s.indices.tolist())}, {s.products} products")
        found.append(s)
    return x, *found


if __name__ == "__main__":
    main()
