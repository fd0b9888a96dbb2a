"""Bad calls and bad files: one line that says what is wrong, exit code 2, nothing written, nothing changed."""

import shlex
import subprocess
import sys
import time

import pytest

from cli.bad import write_bad
from fewatoms import cli

# What is called, and a word that the line must have.
CALLS = """
fit                                                   | FILE
fit houses.csv                                        | --target
fit houses.csv --nonsense                             | --nonsense
juggle houses.csv                                     | juggle
fit houses.csv --target price -k 0                    | 1:20
fit houses.csv --target price -k -1                   | -1
fit houses.csv --target price -k many                 | many
fit houses.csv --target price -k 1.5                  | 1.5
fit houses.csv --target price -k 5:1                  | 5:1
fit houses.csv --target price -k 2,2                  | once
fit houses.csv --target price -k 1:99999              | 1000
fit houses.csv --target price -k                      | -k
fit houses.csv --target price --ridge=-1              | ridge
fit houses.csv --target price --ridge big             | big
fit houses.csv --target price --ridge nan             | nan
fit houses.csv --target price --misfit 0              | above 0
fit houses.csv --target price --misfit none           | none
fit houses.csv --target price --deadline 0s           | 60s
fit houses.csv --target price --deadline 5d           | 5d
fit houses.csv --target price --deadline soon         | soon
fit houses.csv --target price --seed=-1               | whole number
fit houses.csv --target price --seed x                | whole number
fit houses.csv --target price --effort huge           | huge
fit houses.csv --target price --missing maybe         | maybe
fit houses.csv --target price --loss cubic            | cubic
fit houses.csv --target price --loss huber --delta 0  | above 0
fit houses.csv --target price --delta 1               | huber
fit houses.csv --target price --positive --group-by _ | --positive
fit homes.csv --target price --positive --categorical city | --positive
fit iris.csv --target species --classes --loss huber  | --loss
fit iris.csv --target species --classes --misfit .1   | --misfit
fit houses.csv --target price --loss huber --misfit .1 | --misfit
fit houses.csv --target price --misfit .1 -k 1:3      | single -k
fit houses.csv --target price --drop price            | --target
fit houses.csv --target price --weights price         | --weights
fit houses.csv --target price --weights age --drop age | --weights
fit homes.csv --target price --categorical city --drop city | different
fit iris.csv --target species --categorical species   | --classes
fit houses.csv --target pric -k 2                     | 'price'
fit houses.csv --target Price -k 2                    | 'price'
fit houses.csv --target zebra -k 2                    | zebra
fit houses.csv --target price --drop zebra            | zebra
fit houses.csv --target price --categorical aera      | 'area'
fit houses.csv --target price --weights zebra         | zebra
fit houses.csv --target price --group-by /            | '/'
fit houses.csv --target price --group-by nofile.csv   | separator
fit houses.csv --target price --group-by groups.csv   | 'name' and 'group'
fit houses.csv --target price --group-by strange_groups.csv | 'zebra'
fit houses.csv --target price -k 61                   | rows, 60
fit nofile.csv --target y                             | nofile.csv
fit . --target y                                      | folder
fit empty.csv --target y                              | empty
fit blank.csv --target y                              | blank
fit header.csv --target y                             | no rows
fit ragged_more.csv --target y                        | line 3
fit ragged_less.csv --target y                        | line 3
fit twice.csv --target y                              | 'a'
fit latin.csv --target y                              | UTF-8
fit binary.csv --target y                             | binary.csv
fit quote.csv --target y                              | quote
fit nul.csv --target y                                | nul.csv
fit text.csv --target y                               | --categorical word
fit texts.csv --target y                              | 'word' and 'other'
fit words.csv --target y                              | --classes
fit one_class.csv --target y --classes                | 'low'
fit many_classes.csv --target y --classes             | few classes
fit gaps.csv --target y                               | --missing drop
fit gap_target.csv --target y                         | --missing drop
fit no_row.csv --target y --missing drop              | --missing mean
fit no_target.csv --target y --missing drop           | whole
fit constant.csv --target y                           | no column
fit empty_columns.csv --target y                      | no column
fit target_alone.csv --target y                       | no column
fit short.csv --target y -k 3                         | rows, 2
fit infinite.csv --target y                           | infinity
fit infinite_target.csv --target y                    | infinity
fit weights.csv --target y --weights w                | positive
fit zero_weights.csv --target y --weights w           | positive
fit word_weights.csv --target y --weights w           | 'w'
fit not.parquet --target y                            | not.parquet
fit not.feather --target y                            | not.feather
fit not.npy --target 1                                | not.npy
fit not.npz --target 1                                | not.npz
fit not.mat --target 1                                | not.mat
fit not.mtx --target 1                                | not.mtx
fit not.svm                                           | not.svm
fit not.csv.gz --target y                             | not.csv.gz
fit cut.csv.gz --target y                             | cut.csv.gz
fit short.mtx --target 1                              | short.mtx
fit outside.mtx --target 1                            | outside.mtx
fit huge.mtx --target 1                               | memory
fit hdf.mat --target 1                                | hdf.mat
fit strange.xyz --target y                            | strange.xyz
fit noending --target y                               | noending
fit pickled.npy --target 1                            | pickled.npy
fit pickled.npz --target 1                            | pickled.npz
fit climbing.npz --target 1                           | climbing.npz
fit rooted.npz --target 1                             | rooted.npz
fit hollow.npz --target 1                             | hollow.npz
fit several.npz --target 1                            | several.npz
fit stranger.npz --target 1                           | stranger.npz
fit huge.npy --target 1                               | memory
fit huge.npz --target 1                               | memory
fit complex.npy --target 1                            | complex
fit words.npy --target 1                              | words.npy
fit cube.npy --target 1                               | axes
fit void.npy --target 1                               | void.npy
fit cut.npy --target 1                                | cut.npy
fit cut.npz --target 1                                | cut.npz
fit flat.npy                                          | --target
fit flat.npy --target 31                              | 31
fit gap_target.npz                                    | missing values; got 1
fit houses.npz --target 1                             | predict
fit flat.npy --drop 1                                 | --target
fit houses.csv --target price --out there.npz         | --overwrite
fit houses.csv --target price --out model.txt         | .npz
fit houses.csv --target price --out nowhere/model.npz | folder
fit houses.csv --target price --out .                 | .npz
fit houses.csv --target price --table there.csv       | --overwrite
fit houses.csv --target price --table atoms.doc       | .csv
fit houses.csv --target price --table houses.csv --overwrite | inputs
fit houses.csv --target price --summary there.json    | --overwrite
fit houses.csv --target price --summary sum.txt       | .json
fit houses.csv --target price --out /dev/null/m.npz   | folder
path houses.csv --target price --choose magic         | magic
fit houses.csv --target price --rule 2se              | 2se
fit houses.csv --target price -k 2 --rule 1se         | range such as 1:20
fit houses.csv --target price --misfit 0.2 --rule 1se | neither -k nor --misfit
fit houses.csv --target price --tabel atoms.csv       | did you mean --table? (fewatoms fit --help
complete ratings.csv --whom ann                       | --whom ann (fewatoms complete --help
complete ratings.csv --for ann                        | --for ann; did you mean --folder?
path houses.csv --target price --rule 2se             | 2se
path houses.csv --target price -k 9                   | columns
path houses.csv --target price --plot there.png       | --overwrite
path houses.csv --target price --plot path.txt        | .png
path houses.csv --target price -k 1,2 --choose elbow  | elbow
path nofile.csv --target price                        | nofile.csv
predict nofile.npz new_houses.csv                     | nofile.npz
predict houses.npz nofile.csv                         | nofile.csv
predict houses.npz                                    | FILE
predict houses.csv new_houses.csv                     | houses.csv
predict not.npz new_houses.csv                        | not.npz
predict . new_houses.csv                              | folder
predict plain.npz new_houses.csv                      | plain.npz
predict path.npz new_houses.csv                       | path.npz
predict later.npz new_houses.csv                      | later version
predict pickled.npz new_houses.csv                    | pickled.npz
predict houses.npz new_text.csv                       | 'area'
predict houses.npz new_gaps.csv                       | missing
predict houses.npz new_other.csv                      | 'age'
predict cities.npz new_city.csv                       | 'Paris'
predict houses.npz new_houses.csv --out there.csv     | --overwrite
predict houses.npz new_houses.csv --out p.json        | .csv
predict ratings.npz one_id.csv                        | item
complete nofile.csv --rank 2                          | nofile.csv
complete ratings.csv --rank 0                         | 1:20
complete ratings.csv --rank 50                        | at most 9
complete ratings.csv --rank 2 --clip 5:1              | scale
complete ratings.csv --rank 2 --clip 3                | scale
complete ratings.csv --rank 2 --user zebra            | zebra
complete ratings.csv --rank 2 --value itm             | 'item'
complete ratings.csv --rank 2 --duplicates first      | first
complete ratings.csv --rank 2 --top 0 --out x.csv     | 1 or more
complete ratings.csv --rank 2 --top 3                 | --out
complete ratings.csv --rank 2 --predict pairs.csv     | --out
complete ratings.csv --rank 2 --predict pairs.csv --top 2 --out x.csv | not allowed
complete ratings.csv --rank 2 --predict nofile.csv --out x.csv | nofile.csv
complete ratings.csv --rank 2 --predict one_id.csv --out x.csv | item
complete ratings.csv --rank 2 --out there.csv         | --overwrite
complete ratings.csv --rank 2 --out x.txt             | .csv
complete ratings.csv --rank 2 --model there.npz       | --overwrite
complete ratings.csv --rank 2 --out x.npz --model x.npz | names of their own
complete repeated.csv --rank 1                        | --duplicates mean
complete two_columns.csv --rank 1                     | three
complete word_values.csv --rank 1                     | word_values.csv
complete no_values.csv --rank 1                       | no_values.csv
complete infinite_values.csv --rank 1                 | finite
complete empty.csv --rank 1                           | empty
unmix scene.npy -k 2                                  | --library
unmix scene.npy --library spectra.csv                 | -k
unmix nofile.npy --library spectra.csv -k 2           | nofile.npy
unmix scene.npy --library nofile.csv -k 2             | nofile.csv
unmix scene.npy --library few_bands.csv -k 1          | bands
unmix scene.npy --library spectra.csv -k 9            | at most 4
unmix scene.npy --library spectra.csv -k 2 --pixels up | up
unmix scene.npy --library spectra.csv -k 2 --pixels columns | bands
unmix scene.npy --library gap_library.csv -k 1        | missing
unmix scene.npy --library word_library.csv -k 1       | --drop
unmix scene.npy --library spectra.csv -k 2 --drop zebra | zebra
unmix square.npy --library spectra.csv -k 2           | --pixels
unmix square.npy --library square.npy -k 2            | open
unmix cube.npy --library spectra.csv -k 2 --spectra columns | axes
unmix houses.npz --library spectra.csv -k 2           | houses.npz
unmix scene.npy --library spectra.csv -k 2 --out there.csv | --overwrite
split nofolder --rank 1                               | nofolder
split nothing --rank 1                                | nothing
split letters --rank 1                                | letters
split sizes --rank 1                                  | sizes
split broken --rank 1                                 | broken
split not.gif --rank 1                                | not.gif
split one_frame.npy --rank 1                          | two frames
split nan_frames.npy --rank 1                         | missing (NaN)
split flat.npy --rank 1                               | axes
split video.npy --rank 9                              | at most 8
split video.npy --rank 1 --entries 999999             | at most 240
split video.npy --rank 1 --out full                   | --overwrite
split video.npy --rank 1 --out there.csv              | folder
split video.npy --rank 1 --out nowhere/parts          | folder
split video.npy --rank 1 --format bmp                 | bmp
split video.npy --rank 1 --out parts.gif              | --format
demo --figure x.foo                                   | .png
doctor --summary there.json                           | --overwrite
"""
BAD = [tuple(part.strip() for part in line.split("|")) for line in CALLS.strip().splitlines()]
BY_PROCESS = BAD[::120]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    write_bad(folder)
    return folder


def content(folder):
    return {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


def test_there_are_enough_of_them():
    assert len({call for call, _ in BAD}) == len(BAD) >= 150


@pytest.mark.parametrize(("call", "word"), BAD, ids=[call for call, _ in BAD])
def test_bad_calls_are_told_in_one_line(call, word, files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    before, began = content(files), time.perf_counter()
    assert cli.main(shlex.split(call)) == 2
    assert time.perf_counter() - began < 5
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("fewatoms")
    assert ": error: " in shown.err
    assert word in shown.err
    assert "--debug shows where" not in shown.err  # somebody has thought of it
    assert content(files) == before


@pytest.mark.parametrize(("call", "word"), BY_PROCESS, ids=[call for call, _ in BY_PROCESS])
def test_bad_calls_in_a_process_of_their_own(call, word, files):
    words = [sys.executable, "-m", "fewatoms", *shlex.split(call)]
    run = subprocess.run(words, capture_output=True, text=True, cwd=files, timeout=60)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert word in run.stderr


def test_debug_shows_the_traceback(files, monkeypatch):
    monkeypatch.chdir(files)
    with pytest.raises(ValueError, match=r"empty\.csv"):
        cli.main(["fit", "empty.csv", "--target", "y", "--debug"])
