#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every link of the site leads to a file, and every anchor to a place in it. Other sites are not asked.

    links.py SITE

Debian's linkchecker finds the same in five minutes; this takes seconds, since it reads each page once.
"""

import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = set(), set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


def read_pages(site):
    """Path -> Page."""
    paths = (os.path.join(folder, name) for folder, _, names in os.walk(site) for name in names)
    return {path: Page(path) for path in paths if path.endswith(".html")}


def broken_links(pages):
    """Pairs: a page's path, and a link of it that leads nowhere."""
    for path, page in pages.items():
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(url.path)))
            target = target if url.path else path
            anchor = urllib.parse.unquote(url.fragment)
            known = pages[target].anchors if target in pages else set()
            if not os.path.isfile(target) or (anchor and anchor not in known):
                yield path, link


def _main(site):
    pages = read_pages(site)
    broken = sorted(broken_links(pages))
    for path, link in broken:
        print(f"{os.path.relpath(path, site)}: a broken link: {link}")
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(broken)} broken")
    return 1 if broken or not pages else 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
