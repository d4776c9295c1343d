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
]
autosummary_generate = True
numpydoc_show_class_members = True
numpydoc_class_members_toctree = False
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
