"""Files of answers: what is written is read, exactly; what is not ours, cut off or of a later version is refused."""

import gc
import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fewatoms as fa
from answers import MAPPED, NAMES, answer, assert_same_answer, assert_same_arrays, cases
from contracts import families
from fewatoms import files
from fewatoms.faces import Cone, Coordinates, Explicit, Factors
from fewatoms.kept import Kept, flattened, gathered, packed, unpacked


def assert_same_predictions(s, t, case, exact=True):
    """On the data themselves, and on single entries where those mean something."""
    free = case.words.get("free")
    free = free if isinstance(free, np.ndarray) else None
    tol = {"rtol": 0, "atol": 0 if exact else 1e-12}
    np.testing.assert_allclose(s.predict(case.M, free=free), t.predict(case.M, free=free), **tol)
    if len(t.x.shape) == 2 and not isinstance(case.words["atoms"], fa.Joint):
        np.testing.assert_allclose(s.predict([0, 1], [1, 0]), t.predict([0, 1], [1, 0]), **tol)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read(name, tmp_path):
    s, file = answer(name), tmp_path / "answer"
    s.certificate.gap  # noqa: B018  (what is computed is kept)
    s.save(file)
    assert file.stat().st_size < 10_000
    t = fa.load(file)
    assert isinstance(t, fa.Solution)
    assert_same_answer(t, s, name not in MAPPED)
    assert_same_predictions(t, s, cases()[name], name not in MAPPED)
    assert str(t.certificate) == str(s.certificate)
    for known in ("gap", "primal", "dual", "tau_lower", "beta_bounds", "products"):
        assert getattr(t.certificate, known) == getattr(s.certificate, known), known
    again = tmp_path / "again"
    t.save(again)  # an answer without M and b can be written too
    assert_same_answer(fa.load(again), t)


@pytest.mark.parametrize("file", ["answer.npz", "answer", "answer.fewatoms"])
def test_the_name_is_the_one_given(file, tmp_path):
    for path in (tmp_path / file, str(tmp_path / file)):
        answer("signed").save(path)
        assert [p.name for p in tmp_path.iterdir()] == [file]
        assert fa.load(path).loss == answer("signed").loss


def test_a_second_save_replaces_the_first_and_follows_links(tmp_path):
    file, link = tmp_path / "answer", tmp_path / "link"
    link.symlink_to(file)
    answer("robust").save(file)
    answer("signed").save(link)
    assert link.is_symlink()
    assert fa.load(file).cardinality == 3


def test_a_save_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    file = tmp_path / "answer"
    answer("signed").save(file)
    before = file.read_bytes()

    def fails(stream, **arrays):
        stream.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(files.np, "savez", fails)
    with pytest.raises(OSError, match="no space"):
        answer("robust").save(file)
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["answer"]


