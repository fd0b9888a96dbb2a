"""Proofs over groups and with losses other than least squares: seconds until they are complete."""

from __future__ import annotations

from benchmarks.records import Bar, Case, Limit, Part, Who

OURS = Who("fewatoms", "ours_proofs_smooth.prove")
MOST = 5.0  # CPU seconds
DONE = (Bar("cpu", Limit(MOST)), Bar("proven", Limit(1.0), at_least=True))
CORRELATIONS = (0.0, 0.5, 0.9)
GROUPS = {"m": 200, "count": 40, "size": 5, "k": 4, "ridge": 0.3}
SINGLE = {"m": 300, "n": 60, "k": 4, "ridge": 1.0}

groups = Part(
    "proofs.groups",
    "200 x 200, 4 of 40 groups of 5 columns, ridge .3: until 1e-4",
    tuple(
        Case(
            f"correlation {r:g}, signal to noise {snr:g}", "proven_smooth.groups",
            {**GROUPS, "correlation": r, "snr": snr}, (OURS,), DONE, quick={"m": 60, "count": 12, "size": 3},
        )
        for r in CORRELATIONS
        for snr in (5.0, 1.0)
    ),
    draws=5,
)  # fmt: skip

smooth = Part(
    "proofs.smooth",
    "300 x 60, k = 4, ridge 1 and .1: until 1e-4",
    tuple(
        Case(
            f"{loss}, correlation {r:g}, ridge {ridge:g}", "proven_smooth.smooth",
            {**SINGLE, "correlation": r, "loss": loss, "ridge": ridge}, (OURS,), DONE, quick={"m": 80, "n": 20},
        )
        for loss in ("logistic", "huber", "multinomial")
        for r in CORRELATIONS
        for ridge in (1.0, 0.1)
    ),
    draws=5,
)  # fmt: skip

PARTS = (groups, smooth)
