"""How the documentation is built: `make docs`, with warnings as errors, and without a network for builder or reader."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

import matplotlib  # noqa: E402

matplotlib.use("Agg")

import fewatoms  # noqa: E402

project = "fewatoms"
author = "The fewatoms developers"
project_copyright = author
version = release = fewatoms.__version__

extensions = [
    "myst_parser",  # pages are Markdown, as in the rest of the repository
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "browser_math",
    "gallery_links",
    "plain_docstrings",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "examples", "gallery", "pictures", "auto_gallery/*.ipynb", "auto_gallery/*.py"]
templates_path = ["_templates"]
nitpicky = False  # names in docstrings are words, not links

# Markdown ------------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

# Mathematics: MathML, made while building by docutils. Browsers have drawn it themselves since 2023, so pages load no
# script; MathJax, Sphinx's default, would be fetched from somebody's server by every reader.

html_math_renderer = "browser"

# The API, from docstrings --------------------------------------------------------------------------------------------

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # docstrings say what is taken in words; types are in the sources
autodoc_member_order = "bysource"
autodoc_default_options = {"show-inheritance": False}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# What numpydoc checks of everything that has a page or a place on one: sections have
# numpydoc's names and order, parameters that are described are those of the signature, in its order.
numpydoc_validation_checks = {
    "GL05", "GL06", "GL07", "GL09", "SS04", "PR02", "PR03", "PR10",
}  # fmt: skip
# What scikit-learn makes by itself is not ours to describe; of Groups numpydoc sees the signature of __new__.
numpydoc_validation_exclude = {r"\.set_\w+_request$", r"^fewatoms\.Groups$"}
# What is asked besides of the public names and of estimators, in tests/docs: a docstring with a summary, and all
# parameters described.
PUBLIC_VALIDATION_CHECKS = numpydoc_validation_checks | {"GL08", "SS01", "PR01"}

# The gallery ---------------------------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,  # its page would fetch scripts from elsewhere
    "min_reported_time": 3600,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "matplotlib_animations": False,
    "plot_gallery": "True",
}

# HTML ----------------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "fewatoms"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": [], "install": [], "tour": [], "choosing": [], "faq": []}
html_theme_options = {
    "logo": {"text": "fewatoms"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
    "pygments_dark_style": "monokai",
}


def without_results(app, docname, source):
    """The page of measured figures is made by `make bench`; contents leave it out where it has not been."""
    if not (HERE / "results.md").exists():
        source[0] = source[0].replace("\nresults\n", "\n")


def setup(app):
    app.connect("source-read", without_results)
