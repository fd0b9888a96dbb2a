"""What is answered: a status, a few atoms with coefficients, and what was spent on them."""

from __future__ import annotations

import math
from copy import deepcopy
from enum import Enum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fewatoms import _checks, files, frames, kept, pages, tables, words
from fewatoms._types import Array, FloatArray, Foreign
from fewatoms.asked import Asked, Fingerprint
from fewatoms.atoms import AtomicSet
from fewatoms.beside import FittedBiases, Told
from fewatoms.certificates import Certificate
from fewatoms.faces import Cone, Face
from fewatoms.figures import Decided, Figures
from fewatoms.kept import Kept
from fewatoms.losses import Loss
from fewatoms.lowrank import LowRank
from fewatoms.measures import Measures, measures
from fewatoms.names import Called
from fewatoms.points import Point
from fewatoms.problem import Problem
from fewatoms.report import answer as reported


class Status(Enum):
    """Why a run ended, each with a sentence of advice."""

    BOUND_MET = "the bound is met with no more atoms than allowed."
    SMALLEST_LOSS = "this is the smallest loss found with at most k atoms."
    ZERO = "zero atoms suffice: there is nothing to explain, or x = 0 already meets the bound."
    NOT_REACHED = (
        "the bound was not reached with the atoms allowed, and progress has stopped: allow more of them or a larger "
        "bound. Whether other choices of atoms reach it, fewatoms.prove may tell."
    )
    UNREACHABLE = "no x, with any number of atoms, reaches the bound (to working precision): allow a larger bound."
    ITERATION_LIMIT = "the iteration limit came first: raise max_iterations, or take the best answer found."
    STREAM_ENDED = "the oracle's stream of dual vectors ended: give it more, or take the best answer found."
    STOPPED = "the callback stopped the run; this is the best answer found so far."
    SEPARABLE = (
        "the classes are separable with these atoms, all data or some of them: no coefficients are the best, and the "
        "loss falls for ever as they grow. Give a ridge, a cap or a bound (alpha)."
    )
    BAD_DATA = (
        "nothing was fitted to these data: they hold nan or infinite numbers, or are in units in which their loss is "
        "no ordinary number."
    )
    WITHIN_SLACK = "the bound itself is not met; it is with the slack that the method was told to add to it."


