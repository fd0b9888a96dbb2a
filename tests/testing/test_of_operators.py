"""The checkers of operators' capabilities fail on members that are broken on purpose, and say which identity it is."""

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import Identity, Quadratic, Sampling
from fewatoms.capabilities import ColumnBlocks, FactorFits, FactorImages, Intensities, Norms, SampledEntries, SeenAsIs
from fewatoms.operators import MatrixOperator
from fewatoms.testing import check_capability, check_operator

A = generator(1).standard_normal((6, 12))
PLACES = ([0, 2, 1, 2], [1, 0, 3, 2], (3, 4))


def changed(kind, **members):
    """A subclass with some members replaced."""
    return type(f"Wrong{kind.__name__}", (kind,), members)


def times(factor, name):
    """A member whose result is multiplied."""

    def method(self, *args, **more):
        return factor * getattr(super(type(self), self), name)(*args, **more)

    return method


class Restricting(Sampling):
    """A reduced operator that is twice what it should be, or has a Gram matrix that is."""

    def restrict_factors(self, face):
        return super().restrict_factors(face).scaled(2.0)


def measured_wrongly(self, L):
    image, pull = Quadratic.measure_factor(self, L)
    return image, lambda y: 0.5 * pull(y)


BROKEN = {
    "image size": (changed(MatrixOperator, image_size=7.0)(A), ColumnBlocks, "image_size"),
    "columns": (changed(MatrixOperator, read=times(2.0, "read"))(A), ColumnBlocks, r"read\(i\) = M e_i"),
    "times": (changed(MatrixOperator, times=times(-1.0, "times"))(A), ColumnBlocks, r"times\(X\) = M X"),
    "lengths": (
        changed(MatrixOperator, column_lengths=lambda self, weights=None: MatrixOperator.column_lengths(self))(A),
        ColumnBlocks,
        "column_lengths.* with weights",
    ),
    "places": (changed(Identity, places=lambda self: np.arange(12)[::-1])((3, 4)), SeenAsIs, r"Mx = x\[places\]"),
    "places twice": (changed(Identity, places=lambda self: np.zeros(12, int))((3, 4)), SeenAsIs, "occur once"),
    "places outside": (changed(Identity, places=lambda self: np.arange(1, 13))((3, 4)), SeenAsIs, "lie in x"),
    "positions": (changed(Sampling, positions=property(lambda self: (self.cols, self.rows)))([0, 2], [1, 0], (3, 3)),
                  SampledEntries, r"positions"),
    "counts": (changed(Sampling, counts=property(lambda self: (np.ones(3, int), np.ones(4, int))))(*PLACES),
               SampledEntries, "counts of rows"),
    "sampled": (changed(Sampling, sampled=times(2.0, "sampled"))(*PLACES), SampledEntries, r"sampled\(U, V\)"),
    "row by row": (changed(Sampling, row_by_row=lambda self, v: (self._starts, self._cols, v))(*PLACES),
                   SampledEntries, r"row_by_row\(values\)"),
    "fits": (Restricting(*PLACES), FactorFits, r"restrict_factors.apply\(c\) = M point\(c\)"),
    "images": (changed(MatrixOperator, factor_images=lambda self, U, V: MatrixOperator.factor_images(self, -U, V))(A),
               FactorImages, "factor_images"),
    "intensities": (changed(Quadratic, measure_factor=measured_wrongly)(A[:, :3]), Intensities, "its gradient"),
    "vectors": (changed(Quadratic, vectors=times(1.5, "vectors"))(A[:, :3]), Intensities, r"vectors\(\)"),
    "row squares": (changed(Quadratic, row_squares=times(1.5, "row_squares"))(A[:, :3]), Intensities, "row_squares"),
    "another field": (changed(Quadratic, complex=True)(A[:, :3]), None, "complex"),
    "column norms": (changed(MatrixOperator, column_norms=times(0.9, "column_norms"))(A), Norms, r"column_norms\(\)"),
    "block norms": (changed(MatrixOperator, block_norms=times(0.9, "block_norms"))(A), Norms, r"block_norms"),
    "rank-one norm": (changed(Identity, rank_one_norm=lambda self: 0.9)((3, 4)), Norms, r"rank_one_norm\(\)"),
    "psd norm": (changed(Quadratic, psd_norm=times(0.1, "psd_norm"))(A[:, :3]), Norms, r"norm\(\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, (_, capability, _) in BROKEN.items() if capability is not None])
def test_broken_capabilities_are_named(name):
    M, capability, told = BROKEN[name]
    with pytest.raises(AssertionError, match=rf"{capability.__name__}: .*{told}.* does not hold: "):
        check_capability(M, capability)
    with pytest.raises(AssertionError, match="does not hold: "):  # which asks for other things first
        check_operator(M)


class Charging(MatrixOperator):
    """Tells whoever counts around it of every read."""

    def counted(self):
        outer, counter = super().counted()
        self.told = counter
        return outer, counter

    def read(self, indices):
        self.told.charge(int(indices.size))
        return super().read(indices)


def test_reading_that_multiplies_is_named():
    with pytest.raises(AssertionError, match=r"reading is no product does not hold: [0-9]+ products"):
        check_capability(Charging(A), ColumnBlocks)
