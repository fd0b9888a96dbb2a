"""The answers for several data vectors, kept in arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from fewatoms import files, frames, kept, ledger, pages, words
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.asked import Asked, Fingerprint
from fewatoms.atoms import AtomicSet
from fewatoms.beside import Told
from fewatoms.certificates import Certificate
from fewatoms.classes import Classes
from fewatoms.compressed import Faces, Found, Held
from fewatoms.compressed import held as held_of
from fewatoms.evidence import Proof
from fewatoms.final import no_atoms
from fewatoms.kept import Kept
from fewatoms.losses import Loss
from fewatoms.names import Names, places
from fewatoms.operators import Operator, as_operator
from fewatoms.points import names_of
from fewatoms.problem import Problem
from fewatoms.report import answers as reported
from fewatoms.rows import EARLIER, NUMBERS, STATUSES, coded, figures_of, maybe, nothing, row, rows
from fewatoms.solution import Solution, Status
from fewatoms.source import Prove, Source, digest_of
from fewatoms.units import unit_atoms


class Solutions(Sequence[Solution]):
    """The answers for several data vectors, one per column of b, each with its own atoms.

    A sequence of `Solution`, each made when it is asked for; x, loss, misfit, r2, cardinality, free_coefficients and
    intercept hold them side by side, `sparse` their coefficients in compressed columns. Data that nothing can be fitted
    to (nan, infinite numbers) have a status of their own, BAD_DATA. Where the data came as a data frame, `data_names`
    are its columns, and `answers["a"]` is the answer for one of them. M and the data are kept once. As for one answer,
    `save` and pickle leave them out, and `attach(M, B)` gives them back.
    """

    def __init__(
        self,
        numbers: Mapping[str, Array],
        messages: Sequence[str | None],
        held: Held,
        free: FloatArray,
        asked: Asked,
        source: Source | Sequence[Fingerprint],
        data_names: Names | None = None,
        classes: Sequence[Classes | None] = (),
    ) -> None:
        self._numbers, self._held = dict(numbers), held
        self._messages = list(messages)  # None: made when it is asked for
        self._free, self._intercept, self._asked = free, asked.free == "intercept", asked
        self.data_names, self._classes = data_names, list(classes) or [None] * len(self._messages)
        self._source = source if isinstance(source, Source) else None
        self._prints = [] if isinstance(source, Source) else list(source)

    @classmethod
    def of(
        cls,
        answers: Iterable[Solution | None],
        problem: Problem,
        data: Array,
        data_names: Names | None = None,
        prove: Prove | None = None,
    ) -> Solutions:
        """What runs found, for the columns of the data; of each answer its figures and compact form are kept. None
        where nothing could be fitted."""
        table: list[dict[str, float]] = []
        messages, faces, c, free, duals, classes = [], [], [], [], [], []
        atoms, unknown = problem.atoms, np.full(problem.m, np.nan)
        for s in answers:
            face, coefficients = no_atoms(problem) if s is None else s.compact
            table.append(nothing(problem) if s is None else row(s))
            messages.append(words.sentence(Status.BAD_DATA.value) if s is None else s.message)
            faces.append(face)
            classes.append(None if s is None else s.certificate.problem.classes)
            c.append(coefficients)
            free.append(np.full(problem.beside.count, np.nan) if s is None else s.free_coefficients)
            known = None if s is None else s.certificate.known().relaxed
            y = None if s is None or known is None else s.certificate.y
            duals.append(unknown if y is None else y)
            if s is not None and known is not None and known.in_units:
                atoms = s.certificate.atoms
        numbers = {name: np.array([one[name] for one in table], dtype=kind) for name, kind in NUMBERS.items()}
        source = Source(problem, data, np.stack(duals), atoms, prove)
        held = held_of(problem.atoms, faces, c)
        return cls(numbers, messages, held, np.stack(free), Asked.of(problem), source, data_names, classes)

    @classmethod
    def found(
        cls,
        found: Found,
        problem: Problem,
        data: Array,
        data_names: Names | None = None,
        prove: Prove | None = None,
        alone: Mapping[int, Solution] | None = None,
        products: int = 0,
    ) -> Solutions:
        """What was found for all columns of the data together, in so many products; some of them may have been solved
        `alone`."""
        numbers, free, held = rows(found, problem), found.free.copy(), found.held
        numbers["products"] += products // len(found)
        numbers["products"][:1] += products % len(found)
        messages: list[str | None] = [None] * len(found)
        for j in np.flatnonzero(found.bad):
            messages[j] = words.sentence(Status.BAD_DATA.value)
        for i, s in (alone or {}).items():
            messages[i], free[i] = s.message, s.free_coefficients
            for name, value in {**row(s), "products": s.products + int(numbers["products"][i])}.items():
                numbers[name][i] = value
        if alone:
            held = held.with_answers({i: s.compact for i, s in alone.items()})
        source = Source(problem, data, None, problem.atoms, prove, found.twins)
        return cls(numbers, messages, held, free, Asked.of(problem), source, data_names)

    # A sequence -------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, which: int | str) -> Solution: ...
    @overload
    def __getitem__(self, which: slice) -> Solutions: ...
    def __getitem__(self, which: int | str | slice) -> Solution | Solutions:
        if isinstance(which, slice):
            return self._taken(np.arange(len(self))[which])
        if isinstance(which, str):
            if self.data_names is None:
                raise ValueError(f"answers have names where B is a data frame; got {which!r}: give a number")
            which = int(places("an answer's name", [which], self.data_names)[0])
        i = range(len(self))[which]
        n = {name: column[i] for name, column in self._numbers.items()}
        face, c, figures = self._held.face(i), self._coefficients(i), figures_of(n)
        asked, source = replace(self._asked, alpha=maybe(n["alpha"]), classes=self._classes[i]), self._source
        if source is None:
            certificate = Certificate(figures, None, asked, self._prints[i])
        elif STATUSES[n["status"]] is Status.BAD_DATA:  # there is no such problem
            certificate = Certificate(figures, None, asked, replace(self._print, data=source.digest(i)))
        else:
            certificate = Certificate(figures, Proof(partial(source.proven, i, face, c, figures)), asked)
        return Solution(
            face,
            c,
            status=STATUSES[n["status"]],
            success=bool(n["success"]),
            message=self._message(i),
            loss=float(n["loss"]),
            misfit=float(n["misfit"]),
            r2=float(n["r2"]),
            beside=Told(self._free[i], self._intercept),
            several=asked.classes is not None and asked.classes.each,
            ridge=float(n["ridge"]),
            iterations=int(n["iterations"]),
            products=int(n["products"]),
            svd_products=int(n["svd_products"]),
            certificate=certificate,
            held_out=maybe(n["held_out"]),
        )

    def _coefficients(self, i: int) -> FloatArray:
        return self._held.c[self._held.starts[i] : self._held.starts[i + 1]]

    def _message(self, i: int) -> str:
        said, source, n = self._messages[i], self._source, self._numbers
        if said is None:
            assert source is not None
            one = {name: column[i] for name, column in n.items()}
            said = self._messages[i] = source.message(i, STATUSES[one["status"]], self._held.face(i), one)
        return said

    @cached_property
    def _print(self) -> Fingerprint:
        """That of the first answer's problem: one product for an operator."""
        assert self._source is not None
        with ledger.opened():
            return Fingerprint.of(self._source.problem)

    def _taken(self, some: IntArray) -> Solutions:
        return Solutions(
            {name: column[some] for name, column in self._numbers.items()},
            [self._messages[i] for i in some],
            self._held.taken(some),
            self._free[some],
            self._asked,
            [self._prints[i] for i in some] if self._source is None else self._source.taken(some),
            None if self.data_names is None else tuple(self.data_names[i] for i in some),
            [self._classes[i] for i in some],
        )

    def __repr__(self) -> str:
        return words.answers(self, int(self._numbers["success"].sum()))

    report, _repr_html_ = reported, pages.answers

    # Side by side -----------------------------------------------------------------------------------------------------

    @property
    def success(self) -> bool:
        """Whether what was asked holds for all of them."""
        return bool(self._numbers["success"].all())

    @property
    def message(self) -> str:
        """How many ended how."""
        ends = Counter(self.status)
        return " ".join(f"{count} of {len(self)}: {status.value}" for status, count in ends.items())

    @property
    def status(self) -> list[Status]:
        """Why each run ended."""
        return [STATUSES[code] for code in self._numbers["status"]]

    @property
    def indices(self) -> list[Array]:
        """Which atoms, for each data vector."""
        return self._held.labels()

    @property
    def names(self) -> list[Array | None]:
        """What they are called: see `Solution.names`."""
        return [names_of(self._held.face(i), self._asked.called) for i in range(len(self))]

    @property
    def coefficients(self) -> list[Array]:
        """Their coefficients."""
        return self._held.values()

    @property
    def sparse(self) -> sp.csc_array:
        """The coefficients in compressed columns, an atom a row and a data vector a column: indptr, indices, data. For
        single atoms that are numbered; x is the same where those are the entries of x."""
        X = self._held.sparse()
        if X is None:
            raise AttributeError("atoms are not single ones that are numbered: indices and coefficients have them")
        return X

    @property
    def x(self) -> Array:
        """The models side by side, n x p."""
        return self._held.points()

    @property
    def loss(self) -> FloatArray:
        return self._numbers["loss"].copy()

    @property
    def misfit(self) -> FloatArray:
        return self._numbers["misfit"].copy()

    @property
    def r2(self) -> FloatArray:
        """nan where it has no meaning: see `Solution`."""
        return self._numbers["r2"].copy()

    @property
    def cardinality(self) -> Array:
        return self._numbers["cardinality"].copy()

    @property
    def free_coefficients(self) -> Array:
        """Of the free columns, q x p."""
        return np.moveaxis(self._free, 0, -1)

    @property
    def intercept(self) -> Array:
        """Those of free="intercept", one for each data vector, or a row of them where each has classes; 0 where there
        is none: see `Solution.intercept`."""
        if self._intercept:
            return self._free[:, 0].copy()
        return np.zeros((len(self), *np.shape(self[0].intercept if len(self) else 0.0)))

    @property
    def products(self) -> int:
        """All products with M and M*."""
        return int(self._numbers["products"].sum())

    def predict(self, M_new: object, *, free: npt.ArrayLike | None = None) -> Array:
        """What the models say about data not seen, one column each."""
        M_new = self._measured(M_new)
        return np.stack([s.predict(M_new, free=free) for s in self], axis=1)

    @property
    def classes(self) -> list[Array | list[Array] | None]:
        """The classes of each data vector, where data were labels: see `Solution.classes`."""
        return [None if one is None else one.told for one in self._classes]

    def predict_proba(self, M_new: object, *, free: npt.ArrayLike | None = None) -> FloatArray:
        """The probabilities of the classes for data not seen: see `Solution.predict_proba`. Data vectors are told apart
        by the second axis, classes by the last."""
        M_new = self._measured(M_new)
        return np.stack([s.predict_proba(M_new, free=free) for s in self], axis=1)

    def _measured(self, M_new: object) -> Operator:
        """New data as an operator, once for all."""
        return as_operator(frames.arranged("M_new", M_new, self._asked.called.columns), "M_new")

    # A value ----------------------------------------------------------------------------------------------------------

    def save(self, file: files.PathLike) -> None:
        """Write to a file under the very name given, all or nothing; M and B are not in it."""
        files.save(file, self.kept())

    def attach(
        self, M: object, B: npt.ArrayLike, *, atoms: AtomicSet | None = None, loss: Loss | None = None,
        free: object = None,
    ) -> Solutions:  # fmt: skip
        """These answers with M and B, which they had before: see `Solution.attach`. One product for all of them."""
        data = np.asarray(frames.table("B", B, self.data_names))
        if data.ndim != 2 or data.shape[1] != len(self):
            raise ValueError(f"B must have {len(self)} columns, one per answer; got shape {data.shape}")
        bad = self._numbers["status"] == coded(Status.BAD_DATA)
        first = np.zeros(len(data)) if bad.all() else data[:, bad.argmin()]
        return self.attached_to(self._asked.again(M, first, atoms, loss, free), data)

    def attached_to(self, problem: Problem, data: Array) -> Solutions:
        """These answers with their problem again, for the first column that holds data, and with the data."""
        first = Fingerprint.of(problem)
        for i, known in enumerate(self._fingerprints()):
            known.refuse(replace(first, data=digest_of(problem, data[:, i])))
        units, numbers = unit_atoms(problem) if self._numbers["in_units"].any() else None, self._numbers
        if units is None:  # relaxations in units that are not at hand are forgotten
            numbers = {**numbers, "relaxation": np.where(numbers["in_units"], -1, numbers["relaxation"])}
        source, asked = Source(problem, data, None, problem.atoms if units is None else units), Asked.of(problem)
        said = [self._message(i) for i in range(len(self))]
        return Solutions(numbers, said, self._held, self._free, asked, source, self.data_names, self._classes)

    def _fingerprints(self) -> list[Fingerprint]:
        """Of all answers: one product for an operator."""
        source = self._source
        if source is None:
            return self._prints
        return [replace(self._print, data=source.digest(i)) for i in range(len(self))]

    def __copy__(self) -> Solutions:
        return self._taken(np.arange(len(self)))

    def __deepcopy__(self, memo: dict[int, object]) -> Solutions:
        return self._taken(np.arange(len(self)))

    def __reduce__(self) -> tuple[Callable[[Kept], Solutions], tuple[Kept]]:
        return restored, (self.kept(),)

    def kept(self) -> Kept:
        """All of it but M and b, for files and pickles."""
        prints = self._fingerprints()
        first = None if not prints else prints[0].plain()
        told: dict[str, kept.Plain] = {
            "intercept": self._intercept,
            "asked": self._asked.plain(),
            "fingerprint": first,
            "messages": [self._message(i) for i in range(len(self))],
            "classes": [None if one is None else one.plain() for one in self._classes],
            "data_names": None if self.data_names is None else [*self.data_names],
        }
        arrays = {**self._numbers, "c": self._held.c, "starts": self._held.starts, "free": self._free}
        arrays["digests"] = np.array([known.data for known in prints], dtype="U32")
        X = self._held.sparse()
        if X is not None:
            arrays["classes"], told["count"] = X.indices, int(X.shape[0])
        return Kept("answers", told, arrays, (kept.packed([self._held.face(i).kept() for i in range(len(self))]),))


