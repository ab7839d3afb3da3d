# SPDX-License-Identifier: Apache-2.0
"""Collections: who writes, reads, keeps and watches their versions."""

import threading
import time

import holdfast
import numpy as np
import pytest
from holdfast import collections
from holdfast.core import CUDAError, LaunchConfig, Program, launch


def test_a_collection_is_committed_and_opened(device, stream, other, name):
    arrays = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.array(7, np.int64),
        "empty": np.empty((0, 4), np.uint8),
    }
    assert collections.commit(name, arrays, {"format": "np"}) == 1
    with collections.open(name, device=other.device(0)) as opened:
        assert opened.version == 1 and opened.metadata == {"format": "np"}
        assert sorted(opened) == ["a", "b", "empty"] and "a" in opened and len(opened) == 3
        assert opened["a"].dtype == "F32" and opened["a"].shape == (2, 3)
        for key, array in opened.tensors("numpy").items():
            assert array.dtype == arrays[key].dtype and (array == arrays[key]).all()
        assert name in repr(opened)
        with pytest.raises(KeyError):
            opened["c"]
        with pytest.raises(ValueError, match="torch"):
            opened.tensors("tensorflow")
    assert [c["name"] for c in collections.list()].count(name) == 1
    assert repr(opened["a"]) == "<Array 'a', F32 [2, 3]>"
    assert len(collections.describe(name)["arrays"]) == 3


def test_kernels_read_a_collection_and_cannot_write_it(address, name, session):
    collections.commit(name, {"x": np.array([1, 2], np.int32)})
    source = """
extern "C" __global__ void sum(const int* x, int* out) { *out = x[0] + x[1]; }
extern "C" __global__ void spoil(int* x) { x[0] = 5; }
"""
    with holdfast.connect(address) as reader:
        device = reader.device(0)
        device.set_current()
        stream = device.create_stream()
        module = Program(source, "c++").compile("cubin")
        one = LaunchConfig(grid=1, block=1)
        x = collections.open(name)["x"].buffer
        out = device.allocate(4, stream=stream)
        launch(stream, one, module.get_kernel("sum"), x, out)
        assert out.copy_to(np.empty(1, np.int32), stream=stream)[0] == 3
        launch(stream, one, module.get_kernel("spoil"), x)
        with pytest.raises(CUDAError):
            stream.sync()
    session.device(0).set_current()
    assert collections.open(name)["x"].numpy().tolist() == [1, 2]


def test_a_version_adopts_arrays_and_readers_keep_theirs(device, stream, name):
    collections.commit(name, {"a": np.zeros(4, np.float32), "b": np.ones(4, np.float32)})
    first = collections.open(name)
    with collections.create({"a": ("F32", (4,))}) as writer:
        writer["a"].fill(np.float32(2), stream=stream)
        writer.adopt(first, "b")
        assert writer.commit(name) == 2
    second = collections.open(name)
    assert second.version == 2 and second["a"].numpy().tolist() == [2] * 4
    assert second["b"].numpy().tolist() == [1] * 4
    assert first["a"].numpy().tolist() == [0] * 4
    with pytest.raises(CUDAError):
        collections.open(name, 7)


def test_one_of_many_writes(session, other, name):
    claim = collections.claim(name)
    assert claim.writes
    answers = []

    def wait():
        with collections.claim(name, device=other.device(0)) as second:
            answers.append(second.writes)

    thread = threading.Thread(target=wait)
    thread.start()
    collections.commit(name, {"x": np.zeros(1, np.uint8)})
    claim.close()
    thread.join()
    assert answers == [False]


def test_a_watch_tells_what_there_is_and_what_changes(session, name):
    collections.commit(name, {"x": np.zeros(1, np.uint8)})
    changes = collections.watch(name)
    first = next(changes)
    assert (first.kind, first.name, first.version) == ("present", name, 1)
    collections.commit(name, {"x": np.ones(1, np.uint8)})
    collections.delete(name)
    told = [next(changes) for _ in range(3)]
    assert [(c.kind, c.version) for c in told] == [("committed", 2), ("retired", 1), ("deleted", 2)]
    assert {c.owner for c in told} == {first.owner} != {""}
    changes.close()


