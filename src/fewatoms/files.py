"""Files of answers: written under the very name given, whole or not at all, and read without pickle.

A file is a NumPy archive (npz): arrays, and one header in JSON that says what they are, see docs/format.md. `load`
reads what the `save` of any answer wrote. Versions of fewatoms read the files of earlier ones; a file of a later format
is refused.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np
from scipy.sparse.linalg import LinearOperator

from fewatoms import _checks, kept
from fewatoms._types import Array, FloatArray
from fewatoms.atoms.mapped import LinearMap
from fewatoms.faces import (
    BlockFactors,
    Cone,
    Coordinates,
    Explicit,
    Face,
    Factors,
    GroupCoordinates,
    MappedFace,
    NonnegativeFactors,
    ScaledFace,
    SumFace,
    SymmetricFactors,
    Tiles,
)
from fewatoms.io.arrays import MOST_MEMBERS, header
from fewatoms.kept import Kept, Plain, flattened, gathered
from fewatoms.whole import replacing, special

if TYPE_CHECKING:
    from fewatoms.lowrank import LowRank
    from fewatoms.path import Path
    from fewatoms.proofs.proof import Proof
    from fewatoms.solution import Solution
    from fewatoms.solutions import Solutions

FORMAT = 1  # of the files that are written here
HEADER = "fewatoms"
PLAIN_NAME = re.compile(r"[^/\\:]+\.npy")
ROOT = "it"

PathLike = str | os.PathLike[str]

# What each kind of file is read by. The modules of the answers put themselves here.
HOMES = {
    "answer": "fewatoms.solution",
    "answers": "fewatoms.solutions",
    "path": "fewatoms.path",
    "low rank": "fewatoms.lowrank",
    "proof": "fewatoms.proofs.proof",
}
READERS: dict[str, Callable[[Kept], Solution | Solutions | Path | LowRank | Proof]] = {}


def load(file: PathLike) -> Solution | Solutions | Path | LowRank | Proof:
    """Read what a `save` wrote: a Solution, Solutions, a Path, a LowRank model or a Proof, each as it was.

    M and b are not in it: `s.attach(M, b)` gives them back. Nothing in the file is executed.

    Parameters
    ----------
    file : str or path
    """
    name = _checks.file_name(file)
    try:
        content = _read(name)
        import_module(HOMES[content.kind])  # whoever reads it has registered by then
        return READERS[content.kind](content)
    except (FileNotFoundError, PermissionError, _Refused):
        raise
    except Exception as error:
        raise ValueError(f"file must be one that save() wrote; {name!r} is not, or not all of it") from error


class _Refused(ValueError):
    """What is told as it is: a file of a later version, or none at all."""


def _read(name: str) -> Kept:
    if special(name):  # which may keep us waiting
        raise _Refused(f"file must be one that save() wrote; {name!r} is a pipe, a device or a socket")
    with open(name, "rb") as stream:
        version, content = read(stream, FORMAT)
    if content is None:
        raise _Refused(
            f"file must be one that save() wrote in format {FORMAT} or before; {name!r} has format {version}: "
            "a later version of fewatoms wrote it"
        )
    if content.kind == "checkpoint":
        raise _Refused(f"file must be one that save() wrote; {name!r} is a checkpoint: resume(file, M, b) goes on")
    return content


def read(stream: BinaryIO, most: int) -> tuple[int, Kept | None]:
    """The format of an archive, and what is in it; None where that is a later one than the latest that is known."""
    with np.load(stream, allow_pickle=False) as found:
        _refuse_strange(found.zip)
        said = kept.section(json.loads(found[HEADER].tobytes().decode()))
        version = kept.whole(said["format"])
        if version < 1:
            raise ValueError(f"there is no format {version}")
        if version > most:
            return version, None
        arrays = {key: found[key] for key in found.files if key != HEADER}
    for key, labels in kept.section(said["labels"]).items():
        arrays[key] = _objects([_label_from(label) for label in kept.rows(labels)])
    return version, gathered(said["content"], arrays, ROOT)


def _refuse_strange(archive: zipfile.ZipFile) -> None:
    """Members that `save` does not write: names that lead out of a folder or come twice, anything packed, which may be
    larger than it looks, and arrays that are not as long as they declare."""
    members = archive.infolist()
    if len({member.filename for member in members}) < len(members) or len(members) > MOST_MEMBERS:
        raise ValueError(f"members of the archive must have names of their own, and be at most {MOST_MEMBERS}")
    for member in members:
        if not PLAIN_NAME.fullmatch(member.filename):
            raise ValueError(f"members of the archive must have plain names; got {member.filename!r}")
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"members of the archive must not be compressed; {member.filename!r} is")
        with archive.open(member) as stream:
            told = header(cast(BinaryIO, stream), member.filename)
            if told.size != member.file_size - stream.tell():
                raise ValueError(f"{member.filename!r} declares {told.size} bytes and has {member.file_size}")


def members(content: Kept, version: int) -> dict[str, Array]:
    """What an archive of that holds: the header, and arrays."""
    tree, arrays = flattened(content, ROOT)
    labels: dict[str, Plain] = {key: [_label(v) for v in array.ravel()] for key, array in _of_objects(arrays)}
    about: Plain = {"format": version, "labels": labels, "content": tree}
    plain = {key: array for key, array in arrays.items() if key not in labels}
    return {HEADER: np.frombuffer(json.dumps(about).encode(), dtype=np.uint8), **plain}


def save(file: PathLike, content: Kept) -> None:
    """Write to a file under the very name given, replacing what is there when all is written."""
    told = members(content, FORMAT)
    name = os.path.realpath(_checks.file_name(file))
    if not os.path.isdir(os.path.dirname(name)):
        raise FileNotFoundError(f"file must lie in a folder that is there; got {os.fspath(file)!r}")
    if os.path.isdir(name):
        raise IsADirectoryError(f"file must be the name of a file; got the folder {os.fspath(file)!r}")
    with replacing(name) as beside, open(beside, "wb") as stream:
        np.savez(stream, allow_pickle=False, **told)


# Labels of any type --------------------------------------------------------------------------------------------------


def _of_objects(arrays: Mapping[str, Array]) -> list[tuple[str, Array]]:
    return [(key, array) for key, array in arrays.items() if array.dtype.kind == "O"]


def _label(value: object) -> Plain:
    """A label of a group for JSON: a number, a string, None, or a tuple of these."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, tuple):
        return {"tuple": [_label(v) for v in value]}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"labels must be numbers, strings or tuples of them to be saved; got {value!r}")


