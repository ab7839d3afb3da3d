# SPDX-License-Identifier: Apache-2.0
"""Caches of compiled programs that a program keeps itself."""

import os
import threading
import time

import numpy as np
import pytest
from holdfast.core import LaunchConfig, ObjectCode, Program, ProgramOptions, launch
from holdfast.core.utils import (
    FileStreamProgramCache,
    InMemoryProgramCache,
    ProgramCacheResource,
    make_program_cache_key,
)

_PUT = 'extern "C" __global__ void put(int* x) { *x = 7; }'


@pytest.fixture(params=["memory", "files"])
def make(request, tmp_path):
    """Makes a cache, with options; one in files is the same each time."""
    if request.param == "memory":
        return InMemoryProgramCache
    return lambda **options: FileStreamProgramCache(tmp_path / "cache", **options)


class _Counting(InMemoryProgramCache):
    """Tells what was written."""

    def __init__(self):
        super().__init__()
        self.written = []

    def __setitem__(self, key, value):
        self.written.append(key)
        super().__setitem__(key, value)


def test_an_entry_is_bytes_by_bytes_or_text(make):
    cache = make()
    cache["name"] = b"1234"
    assert cache[b"name"] == b"1234" and len(cache) == 1
    cache.update({b"other": bytearray(b"56"), "third": memoryview(b"7")})
    assert cache.get("other") == b"56" and cache[b"third"] == b"7" and len(cache) == 3
    assert cache.get("missing") is None and cache.get("missing", b"") == b""
    del cache["name"]
    with pytest.raises(KeyError):
        cache["name"]
    with pytest.raises(KeyError):
        del cache["name"]
    cache.clear()
    assert len(cache) == 0
    with pytest.raises(TypeError, match="keys must be bytes or str, got int"):
        cache[1] = b""
    with pytest.raises(TypeError, match="values must be bytes-like or ObjectCode, got int"):
        cache["x"] = 1
    with pytest.raises(TypeError):
        "x" in cache  # noqa: B015


def test_code_of_a_file_is_kept_as_its_bytes(make, tmp_path):
    path = tmp_path / "code.ptx"
    path.write_bytes(b"// PTX")
    code = ObjectCode.from_ptx(str(path))
    cache = make()
    cache["code"] = code
    path.unlink()
    assert cache["code"] == b"// PTX"
    with pytest.raises(FileNotFoundError, match="no longer exists"):
        cache["again"] = code


def test_what_was_not_read_for_the_longest_goes_first(make):
    with pytest.raises(ValueError, match="max_size_bytes must be positive"):
        make(max_size_bytes=0)
    with make(max_size_bytes=10) as cache:
        for key in ("a", "b", "c"):
            cache[key] = b"123"
            time.sleep(0.02)  # a clock of files may be that coarse
        assert cache["a"] == b"123"
        cache["d"] = b"123"
        assert cache.get("b") is None
        assert [cache.get(key) for key in ("a", "c", "d")] == [b"123"] * 3
        cache["c"] = b"1"
        cache["large"] = b"x" * 11
        assert cache.get("large") is None


def test_files_are_the_bytes_and_outlive_the_cache(tmp_path):
    with FileStreamProgramCache(tmp_path) as cache:
        cache["x" * 1000] = b"cubin"
    files = [path for path in (tmp_path / "entries").rglob("*") if path.is_file()]
    assert [path.read_bytes() for path in files] == [b"cubin"]
    assert FileStreamProgramCache(tmp_path)["x" * 1000] == b"cubin"


def test_the_default_folder_is_the_users(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    FileStreamProgramCache()["x"] = b"1"
    assert (tmp_path / "holdfast" / "program-cache" / "entries").is_dir()


def test_an_unfinished_file_goes_when_its_writer_is_long_dead(tmp_path):
    FileStreamProgramCache(tmp_path)
    old, young = tmp_path / "tmp" / "old", tmp_path / "tmp" / "young"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    FileStreamProgramCache(tmp_path).clear()
    assert not old.exists() and young.exists()


def test_a_reader_sees_the_whole_of_an_entry(tmp_path):
    cache, seen = FileStreamProgramCache(tmp_path), set()
    cache["x"] = b"a" * 100000

    def write():
        for letter in b"bcdefgh":
            FileStreamProgramCache(tmp_path)["x"] = bytes([letter]) * 100000

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        seen.add((len(data := cache["x"]), len(set(data))))
    assert seen == {(100000, 1)}


def test_a_program_is_compiled_once(device, stream):
    cache = _Counting()
    first = Program(_PUT, "c++").compile("cubin", cache=cache)
    again = Program(_PUT, "c++")
    again._compile_now = None  # must not be called
    second = again.compile("cubin", cache=cache)
    assert len(cache.written) == 1 and second.code == first.code
    x = device.allocate(4, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=1), second.get_kernel("put"), x)
    assert x.copy_to(np.zeros(1, np.int32), stream=stream)[0] == 7
    cache.clear()
    cache.update([(cache.written[0], b"of the cache")])
    found = Program(_PUT, "c++", ProgramOptions()).compile("cubin", cache=cache)
    assert (found.code, found.code_type, found.name) == (
        b"of the cache", "cubin", ProgramOptions().name,
    )  # fmt: skip


