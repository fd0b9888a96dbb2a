"""Five sparse recovery problems of the Sparco collection, built from their descriptions, and the operators they use.

E. van den Berg, M. P. Friedlander, G. Hennenfent, F. J. Herrmann, R. Saab, O. Yilmaz, "Sparco: a testing framework for
sparse reconstruction", technical report TR-2007-20, University of British Columbia, 2007. They are the problems of
Table 2 in Z. Fan, H. Fang, M. P. Friedlander, "Cardinality-constrained structured data-fitting problems".

Sparco draws its numbers in MATLAB, which cannot be repeated here: four of the five take `rng`, and agree with Sparco's
in size, structure and distribution, not number by number. The fifth, blocksig, has no randomness.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from fewatoms import _checks

from ._dataset import Dataset
from ._draws import Seed, generator, signs

# In each operator one routine serves a vector and the columns of a matrix, since it works along axis 0 alone.


class HaarSynthesis(LinearOperator):  # type: ignore[misc]
    """The inverse orthonormal Haar transform, from n coefficients to a signal of length n.

    One level joins averages a and details d into a signal twice as long:
    s[2i] = (a[i] + d[i]) / sqrt(2),  s[2i + 1] = (a[i] - d[i]) / sqrt(2).
    The operator is orthogonal, so its adjoint is the forward transform.

    Parameters
    ----------
    n
        Length of the signal, even.
    levels
        How often the averages are split, at most the number of times that n can be halved.

    Notes
    -----
    The coefficients are the n / 2**levels averages first, then the details from coarse to fine. Not done: signals whose
    length cannot be halved `levels` times are refused, not padded.

    Reference: A. Haar, "Zur Theorie der orthogonalen Funktionensysteme", Mathematische Annalen 69, 1910.
    """

    def __init__(self, n: int, levels: int) -> None:
        n = _checks.integer("n", n, 1)
        _checks.require(n % 2 == 0, "n", "even, so that it can be halved at least once", n)
        halvings = (n & -n).bit_length() - 1
        self.levels = _checks.integer("levels", levels, 1, halvings, f"{halvings}, as often as n = {n} can be halved")
        super().__init__(np.float64, (n, n))

    def _matmat(self, c: NDArray[Any]) -> NDArray[Any]:
        c = _at_least_double(c)
        n = self.shape[0]
        size = n >> self.levels
        signal = c[:size]
        while size < n:
            detail = c[size : 2 * size]
            finer = np.empty((2 * size, *c.shape[1:]), dtype=c.dtype)
            finer[0::2] = signal + detail
            finer[1::2] = signal - detail
            finer *= np.sqrt(0.5)
            signal, size = finer, 2 * size
        return signal

    def _rmatmat(self, s: NDArray[Any]) -> NDArray[Any]:
        signal = _at_least_double(s)
        c = np.empty(signal.shape, dtype=signal.dtype)
        size = self.shape[0]
        for _ in range(self.levels):
            even, odd = signal[0::2], signal[1::2]
            size //= 2
            c[size : 2 * size] = np.sqrt(0.5) * (even - odd)
            signal = np.sqrt(0.5) * (even + odd)
        c[:size] = signal
        return c

    _matvec = _matmat
    _rmatvec = _rmatmat


class DCTSynthesis(LinearOperator):  # type: ignore[misc]
    """The inverse orthonormal discrete cosine transform (type II), from n coefficients to a signal of length n.

    s[i] = sqrt(2/n) sum_j w[j] c[j] cos(pi j (2i + 1) / (2n)),  with w[0] = sqrt(1/2) and all other w[j] = 1.
    The operator is orthogonal, so its adjoint is the forward transform.

    Parameters
    ----------
    n
        Length of the signal.

    Notes
    -----
    Not done: no matrix is formed; both directions are fast transforms of SciPy.

    Reference: N. Ahmed, T. Natarajan, K. R. Rao, "Discrete cosine transform", IEEE Trans. Computers 23, 1974.
    """

    def __init__(self, n: int) -> None:
        n = _checks.integer("n", n, 1)
        super().__init__(np.float64, (n, n))

    def _matmat(self, c: NDArray[Any]) -> NDArray[Any]:
        from scipy.fft import idct

        signal: NDArray[Any] = idct(_at_least_double(c), norm="ortho", axis=0)
        return signal

    def _rmatmat(self, s: NDArray[Any]) -> NDArray[Any]:
        from scipy.fft import dct

        coefficients: NDArray[Any] = dct(_at_least_double(s), norm="ortho", axis=0)
        return coefficients

    _matvec = _matmat
    _rmatvec = _rmatmat


class CosinesAndSpikes(LinearOperator):  # type: ignore[misc]
    """Two orthonormal bases side by side, [inverse DCT, identity], from 2n coefficients to a signal of length n.

    Parameters
    ----------
    n
        Length of the signal. The first n coefficients are of cosines, the last n of spikes.

    Notes
    -----
    Not done: no matrix is formed.
    """

    def __init__(self, n: int) -> None:
        self.cosines = DCTSynthesis(n)
        super().__init__(np.float64, (self.cosines.shape[0], 2 * self.cosines.shape[0]))

    def _matmat(self, x: NDArray[Any]) -> NDArray[Any]:
        n = self.shape[0]
        signal: NDArray[Any] = self.cosines._matmat(x[:n]) + x[n:]
        return signal

    def _rmatmat(self, s: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([self.cosines._rmatmat(s), s])

    _matvec = _matmat
    _rmatvec = _rmatmat


class CausalConvolution(LinearOperator):  # type: ignore[misc]
    """Convolution with a kernel, cut to the length of its input: a lower triangular Toeplitz matrix of order n.

    s[i] = sum over 0 <= j <= i of kernel[i - j] x[j],  i < n.

    Parameters
    ----------
    kernel
        Real, shape (length,); what lies beyond n plays no part, what is missing counts as zero.
    n
        Length of input and output.

    Notes
    -----
    Not done: no matrix is formed. The products go through the fast Fourier transform, so their errors are small against
    the norm of the result, not against each of its entries.
    """

    def __init__(self, kernel: ArrayLike, n: int) -> None:
        from scipy.fft import next_fast_len, rfft

        n = _checks.integer("n", n, 1)
        taps = np.asarray(kernel)
        _checks.require(taps.ndim == 1 and taps.size > 0, "kernel", "a vector that is not empty", f"shape {taps.shape}")
        _checks.require(taps.dtype.kind in "fiub", "kernel", "real", taps.dtype)
        _checks.require(bool(np.all(np.isfinite(taps))), "kernel", "finite", "an infinity or nan among its entries")
        self.kernel = taps[:n].astype(np.float64)
        self._padded = next_fast_len(n + self.kernel.size - 1, real=True)
        self._spectrum = rfft(self.kernel, self._padded)
        super().__init__(np.float64, (n, n))

    def _matmat(self, x: NDArray[Any]) -> NDArray[Any]:
        from scipy.fft import irfft, rfft

        if np.iscomplexobj(x):
            return self._matmat(x.real) + 1j * self._matmat(x.imag)
        spectrum = self._spectrum.reshape(-1, *(1,) * (x.ndim - 1))
        full: NDArray[Any] = irfft(rfft(_at_least_double(x), self._padded, axis=0) * spectrum, self._padded, axis=0)
        return full[: self.shape[0]]

    def _rmatmat(self, s: NDArray[Any]) -> NDArray[Any]:
        # A Toeplitz matrix is turned into its transpose by reversing the order of its rows and of its columns.
        return self._matmat(s[::-1])[::-1]

    _matvec = _matmat
    _rmatvec = _rmatmat


def blocksig(levels: int = 5, *, rng: Seed = None) -> Dataset:
    """Blocks, a piecewise constant signal with eleven jumps, in the Haar basis (Sparco 2; 1024 x 1024).

    b[i] = sum_j h_j (1 + sign(t_i - p_j)) / 2 at t_i = i/1024, i = 1, ..., 1024;  M = inverse Haar;  x = M* b.

    Parameters
    ----------
    levels
        Levels of the Haar transform, 1 to 10. Five give the 71 nonzeros of the paper's experiment; Sparco takes all.
    rng
        Checked and not used, as nothing is random here; it lets the five generators be called alike.

    Notes
    -----
    Not done: no noise; b is the signal itself, and M x equals it up to rounding.

    Reference: D. L. Donoho, I. M. Johnstone, "Ideal spatial adaptation by wavelet shrinkage", Biometrika 81, 1994.
    """
    generator(rng)
    n = 1024
    M = HaarSynthesis(n, levels)
    places = np.array([0.10, 0.13, 0.15, 0.23, 0.25, 0.40, 0.44, 0.65, 0.76, 0.78, 0.81])
    # Tenths, as integers: the eleven jumps add up to zero, and in floating point they would not quite.
    jumps = np.array([40, -50, 30, -40, 50, -42, 21, 43, -31, 21, -42])
    t = np.arange(1, n + 1) / n
    passed_twice = 1 + np.sign(t[:, None] - places).astype(int)
    b = (passed_twice @ jumps) / 20
    x = M.rmatvec(b)
    k = int(np.count_nonzero(x))
    return Dataset("blocksig", M, b, x, k, f"The Blocks signal in a Haar basis of {M.levels} levels.")


def cosspike(rng: Seed = None) -> Dataset:
    """Two cosines and 120 spikes, in the two bases side by side (Sparco 3; 1024 x 2048, 122 nonzeros).

    M = [inverse DCT, identity];  the 5th and 13th DCT coefficients are sqrt(n/2) times 4 and 2, n = 1024;  the spikes
    are standard normal at random places;  b = M x.

    Parameters
    ----------
    rng
        Whatever `numpy.random.default_rng` accepts; None means a fixed seed.

    Notes
    -----
    Not done: no noise, and no floor for the spikes: a few may be too small to matter.

    Reference: Sparco, problem 3; Table 2 of the paper.
    """
    rng = generator(rng)
    M = CosinesAndSpikes(1024)
    x = _cosines_and_spikes(rng, 1024, {5: 4.0, 13: 2.0}, 120)
    return Dataset("cosspike", M, M.matvec(x), x, 122, "Two cosines and 120 spikes, seen in full.")


def gcosspike(rng: Seed = None) -> Dataset:
    """Three cosines and 60 spikes, seen through a Gaussian matrix (Sparco 5; 300 x 2048, 63 nonzeros).

    M = G [inverse DCT, identity] with G Gaussian, 300 x 1024, of unit columns;  the 4th, 10th and 21st DCT coefficients
    are sqrt(n/2) times 2, 3 and -1, n = 1024;  the spikes are standard normal at random places;  b = M x.

    Parameters
    ----------
    rng
        Whatever `numpy.random.default_rng` accepts; None means a fixed seed.

    Notes
    -----
    Not done: no noise; M stays a product, the columns that belong to cosines are not of unit norm.

    Reference: Sparco, problem 5; Table 2 of the paper.
    """
    rng = generator(rng)
    G = rng.standard_normal((300, 1024))
    G /= np.linalg.norm(G, axis=0)
    M = aslinearoperator(G) @ CosinesAndSpikes(1024)
    x = _cosines_and_spikes(rng, 1024, {4: 2.0, 10: 3.0, 21: -1.0}, 60)
    return Dataset("gcosspike", M, M.matvec(x), x, 63, "Three cosines and 60 spikes, seen through a Gaussian matrix.")


def sgnspike(rng: Seed = None) -> Dataset:
    """Twenty spikes of +1 or -1, seen through a Gaussian matrix (Sparco 7; 600 x 2560, 20 nonzeros).

    M = L^-1 G with G Gaussian and G G' = L L', L lower triangular, so that M has orthonormal rows;  b = M x.

    Parameters
    ----------
    rng
        Whatever `numpy.random.default_rng` accepts; None means a fixed seed.

    Notes
    -----
    Not done: no noise. M is a dense array, not an operator: it has no structure to use.

    Reference: Sparco, problem 7; Table 2 of the paper.
    """
    rng = generator(rng)
    m, n, k = 600, 2560, 20
    Q, R = np.linalg.qr(rng.standard_normal((m, n)).T)
    M = (Q * np.sign(np.diag(R))).T  # the positive diagonal makes the factors unique, whatever LAPACK is used
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = signs(rng, k)
    return Dataset("sgnspike", M, M @ x, x, k, "Twenty signed spikes, seen through orthonormal Gaussian rows.")


def spiketrn(rng: Seed = None) -> Dataset:
    """A train of twelve spikes, blurred by a wavelet (Sparco 903; 1024 x 1024, 12 nonzeros, very ill-conditioned).

    M = causal convolution with g(u) = (u^2/s^4 - 1/s^2) exp(-u^2 / (2 s^2)), s = 0.05, on u = linspace(-1, 1, 1024),
    from the 468th entry on (557 entries), divided by the first of these;  the spikes are a random sign times
    (0.1 + |standard normal|), at random places;  b = M x.

    Parameters
    ----------
    rng
        Whatever `numpy.random.default_rng` accepts; None means a fixed seed.

    Notes
    -----
    Not done: no noise; spikes are not kept apart, nor away from the end, where the wavelet is cut off.

    Reference: Sparco, problem 903; Table 2 of the paper.
    """
    rng = generator(rng)
    n, k, s = 1024, 12, 0.05
    u = np.linspace(-1, 1, n)[467:]
    kernel = (u**2 / s**4 - 1 / s**2) * np.exp(-(u**2) / (2 * s**2))
    M = CausalConvolution(kernel / kernel[0], n)
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = signs(rng, k) * (0.1 + np.abs(rng.standard_normal(k)))
    return Dataset("spiketrn", M, M.matvec(x), x, k, "Twelve spikes, blurred by the second derivative of a Gaussian.")


SPARCO: dict[str, Callable[..., Dataset]] = {
    "blocksig": blocksig,
    "cosspike": cosspike,
    "gcosspike": gcosspike,
    "sgnspike": sgnspike,
    "spiketrn": spiketrn,
}
"""The five generators by name; each can be called with `rng=` alone."""


def _cosines_and_spikes(
    rng: np.random.Generator, n: int, cosines: dict[int, float], spikes: int
) -> NDArray[np.float64]:
    """Coefficients for `CosinesAndSpikes(n)`; `cosines` maps the place, counted from 1, to the amplitude."""
    x = np.zeros(2 * n)
    for place, amplitude in cosines.items():
        x[place - 1] = amplitude * np.sqrt(n / 2)
    x[n + rng.choice(n, spikes, replace=False)] = rng.standard_normal(spikes)
    return x


def _at_least_double(x: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(x, dtype=np.result_type(x.dtype, np.float64))
