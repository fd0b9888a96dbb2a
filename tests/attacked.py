"""Reads files with little memory and tells of each what became of it: a process of its own for hostile files.

    python attacked.py FOLDER < lines of "reader name"

For each file a line of JSON before, so that who dies is known, and one after.
"""

import hashlib
import json
import os
import resource
import signal
import sys
import time
import warnings
from pathlib import Path

import h5py  # noqa: F401
import numpy as np
import pyarrow.feather
import pyarrow.parquet  # noqa: F401
import scipy.io  # noqa: F401
import scipy.sparse as sp
import sklearn.datasets  # noqa: F401
from PIL import Image

import fewatoms as fa
from fewatoms import io

ROOM = 140 * 10**6
SECONDS = 20
Image.init()


def status(word):
    with open("/proc/self/status") as file:
        return next((1024 * int(line.split()[1]) for line in file if line.startswith(word)), 0)


def kept(*parts):
    """A digest of arrays and words."""
    digest = hashlib.sha256()
    for part in parts:
        if sp.issparse(part):
            part = part.tocoo()
            digest.update(kept(part.row, part.col, part.data, np.array(part.shape)).encode())
        elif isinstance(part, np.ndarray) and part.dtype.kind == "O":  # words may be long, and the same in all rows
            places = {}
            codes = [places.setdefault(word, len(places)) for word in part]
            digest.update(kept(*places, np.array(codes, dtype=int)).encode())
        elif isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.kind}{part.shape}".encode())
            digest.update(repr(part.tolist()).encode("utf-8", "replace"))
        else:
            digest.update(repr(part).encode("utf-8", "replace"))
    return digest.hexdigest()


def table(path):
    found = io.read_table(path)
    lengths = {len(column) for column in found.columns.values()}
    assert len(lengths) == 1, lengths
    return kept(*found.columns, *found.columns.values())


def grid(path):
    found = io.read_grid(path)
    assert found.values.ndim == 2
    assert min(found.values.shape) > 0
    assert found.names is None or len(found.names) == found.values.shape[1]
    assert found.target is None or len(found.target) == found.values.shape[0]
    if sp.issparse(found.values):
        found.values.check_format(full_check=True)
    return kept(found.values, found.names, found.target)


def entries(path):
    found = io.read_entries(path)
    assert len(found.rows) == len(found.cols) == len(found.values)
    assert 0 <= found.rows.min() <= found.rows.max() < len(found.row_ids)
    assert 0 <= found.cols.min() <= found.cols.max() < len(found.col_ids)
    return kept(found.rows, found.cols, found.values, found.row_ids, found.col_ids)


def stack(path):
    found = io.read_stack(path)
    assert len(found.names) == len(found.frames)
    return kept(found.frames)


def load(path):
    found = fa.load(path)
    return kept(str(found), repr(found))


READERS = {"table": table, "grid": grid, "entries": entries, "stack": stack, "load": load}


class TooLong(BaseException):
    """Not to be taken for an error of a file."""


def late(*_):
    raise TooLong


def read(reader, path):
    """What became of a file: refused with words, read with a digest, or an error of another kind."""
    start = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        told = {"outcome": "read", "words": READERS[reader](path)}
    except ValueError as error:
        fine = isinstance(error, io.Refused) or reader == "load"
        told = {
            "outcome": "refused" if fine else "error",
            "words": f"{'' if fine else type(error).__name__} {error}".strip(),
        }
    except TooLong:
        told = {"outcome": "late", "words": ""}
    except Exception as error:
        told = {"outcome": "error", "words": f"{type(error).__name__} {error}"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {**told, "seconds": time.perf_counter() - start}


def tell(**words):
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def main():
    os.chdir(sys.argv[1])
    warnings.simplefilter("error")
    signal.signal(signal.SIGALRM, late)
    for line in sys.stdin:
        reader, name = line.split(maxsplit=1)
        tell(began=name.strip())
        Path("/proc/self/clear_refs").write_text("5")
        before = status("VmRSS")
        limit = status("VmData") + ROOM
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))
        told = read(reader, name.strip())
        resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        tell(name=name.strip(), **told, more=status("VmHWM") - before)


if __name__ == "__main__":
    main()