def test_a_cubin_that_a_program_has_kept_runs_again(device, stream, tmp_path):
    kept = tmp_path / "put.cubin"
    kept.write_bytes(Program(_PUT, "c++").compile("cubin").code)
    for module in (kept.read_bytes(), str(kept)):
        code = ObjectCode.from_cubin(module)
        x = device.allocate(4, stream=stream)
        launch(stream, LaunchConfig(grid=1, block=1), code.get_kernel("put"), x)
        assert x.copy_to(np.zeros(1, np.int32), stream=stream)[0] == 7
        assert code.code == module


def test_a_cache_is_refused_what_it_cannot_keep(device):
    cache = InMemoryProgramCache()
    with pytest.raises(TypeError, match="ProgramCacheResource, got dict"):
        Program(_PUT, "c++").compile("cubin", cache={})
    with pytest.raises(ValueError, match="name_expressions"):
        Program(_PUT, "c++").compile("cubin", ("put",), cache=cache)
    with pytest.raises(ValueError, match="extra_digest"):
        Program(_PUT, "c++", {"include_path": "/x"}).compile("cubin", cache=cache)
    assert len(cache) == 0
    with pytest.raises(TypeError, match="abstract"):
        ProgramCacheResource()


def _key(**changed):
    given = dict(
        code=_PUT, code_type="c++", options=ProgramOptions(arch="sm_90"), target_type="cubin"
    )
    return make_program_cache_key(**(given | changed))


def test_a_key_is_the_same_for_the_same_inputs_alone(device):
    keys = [
        _key(),
        _key(code=_PUT + " "),
        _key(target_type="ptx"),
        _key(options=ProgramOptions(arch="sm_80")),
        _key(options=ProgramOptions(arch="sm_90", ftz=True)),
        _key(options=ProgramOptions(arch="sm_90", name="other")),
        _key(options=ProgramOptions(arch="sm_90", headers={"a": "b"})),
        _key(name_expressions=("f",)),
        _key(name_expressions=(b"f",)),
        _key(extra_digest=b"1"),
        _key(code_type="ptx"),
        _key(code_type="nvvm", target_type="ptx"),
        _key(
            code_type="nvvm",
            target_type="ptx",
            options=ProgramOptions(arch="sm_90", extra_sources=[("a", "b")]),
        ),
    ]
    assert all(isinstance(key, bytes) and len(key) == 32 for key in keys)
    assert len(set(keys)) == len(keys)
    assert _key(name_expressions=("f", "g")) == _key(name_expressions=("g", "f"))
    assert _key(code_type="C++", target_type="CUBIN") == _key()


@pytest.mark.parametrize("changed, error, message", [
    (dict(code_type="fortran"), ValueError, "'fortran' is not a valid SourceCodeType"),
    (dict(target_type="exe"), ValueError, "target_type='exe' is not supported"),
    (dict(code_type="nvvm"), ValueError, "not valid for code_type='nvvm'"),
    (dict(code=b"x"), TypeError, "code must be str for code_type='c\\+\\+'"),
    (dict(name_expressions=(1,)), TypeError, "name_expressions elements must be str or bytes"),
    (dict(options=ProgramOptions(use_pch="")), ValueError, "use_pch.*extra_digest"),
    (dict(options=ProgramOptions(time=False)), ValueError, "side effects.*time"),
    (dict(options=ProgramOptions(name="a/b")), ValueError, "directory component"),
    (dict(options=ProgramOptions(extra_sources=[("a", "b")])), ValueError, "extra_sources"),
])  # fmt: skip
def test_an_input_that_has_no_key_is_refused(device, changed, error, message):
    with pytest.raises(error, match=message):
        _key(**changed)


def test_options_that_read_files_have_a_key_with_a_digest(device):
    for options in (dict(include_path=["/x"]), dict(name="a/b"), dict(pch=True)):
        _key(options=ProgramOptions(**options), extra_digest=b"1")
    for options in (dict(include_path=()), dict(include_path=False), dict(pch=False)):
        _key(options=ProgramOptions(**options))
