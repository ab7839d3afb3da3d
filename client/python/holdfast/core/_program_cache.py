# SPDX-License-Identifier: Apache-2.0
"""Caches of compiled programs that a program keeps itself, for ``Program.compile(cache=...)``.

The daemon keeps what it has compiled, for all its clients. A cache of the program's own also serves
where the daemon's is empty: on another machine, or after its disk was wiped.
"""

import abc
import os
import tempfile
import threading
import time
from collections import OrderedDict

from holdfast.core._module import ObjectCode


def key_bytes(key):
    """The bytes of a key; a str's are UTF-8."""
    if isinstance(key, str):
        return key.encode()
    if not isinstance(key, (bytes, bytearray)):
        raise TypeError(f"cache keys must be bytes or str, got {type(key).__name__}")
    return bytes(key)


def value_bytes(value):
    """The bytes of a value; of an ObjectCode that was read from a file, those of the file."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if not isinstance(value, ObjectCode):
        raise TypeError(
            f"cache values must be bytes-like or ObjectCode, got {type(value).__name__}"
        )
    code = value.code
    if not isinstance(code, str):
        return bytes(code)
    try:
        with open(code, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"cannot store path-backed ObjectCode in cache: {code} no longer exists"
        ) from None


def _checked_limit(max_size_bytes):
    if max_size_bytes is not None and max_size_bytes <= 0:
        raise ValueError(f"max_size_bytes must be positive or None, got {max_size_bytes}")
    return max_size_bytes


class ProgramCacheResource(abc.ABC):
    """What ``Program.compile(cache=...)`` takes: a map of bytes by keys of bytes or text, where one
    text is the same key as its UTF-8.

    There is no ``in``: another process may remove what was just found. ``get`` asks once.
    """

    @abc.abstractmethod
    def __getitem__(self, key):
        """The bytes. KeyError: there are none."""

    @abc.abstractmethod
    def __setitem__(self, key, value):
        """Keeps the bytes of ``value``: bytes-like, or an ObjectCode."""

    @abc.abstractmethod
    def __delitem__(self, key):
        """Removes the entry. KeyError: there is none."""

    @abc.abstractmethod
    def __len__(self):
        """The number of entries."""

    @abc.abstractmethod
    def clear(self):
        """Removes all entries."""

    def get(self, key, default=None):
        """The bytes, or ``default``."""
        try:
            return self[key]
        except KeyError:
            return default

    def update(self, items, /):
        """Keeps each of a mapping's entries, or of pairs. What came before a failure stays."""
        pairs = items.items() if hasattr(items, "items") else items
        for key, value in pairs:
            self[key] = value

    def close(self):
        """Lets go of what the cache holds open: nothing, unless a subclass says so."""

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()


class InMemoryProgramCache(ProgramCacheResource):
    """Entries in this process, for all of its threads.

    Args:
        max_size_bytes: what they have together, at most; those that were not read for the longest
            go first. None: no limit.
    """

    def __init__(self, *, max_size_bytes=None):
        self._limit = _checked_limit(max_size_bytes)
        self._lock = threading.Lock()
        # The one that was used last is at the end.
        self._entries = OrderedDict()
        self._size = 0

    def __getitem__(self, key):
        with self._lock:
            name = key_bytes(key)
            data = self._entries[name]
            self._entries.move_to_end(name)
            return data

    def __setitem__(self, key, value):
        name, data = key_bytes(key), value_bytes(value)
        with self._lock:
            self._size += len(data) - len(self._entries.pop(name, b""))
            self._entries[name] = data
            while self._limit is not None and self._size > self._limit:
                self._size -= len(self._entries.popitem(last=False)[1])

    def __delitem__(self, key):
        with self._lock:
            self._size -= len(self._entries.pop(key_bytes(key)))

    def __len__(self):
        with self._lock:
            return len(self._entries)

    def clear(self):
        with self._lock:
            self._entries.clear()
            self._size = 0


# Seconds after which an unfinished file is of a process that has died.
_STALE = 3600


def _default_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "holdfast", "program-cache")


