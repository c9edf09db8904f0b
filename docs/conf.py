"""The documentation's site: ``make site`` builds it, offline, and runs every example on it."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from pathlib import Path

import warner

HERE = Path(__file__).parent
BUILD = HERE / "_build"
sys.path.insert(0, str(HERE / "_site"))

project = "warner"
author = "The warner developers"
version = release = warner.__version__
copyright = "The warner developers. Apache-2.0"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_nb",
    "formulas",
    "public_names",
    "commands",
    "live_page",
    "accessible",
    "search_words",
]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}
exclude_patterns = ["_build", "_site", ".venv", "**/.*"]

# Nothing is asked of another host: the theme's assets are local, formulas are MathML, and no page
# has widgets, whose scripts would come from elsewhere.
html_theme = "furo"
html_title = f"warner {version}"
html_static_path = ["_static", str(BUILD / "generated")]  # live_page.py writes the second
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_search_scorer = str(HERE / "_site" / "scorer.js")
html_favicon = "_static/favicon.svg"
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": False}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

nitpicky = True
add_module_names = False
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
autodoc_typehints_format = "short"
napoleon_numpy_docstring = False
napoleon_use_rtype = False
toc_object_entries = False
napoleon_custom_sections = [("Attributes", "params_style")]
suppress_warnings = ["config.cache", "toc.not_included"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_ipywidgets_js = {}
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_execution_show_tb = True
nb_merge_streams = True


def _code() -> str:
    """A digest of the code whose outputs the pages show."""
    digest = hashlib.sha256()
    package = Path(warner.__file__).parent
    parts = [HERE / "requirements.lock", *HERE.glob("_site/*.py"), *package.rglob("*.py")]
    for path in sorted(parts):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# Outputs are kept by the content of a page's cells, and anew for every change of the code.
nb_execution_cache_path = str(BUILD / "cache" / _code())

# It says of each page that it runs.
logging.getLogger("traitlets").setLevel(logging.WARNING)

(BUILD / "generated").mkdir(parents=True, exist_ok=True)

# The kernels that run the examples: one profile, without a history, with the magic %%console.
PROFILE = BUILD / "ipython" / "profile_default"
PROFILE.mkdir(parents=True, exist_ok=True)
(PROFILE / "ipython_kernel_config.py").write_text(
    'c.InteractiveShellApp.extensions = ["console"]\nc.HistoryManager.enabled = False\n'
    "c.IPKernelApp.log_level = 40\n"
)
os.environ |= {
    "IPYTHONDIR": str(PROFILE.parent),
    "PYTHONPATH": os.pathsep.join(
        [str(HERE / "_site"), str(HERE), os.environ.get("PYTHONPATH", "")]
    ),
    "SITE_FILES": str(BUILD / "generated"),  # for files that a page makes and links to
    "COLUMNS": "88",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
