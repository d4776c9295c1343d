"""Configuration of the documentation."""

import skim

project = "skim"
copyright = "2026, The skim developers"
version = release = skim.__version__

extensions = [
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "plot_gallery": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "doc_module": ("skim",),
    "backreferences_dir": None,
    "capture_repr": ("_repr_html_",),
}
autosummary_generate = True
numpydoc_show_class_members = True
numpydoc_class_members_toctree = False
exclude_patterns = ["_build", "examples"]
rst_prolog = ".. role:: cite"  # PyOD's docstrings cite by keys of their own
html_theme = "pydata_sphinx_theme"
html_title = "skim"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_sidebars = {
    "index": [],
    "command_line": [],  # it has no pages below it
    "accuracy": [],  # its table is wide
}
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
}

# Terms in docstrings that come from scikit-learn.
suppress_warnings = ["ref.term"]
