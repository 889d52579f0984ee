"""How the site is built: ``make docs``, or ``sphinx-build -W docs outputs/site``."""

import inspect
import re
from importlib.metadata import version as installed

from sphinx.util.inspect import stringify_signature

project = "equipoise"
author = "The equipoise developers"
copyright = "The equipoise developers, BSD-3-Clause"
version = release = installed("equipoise")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery"]  # the sources of the gallery; its pages are made from them
suppress_warnings = ["toc.empty_glob"]  # the results of experiments may be left out
myst_heading_anchors = 3

# `Name` in a docstring is a link where there is such a name, and plain code where there is none.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what is accepted, in words
napoleon_use_rtype = False
napoleon_use_ivar = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "gallery_pages",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "notebook_extensions": set(),
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
}

html_theme = "furo"
html_title = "equipoise"
html_copy_source = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def _keep_marks(app, what, name, obj, options, lines):
    """Show |x| and name_ of a docstring as they are: to reStructuredText they mean something."""
    for at, line in enumerate(lines):
        parts = re.split(r"(``.*?``)", line)  # every other one is a literal
        parts[::2] = [re.sub(r"\|(\w+)\|", r"\\|\1\\|", part) for part in parts[::2]]
        lines[at] = re.sub(r"^:(?:ivar|vartype) [\w, ]+:", _names_alone, "".join(parts))


def _names_alone(field):
    """Return a field whose names end in underscores, and are not taken for a type and a name."""
    return re.sub(r"_(?=[,:])", r"\_", field[0]).replace(", ", ",")


def _parameters(app, what, name, obj, options, signature, returns):
    """Return the parameters of a class as Python knows them; none where it takes anything.

    Sphinx reads the first constructor that it finds, which may only pass everything on.
    """
    if what != "class" or signature is None:
        return None
    parameters = stringify_signature(inspect.signature(obj), show_annotation=False)
    return "" if parameters == "(*args, **kwargs)" else parameters, returns


def setup(app):
    """Join in when docstrings are read."""
    app.connect("autodoc-process-signature", _parameters)
    app.connect("autodoc-process-docstring", _keep_marks)
