# SPDX-License-Identifier: Apache-2.0
"""Files whose arrays become a collection, by Python and by `holdfast collection`."""

import hashlib
import json
import os
import subprocess
import zipfile

import numpy as np
import pytest
from holdfast import collections


def entry(first, last, shape, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, last]}


@pytest.mark.parametrize(
    "header, data, why",
    [
        ({"a": entry(0, 8, [2]), "b": entry(4, 8, [1])}, 8, "'b' begins at byte 4.*an overlap"),
        ({"a": entry(0, 4, [1]), "b": entry(8, 12, [1])}, 12, "'b' begins at byte 8.*a gap"),
        ({"a": entry(0, 4, [1])}, 3, "'a' ends at byte 4 of the data, which has 3"),
        ({"a": entry(0, 4, [1])}, 5, "last tensor ends at byte 4 of the data, which has 5"),
        ({"a": entry(0, 4, [2**40, 2**40])}, 4, "'a': its shape has more bytes"),
        ({"a": entry(0, 4, [-1])}, 4, "'a': its shape is no list"),
        ({"a": entry(0, 4, [True])}, 4, "'a': its shape is no list"),
        ({"a": entry(0, 4, [1] * 33)}, 4, "'a': it has 33 dimensions"),
        ({"a": entry(0, 4, [1], "F33")}, 4, "'a': its dtype is 'F33'"),
        ({"a": entry(2**70, 2**70 + 4, [1])}, 4, "'a': its data_offsets"),
        ({"a": 3}, 0, "'a': its entry is no object"),
        ({"__metadata__": {"a": 1}}, 0, "__metadata__"),
        ([], 0, "no object"),
    ],
)
def test_a_safetensors_header_that_lies_is_refused(device, tmp_path, name, header, data, why):
    path = safetensors(tmp_path / "model.safetensors", header, bytes(data))
    with pytest.raises(ValueError, match=why):
        collections.load_safetensors(path, name)


def test_a_safetensors_file_of_too_many_tensors_is_refused(device, tmp_path, name):
    path = tmp_path / "model.safetensors"
    one = '"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    most = (4 << 20) // 11
    tensors = [one % i for i in range(most + 3)]
    for text, why in (
        # What follows is not read.
        (",".join(tensors) + ', "no JSON', f"more than {most} tensors"),
        (",".join(tensors[: most + 1]), f"{most + 1} tensors; limit: {most}"),
    ):
        text = "{" + text + "}"
        path.write_bytes(len(text).to_bytes(8, "little") + text.encode())
        with pytest.raises(ValueError, match=why):
            collections.load_safetensors(str(path), name)
    path.write_bytes((100_000_001).to_bytes(8, "little"))
    with pytest.raises(ValueError, match="limit: 100000000"):
        collections.load_safetensors(str(path), name)


def safetensors(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return str(path)


def test_a_safetensors_file_is_loaded(device, tmp_path, name, capfd):
    a = np.arange(4, dtype=np.float16)
    header = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8]},
        "b": {"dtype": "BF16", "shape": [1], "data_offsets": [8, 10]},
    }
    path = safetensors(tmp_path / "m.safetensors", header, a.tobytes() + b"\x80\x3f")
    assert collections.load_safetensors(path, name) == 1
    opened = collections.open(name)
    assert opened.metadata == {"format": "pt"}
    assert (opened["a"].numpy() == a.reshape(2, 2)).all()
    assert opened["b"].dtype == "BF16"
    assert capfd.readouterr().err == ""  # no terminal, no progress


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 80]},
        {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]},
        {"dtype": "F99", "shape": [2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]},
        {"dtype": "F32"},
        7,
    ],
)
def test_a_wrong_safetensors_file_is_refused(device, tmp_path, name, entry):
    path = safetensors(tmp_path / "m.safetensors", {"x": entry}, bytes(8))
    with pytest.raises(ValueError, match="not a .safetensors file: tensor 'x'"):
        collections.load_safetensors(path, name)
    (tmp_path / "short").write_bytes(b"abc")
    with pytest.raises(ValueError, match="3 bytes"):
        collections.load_safetensors(str(tmp_path / "short"), name)


def cli(command, address, name, *arguments):
    """`holdfast collection COMMAND`."""
    line = [os.environ["HOLDFAST_CLI"], "collection", command, f"--address={address}", name]
    return subprocess.run([*line, *map(str, arguments)], capture_output=True, text=True)


def load(address, name, *paths):
    return cli("load", address, name, *paths)


def assert_loaded(address, name, arrays, *paths):
    loaded = load(address, name, *paths)
    assert loaded.returncode == 0, loaded.stderr
    with collections.open(name) as opened:
        found = opened.tensors("numpy")
        assert sorted(found) == sorted(arrays)
        for key, array in arrays.items():
            assert found[key].dtype == array.dtype and found[key].shape == array.shape, key
            assert (found[key] == array).all(), key