def _label_from(value: Plain) -> object:
    return tuple(_label_from(v) for v in kept.rows(value["tuple"])) if isinstance(value, dict) else value


def _objects(values: Sequence[object]) -> Array:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# Faces ---------------------------------------------------------------------------------------------------------------


def face_of(content: Kept) -> Face:
    """The face that was kept."""
    return FACES[content.kind](content)


def _coordinates(it: Kept) -> Face:
    told, arrays = it.told, it.arrays
    cone, rays, shape = Cone(told["cone"]), told["rays"] is True, kept.shape(told["shape"])
    indices = kept.places(arrays["indices"], prod(shape), arrays["indices"].size)
    return Coordinates(indices, kept.reals(arrays["signs"], indices.size), shape, cone, rays)


def _groups(it: Kept) -> Face:
    arrays, shape = it.arrays, kept.shape(it.told["shape"])
    size, dim = arrays["group"].size, arrays["indices"].size
    if len(arrays["names"]) != size or len(kept.starts(arrays["starts"], dim)) != size + 1:
        raise ValueError(f"there must be a name and a beginning for each of {size} groups")
    kept.places(arrays["indices"], prod(shape), dim)
    for name, count in (("directions", dim), ("group", size), ("weights", size)):
        kept.reals(arrays[name], count)
    return GroupCoordinates(**arrays, shape=shape)