class Solution(Point):
    """The answer of `fit`.

    status : Status; why the run ended
    success : bool; whether what was asked holds
    message : str; both in words, with the figures
    loss, misfit : recomputed from the answer; misfit is |b - Mx| / |b|, both norms in the loss's weights if it has any
        (nan for losses where it means nothing). With biases the loss also holds their ridge's share
    r2 : 1 - loss / loss of what stands beside the atoms alone: the R^2 of statistics with least squares and an
        intercept (misfit refers to b itself), 1 - |b - Mx|^2 / |b|^2 with nothing beside the atoms, for other losses
        the share of the deviance. nan where there is nothing to divide by
    free_coefficients : of the free columns beside M, in their order; empty if there are none
    intercept : that of free="intercept", so that predictions are M_new @ s.x + s.intercept; 0.0 where there is none. An
        array with one for each column of x where there are several, for Joint sets and for classes
    biases : center, rows and cols, where they were asked for; otherwise None
    objective : what is minimised: the loss and what the coefficients pay, which is ridge / 2 times their squares in
        units of the images for atoms that can be listed, ridge times the gauge for rank-one matrices; recomputed
    ridge : as given or chosen: a number for atoms that can be listed, elsewhere (on the factors, on the biases)
    held_out : where the ridge was chosen, the root mean square error on the entries held out for that (with a
        background 1 - NDCG, how clicks held out rank among all that were not seen); otherwise None
    iterations : dual vectors used
    products : products with M and M*, all of them, the reduced fits included
    svd_products : products with M*y inside partial decompositions
    passes : over all of M: a product is one, and so is a block of them, a sum over rows, or columns out of blocks
    certificate : what is proven; dear parts on first access

    and, from the compact form, x, indices, names (where M came as a data frame), members, coefficients, cardinality,
    gauge, left, right, parts, predict; x, left and right are the atoms alone, predict adds biases. For low-rank
    matrices `model`, with top and fold_in. `print(s)` lists atoms that have names.

    An answer is a value. Copies keep its M and b; `save` and pickle leave them out, and `fewatoms.load` and unpickling
    give an answer without them, with all figures that were known. `attach(M, b)` gives them back.
    """

    def __init__(
        self,
        face: Face,
        c: FloatArray,
        *,
        status: Status,
        success: bool,
        message: str,
        loss: float,
        misfit: float,
        r2: float,
        beside: Told,
        several: bool,
        ridge: float | tuple[float, float],
        iterations: int,
        products: int,
        svd_products: int,
        certificate: Certificate,
        held_out: float | None = None,
        passes: int = 0,
    ) -> None:
        super().__init__(face, c)
        self.status, self.success, self.message = status, success, message
        self.loss, self.misfit, self.r2 = loss, misfit, r2
        self.beside = beside
        self.free_coefficients, self._intercept, self.biases, _ = beside
        self._several, self.ridge = several, ridge
        self.iterations, self.products, self.svd_products = iterations, products, svd_products
        self.certificate, self.held_out, self.passes = certificate, held_out, passes

    @property
    def called(self) -> Called:
        return self.certificate.asked.called

    @property
    def classes(self) -> Array | list[Array] | None:
        """The classes, where data were labels: sorted, or as they came where values of different types have no order;
        an array for each data vector where there are several. None where data were numbers."""
        known = self.certificate.asked.classes
        return None if known is None else known.told

    def predict_proba(
        self, where: object, cols: npt.ArrayLike | None = None, *, free: npt.ArrayLike | None = None
    ) -> FloatArray:
        """The probabilities of the classes for data not seen, in the order of `classes` along the last axis.

        `predict`, with the same arguments, gives margins instead: with `Logistic` the logarithm of the odds of the
        second class, so that `s.classes[(s.predict(X) > 0).astype(int)]` are the likelier classes; with `Multinomial` a
        column for each class, the largest of which is that of the likeliest.
        """
        known = self.certificate.asked.classes
        if known is None:
            raise ValueError("probabilities are for answers to labels: fit(X, labels, loss=Logistic()); b held numbers")
        return known.probabilities(self.predict(where, cols, free=free))

    @property
    def intercept(self) -> float | Array:
        """What is added to M x by free="intercept": a number, or one for each column of x where there are several; 0
        where there is none. Biases and free columns are no intercept."""
        if self._several:
            return self.free_coefficients[0].copy() if self._intercept else np.zeros(self._face.shape[1])
        return float(self.free_coefficients[0]) if self._intercept else 0.0

    @property
    def objective(self) -> float:
        """The loss, and what the coefficients pay."""
        return self.certificate.objective

    @cached_property
    def model(self) -> LowRank:
        """A low-rank matrix apart from its fit: predictions, recommendations, new rows and columns, files."""
        if len(self._face.shape) != 2 or self._face.cone is Cone.PSD:
            raise AttributeError(
                f"atoms of {type(self._face).__name__} are no factor pairs: there is no low-rank model"
            )
        nonnegative = self._face.cone is Cone.NONNEGATIVE
        ridge = self.ridge if isinstance(self.ridge, tuple) else (self.ridge, 0.0)
        background = self.certificate.asked.background
        return LowRank(self.left, self.right, self.biases, ridge=ridge, nonnegative=nonnegative, background=background)

    def balanced(self) -> AtomicSet:
        """The sum of sets that this is an answer over, its parts scaled to equal gauges here: as the relaxations of a
        sum, where the largest gauge counts, expect them to be."""
        atoms = self.atoms
        if atoms is None:
            raise ValueError(
                f"the set is needed, {self.certificate.asked.atoms_told}: s.attach(M, b, atoms=...) gives it"
            )
        if len(atoms.summands) == 1:
            raise AttributeError(f"only sums of sets, A + B, are balanced; this is an answer over {atoms!r}")
        gauges = [part.gauge for part in self.parts]
        largest = max(gauges)
        return atoms.like([a.times(g / largest) if g > 0 else a for a, g in zip(atoms.parts, gauges, strict=True)])

    def top(self, row: int, n: int = 10, *, exclude: npt.ArrayLike | None = None) -> tuple[Array, FloatArray]:
        """For low-rank matrices, the columns with the n largest entries of a row, and these: see LowRank.top."""
        return self.model.top(row, n, exclude=exclude)

    def fold_in(
        self,
        rows: npt.ArrayLike,
        cols: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        axis: int = 0,
        count: int | None = None,
        weights: npt.ArrayLike | None = None,
        ridge: float | None = None,
    ) -> LowRank:
        """For low-rank matrices, the model with new rows or columns: see LowRank.fold_in."""
        return self.model.fold_in(rows, cols, values, axis=axis, count=count, weights=weights, ridge=ridge)

    # Atom by atom -----------------------------------------------------------------------------------------------------

    def table(self) -> list[dict[str, object]] | Foreign:
        """A record for each atom, in the order of `indices`, as a list of dictionaries; as a data frame of the kind
        that M came as (pandas, polars, pyarrow), if it was one, after a pickle or from a file too.

        name, or atom : what the atom is called, or its number, pair of numbers or label where nobody said
        coefficient : with its sign. Where several data vectors or classes share the atoms "coefficient of ..." for
            each. Of matrices the singular values (eigenvalues)
        length, size : where a group has several columns, the length of its coefficients and their number; it has no
            single coefficient then. `members` and `coefficients` tell them one by one, and so does `print(s)`
        contribution : |M a_g c_g| / sum over h of |M a_h c_h|: the length of what the atom adds to the data, past what
            free columns and an intercept explain and in the weights of the loss, as a share of the sum of all. Of
            matrices, and of sums with a matrix in them, |c_g| / sum over h of |c_h| within the part
        cost : what the objective (the loss, and what a ridge takes) would rise by if the atom were left out and the
            others, and what stands beside them, were fitted anew under the same signs and cap. Exact for least squares;
            by refits for other losses, and to second order where those would take minutes. None for matrices, whose
            atoms move, and beyond 2000 coefficients
        part : of sums, which one

        Made when first asked for, from M and b; the products are counted in `certificate.products`. Files and pickles
        keep contributions and costs that have been asked for; otherwise they are None there: `attach(M, b)` gives them
        back.
        """
        proven = self.certificate
        framed = proven.problem.measured.framed if proven.attached else frames.maker_of(proven.asked.called.frame)
        return tables.records(self.by_atom) if framed is None else framed(self.by_atom)

    @property
    def by_atom(self) -> tables.Columns:
        """The columns of `table`."""
        return tables.columns(self, self.measures)

    @cached_property
    def measures(self) -> Measures | None:
        """Contributions and costs, see `table`; None where there are none, or M and b are gone."""
        proven = self.certificate
        return proven.counted(lambda: measures(proven.problem, *self.compact)) if proven.attached else None

    # A value ----------------------------------------------------------------------------------------------------------

    @property
    def atoms(self) -> AtomicSet | None:
        """The set that this is an answer over; None where it was left behind with M and b."""
        return self.certificate.asked.atoms

    def is_over(self, atoms: AtomicSet) -> bool:
        """Whether this is an answer over that set, as far as is known."""
        mine = self.atoms
        return self.certificate.asked.over(atoms) if mine is None else mine.same_as(atoms)

    def save(self, file: files.PathLike) -> None:
        """Write to a file under the very name given, all or nothing; M and b are not in it. `fewatoms.load` reads it.

        One product with M*, counted in `certificate.products`, for the fingerprint by which `attach` knows M again.
        """
        files.save(file, self.kept())

    def attach(
        self,
        M: object,
        b: npt.ArrayLike,
        *,
        atoms: AtomicSet | None = None,
        loss: Loss | None = None,
        free: object = None,
    ) -> Solution:
        """This answer with M and b, which it had before it was pickled or saved; the answer itself does not change.

        Refused unless they measure the same: b and the weights by their digests, M (array, sparse or operator, whatever
        it was) by its shape and one product with M*. What is as long as the data or the model was not kept and must be
        given again: a loss with weights, free columns, and sets but for single entries, rank-one matrices, their
        multiples, sums and unions.

        What the certificate knew it knows still. The rest is proven anew when asked for, with the dual vector of this
        answer, which may prove less than the run's own; what is about y is about that one.
        """
        return self.attached_to(self.certificate.asked.again(M, b, atoms, loss, free))

    def attached_to(self, problem: Problem) -> Solution:
        """This answer with its problem again; refused unless it is the one."""
        return self._with(self.certificate.attach(problem, self._face, self._c))

    def decided_by(self, decided: Decided) -> Solution:
        """This answer with what a proof has found out about it."""
        return self._with(self.certificate.deciding(decided))

    def _with(self, certificate: Certificate) -> Solution:
        other = object.__new__(type(self))
        other.__dict__.update(vars(self), certificate=certificate)
        return other

    def __copy__(self) -> Solution:
        return self._with(self.certificate)

    def __deepcopy__(self, memo: dict[int, object]) -> Solution:
        """M and b, which do not belong to the answer, are shared."""
        mine = {
            name: deepcopy(value, memo) for name, value in vars(self).items() if name not in ("_face", "certificate")
        }
        other = self._with(deepcopy(self.certificate, memo))
        other.__dict__.update(mine)
        return other

    def __reduce__(self) -> tuple[object, ...]:
        return restored, (self.kept(),)

    def kept(self) -> Kept:
        """All of it but M and b, for files and pickles."""
        free, biases, proven = self.free_coefficients, self.biases, self.certificate
        arrays = {"c": self._c, "free": free}
        known = vars(self).get("measures")
        if known is not None:
            arrays |= {"contribution": known.contribution, "cost": known.cost}
        if biases is not None:
            arrays |= {"row_biases": biases.rows, "col_biases": biases.cols}
        told: dict[str, kept.Plain] = {
            "status": self.status.name,
            "success": bool(self.success),
            "message": self.message,
            **{figure: float(vars(self)[figure]) for figure in ("loss", "misfit", "r2")},
            "ridge": [float(v) for v in np.atleast_1d(self.ridge)],
            "intercept": self._intercept,
            "center": None if biases is None else float(biases.center),
            "several": self._several,
            **{count: vars(self)[count] for count in ("iterations", "products", "svd_products", "passes")},
            "held_out": None if self.held_out is None else float(self.held_out),
            "fingerprint": proven.fingerprint.plain(),
            "figures": proven.known().plain(),
            "asked": proven.asked.plain(),
        }
        return Kept("answer", told, arrays, (self._face.kept(),))

    def _free_part(self, free: npt.ArrayLike | None, rows: int) -> Array:
        v = self.free_coefficients
        if free is None:
            if v.size and not self._intercept:
                raise ValueError(f"free must give the {len(v)} free columns for the new data; got None")
            return np.asarray(v[0] if v.size else 0.0)  # one number, or one for each data vector
        free = frames.data("free", free, self.called.free)
        came = _checks.axes("free", free)
        shape = came if len(came) != 1 else (*came, 1)
        if not v.size:
            raise ValueError(f"free must be left out: nothing was fitted beside the atoms; got {_checks.came(free)}")
        if shape != (rows, len(v)):
            told = f"shape {came}" if came else _checks.came(free)
            raise ValueError(f"free must have shape {(rows, len(v))}, a column per free coefficient; got {told}")
        return np.asarray(_checks.real_vector("free", free).reshape(shape) @ v)

    summary, report, _repr_html_ = words.summary, reported, pages.answer

    def __str__(self) -> str:
        return words.answer(self)

    def __repr__(self) -> str:
        spent = f"iterations={self.iterations}, products={self.products}"
        figures = f"cardinality={self.cardinality}, loss={self.loss:.6g}, misfit={self.misfit:.3g}"
        return f"Solution({self.status.name}, success={self.success}, {figures}, {spent})"


