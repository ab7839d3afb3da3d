#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks in a browser that the scripts of every page run. Without chromium, checks nothing and says so.

    script_errors.py SITE

One page has all pages of the site as frames: chromium takes seconds to start.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

# The theme's script takes "no-js" away.
_COUNT = """<script>
onload = () => {
  const ran = Array.from(frames).filter((frame) => !frame.document.documentElement.classList.contains("no-js"));
  document.body.textContent = `ran: ${ran.length}`;
};
</script>"""
_RAN = re.compile(r"ran: (\d+)")
_ERROR = re.compile(r':CONSOLE[^]]*\] "(Uncaught .*|Failed to load .*)')
_OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--allow-file-access-from-files --enable-logging=stderr --dump-dom"
).split()


def page_files(site):
    paths = (os.path.join(folder, name) for folder, _, names in os.walk(os.path.abspath(site)) for name in names)
    return sorted(path for path in paths if path.endswith(".html"))


def browse(chromium, files):
    """What the browser says of the pages: in how many of them the scripts ran, and its messages."""
    with tempfile.TemporaryDirectory() as folder:
        page = f"{folder}/frames.html"
        with open(page, "w", encoding="utf-8") as file:
            file.write(f"<!doctype html>{_COUNT}<body>")
            file.writelines(f'<iframe src="file://{path}"></iframe>\n' for path in files)
        command = [chromium, *_OPTIONS, f"--user-data-dir={folder}/browser", f"file://{page}"]
        result = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=600)
    ran = _RAN.search(result.stdout)
    return int(ran.group(1)) if ran else 0, result.stderr


def _main(site):
    chromium = shutil.which("chromium")
    if not chromium:
        print("the scripts of the pages were not run: no chromium")
        return 0
    files = page_files(site)
    ran, messages = browse(chromium, files)
    errors = sorted(set(_ERROR.findall(messages)))
    print(*errors, f"{len(files)} pages, scripts ran in {ran}, {len(errors)} errors of scripts", sep="\n")
    return 1 if errors or ran < len(files) else 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