def test_who_may_open_is_configured(session, name):
    collections.commit(name, {"x": np.zeros(1, np.uint8)})
    collections.configure(name, everybody=True, keep=2, until_unreferenced=True, pin=[0])
    info = collections.describe(name)["collection"]
    assert info["keep"] == 2 and info["visibility"]["everybody"] and info["until_unreferenced"]
    assert info["versions"][0]["pinned"]
    with pytest.raises(CUDAError, match="pinned"):
        collections.delete(name)
    collections.configure(name, unpin=[1])
    assert not collections.describe(name)["collection"]["versions"][0]["pinned"]


def test_a_collection_sleeps_and_wakes(device, name):
    values = {"a": np.arange(6, dtype=np.float32), "b": np.ones(3, np.int32)}
    collections.commit(name, values)
    opened = collections.open(name)
    buffer = opened["a"].buffer
    opened.sleep()
    with pytest.raises(CUDAError, match="sleeps"):
        opened["a"].numpy()
    assert opened.wake() == [] and opened["a"].buffer is buffer
    assert opened["a"].numpy().tolist() == values["a"].tolist()
    opened.sleep()
    collections.commit(name, {**values, "b": np.full(3, 7, np.int32)})
    with pytest.raises(CUDAError, match="no version 1"):
        opened.wake()
    assert opened.wake(0) == [] and opened.version == 2
    assert opened["b"].numpy().tolist() == [7] * 3
    opened.sleep()
    collections.commit(name, {"a": np.zeros(9, np.float32)})
    assert opened.wake(0) == ["a", "b"]
    assert [*opened] == ["a"] and opened["a"].numpy().tolist() == [0] * 9
    opened.close()


