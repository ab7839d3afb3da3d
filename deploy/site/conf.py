# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration. build.sh calls Sphinx on a copy of the tree, with what the generators have added."""

import os
import re
import sys

import autoapi.extension
from docutils import nodes

here = os.path.dirname(os.path.abspath(__file__))
tree = os.path.dirname(os.path.dirname(here))
# At the beginning of what stands behind a field's name, or behind its default in parentheses.
_DASHES = re.compile(r"^(\)?) -- ")
sys.path.insert(0, here)


def _version():
    with open(f"{tree}/server/config/version.h", encoding="utf-8") as file:
        return re.search(r'kVersion\[\] = "(.*)"', file.read()).group(1)


project = "Holdfast"
author = copyright = "the Holdfast authors"
version = release = _version()
extensions = ["myst_parser", "tree_links", "sphinx.ext.napoleon", "autoapi.extension", "breathe"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["deploy/site/pages", "deploy/site/templates"]

# Python: what python_api.py has made.
autoapi_dirs = [f"{tree}/generated/python"]
autoapi_root = "reference/python"
autoapi_add_toctree_entry = False
autoapi_options = ["members", "undoc-members", "show-inheritance"]
autoapi_template_dir = f"{here}/templates"
autoapi_member_order = "bysource"
autoapi_keep_files = True

# C++ and C: what Doxygen has read.
breathe_projects = {"holdfast": f"{tree}/generated/xml"}
breathe_default_project = "holdfast"
breathe_default_members = ("members",)
breathe_show_include = False
breathe_domain_by_file_pattern = {"*/c/holdfast.h": "c"}

napoleon_use_rtype = False
napoleon_custom_sections = [("Fields", "params_style"), ("Attributes", "params_style")]
python_use_unqualified_type_names = True
add_module_names = False
# Each page has the whole navigation: with every function in it, most of the time would go there. AutoAPI of Debian 12
# has no option for this; it stumbles over objects of other languages, too.
toc_object_entries = False
autoapi.extension.add_domain_to_toctree = lambda app, doctree, docname: None

# A fenced block without a language is a drawing or a transcript.
highlight_language = "text"
# Two dashes are an option's.
smartquotes = False
myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "fieldlist"]

html_theme = "furo"
html_title = f"Holdfast {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False


def _put_colons(app, doctree, docname):
    """Between a field and its text, as the docstring has them. Sphinx and Napoleon put two dashes."""
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, nodes.paragraph) and _DASHES.match(text):
            text.parent.replace(text, nodes.Text(_DASHES.sub(r"\1: ", text)))


def _strip_code(app, doctree):
    """Without the empty lines that an excerpt ends with."""
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():
            block.rawsource = block.rawsource.rstrip("\n")
            block[:] = [nodes.Text(block.rawsource)]


def setup(app):
    app.connect("doctree-read", _strip_code)
    app.connect("doctree-resolved", _put_colons)
