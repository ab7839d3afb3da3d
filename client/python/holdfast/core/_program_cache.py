# SPDX-License-Identifier: Apache-2.0
"""Client-side caches of compiled programs, for ``Program.compile(cache=...)``.

The daemon has a compile cache, which serves all its clients. A client-side cache is useful where
the daemon's cache is empty, for example on another machine or after the disk was wiped.
"""

import abc
import os
import tempfile
import threading
import time
from collections import OrderedDict

from holdfast.core._module import ObjectCode


def key_bytes(key):
    """Returns the bytes of a key. A str is encoded as UTF-8."""
    if isinstance(key, str):
        return key.encode()
    if not isinstance(key, (bytes, bytearray)):
        raise TypeError(f"cache keys must be bytes or str, got {type(key).__name__}")
    return bytes(key)


def value_bytes(value):
    """Returns the bytes of a value. If an ObjectCode names a file, reads the file."""
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
    """Base class of the caches that ``Program.compile(cache=...)`` accepts.

    A cache maps keys to bytes. A key is bytes or a str; a str and its UTF-8 bytes are the same key.

    The class has no ``__contains__``, because another process may remove an entry between a test
    with ``in`` and the read. Use ``get``, which looks the key up once.
    """

    @abc.abstractmethod
    def __getitem__(self, key):
        """Returns the bytes of the entry.

        Raises:
            KeyError: the cache has no such entry.
        """

    @abc.abstractmethod
    def __setitem__(self, key, value):
        """Stores the bytes of ``value``, which is bytes-like or an ObjectCode."""

    @abc.abstractmethod
    def __delitem__(self, key):
        """Removes the entry.

        Raises:
            KeyError: the cache has no such entry.
        """

    @abc.abstractmethod
    def __len__(self):
        """Returns the number of entries."""

    @abc.abstractmethod
    def clear(self):
        """Removes all entries."""

    def get(self, key, default=None):
        """Returns the bytes of the entry, or ``default`` if the cache has no such entry."""
        try:
            return self[key]
        except KeyError:
            return default

    def update(self, items, /):
        """Stores the entries of a mapping or of an iterable of (key, value) pairs.

        If one entry cannot be stored, the entries before it stay in the cache.
        """
        pairs = items.items() if hasattr(items, "items") else items
        for key, value in pairs:
            self[key] = value

    def close(self):
        """Releases the cache's resources. Does nothing unless a subclass overrides it."""

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()


class InMemoryProgramCache(ProgramCacheResource):
    """Cache in the memory of this process. Thread-safe.

    Args:
        max_size_bytes: limit of the total size of all values. Beyond the limit the cache removes
            the least recently used entries. None: no limit.
    """

    def __init__(self, *, max_size_bytes=None):
        self._limit = _checked_limit(max_size_bytes)
        self._lock = threading.Lock()
        # In the order of use; the most recently used entry is the last one.
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


# Seconds after which the writer of an unfinished file is taken to have died.
_STALE = 3600


def _default_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "holdfast", "program-cache")


def _mark(stat):
    """Returns a tuple that identifies a file and its content. A replacement has another tuple."""
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


class FileStreamProgramCache(ProgramCacheResource):
    """Cache in a folder that several processes may share.

    Each entry is a file with the value's bytes unchanged, so ``cuobjdump`` and similar tools can
    read the file. Writes are atomic: a reader sees either the whole entry or no entry.

    Args:
        path: the folder, created if it does not exist. Default: ``holdfast/program-cache`` in
            ``$XDG_CACHE_HOME``, or in ``~/.cache`` if that variable is not set.
        max_size_bytes: limit of the total size of all files, enforced after each write. Beyond the
            limit the cache removes the least recently used entries. None: no limit.
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

        # The hash gives file names of one length for keys of any length.
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
        """Sets the access time, which decides the order of removal.

        The file system may be mounted so that a read does not update the access time.
        """
        try:
            modified = os.fstat(file.fileno()).st_mtime_ns
            os.utime(file.fileno(), ns=(time.time_ns(), modified))
        except OSError:  # the file of another user: its access time stays as it is
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
        """Removes the present entries. Entries that other processes write meanwhile stay."""
        for path, stat in self._files():
            self._remove_unchanged(path, stat)
        self._remove_stale()

    def _files(self):
        """Returns (path, stat) of each entry."""
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
            except FileNotFoundError:  # another process has removed the file
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
        """Removes the file unless another file has replaced it. Returns the bytes that are gone."""
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
        """Removes the unfinished files of processes that have died."""
        for path, stat in self._files_of(self._unfinished):
            if stat.st_mtime < time.time() - _STALE:
                self._remove(path)