def restored(it: Kept) -> Solution:
    """The answer that was kept, without M and b."""
    told, arrays, face = it.told, it.arrays, files.face_of(it.inner[0])
    ridge, *shrink = (kept.real(v) for v in kept.rows(told["ridge"]))
    center = kept.maybe(told["center"])
    biases = None if center is None else FittedBiases(center, arrays["row_biases"], arrays["col_biases"])
    asked, fingerprint = Asked.read(told["asked"]), Fingerprint.read(told["fingerprint"])
    several, n = told["several"] is True, fingerprint.shape[1]
    if math.prod(face.shape) != n and not (several and face.shape[0] == n):
        raise ValueError(f"models must be as large as M says, {fingerprint.shape}; got shape {face.shape}")
    free, intercept = kept.finite(arrays["free"]), told["intercept"] is True
    if len(free) != 1 if intercept else bool(len(free)) != bool(fingerprint.columns):
        raise ValueError(f"there must be one coefficient of an intercept, or as many as free columns; got {len(free)}")
    answer = Solution(
        face,
        kept.finite(arrays["c"], face.dim),
        status=Status[str(told["status"])],
        success=told["success"] is True,
        message=str(told["message"]),
        loss=kept.real(told["loss"]),
        misfit=kept.real(told["misfit"]),
        r2=kept.real(told.get("r2", math.nan)),  # which earlier files do not know
        beside=Told(free, intercept, biases, *shrink),
        several=several,
        ridge=(ridge, shrink[0]) if shrink else ridge,
        iterations=kept.whole(told["iterations"]),
        products=kept.whole(told["products"]),
        svd_products=kept.whole(told["svd_products"]),
        certificate=Certificate(Figures.read(told["figures"], ridge), None, asked, fingerprint),
        held_out=kept.maybe(told["held_out"]),
        passes=kept.whole(told.get("passes", 0)),  # which earlier files do not know
    )
    if "cost" in arrays:
        vars(answer)["measures"] = Measures(arrays["contribution"], arrays["cost"])
    return answer


files.READERS["answer"] = restored
