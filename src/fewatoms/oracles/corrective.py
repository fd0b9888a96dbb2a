"""(P1) down a ladder of penalties over atoms exposed one by one: all it needs of a set is `support` and `expose`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr

from fewatoms import _checks, files, kept, ledger, linalg
from fewatoms._types import Array, FloatArray, ModelDual
from fewatoms.atoms import AtomicSet
from fewatoms.budget import none_of
from fewatoms.candidates import Candidate, Compact, DualPoint
from fewatoms.faces import Face
from fewatoms.kept import Kept
from fewatoms.oracles.base import penalty_at
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P3, Relaxation

ONE_IMAGE = 1e-12  # relative: images this close are of one atom


@dataclass(frozen=True, eq=False)
class Corrective:
    """minimise f(b - sum_i c_i M a_i) + lam sum_i c_i over c >= 0 and the atoms a_i seen so far, at falling lam.

    While M*y exposes an atom that is aligned with it by more than lam, that atom is seen, its image kept, and all
    coefficients are fitted anew. State: the images. Where the support function is an upper bound only, a rung also ends
    when the atom that is exposed is not aligned by more than lam, or not new.

    shrink : from one penalty to the next
    exposures : atoms added on one rung at most
    tol : share of lam by which an alignment may exceed it
    floor : the last penalty, as a share of the first
    most : images kept at most; the least used ones go
    """

    shrink: float = 0.6
    exposures: int = 60
    tol: float = 1e-2
    floor: float = 1e-5
    most: int = 1000

    patience = 30  # rungs without a better answer: as many as there are

    def __post_init__(self) -> None:
        if not 0.0 < _checks.number("shrink", self.shrink) < 1.0:
            raise ValueError(f"shrink must lie between 0 and 1; got {self.shrink!r}")
        _checks.integer("exposures", self.exposures, 1)
        _checks.number("tol", self.tol)
        _checks.number("floor", self.floor, positive=True)
        _checks.integer("most", self.most, 1)

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        return self.over(Pool(problem, self.most))

    def over(self, pool: Pool) -> Iterator[DualPoint]:
        """The same over a pool that somebody else may add atoms to."""
        problem = pool.problem
        pool.look()
        goal = P3(problem) if problem.alpha is not None else None
        lam = start = max(penalty_at(problem, pool.z, pool.support), 1e-300)
        with ledger.step("ladder") as here:
            if here.found is None:
                yield pool.point(goal or P1(problem, start))
            else:
                lam = pool.again(here.found)
                pool.look()
            while lam > self.floor * start:
                here.mark(pool.noted(lam))
                lam *= self.shrink
                for _ in range(self.exposures):
                    ledger.tick()
                    pool.fit(lam)
                    pool.look()
                    if not pool.add(lam * (1 + self.tol)):
                        break
                yield pool.point(goal or P1(problem, lam))
                if problem.exact(pool.loss):
                    return


class Pool:
    """The atoms seen, their images and coefficients, and what the residual says."""

    def __init__(self, problem: Problem, most: int) -> None:
        self.problem, self.most = problem, most
        self.faces: list[Face] = []
        self.images: FloatArray = np.zeros((problem.m, 0))
        self.c: FloatArray = np.zeros(0)
        self.residual = problem.b

    def noted(self, lam: float) -> Callable[[], Kept]:
        """Note the atoms seen, at a penalty, for a checkpoint."""
        faces, arrays = [*self.faces], {"images": self.images, "c": self.c, "residual": self.residual}
        return lambda: Kept("pool", {"lam": lam}, arrays, tuple(face.kept() for face in faces))

    def again(self, it: Kept) -> float:
        """See them again; the penalty."""
        self.faces, arrays = [files.face_of(face) for face in it.inner], it.arrays
        self.images, self.c, self.residual = arrays["images"], arrays["c"], arrays["residual"]
        return kept.real(it.told["lam"])

    def look(self) -> None:
        """The dual vector of the residual: one product."""
        problem = self.problem
        self.loss, self.y = problem.loss.value(self.residual), problem.loss.gradient(self.residual)
        self.z = problem.M.adjoint(self.y)
        self.support = problem.atoms.ceiling(self.z)

    def add(self, level: float) -> bool:
        """Take the exposed atom in, if it is aligned by more than `level`; whether it was."""
        face = _best(self.problem.atoms, self.z)
        if not face.dim or _aligned(face, self.z) <= level:
            return False
        return self.take(face)

    def take(self, face: Face) -> bool:
        """Take an atom in with its image, unless that is there already: one product; whether it was new."""
        image = face.measure(self.problem.M, face.mean_atom())
        if (np.linalg.norm(self.images - image[:, None], axis=0) <= ONE_IMAGE * np.linalg.norm(image)).any():
            return False
        if self.c.size >= self.most:
            keep = np.sort(np.argsort(-self.c, kind="stable")[: self.most // 2])
            self.faces, self.images, self.c = [self.faces[i] for i in keep], self.images[:, keep], self.c[keep]
        self.faces.append(face)
        self.images, self.c = np.column_stack([self.images, image]), np.append(self.c, 0.0)
        return True

    def fit(self, lam: float) -> None:
        """The best coefficients at this penalty."""
        from scipy.optimize import minimize

        problem, A = self.problem, self.images
        if not self.c.size:
            return
        size = max(problem.at_zero, 1e-300)

        def objective(c: FloatArray) -> tuple[float, FloatArray]:
            r = problem.b - A @ c
            value = problem.loss.value(r) + lam * float(c.sum())
            return value / size, (lam - A.T @ problem.loss.gradient(r)) / size

        with linalg.single_thread():
            options = {"maxiter": 200, "ftol": 1e-13, "gtol": 1e-9 * lam / size}
            found = minimize(
                objective, self.c, jac=True, method="L-BFGS-B", bounds=[(0, None)] * A.shape[1], options=options
            )
        self.c = np.maximum(found.x, 0.0)
        self.residual = problem.b - A @ self.c

    def whole(self) -> FloatArray:
        """The point itself, flat."""
        x = np.zeros(self.problem.atoms.n)
        for face, c in zip(self.faces, self.c, strict=True):
            if c > 0:
                x += c * face.point(face.mean_atom()).ravel()
        return x

    def point(self, relaxation: Relaxation) -> DualPoint:
        gauge, residual = float(self.c.sum()), self.residual
        used = [(face, c) for face, c in zip(self.faces, self.c, strict=True) if c > 0]
        primal = Candidate(self.loss, gauge, lambda: self._joined(used), lambda: residual)
        return DualPoint(self.y, self.z, self.support, relaxation, self.loss, gauge, primal)

    def _joined(self, used: list[tuple[Face, float]]) -> Compact:
        """One face of all atoms in use, and the coefficients of the point there."""
        atoms = self.problem.atoms
        whole, c = atoms.expose(np.zeros(atoms.shape), none_of(atoms).k), np.zeros(0)
        for face, size in used:
            whole, before = whole.merge(face), whole.dim
            if c.size == before and whole.dim == before + face.dim:
                c = np.concatenate([c, size * face.mean_atom()])
        points = [(face, size * face.mean_atom()) for face, size in used]
        return whole, c if c.size == whole.dim and _add_up(whole, c, points) else _coordinates(whole, points)


def _best(atoms: AtomicSet, z: ModelDual) -> Face:
    """The face of the atom best aligned with z: of a union that of one part, of a sum those of the parts where one
    does not point away. The average over all parts would fall short of the support."""
    if not atoms.parts:
        return atoms.expose(z, 1)
    faces = [_best(part, z) for part in atoms.parts]
    aligned = [_aligned(face, z) for face in faces]
    least = max(aligned) if atoms.gauges_add else 0.0
    keep = [a > 0.0 and a >= least for a in aligned]
    if atoms.gauges_add and sum(keep) > 1:  # of a tie one will do
        keep = [i == aligned.index(least) for i in range(len(keep))]
    parts = zip(atoms.parts, faces, keep, strict=True)
    return atoms.joined([face if kept else part.expose(z, none_of(part).k) for part, face, kept in parts])


def _aligned(face: Face, z: ModelDual) -> float:
    return float(np.dot(face.adjoint(z), face.mean_atom()))


def _add_up(face: Face, c: FloatArray, points: list[Compact]) -> bool:
    """Whether coefficients one after the other are those of the sum: atoms of one class (directions of a group, pairs
    of vectors) share coordinates, and may have been turned."""
    x, total = face.point(c), _total(face, points)
    return float(np.abs(x - total).max(initial=0.0)) <= ONE_IMAGE * float(np.abs(x).max(initial=0.0))


def _total(face: Face, points: list[Compact]) -> Array:
    return sum((f.point(c) for f, c in points), start=np.zeros(face.shape))


def _coordinates(face: Face, points: list[Compact]) -> FloatArray:
    """The coefficients in a face of the sum of points in parts of it. Coordinates that atoms share are orthonormal, so
    that few steps find them."""
    if face.parts[0] is not face:
        split = [(f.parts, f.split(c)) for f, c in points]
        return np.concatenate(
            [_coordinates(part, [(parts[i], c[i]) for parts, c in split]) for i, part in enumerate(face.parts)]
        )
    if not face.dim:
        return np.zeros(0)
    x = _total(face, points).ravel()
    transposed = {"matvec": lambda c: face.point(c).ravel(), "rmatvec": lambda z: face.adjoint(z.reshape(face.shape))}
    found = lsqr(LinearOperator((x.size, face.dim), dtype=x.dtype, **transposed), x, atol=1e-14, btol=1e-14)[0]
    return face.project(np.asarray(found.real))