def eventually(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def versions(name):
    """Numbers of the versions that can be opened."""
    found = [c for c in collections.list() if c["name"] == name]
    return [int(v["version"]) for c in found for v in c["versions"] if not v.get("retired")]


def commit(name, *values):
    for value in values:
        collections.commit(name, {"x": np.full(4, value, np.int32)})


def test_a_pinned_version_stays_until_it_is_unpinned(session, name):
    commit(name, 1)
    collections.configure(name, pin=[1])
    commit(name, 2, 3)
    assert versions(name) == [1, 3]  # one is kept, besides
    assert collections.open(name, 1)["x"].numpy().tolist() == [1] * 4
    with pytest.raises(CUDAError, match="pinned"):
        collections.delete(name, 1)
    assert collections.delete(name, 3) == 1
    collections.configure(name, pin=[0])  # the latest, which it is now
    commit(name, 4)
    assert versions(name) == [1, 4]
    collections.configure(name, unpin=[1])
    assert versions(name) == [4]
    for pins in ({"pin": [1]}, {"unpin": [7]}):
        with pytest.raises(CUDAError, match=f"no version {[*pins.values()][0][0]}"):
            collections.configure(name, **pins)


def test_so_many_versions_are_kept_as_it_says(session, name):
    commit(name, 1)
    collections.configure(name, keep=0)
    commit(name, 2, 3, 4)
    assert versions(name) == [1, 2, 3, 4]
    collections.configure(name, keep=2)
    assert versions(name) == [3, 4]


def test_a_version_goes_with_its_last_reader(session, other, name):
    commit(name, 1)
    collections.configure(name, until_unreferenced=True)
    assert versions(name) == [1]  # nobody has read it yet
    first, second = collections.open(name), collections.open(name, device=other.device(0))
    first.close()
    assert versions(name) == [1]
    second.close()
    eventually(lambda: versions(name) == [])


def test_a_pinned_version_outlives_its_last_reader(session, name):
    commit(name, 1)
    collections.configure(name, until_unreferenced=True, pin=[0])
    for _ in range(2):
        with collections.open(name) as opened:
            assert opened["x"].numpy().tolist() == [1] * 4
    assert versions(name) == [1]
    collections.configure(name, unpin=[1])  # and it goes, as it was read
    eventually(lambda: versions(name) == [])


def test_a_version_goes_when_its_last_reader_sleeps(session, name):
    commit(name, 1)
    collections.configure(name, until_unreferenced=True)
    opened = collections.open(name)
    opened.sleep()
    eventually(lambda: versions(name) == [])
    with pytest.raises(CUDAError, match="no version 1|no collection"):
        opened.wake()
    commit(name, 2)
    assert opened.wake(0) == [] and opened["x"].numpy().tolist() == [2] * 4
    opened.close()


def test_a_sleeper_wakes_with_the_version_that_it_names(session, name):
    commit(name, 1)
    collections.configure(name, keep=0)
    opened = collections.open(name)
    commit(name, 2, 3)
    opened.sleep()
    assert opened.wake(2) == [] and opened.version == 2
    assert opened["x"].numpy().tolist() == [2] * 4
    opened.sleep()
    opened.close()  # without waking
    with collections.open(name) as again:
        assert again.version == 3 and again["x"].numpy().tolist() == [3] * 4


def test_kernels_use_what_woke_at_its_old_address(device, stream, name):
    commit(name, 1)
    opened = collections.open(name)
    buffer, pointer = opened["x"].buffer, opened["x"].buffer.handle
    source = 'extern "C" __global__ void copy(const int* x, int* y) { *y = x[3]; }'
    kernel = Program(source, "c++").compile("cubin").get_kernel("copy")
    out = device.allocate(4, stream=stream)
    stream.sync()
    opened.sleep()
    commit(name, 8)
    assert opened.wake(0) == [] and buffer.handle == pointer
    launch(stream, LaunchConfig(grid=1, block=1), kernel, buffer, out)
    assert out.copy_to(np.empty(1, np.int32), stream=stream)[0] == 8
    opened.close()


def test_an_adopted_array_outlives_the_version_that_it_is_of(session, stream, name):
    arrays = {"a": np.arange(5, dtype=np.float32), "b": np.arange(3, dtype=np.int64)}
    collections.commit(name, arrays)
    with collections.open(name) as first, collections.create({"c": ("U8", (2,))}) as writer:
        writer["c"].fill(np.uint8(9), stream=stream)
        writer.adopt(first, "a")
        with pytest.raises(CUDAError, match="none"):
            writer.adopt(first, "none")
        assert writer.commit(name, {"step": 2}) == 2
    assert versions(name) == [2]
    with collections.open(name) as second:
        assert sorted(second) == ["a", "c"] and second.metadata == {"step": "2"}
        assert second["a"].numpy().tolist() == arrays["a"].tolist()
        assert second["c"].numpy().tolist() == [9, 9]
        with collections.create({}) as writer:
            writer.adopt(second, "a")
            assert writer.commit(name) == 3  # nothing but what is there
    with collections.open(name) as third:
        assert third["a"].numpy().tolist() == arrays["a"].tolist()


def test_a_dropped_writer_leaves_nothing(session, name):
    with collections.create({"x": ("F32", (1024,))}) as writer:
        assert len(writer) == 1 and versions(name) == []
    assert versions(name) == []
    with pytest.raises(CUDAError):
        collections.open(name)


def test_a_claim_that_is_given_up_passes_to_the_next(session, other, name):
    claim = collections.claim(name)
    assert claim.writes
    answers = []

    def write():
        with collections.claim(name, device=other.device(0)) as second:
            answers.append(second.writes)
            collections.commit(name, {"x": np.ones(1, np.uint8)}, device=other.device(0))

    thread = threading.Thread(target=write)
    thread.start()
    claim.close()  # the first writer has failed
    thread.join()
    assert answers == [True] and versions(name) == [1]
    with collections.claim(name) as third:
        assert not third.writes


def test_a_claim_ends_with_its_session(address, session, name):
    with holdfast.connect(address) as writer:
        assert collections.claim(name, device=writer.device(0)).writes
    with collections.claim(name) as claim:
        assert claim.writes


def test_a_watch_of_all_collections_tells_their_names(session, name):
    commit(name, 1)
    changes = collections.watch()
    mine = (change for change in changes if change.name == name)
    assert next(mine) == collections.Change("present", name, 1)
    collections.configure(name, keep=1, pin=[1])
    commit(name, 2, 3)
    assert [next(mine).version for _ in range(2)] == [2, 3]
    retired = next(mine)
    assert (retired.kind, retired.version) == ("retired", 2)
    assert "'retired'" in repr(retired)
    changes.close()


def test_a_watch_of_one_collection_tells_of_no_other(session, name):
    commit(name, 1)
    changes = collections.watch(name)
    assert next(changes) == collections.Change("present", name, 1)
    commit(f"{name}.other", 1)
    collections.delete(f"{name}.other")
    commit(name, 2)
    assert next(changes) == collections.Change("committed", name, 2)
    changes.close()