def test_labels_that_no_file_can_hold_are_refused(tmp_path):
    labels = np.empty(4, dtype=object)
    labels[:] = [frozenset({i // 2}) for i in range(4)]

    class Odd(Explicit):
        def labels(self):
            return self.names

    face = Odd.of(list(np.eye(4)), (4,), names=labels)
    with pytest.raises(TypeError, match="labels must be numbers, strings or tuples of them"):
        files.save(tmp_path / "face", face.kept())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "labels",
    [np.array(["2020-01", "2021-02"], dtype="datetime64[M]"), np.array([b"a", b"bc"]), np.array([True, False])],
    ids=["dates", "bytes", "truth values"],
)
def test_labels_of_other_types(labels, tmp_path):
    rng = np.random.default_rng(0)
    M = rng.standard_normal((12, 8))
    s = fa.fit(M, M[:, 1] - M[:, 2], atoms=fa.Groups(np.repeat(labels, 4)), k=1)
    s.save(tmp_path / "answer")
    assert_same_arrays(fa.load(tmp_path / "answer").indices, s.indices)


# Every kind -----------------------------------------------------------------------------------------------------------

SETS = {
    **{f"vectors, {name}": (s, (8,)) for name, s in families.vector_sets(8).items()},
    **{f"matrices, {name}": (s, (5, 4)) for name, s in families.matrix_sets(5, 4).items()},
    **{f"square, {name}": (s, (4, 4)) for name, s in families.square_sets(4).items()},
}


def leaves(face):
    """The faces of sets that are no sums."""
    return [face] if len(face.parts) == 1 else [leaf for part in face.parts for leaf in leaves(part)]


def duals(atoms, shape):
    """Dual vectors of a set, complex ones where it takes them."""
    rng = families.generator(12)
    z = rng.standard_normal(shape)
    yield z
    if atoms.takes_complex:
        yield families.hermitian_dual(shape[0])(rng)


@pytest.mark.parametrize(("atoms", "shape"), SETS.values(), ids=SETS)
def test_faces_of_every_set_are_written_and_read(atoms, shape, tmp_path):
    for z in duals(atoms, shape):
        for k in (0, 2):
            face = atoms.expose(z, families.few(atoms, k))
            c = face.project(families.generator(13).standard_normal(face.dim))
            header, arrays = flattened(face.kept(), "it")
            again = files.face_of(gathered(json.loads(json.dumps(header)), arrays, "it"))
            np.testing.assert_allclose(again.point(c), face.point(c), rtol=0, atol=1e-12)
            np.testing.assert_allclose(again.gauge(c), face.gauge(c))
            for part, twin in zip(leaves(again), leaves(face), strict=True):
                assert_same_arrays(part.labels(), twin.labels())


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("atoms", "shape"), SETS.values(), ids=SETS)
def test_answers_over_every_set_are_written_and_read(atoms, shape, tmp_path):
    rng = families.generator(14)
    A = rng.standard_normal((2 * int(np.prod(shape)), 4))
    if shape == (4, 4):
        operators = [fa.Quadratic(A), *([fa.Quadratic(A[:, ::-1] + 1j * A)] if atoms.takes_complex else [])]
    else:
        operators = [rng.standard_normal((12, 8)), families.black_box(rng.standard_normal((12, 8)))]
        operators = operators if shape == (8,) else [fa.Identity(shape), families.matrix_operators(*shape)["sampling"]]
    for M in operators:
        b = np.abs(rng.standard_normal(M.shape[0]))
        s = fa.fit(M, b, atoms=atoms, k=families.few(atoms, 2), max_iterations=3)
        s.save(tmp_path / "answer")
        t = fa.load(tmp_path / "answer")
        assert_same_answer(t, s, exact=False)
        np.testing.assert_allclose(t.predict(M), s.predict(M), atol=1e-10)
        told = {} if s.atoms.kept() else {"atoms": atoms}
        assert t.attach(M, b, **told).certificate.attached


def test_files_that_know_no_names_and_no_r2_are_read(tmp_path):
    """As earlier ones were."""
    s, case = answer("signed"), cases()["signed"]
    many = fa.fit_many(case.M, case.b[:, None], **case.words)
    for one in (s, many):
        whole = one.kept()
        told = {name: value for name, value in whole.told.items() if name not in ("r2", "data_names")}
        told["asked"] = {name: value for name, value in told["asked"].items() if name != "called"}
        arrays = {name: value for name, value in whole.arrays.items() if name != "r2"}
        files.save(tmp_path / "answer", Kept(whole.kind, told, arrays, whole.inner))
        t = fa.load(tmp_path / "answer")
        assert np.isnan(t.r2).all()
        assert_same_arrays(t.x, one.x)
        assert (t.names if one is s else t[0].names) is None


# What is not ours -----------------------------------------------------------------------------------------------------


def written(header, **arrays):
    stream = io.BytesIO()
    np.savez(stream, fewatoms=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
    return stream.getvalue()


def with_member(good, name, data, how=zipfile.ZIP_STORED):
    """A good file with one member more, or another in its place."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.infolist():
            if member.filename != name:
                new.writestr(member, old.read(member))
        info = zipfile.ZipInfo("placeholder")
        info.filename, info.compress_type = name, how
        new.writestr(info, data)
    return out.getvalue()


def claiming(count):
    """An array that says to be longer than it is."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (count,)})
    return stream.getvalue() + bytes(24)


def foreign(kind, file):
    """Files that are no answers."""
    answer("signed").save(file)
    good = file.read_bytes()
    if kind == "folder":
        file.unlink()
        file.mkdir()
        return
    pickled_array = io.BytesIO()
    np.save(pickled_array, np.array([{}], dtype=object))
    pickled_array = pickled_array.getvalue()
    pickled = io.BytesIO()
    np.savez(pickled, fewatoms=np.array([{}], dtype=object))
    other = io.BytesIO()
    np.savez(other, x=np.ones(3))
    npy = io.BytesIO()
    np.save(npy, np.ones(3))
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("readme.txt", "nothing")
    flipped = bytearray(good)
    flipped[len(good) // 3] ^= 0xFF
    content = {"kind": "answer", "told": {}, "arrays": [], "inner": []}
    file.write_bytes(
        {
            "text": b"a, b\n1, 2\n",
            "empty": b"",
            "half": good[: len(good) // 2],
            "last byte gone": good[:-1],
            "a byte changed": bytes(flipped),
            "npy": npy.getvalue(),
            "npz": other.getvalue(),
            "zip": zipped.getvalue(),
            "pickled": pickled.getvalue(),
            "another header": written([1, 2]),
            "no format": written({"labels": {}, "content": content}),
            "no such kind": written({"format": 1, "labels": {}, "content": {**content, "kind": "cake"}}),
            "nothing inside": written({"format": 1, "labels": {}, "content": content}),
            "an array of objects": with_member(good, "it.c.npy", pickled_array),
            "a name that climbs": with_member(good, "../../it.more.npy", npy.getvalue()),
            "a name from the root": with_member(good, "/tmp/it.more.npy", npy.getvalue()),
            "a name of Windows": with_member(good, "C:\\it.more.npy", npy.getvalue()),
            "packed": with_member(good, "it.more.npy", npy.getvalue(), zipfile.ZIP_DEFLATED),
            "more than there is": with_member(good, "it.c.npy", claiming(10**14)),
        }[kind]
    )


@pytest.mark.parametrize(
    "kind",
    [
        "text",
        "empty",
        "half",
        "last byte gone",
        "a byte changed",
        "npy",
        "npz",
        "zip",
        "pickled",
        "folder",
        "another header",
        "no format",
        "no such kind",
        "nothing inside",
        "an array of objects",
        "a name that climbs",
        "a name from the root",
        "a name of Windows",
        "packed",
        "more than there is",
    ],
)
def test_what_is_no_answer_is_refused(kind, tmp_path):
    file = tmp_path / "answer"
    foreign(kind, file)
    with pytest.raises(ValueError, match=r"^file must be one that save\(\) wrote; .*answer' is not, or not all of it"):
        fa.load(file)
    gc.collect()  # a file left open would be reported now


def test_a_member_more_does_no_harm(tmp_path):
    """What the refusals above are measured against: the same file with a plain name is read."""
    file = tmp_path / "answer"
    answer("signed").save(file)
    npy = io.BytesIO()
    np.save(npy, np.ones(3))
    file.write_bytes(with_member(file.read_bytes(), "it.more.npy", npy.getvalue()))
    assert_same_answer(fa.load(file), answer("signed"))


@pytest.mark.parametrize("kind", ["path", "answers", "low rank", "answer"])
def test_every_kind_of_answer_goes_through_one_door(kind, tmp_path):
    case, file = cases()["signed"], tmp_path / "it"
    made = {
        "path": lambda: fa.fit_path(case.M, case.b, atoms=fa.SignedOneHot(20), k=[1, 3]),
        "answers": lambda: fa.fit_many(case.M, np.column_stack([case.b, case.b]), atoms=fa.SignedOneHot(20), k=3),
        "low rank": lambda: answer("biases").model,
        "answer": lambda: answer("psd, complex"),
    }[kind]()
    made.save(file)
    back = fa.load(file)
    assert type(back) is type(made)
    assert repr(back) == repr(made)
    with np.load(file, allow_pickle=False) as found:
        header = json.loads(found["fewatoms"].tobytes())
        arrays = {key: value for key, value in found.items() if key != "fewatoms"}
    assert header["content"]["kind"] == kind
    assert header["format"] == files.FORMAT
    header["format"] += 1
    file.write_bytes(written(header, **arrays))
    with pytest.raises(
        ValueError, match=rf"^file must be .* '.*it' has format {files.FORMAT + 1}: a later version"
    ) as e:
        fa.load(file)
    assert "\n" not in str(e.value)


def test_the_page_about_the_format_knows_all_kinds():
    text = (Path(__file__).parent.parent / "docs" / "format.md").read_text(encoding="utf-8")
    assert f"The format is version {files.FORMAT}." in text
    for kind in (*files.READERS, *files.FACES):
        assert f"`{kind}`" in text, kind
    stored = {name for a in ("biases", "signed") for name in answer(a).kept().told}
    assert all(f"`{name}`" in text for name in stored), stored


@pytest.mark.parametrize("cut", [0.1, 0.3, 0.6, 0.9, 0.99])
def test_files_cut_anywhere_are_refused(cut, tmp_path):
    file = tmp_path / "answer"
    answer("biases").save(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(cut * len(whole))])
    with pytest.raises(ValueError, match=r"^file must be one that save\(\) wrote"):
        fa.load(file)


def test_a_later_format_is_told(tmp_path):
    file = tmp_path / "answer"
    file.write_bytes(written({"format": files.FORMAT + 1, "something": "new"}))
    with pytest.raises(ValueError, match=r"^file must be one that save\(\) wrote in format 1 or before.*later version"):
        fa.load(file)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        fa.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        answer("signed").save(tmp_path / "nowhere" / "answer")


def test_coefficients_that_do_not_fit_the_atoms_are_refused(tmp_path):
    it = answer("signed").kept()
    files.save(tmp_path / "answer", Kept(it.kind, it.told, {**it.arrays, "c": np.ones(5)}, it.inner))
    with pytest.raises(ValueError, match=r"^file must be one that save\(\) wrote"):
        fa.load(tmp_path / "answer")


# Models ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["completion", "completion, ridge", "biases", "nonnegative factors", "low rank"])
def test_models_are_read_too(name, tmp_path):
    model, file = answer(name).model, tmp_path / "model.npz"
    model.save(file)
    other = fa.load(file)
    assert isinstance(other, fa.LowRank)
    assert_same_arrays(other.left, model.left)
    assert_same_arrays(other.right, model.right)
    assert (other.ridge, other.nonnegative) == (model.ridge, model.nonnegative)
    i, j = np.indices(model.shape)
    assert_same_arrays(other.predict(i, j), model.predict(i, j))
    more = other.fold_in([0, 0], [1, 2], [1.0, 2.0])
    assert_same_arrays(more.left, model.fold_in([0, 0], [1, 2], [1.0, 2.0]).left)
    answer(name).save(file)
    assert_same_arrays(fa.load(file).model.predict(i, j), model.predict(i, j))


# Kept things ----------------------------------------------------------------------------------------------------------


def faces():
    rng = np.random.default_rng(0)
    return [
        Coordinates(np.array([3, 1]), np.array([1.0, -1.0]), (5,)),
        Coordinates(np.array([2]), np.array([1.0]), (5,), Cone.NONNEGATIVE, True),
        Coordinates(np.empty(0, dtype=np.intp), np.zeros(0), (5,)),
        Factors(rng.standard_normal((4, 2)), rng.standard_normal((3, 2))),
        *(answer(name).compact[0] for name in NAMES),
    ]


def test_trees_go_through_json():
    for face in faces():
        header, arrays = flattened(face.kept(), "it")
        again = files.face_of(gathered(json.loads(json.dumps(header)), arrays, "it"))
        assert (type(again), again.shape, again.dim, again.cone) == (type(face), face.shape, face.dim, face.cone)


def test_many_trees_are_packed_into_few_arrays():
    things = [face.kept() for face in faces() for _ in range(3)]
    whole = packed(things)
    few = packed(things[:9])
    assert sum(len(pack.arrays) for pack in few.inner) <= 12  # two builds of coordinates, two arrays each
    for before, after in zip(things, unpacked(whole), strict=True):
        (a, x), (b, y) = flattened(before, ""), flattened(after, "")
        assert a == b
        assert x.keys() == y.keys()
        for name in x:
            assert_same_arrays(x[name], y[name])


def test_faces_of_ones_own_come_back_as_arrays(tmp_path):
    class Own(Coordinates):
        def kept(self):
            return super(Coordinates, self).kept()

    face = Own(np.array([3, 1]), np.array([1.0, -1.0]), (5,))
    again = files.face_of(face.kept())
    c = np.array([2.0, 0.5])
    assert isinstance(again, Explicit)
    assert_same_arrays(again.point(c), face.point(c))
    assert_same_arrays(again.labels(), face.labels())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a pipe, a device or a socket"):
        fa.load(tmp_path / "pipe")