ARRAYS = {
    "layer.0/weight": np.arange(300_000, dtype=np.float32).reshape(300, 1000),
    "columns": np.asfortranarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4)),
    "scalar": np.array(2.5),
    "empty": np.empty((0, 3), np.uint8),
    "flags": np.array([True, False]),
    "waves": np.array([1 + 2j], np.complex64),
    "gr\u00f6\u00dfe": np.array([7], np.uint64),
}


def test_strided_arrays_are_saved_in_order_and_compared(address, device, name, tmp_path):
    np.savez(tmp_path / "a.npz", **ARRAYS)
    assert_loaded(address, name, ARRAYS, tmp_path / "a.npz")
    saved = tmp_path / "saved.safetensors"
    done = cli("save", address, name, saved)
    assert done.returncode == 0, done.stderr
    # The device has Fortran's order, the file C's.
    for path in (tmp_path / "a.npz", saved):
        done = cli("verify", address, name, path)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{len(ARRAYS)} arrays are as in the files\n"
    collections.delete(name)
    assert collections.load_safetensors(str(saved), name) == 1
    found = collections.open(name)
    assert found["columns"].strides is None
    assert (found["columns"].numpy() == ARRAYS["columns"]).all()
    other = {**ARRAYS, "columns": ARRAYS["columns"] * 2, "scalar": np.array(1, np.int32)}
    del other["flags"]
    np.savez(tmp_path / "b.npz", **other, more=np.zeros(1))
    done = cli("verify", address, name, tmp_path / "b.npz")
    assert done.returncode != 0
    assert done.stdout.splitlines() == [
        "columns: other bytes, from byte 2 on",
        "flags: not in the files",
        "more: not in the collection",
        "scalar: of another type: F64[], in the file I32[]",
    ]


def test_what_cannot_be_committed_is_refused_before_it_is_loaded(address, device, name, tmp_path):
    path = tmp_path / "a.safetensors"
    safetensors(path, {"__metadata__": {"x": "y" * (2 << 20)}}, b"")
    done = load(address, name, path)
    assert done.returncode != 0 and "limit: 1048576" in done.stderr
    np.save(tmp_path / "a.npy", np.zeros(3))
    done = load(address, "no name", tmp_path / "a.npy")
    assert done.returncode != 0 and "no name of a collection" in done.stderr


def test_files_of_numpy_are_loaded(address, device, name, tmp_path):
    np.savez(tmp_path / "stored.npz", **ARRAYS)
    np.savez_compressed(tmp_path / "deflated.npz", **{f"z/{k}": v for k, v in ARRAYS.items()})
    np.save(tmp_path / "one.more.npy", ARRAYS["columns"])
    both = {**ARRAYS, **{f"z/{k}": v for k, v in ARRAYS.items()}, "one.more": ARRAYS["columns"]}
    paths = [tmp_path / file for file in ("stored.npz", "deflated.npz", "one.more.npy")]
    assert_loaded(address, name, both, *paths)
    with collections.open(name) as opened:
        assert opened["columns"].strides == (1, 2, 6) and opened["empty"].strides is None
    twice = load(address, name, paths[0], paths[0])
    assert twice.returncode == 1 and "is there already" in twice.stderr


def test_versions_of_npy_are_loaded(address, device, name, tmp_path):
    array = np.arange(6, dtype=np.uint16).reshape(2, 3)
    for version in ((1, 0), (2, 0), (3, 0)):
        with open(tmp_path / f"v{version[0]}.npy", "wb") as file:
            np.lib.format.write_array(file, array, version=version)
    paths = [tmp_path / f"v{number}.npy" for number in (1, 2, 3)]
    assert_loaded(address, name, {"v1": array, "v2": array, "v3": array}, *paths)


def npy(path, header, data=b"", version=1):
    text = header.encode()
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + length + text + data)


