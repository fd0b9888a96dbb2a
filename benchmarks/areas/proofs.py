"""Proofs that no other k atoms are better: seconds until they are complete, beside those of others who prove."""

from __future__ import annotations

from benchmarks.records import Bar, Case, Limit, Part, Who

OURS = Who("fewatoms", "ours_proofs.prove")
BRIEF = Who("fewatoms", "ours_proofs.prove", {"seconds": 20.0})
L0BNB = Who("l0bnb", "l0bnb.prove")
OKRIDGE = Who("okridge", "okridge.prove")  # it asks for at least as many rows as columns
EFFORTS = tuple(
    Who(f"fewatoms, {effort}", "ours_proofs.prove", {"seconds": 20.0, "effort": effort})
    for effort in ("quick", "normal", "thorough")
)

DESIGNS = (("independent", 5.0), ("independent", 1.0), ("correlated", 5.0), ("correlated", 1.0))
SIZES = {(100, 50, 5): 0.2, (200, 100, 8): 0.2, (500, 1000, 10): 0.5, (1000, 5000, 10): 0.5}
SEVERAL = 5.0  # CPU seconds for independent entries as loud as the noise, 500 x 1000, ridge .1


def _most(m: int, n: int, k: int, ridge: float, design: str, snr: float) -> float | None:
    """CPU seconds that a proof may take; None where none is promised."""
    if n == 1000 and ridge < 1 and snr == 1.0:
        return SEVERAL if design == "independent" else None
    return SIZES[m, n, k]


def _promised(most: float | None) -> tuple[Bar, ...]:
    return () if most is None else (Bar("cpu", Limit(most)), Bar("proven", Limit(1.0), at_least=True))


def _planted(who: tuple[Who, ...], sizes: tuple[tuple[int, int, int], ...], ridges: tuple[float, ...]) -> list[Case]:
    found = []
    for m, n, k in sizes:
        for ridge in ridges:
            for design, snr in DESIGNS:
                given = {"m": m, "n": n, "k": k, "ridge": ridge, "design": design, "snr": snr}
                most = _most(m, n, k, ridge, design, snr)
                bars = _promised(most) if OURS in who else ()
                peers = tuple(w for w in who if w is not OKRIDGE or m >= n)
                beside = tuple(
                    Bar("cpu", Limit(rival=peer.name), paired=True)
                    for peer in peers
                    if not peer.ours and most is not None
                )
                name = f"{m} x {n}, k = {k}, ridge {ridge:g}, {design}, signal to noise {snr:g}"
                quick = {"m": 60, "n": 30, "k": 4} if n < 1000 else None
                found.append(Case(name, "proven.planted", given, peers, (*bars, *beside), quick=quick))
    return found


ridge = Part(
    "proofs.ridge",
    "planted columns with a ridge: until 1e-4, 60 seconds at most",
    (
        *_planted((OURS, L0BNB, OKRIDGE), ((100, 50, 5), (200, 100, 8)), (0.1, 1.0)),
        *_planted((OURS, L0BNB), ((500, 1000, 10),), (0.1, 1.0)),
        *_planted((OURS,), ((1000, 5000, 10),), (1.0,)),
    ),
    draws=2,
    remarks=(
        "l0bnb is told a price of atoms at which k of them are best, a bound on coefficients and our answer; okridge "
        "runs where there are at least as many rows as columns.",
    ),
)

plain = Part(
    "proofs.plain",
    "no ridge, no cap: until 1e-4",
    (
        *(
            Case(
                f"diabetes and products, 442 x 64, k = {k}", "proven.diabetes", {"k": k}, (OURS,),
                _promised(most), quick={} if k == 5 else None,
            )
            for k, most in ((5, 0.3), (8, 2.0), (10, 5.0))
        ),
        *(
            Case(
                f"200 x 100, k = 8, {design}, signal to noise {snr:g}", "proven.planted",
                {"m": 200, "n": 100, "k": 8, "ridge": 0.0, "design": design, "snr": snr}, (OURS,),
                _promised(most),
                quick={"m": 60, "n": 30, "k": 4},
            )
            for (design, snr), most in zip(DESIGNS, (0.5, 0.5, 8.0, None), strict=True)
        ),
    ),
    draws=2,
)  # fmt: skip

real = Part(
    "proofs.real",
    "genes and minerals: until 1e-4",
    (
        *(
            Case(
                f"{name}, k = {k}, ridge {ridge:g}", "proven.genes", {"name": name, "k": k, "ridge": ridge}, (OURS,),
                _promised(most), files=(f"{name}.npz",),
                quick=None,
            )
            for name, k, ridge, most in (
                ("riboflavin", 5, 1.0, 1.0), ("riboflavin", 10, 1.0, 1.0), ("riboflavin", 5, 0.3, 15.0),
                ("leukemia", 10, 1.0, 0.5),
            )
        ),
        Case(
            "USGS, a pixel of three minerals, cap 1", "proven.minerals", {}, (OURS,),
            _promised(3.0), files=("usgs_spectra.npz",),
        ),
    ),
    draws=3,
)  # fmt: skip

already = Part(
    "proofs.already",
    "how often the answer of fit was the best already, by effort",
    (
        *_planted(EFFORTS, ((100, 50, 5), (200, 100, 8)), (0.1, 1.0)),
        *_planted(EFFORTS, ((500, 1000, 10),), (1.0,)),
        *(
            Case(f"diabetes and products, 442 x 64, k = {k}", "proven.diabetes", {"k": k}, EFFORTS, quick=None)
            for k in (5, 8, 10)
        ),
    ),
    draws=4,
)

PARTS = (ridge, plain, real, already)
