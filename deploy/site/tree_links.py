# SPDX-License-Identifier: Apache-2.0
"""Links between files of the tree work on the site as they do in the tree.

A link to a Markdown file, or to a folder that has a README.md, leads to its page. A link to any other file or
folder leads to a page below source/, which shows the file, or lists the folder's files.
"""

import os

import pygments.lexers
from docutils import nodes
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.util import logging

PAGES = "deploy/site/pages"
_logger = logging.getLogger(__name__)


def tree_path(env, docname):
    """The path in the tree of a page's Markdown file."""
    path = f"{PAGES}/{docname}.md"
    return path if os.path.exists(os.path.join(env.srcdir, path)) else f"{docname}.md"


def _page_of(env, path):
    """The page that shows the Markdown file at a path of the tree, or the README of the folder there; or None."""
    for name in (path.removesuffix(".md"), f"{path}/README", "README" if path == "." else ""):
        name = name.removeprefix(f"{PAGES}/")
        if name in env.found_docs:
            return name
    return None


def _internal_links(doctree):
    for kind in (addnodes.pending_xref, addnodes.download_reference):
        yield from (node for node in list(doctree.findall(kind)) if node.get("reftype") == "myst")


def _has_own_anchor(env, page, anchor):
    """Whether the page marks a place by <a id="..."></a>. MyST knows headings alone."""
    with open(env.doc2path(page), encoding="utf-8") as file:
        return f'<a id="{anchor}"></a>' in file.read()


def _lead_to(app, node, page, anchor=""):
    uri = app.builder.get_relative_uri(app.env.docname, page)
    node.replace_self(nodes.reference("", "", *node.children, refuri=uri + anchor, internal=True))


def _resolve(app, node, folder):
    env = app.env
    target, _, anchor = node["reftarget"].partition("#")
    path = os.path.normpath(os.path.join(folder, target))
    page = _page_of(env, path) if target else env.docname
    if page and anchor and _has_own_anchor(env, page, anchor):
        _lead_to(app, node, page, f"#{anchor}")
    elif page:
        relative = os.path.relpath(page, os.path.dirname(env.docname) or ".")
        node["reftarget"] = f"{relative}.md#{anchor}".removesuffix("#")
    elif os.path.exists(os.path.join(env.srcdir, path)):
        env.tree_sources.add(path)
        _lead_to(app, node, f"source/{path}")
    else:
        _logger.warning("the tree has no %s", path, location=node)


def resolve_links(app, doctree):
    """Of the page that was just read."""
    folder = os.path.dirname(tree_path(app.env, app.env.docname))
    for node in _internal_links(doctree):
        _resolve(app, node, folder)


def _with_listed_files(srcdir, paths):
    """The paths, and the files of the folders among them."""
    for path in paths:
        yield path
        folder = os.path.join(srcdir, path)
        if os.path.isdir(folder):
            yield from (f"{path}/{name}" for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name)))


def _lexer(path):
    if os.path.basename(path) == "BUILD.bazel":
        return "python"
    try:
        return pygments.lexers.get_lexer_for_filename(path).aliases[0]
    except ClassNotFound:
        return "text"


def _listing(path, folder):
    name = os.path.basename(path)
    files = (entry for entry in sorted(os.listdir(folder)) if os.path.isfile(os.path.join(folder, entry)))
    items = "".join(f'<li><a href="{name}/{entry}.html">{entry}</a></li>' for entry in files)
    return f"<ul>{items}</ul>"


def source_pages(app):
    """One page for each file and folder that some page links to."""
    srcdir = app.env.srcdir
    for path in sorted(set(_with_listed_files(srcdir, app.env.tree_sources))):
        file = os.path.join(srcdir, path)
        if os.path.isdir(file):
            body = _listing(path, file)
        else:
            with open(file, encoding="utf-8", errors="replace") as text:
                body = app.builder.highlighter.highlight_block(text.read(), _lexer(path), force=True)
        yield f"source/{path}", {"title": path, "body": f"<h1><code>{path}</code></h1>{body}"}, "page.html"


def _begin(app, env, docnames):
    env.tree_sources = set()


def _merge(app, env, docnames, other):
    """Of a process that has read a part of the pages."""
    env.tree_sources |= other.tree_sources


def setup(app):
    app.connect("env-before-read-docs", _begin)
    app.connect("env-merge-info", _merge)
    # Before Sphinx collects downloads, which a link to a file would be.
    app.connect("doctree-read", resolve_links, priority=100)
    app.connect("html-collect-pages", source_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
