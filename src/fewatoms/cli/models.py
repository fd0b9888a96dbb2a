"""Files of models: what an answer's `save` writes, with one more array in it that says how tables become matrices.

So `fewatoms.load` reads them as well, and does without that array.
"""

from __future__ import annotations

import io as streams
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from fewatoms import files, kept
from fewatoms.kept import Plain
from fewatoms.whole import replacing

if TYPE_CHECKING:
    from fewatoms._types import Array
    from fewatoms.lowrank import LowRank
    from fewatoms.solution import Solution

HOW = "table"  # the name of that array
FORMAT_OF_HOW = 1


def write(path: Path, answer: Solution | LowRank, how: Plain, arrays: Mapping[str, Array] | None = None) -> None:
    """All or nothing."""
    header = json.dumps({"format": FORMAT_OF_HOW, "how": how}).encode()
    more = {HOW: np.frombuffer(header, dtype=np.uint8), **(arrays or {})}
    with replacing(path) as beside:
        answer.save(beside)
        with zipfile.ZipFile(beside, "a") as archive:
            for name, array in more.items():
                stream = streams.BytesIO()
                np.lib.format.write_array(stream, array, allow_pickle=False)
                archive.writestr(f"{name}.npy", stream.getvalue())


def read(name: str) -> tuple[Solution | LowRank, dict[str, Plain], dict[str, Array]]:
    """The answer, how tables become matrices, and the arrays that belong to that."""
    from fewatoms.io import Refused

    path = Path(name)
    if not path.is_file():
        raise Refused(
            f"{name}: there is no such file" if not path.exists() else f"{name}: must be a file, not a folder or a pipe"
        )
    answer = cast("Solution | LowRank", files.load(path))
    with damaged(name), np.load(path, allow_pickle=False) as found:
        if HOW not in found.files:
            raise Refused(f"{name}: must be a model that `fewatoms fit` or `fewatoms complete` wrote")
        told = kept.section(json.loads(found[HOW].tobytes().decode()))
        if kept.whole(told["format"]) > FORMAT_OF_HOW:
            raise Refused(f"{name}: a later version of fewatoms wrote this model")
        arrays = {key: found[key] for key in found.files if key.startswith(f"{HOW} ")}
        return answer, kept.section(told["how"]), arrays


@contextmanager
def damaged(name: str) -> Iterator[None]:
    """Whatever is not as it was written is refused in one line."""
    from fewatoms.io import Refused

    try:
        yield
    except Refused:
        raise
    except Exception as error:
        raise Refused(
            f"{name}: must be a model that `fewatoms fit` or `fewatoms complete` wrote; it is damaged, or was changed"
        ) from error
