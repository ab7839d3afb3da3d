# SPDX-License-Identifier: Apache-2.0
"""What is installed, and how a user's program finds it."""

from __future__ import annotations

import os
import pathlib
import pwd
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from typing import Any

READY_LIMIT = 60  # seconds until a daemon has to be ready


class User:
    """A user of this machine; programs run as one."""

    def __init__(self, name: str):
        entry = pwd.getpwnam(name)
        self.name, self.uid, self.gid = name, entry.pw_uid, entry.pw_gid
        self.groups = os.getgrouplist(name, entry.pw_gid)

    @staticmethod
    def current() -> User:
        return User(pwd.getpwuid(os.getuid()).pw_name)

    def process(self) -> dict[str, Any]:
        """Arguments of subprocess for a process of this user's."""
        if os.getuid() == self.uid:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": self.groups}

    def make_folder(self, folder: pathlib.Path) -> pathlib.Path:
        folder.mkdir(mode=0o700, parents=True)
        if os.getuid() != self.uid:
            os.chown(folder, self.uid, self.gid)
        return folder


def open_to_all(folder: pathlib.Path) -> None:
    """Every user may read what is in the folder."""
    for path in [folder, *folder.rglob("*")]:
        mode = path.stat().st_mode
        run = 0o111 if path.is_dir() or mode & stat.S_IXUSR else 0
        path.chmod(stat.S_IMODE(mode) | 0o444 | run)


class Installation:
    """A way in which Holdfast came to this machine. `folders` are those of its programs."""

    name = ""
    folders: tuple[str, ...] = ()
    python = "/usr/bin/python3"

    def environment(self, user: User, home: pathlib.Path) -> dict[str, str]:
        """For programs of this user, whose home directory this is."""
        path = os.environ.get("PATH", "") + ":/usr/local/bin:/usr/bin:/bin"
        kept = {name: os.environ[name] for name in ("CUDA_HOME", "LD_LIBRARY_PATH") if name in os.environ}
        return kept | {"PATH": path, "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8"}

    def begin(self, user: User, home: pathlib.Path) -> None:
        """Before the first program of this user."""

    def end(self) -> None:
        """After the last program of all users."""


class Packages(Installation):
    """The Debian packages, with the system's daemon."""

    name = "packages"
    folders = ("command_line", "python", "holdfast", "c")
    socket = "unix:/run/holdfast/holdfast.sock"

    def environment(self, user: User, home: pathlib.Path) -> dict[str, str]:
        return super().environment(user, home) | {"HOLDFAST_ADDRESS": self.socket}


class Wheel(Installation):
    """The wheel in a virtual environment; each program has a private daemon, as it is the default."""

    name = "wheel"
    folders = ("python", "holdfast", "beside")

    def __init__(self, wheel: pathlib.Path, scratch: pathlib.Path, python: str, device: str):
        self.root = scratch / "venv"
        self.device = device
        subprocess.run(
            [python, "-m", "venv", "--without-pip", "--system-site-packages", str(self.root)], check=True
        )
        self.python = str(self.root / "bin" / "python")
        site = next(self.root.glob("lib/python*/site-packages"))
        # What that Python has, also if it is a virtual environment itself.
        has = subprocess.check_output([python, "-c", "import numpy; print(numpy.__path__[0])"], text=True)
        (site / "beside.pth").write_text(str(pathlib.Path(has.strip()).parent) + "\n")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
            for info in archive.infolist():
                if info.external_attr >> 16 & stat.S_IXUSR:
                    (site / info.filename).chmod(0o755)
        open_to_all(self.root)

    def environment(self, user: User, home: pathlib.Path) -> dict[str, str]:
        values = super().environment(user, home)
        values["PATH"] = f"{self.root}/bin:{values['PATH']}"
        values["HOLDFAST_ADDRESS"] = f"embedded:device={self.device}"
        return values


class Bundle(Installation):
    """The unpacked archives; each user has started a daemon by hand."""

    name = "bundle"
    folders = ("command_line",)

    def __init__(self, folder: pathlib.Path, scratch: pathlib.Path, python: str, device: str):
        self.root = scratch / "holdfast"
        self.device, self.python = device, python
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.addresses: dict[str, str] = {}
        if (folder / "bin").is_dir():
            shutil.copytree(folder, self.root)
        for archive in sorted(folder.glob("holdfast*.tar.gz")):
            with tarfile.open(archive) as tar:
                tar.extractall(scratch)
        if not (self.root / "bin" / "holdfastd").exists():
            sys.exit(f"{folder} is no bundle: it has neither holdfast*.tar.gz nor bin/holdfastd")
        open_to_all(self.root)

    def environment(self, user: User, home: pathlib.Path) -> dict[str, str]:
        values = super().environment(user, home)
        values["PATH"] = f"{self.root}/bin:{values['PATH']}"
        if user.name in self.addresses:
            values["HOLDFAST_ADDRESS"] = self.addresses[user.name]
        return values

    def begin(self, user: User, home: pathlib.Path) -> None:
        reading, writing = os.pipe()
        command = [
            str(self.root / "bin" / "holdfastd"),
            f"--device={self.device}",
            f"--listen=unix:{home}/daemon.sock",
            f"--runtime-dir={home}/runtime",
            f"--ready-fd={writing}",
            "--log-level=warning",
        ]
        environment = self.environment(user, home)
        with open(home / "daemon.log", "wb") as log:
            daemon = subprocess.Popen(
                command, env=environment, cwd=home, stdout=log, stderr=log, pass_fds=[writing], **user.process()
            )
        self.daemons.append(daemon)
        os.close(writing)
        with os.fdopen(reading) as ready:
            address = ready.readline().split()
        if not address:
            sys.exit(f"the bundle's daemon did not start: {(home / 'daemon.log').read_text()}")
        self.addresses[user.name] = address[0]

    def end(self) -> None:
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            daemon.wait()


class Peer(Installation):
    """cuda.core itself: what is right there has to be right here."""

    name = "cuda.core"
    folders = ("python",)

    def __init__(self, python: str):
        self.python = python

    def environment(self, user: User, home: pathlib.Path) -> dict[str, str]:
        return super().environment(user, home) | {"ACCEPTANCE_CORE": "cuda.core"}
