"""The certificate in plain words: what was checked, what is proven, what is not."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from fewatoms import words

if TYPE_CHECKING:
    from fewatoms.certificates import Certificate

# What the sentences of a certificate mean, for readers who do not know its terms.
PLAINLY = {
    "unreachable": "Whatever the coefficients, more of the data is left than was allowed: only a larger bound helps.",
    "checked": "The figures were computed again from the atoms and coefficients alone, after the search had ended.",
    "bound": "alpha is the largest loss that was allowed.",
    "gauge": (
        "The gauge is the total size of the coefficients. This holds for every choice of atoms, however many: nothing "
        "smaller fits the data as well as was asked."
    ),
    "relaxation": (
        "The relaxation is an easier problem that allows any number of atoms and makes their total size small instead."
        "{where}"
    ),
    "floor": "Nothing does better than this figure, with however many atoms: this answer is at most that far off.",
    "aligned": "Atoms that are aligned less than that are in no solution of the relaxation.",
    "decided": (
        "All other choices were looked at, most of them many at a time: whatever bounds a set of choices from below "
        "bounds each of them. Whoever has the data can check it again."
    ),
    "unknown": "Nothing more is claimed here.",
    "open": (
        "To decide this, all choices of so many atoms would have to be looked at, one by one or many at a time. The "
        "answer is the best that was found, and may be the best there is; that is not proven."
    ),
}
OPEN = ("unknown", "open")


def told(certificate: Certificate) -> str:
    """Both lists, each with a heading."""
    claims = words.claims(certificate)
    where = _range(certificate)
    holds = [claim for claim in claims if claim.kind not in OPEN]
    rest = [claim for claim in claims if claim.kind in OPEN]
    parts = [f"<h3>Checked and proven</h3>{_list(holds, 'claims', where)}"]
    if rest:
        parts.append(f"<h3>Not proven, or not known</h3>{_list(rest, 'claims open', where)}")
    return "".join(parts)


def _range(certificate: Certificate) -> str:
    """Where the optimum of the relaxation is, with both numbers."""
    known = certificate.known().relaxed
    if known is None:
        return ""
    low, high = words.optimum(known)
    if not math.isfinite(high - low):
        return ""
    digits = next((d for d in range(6, 16) if f"{low:.{d}g}" != f"{high:.{d}g}"), 15)
    return (
        f" Its best value lies between {low:.{digits}g} and {high:.{digits}g}: the nearer both are, the farther the "
        "dual vector came from which atoms were read."
    )


def _list(claims: list[words.Claim], kind: str, where: str) -> str:
    """A sentence each; what a kind means is said once."""
    lines, said = [], set()
    for claim in claims:
        plain = PLAINLY[claim.kind].replace("{where}", where)
        shown = "" if claim.kind in said else f'<br><span class="plain">{escape(plain)}</span>'
        said.add(claim.kind)
        lines.append(f"<li>{escape(claim.text)}{shown}</li>")
    return f'<ul class="{kind}">{"".join(lines)}</ul>'