def _explicit(it: Kept) -> Face:
    atoms, names = it.arrays["atoms"], it.arrays.get("names")
    if names is not None and len(names) != len(atoms):
        raise ValueError(f"there must be a name for each of {len(atoms)} atoms; got {len(names)}")
    return Explicit(kept.numbers(atoms, max(1, atoms.ndim)), names, Cone(it.told["cone"]))


def _nonnegative(it: Kept) -> Face:
    P, Q = (kept.reals(kept.numbers(it.arrays[name], 2)) for name in "PQ")
    if P.shape[1] != Q.shape[1]:
        raise ValueError(f"factors must have one column per atom each; got shapes {P.shape}, {Q.shape}")
    return NonnegativeFactors(P, Q)


def _block_factors(it: Kept) -> Face:
    shape, sides = kept.shape(it.told["shape"]), kept.shape(it.told["sides"])
    if len(shape) != 2 or len(sides) != 2 or min(*shape, *sides) < 1:
        raise ValueError(f"there must be blocks of a matrix; got {sides} of {shape}")
    tiles = Tiles((shape[0], shape[1]), (sides[0], sides[1]))
    blocks = kept.places(it.arrays["blocks"], tiles.count, len(it.inner))
    faces = [face_of(part) for part in it.inner]
    for block, face in zip(blocks, faces, strict=True):
        if not isinstance(face, Factors) or face.shape != tiles.size(block):
            raise ValueError(f"block {block} must have factors of shape {tiles.size(block)}; got {face.shape}")
    if (np.diff(blocks) <= 0).any():
        raise ValueError(f"blocks must be told once each, rising; got {blocks}")
    size = sum(face.size for face in faces)
    order = kept.places(it.arrays["order"], size, size)
    return BlockFactors(tiles, blocks, tuple(face for face in faces if isinstance(face, Factors)), order)


def _sum(it: Kept) -> Face:
    faces = tuple(face_of(part) for part in it.inner)
    return SumFace(faces, it.told["joined"] is True, kept.shape(it.told["shape"]))


def _image(it: Kept) -> Face:
    inner = face_of(it.inner[0])
    images, shape = kept.numbers(it.arrays["images"], 2), kept.shape(it.told["shape"])
    if images.shape != (prod(shape), inner.dim):
        raise ValueError(f"there must be images of {inner.dim} atoms, of shape {shape}; got shape {images.shape}")
    return MappedFace(spanned(inner, images), inner, shape)


FACES: Mapping[str, Callable[[Kept], Face]] = {
    "coordinates": _coordinates,
    "groups": _groups,
    "explicit": _explicit,
    "factors": lambda it: Factors(kept.numbers(it.arrays["U"], 2), kept.numbers(it.arrays["V"], 2)),
    "block factors": _block_factors,
    "nonnegative factors": _nonnegative,
    "symmetric factors": lambda it: SymmetricFactors(kept.numbers(it.arrays["V"], 2)),
    "sum": _sum,
    "multiple": lambda it: ScaledFace(kept.real(it.told["scale"]), face_of(it.inner[0])),
    "image": _image,
}


def spanned(inner: Face, images: FloatArray) -> LinearMap:
    """The map that takes the points of a face to combinations of these images, and what is orthogonal to them to 0.

    Of a map that was not kept this is what its answer needs.
    """
    gram = np.stack([inner.adjoint(inner.point(e)) for e in np.eye(inner.dim)]) if inner.dim else np.zeros((0, 0))
    orthonormal = np.array_equal(gram, np.eye(inner.dim))

    def solved(v: FloatArray) -> FloatArray:
        return v if orthonormal else np.asarray(np.linalg.lstsq(gram, v, rcond=None)[0], dtype=np.float64)

    n = int(np.prod(inner.shape))
    return LinearMap(
        LinearOperator(
            (len(images), n),
            matvec=lambda w: images @ solved(inner.adjoint(np.reshape(w, inner.shape))),
            rmatvec=lambda z: inner.point(solved(images.T @ np.ravel(z))).ravel(),
            dtype=np.float64,
        ),
        "operator",
    )


__all__ = ["FORMAT", "load"]
