"""How much memory is free, of the machine, of the control group and within this process's limits; what a fit needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

PROCESS, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
UNLIMITED = 2**60  # what control groups without a limit say, or more
UNASKED = 64_000_000  # bytes that nobody asks about: looking takes longer than many a fit


class NotEnough(MemoryError):
    """What is asked for needs more memory than is free: said before the work, with both figures."""


def free(process: Path = PROCESS, groups: Path = GROUPS) -> int | None:
    """Bytes that can still be used: of the machine, of the control group that this process is in, and below the limits
    that were set for it (`ulimit -v`, `ulimit -d`); None where nobody says."""
    return min([*_known(process, groups), *_limits(process)], default=None)


def afford_fit(needs: Mapping[str, float], remedy: str) -> None:
    """Refuse a fit that needs more memory than there is, before it begins.

    needs : bytes, by what they are for, beside M and b, which are there
    remedy : what would need less
    """
    total = sum(needs.values())
    if total < UNASKED:
        return
    there = free()
    if there is not None and total > there:
        largest = sorted(needs.items(), key=lambda pair: -pair[1])
        parts = ", ".join(f"{told(size)} for {what}" for what, size in largest if size > 0.02 * total)
        raise NotEnough(f"this fit needs about {told(total)} ({parts}); {told(there)} are free: {remedy}")


def told(size: float) -> str:
    """A size for a message."""
    unit, name = next((pair for pair in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")) if size >= pair[0]), (1e3, "kB"))
    return f"{size / unit:.3g} {name}"


def _known(process: Path, groups: Path) -> Iterator[int]:
    available = _figures(process / "meminfo").get("MemAvailable:")
    if available is not None:
        yield 1024 * available
    for folder in _folders(process, groups):
        for limit, usage in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            most, used = _number(folder / limit), _number(folder / usage)
            if most is not None and used is not None and most < UNLIMITED:
                given_back = _figures(folder / "memory.stat").get("inactive_file", 0)  # when somebody needs it
                yield max(0, most - used + given_back)


def _limits(process: Path) -> Iterator[int]:
    """What is left of the addresses and of the data that this process may have."""
    with suppress(ImportError):  # other systems have no such limits
        import resource

        used = _figures(process / "self" / "status")
        for kind, word in ((resource.RLIMIT_AS, "VmSize:"), (resource.RLIMIT_DATA, "VmData:")):
            most = resource.getrlimit(kind)[0]
            if most != resource.RLIM_INFINITY and word in used:
                yield max(0, most - 1024 * used[word])


def _folders(process: Path, groups: Path) -> Iterator[Path]:
    """Where the limits of this process are: of its own group and of those around it, in both versions."""
    for line in _text(process / "self" / "cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if number == "0" or "memory" in controllers.split(","):
            root = groups if number == "0" else groups / "memory"
            inner = root / name.strip("/")
            yield from dict.fromkeys([inner, *(p for p in inner.parents if p.is_relative_to(root)), root])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _figures(path: Path) -> dict[str, int]:
    """The first number of each line, by its first word."""
    words = (line.split() for line in _text(path).splitlines())
    return {line[0]: int(line[1]) for line in words if len(line) > 1 and line[1].isdigit()}