def _mark(stat):
    """Which file it is, and which content: a file that is put in its place has another."""
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


class FileStreamProgramCache(ProgramCacheResource):
    """Entries in files of a folder, which processes share: each file is the bytes as they are, for
    ``cuobjdump`` and its kin. A reader sees the whole of an entry or none of it.

    Args:
        path: the folder, made if it is missing; default: ``holdfast/program-cache`` in the user's
            folder of caches.
        max_size_bytes: what the files have together, at most; checked when one is written. Those
            that were not read for the longest go first. None: no limit.
    """

    def __init__(self, path=None, *, max_size_bytes=None):
        self._limit = _checked_limit(max_size_bytes)
        root = _default_folder() if path is None else os.fspath(path)
        self._entries = os.path.join(root, "entries")
        self._unfinished = os.path.join(root, "tmp")
        for folder in (self._entries, self._unfinished):
            os.makedirs(folder, exist_ok=True)
        self._remove_stale()

    def _path(self, key):
        import hashlib

        # Of a fixed length, whatever the key's is.
        name = hashlib.sha256(key_bytes(key), usedforsecurity=False).hexdigest()
        return os.path.join(self._entries, name[:2], name[2:])

    def __getitem__(self, key):
        try:
            with open(self._path(key), "rb") as file:
                data = file.read()
                self._note_read(file)
        except FileNotFoundError:
            raise KeyError(key) from None
        return data

    @staticmethod
    def _note_read(file):
        """Sets the time of access, by which files go, also where the file system does not."""
        try:
            modified = os.fstat(file.fileno()).st_mtime_ns
            os.utime(file.fileno(), ns=(time.time_ns(), modified))
        except OSError:  # another user's file: it goes by the time of its writing
            pass

    def __setitem__(self, key, value):
        data, path = value_bytes(value), self._path(key)
        for folder in (os.path.dirname(path), self._unfinished):
            os.makedirs(folder, exist_ok=True)
        descriptor, made = tempfile.mkstemp(prefix="entry-", dir=self._unfinished)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(made, path)
        except BaseException:
            self._remove(made)
            raise
        if self._limit is not None:
            self._keep_to_limit()

    def __delitem__(self, key):
        try:
            os.unlink(self._path(key))
        except FileNotFoundError:
            raise KeyError(key) from None

    def __len__(self):
        return len(self._files())

    def clear(self):
        """Removes what is there now; what other processes write meanwhile stays."""
        for path, stat in self._files():
            self._remove_unchanged(path, stat)
        self._remove_stale()

    def _files(self):
        """(path, stat) of each entry."""
        try:
            folders = [folder.path for folder in os.scandir(self._entries) if folder.is_dir()]
        except FileNotFoundError:
            return []
        return [found for folder in folders for found in self._files_of(folder)]

    @staticmethod
    def _files_of(folder):
        found = []
        try:
            entries = list(os.scandir(folder))
        except FileNotFoundError:
            return found
        for entry in entries:
            try:
                if entry.is_file(follow_symlinks=False):
                    found.append((entry.path, entry.stat(follow_symlinks=False)))
            except FileNotFoundError:  # removed meanwhile
                pass
        return found

    def _keep_to_limit(self):
        self._remove_stale()
        files = self._files()
        unfinished = self._files_of(self._unfinished)
        size = sum(stat.st_size for _, stat in files + unfinished)
        for path, stat in sorted(files, key=lambda file: file[1].st_atime_ns):
            if size <= self._limit:
                return
            size -= self._remove_unchanged(path, stat)

    def _remove_unchanged(self, path, stat):
        """Removes the file unless another was put in its place; the bytes that are gone."""
        try:
            if _mark(os.stat(path)) != _mark(stat):
                return 0
        except FileNotFoundError:
            return stat.st_size
        self._remove(path)
        return stat.st_size

    @staticmethod
    def _remove(path):
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass

    def _remove_stale(self):
        """Removes what processes that have died did not finish."""
        for path, stat in self._files_of(self._unfinished):
            if stat.st_mtime < time.time() - _STALE:
                self._remove(path)
