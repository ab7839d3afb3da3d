# SPDX-License-Identifier: Apache-2.0
"""What the examples with a result of their own print and write, for arguments of all kinds."""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

_EXAMPLES = os.environ["HOLDFAST_EXAMPLES"]


def _start(address, example, *arguments, **environment):
    return subprocess.run(
        [sys.executable, os.path.join(_EXAMPLES, example), *arguments],
        env=dict(os.environ, HOLDFAST_ADDRESS=address, **environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _run(address, example, *arguments):
    """What an example prints that ends well."""
    done = _start(address, example, *arguments)
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("options", [[], ["--mapped"]], ids=["pinned", "mapped"])
def test_ranks_of_mpi_find_the_line_that_one_finds(embedded, options):
    assert _run(embedded, "ranks.py", *options) == "1 rank: y = 3.0 x -1.0\n"
    if shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None:
        pytest.skip("no MPI: install the packages openmpi-bin and python3-mpi4py")
    done = subprocess.run(
        ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", sys.executable,
         os.path.join(_EXAMPLES, "ranks.py"), *options],
        env=dict(os.environ, HOLDFAST_ADDRESS="embedded:device=cpu"),
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.stdout == "3 ranks: y = 3.0 x -1.0\n", done.stderr


def test_the_hash_is_the_first_with_so_many_zeros(embedded):
    printed = _run(embedded, "hash_search.py", "--zeros=3", "--text=a test")
    line = re.match(r'sha256\("([0-9a-f]{8}) a test"\) = ([0-9a-f]{64})\n', printed)
    nonce, digest = line.groups()
    hashes = (hashlib.sha256(f"{n:08x} a test".encode()).hexdigest() for n in range(1 << 20))
    expected = next((n, found) for n, found in enumerate(hashes) if found.startswith("000"))
    assert (int(nonce, 16), digest) == expected


def test_a_text_that_no_block_holds_is_refused(embedded):
    assert "00000" in _run(embedded, "hash_search.py", "--zeros=1", "--text=" + 46 * "0")
    done = _start(embedded, "hash_search.py", "--text=" + 47 * "0")
    assert done.returncode == 2 and "the text has 47 bytes, 46 are the most" in done.stderr


def test_bodies_keep_their_energy(embedded):
    printed = _run(embedded, "nbody.py", "--bodies=500", "--steps=30")
    before, after = re.search(r"energy (-[\d.]+), then (-[\d.]+)", printed).groups()
    assert float(before) < -0.1 and float(after) == pytest.approx(float(before), rel=1e-3)


def test_the_mandelbrot_set_is_printed(embedded):
    lines = _run(embedded, "mandelbrot.py", "--size", "100", "70", "--pictures=3").splitlines()
    picture = lines[:18]
    assert "@@@@@@@@@@" in picture[8] and "@" not in picture[0] + picture[17]
    assert lines[18].startswith("3 pictures of 100 x 70")
    assert lines[19].endswith("; 0 points are wrong")


def test_the_zoom_is_a_gif(embedded, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="install python3-pil")
    out = tmp_path / "zoom.gif"
    _run(embedded, "mandelbrot.py", "--size", "64", "48", "--pictures=4", f"--out={out}")
    with image.open(out) as zoom:
        assert (zoom.size, zoom.n_frames) == ((64, 48), 4)


def test_the_filter_takes_out_the_noise(embedded):
    printed = _run(embedded, "image_filter.py", "--radius=1")
    assert "240 x 160 pixels, each the median of 3 x 3" in printed
    assert "; 0 are wrong" in printed
    noisy, filtered = re.search(r"mean error: ([\d.]+) .* ([\d.]+) filtered", printed).groups()
    assert float(filtered) < float(noisy) / 5


def test_the_filter_draws_the_picture_of_the_readme(embedded, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="install python3-pil")
    out = tmp_path / "filtered.png"
    _run(embedded, "image_filter.py", f"--out={out}")
    kept = image.open(os.path.join(_EXAMPLES, "image_filter.png"))
    assert np.array_equal(np.asarray(image.open(out)), np.asarray(kept))


def test_the_filter_takes_any_picture(embedded, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="install python3-pil")
    image.fromarray(np.full((50, 70, 3), 80, np.uint8)).save(tmp_path / "gray.png")
    arguments = f"--picture={tmp_path / 'gray.png'}", f"--out={tmp_path / 'out.png'}"
    assert "70 x 50 pixels" in _run(embedded, "image_filter.py", *arguments)
    both = np.asarray(image.open(tmp_path / "out.png"))
    assert both.shape == (50, 140)
    assert set(both[:, :70].flat) == {0, 80, 255} and set(both[5:-5, 75:-5].flat) == {80}


@pytest.mark.parametrize("example", ["image_filter.py", "mandelbrot.py"])
def test_a_picture_without_pillow_is_refused(embedded, example, tmp_path):
    (tmp_path / "PIL.py").write_text("raise ImportError")
    path = f"{tmp_path}:{os.environ['PYTHONPATH']}"
    done = _start(embedded, example, f"--out={tmp_path / 'x.gif'}", PYTHONPATH=path)
    assert done.returncode == 2 and "apt-get install python3-pil" in done.stderr


def test_the_stages_of_two_processes_meet(embedded):
    printed = _run(embedded, "two_processes.py", "--blocks=3", "--rounds=7")
    assert "7 rounds of 768 numbers" in printed and "7 of 7 sums are right" in printed


def test_one_engine_loads_and_the_others_map(embedded):
    printed = _run(embedded, "shared_model.py", "--rows=128")
    found = re.findall(r"engine (\d+) \((loaded|mapped) version (\d) in .* answers right", printed)
    engines = [(int(pid), how, int(version)) for pid, how, version in found]
    assert [engine[1:] for engine in engines] == [
        ("loaded", 1), ("mapped", 1), ("mapped", 1), ("mapped", 1), ("mapped", 2), ("mapped", 1)
    ]  # fmt: skip
    assert len({engine[0] for engine in engines}) == 4
    assert f"engine {engines[0][0]} is killed" in printed