@pytest.mark.parametrize(
    "header, says",
    [
        ("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "Python objects"),
        ("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "big-endian"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "f32[3] has 12 bytes"),
        ("{'descr': '<f8', 'fortran_order': True, 'shape': (4294967296, 536870912)}", "64 bits"),
        (f"{{'descr': '<f4', 'fortran_order': True, 'shape': ({'1, ' * 33})}}", "limit: 32"),
        ("{'descr': '<f4', 'fortran_order': False}", "lacks"),
        ("{'descr': '\x1b[2J', 'fortran_order': False, 'shape': ()}", "\\x1b[2J"),
    ],
)
def test_a_wrong_npy_file_is_refused_by_name(address, device, name, tmp_path, header, says):
    npy(tmp_path / "wrong.npy", header, b"abcd")
    (tmp_path / "inner.npy").write_bytes((tmp_path / "wrong.npy").read_bytes())
    with zipfile.ZipFile(tmp_path / "wrong.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "inner.npy", "inner.npy")
    for file, place in (("wrong.npy", ""), ("wrong.npz", 'entry "inner.npy"')):
        refused = load(address, name, tmp_path / file)
        assert refused.returncode == 1 and says in refused.stderr, refused.stderr
        assert f"{tmp_path / file}: {place}" in refused.stderr


def test_files_that_are_no_arrays_are_refused(address, device, name, tmp_path):
    np.savez(tmp_path / "objects.npz", x=np.array([None]))
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "v4.npy").write_bytes(b"\x93NUMPY\x04\x00\x00\x00\x00\x00")
    (tmp_path / "long.npy").write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff")
    (tmp_path / "text.npz").write_text("no archive, but longer than the shortest one")
    with zipfile.ZipFile(tmp_path / "readme.npz", "w") as archive:
        archive.writestr("README", "no array")
    for file, says in (
        ("objects.npz", "Python objects"),
        ("text.npy", "wrong magic"),
        ("v4.npy", "version 4"),
        ("long.npy", "4294967295 bytes; limit: 65535"),
        ("text.npz", "no end record"),
        ("readme.npz", "not that of a .npy file"),
    ):
        refused = load(address, name, tmp_path / file)
        assert refused.returncode == 1 and f"{tmp_path / file}: " in refused.stderr
        assert says in refused.stderr, refused.stderr
    assert name not in [collection["name"] for collection in collections.list()]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_that_is_damaged_makes_no_version(address, device, name, tmp_path, save):
    path = tmp_path / "m.npz"
    save(path, x=np.arange(1000, dtype=np.int64))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    refused = load(address, name, path)
    assert refused.returncode == 1 and f'{path}: entry "x.npy": ' in refused.stderr
    assert name not in [collection["name"] for collection in collections.list()]


def test_a_million_entries_are_refused(address, device, name, tmp_path):
    path = tmp_path / "many.npz"
    end = 1_000_000 * 46
    count = (1_000_000).to_bytes(8, "little")
    record = b"PK\x06\x06" + (44).to_bytes(8, "little") + bytes(12) + count + count
    record += end.to_bytes(8, "little") + bytes(8)
    locator = b"PK\x06\x07" + bytes(4) + end.to_bytes(8, "little") + bytes(4)
    path.write_bytes(bytes(end) + record + locator + b"PK\x05\x06" + bytes(18))
    refused = load(address, name, path)
    assert refused.returncode == 1
    assert f"{path}: 1000000 entries; limit: 100000" in refused.stderr


def digests(arrays):
    """As `verify` prints them: of each array's bytes as the device has them."""
    return {
        name: hashlib.sha256(array.tobytes(order="A")).hexdigest()
        for name, array in arrays.items()
    }


def verified(address, name, *arguments):
    done = cli("verify", address, name, *arguments)
    assert done.returncode == 0, done.stderr
    lines = (line.split("  ", 1) for line in done.stdout.splitlines())
    return {array: digest for digest, array in lines}


def test_digests_are_those_of_the_bytes(address, device, name, tmp_path):
    np.savez(tmp_path / "a.npz", **ARRAYS)
    assert_loaded(address, name, ARRAYS, tmp_path / "a.npz")
    assert verified(address, name) == digests(ARRAYS)
    done = cli("verify", address, name, "--json")
    assert json.loads(done.stdout) == digests(ARRAYS)
    changed = {**ARRAYS, "scalar": np.array(2.25)}
    collections.commit(name, {**changed, "columns": np.zeros(1)})
    assert verified(address, name)["scalar"] == digests(changed)["scalar"]


def test_large_files_have_their_bytes_in_their_places(address, device, name, tmp_path):
    """Several threads load, save and verify arrays of several parts, of one, and many."""
    random = np.random.default_rng(7)
    whole = random.integers(0, 2**64, (129 << 20) // 8 + 5, np.uint64)
    arrays = {"large": whole, "odd": whole.view(np.uint8)[3 : (17 << 20) + 4]}
    arrays |= {f"small.{i}": whole[i * 1000 : i * 1001 + 1] for i in range(100)}
    header, end = {}, 0
    for key, array in arrays.items():
        dtype = {"uint64": "U64", "uint8": "U8"}[str(array.dtype)]
        header[key] = entry(end, end + array.nbytes, [*array.shape], dtype)
        end += array.nbytes
    path = tmp_path / "m.safetensors"
    safetensors(path, header, b"".join(array.tobytes() for array in arrays.values()))
    np.save(tmp_path / "plain.npy", whole)
    loaded = load(address, name, path, tmp_path / "plain.npy")
    assert loaded.returncode == 0, loaded.stderr
    expected = digests({**arrays, "plain": whole})
    assert verified(address, name) == expected
    saved = tmp_path / "saved.safetensors"
    done = cli("save", address, name, saved)
    assert done.returncode == 0, done.stderr
    done = cli("verify", address, name, saved)
    assert done.stdout == f"{len(expected)} arrays are as in the files\n", done.stderr
    collections.delete(name)
    assert load(address, name, saved).returncode == 0
    assert verified(address, name) == expected