def restored(it: Kept) -> Solutions:
    """The answers that were kept, without M and b."""
    told, arrays = it.told, it.arrays
    faces, c = [files.face_of(face) for face in kept.unpacked(it.inner[0])], arrays["c"]
    if np.diff(arrays["starts"]).tolist() != [face.dim for face in faces] or c.size != arrays["starts"][-1]:
        raise ValueError("there must be a coefficient for each dimension of the faces")
    for name in ("c", "free", *NUMBERS.keys() & arrays.keys()):
        kept.reals(arrays[name], len(faces) if name in NUMBERS else None)
    classes, count = arrays.get("classes"), told.get("count", 0)
    first = None if told["fingerprint"] is None else Fingerprint.read(told["fingerprint"])
    prints = [] if first is None else [replace(first, data=str(known)) for known in arrays["digests"]]
    named = told.get("data_names")
    return Solutions(
        {name: arrays[name] if name in arrays else np.full(len(faces), EARLIER[name]) for name in NUMBERS},
        [str(message) for message in kept.rows(told["messages"])],
        Faces(faces, c, arrays["starts"], classes, count if isinstance(count, int) else 0),
        arrays["free"],
        Asked.read(told["asked"]),
        prints,
        None if named is None else tuple(str(label) for label in kept.rows(named)),
        [None if one is None else Classes.read(one) for one in kept.rows(told.get("classes", []))],
    )


files.READERS["answers"] = restored
