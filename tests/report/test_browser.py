"""The page in a real browser."""

import html
import re
import shutil
import subprocess

import pytest

from tests.report.conftest import HOSTILE

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# The page stands in a frame; the script around it opens and measures what is inside.
FRAME = """<iframe style="width: {width}px; height: 700px" srcdoc="{page}"></iframe>
<script>
onload = () => {{
  const inside = document.querySelector("iframe").contentDocument;
  for (const details of inside.querySelectorAll("details")) details.open = true;
  const charts = [...inside.querySelectorAll("svg")].map((svg) => svg.clientWidth);
  document.title = [inside.title, inside.documentElement.scrollWidth,
    inside.documentElement.clientWidth, Math.min(...charts)].join("|");
}};
</script>"""


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """Opens a file; returns what the page has become, and messages of its console."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser found; one of {', '.join(NAMES)} is needed")
    profile = tmp_path_factory.mktemp("profile")

    def browse(path):
        done = subprocess.run(
            [
                *(program, "--headless", "--no-sandbox", "--disable-gpu"),
                *("--enable-logging=stderr", f"--user-data-dir={profile}"),
                *("--dump-dom", path.as_uri()),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return done.stdout, console

    return browse


def test_the_page_opens_without_errors_and_runs_nothing_of_the_data(browse, page):
    shown, console = browse(page)
    assert console == []
    assert "<title>Outliers in people &amp;" in shown
    assert html.escape(HOSTILE, quote=False) in shown


@pytest.mark.parametrize("width", [320, 1280])
def test_the_page_fits_the_screen(browse, page, tmp_path, width):
    frame = tmp_path / "frame.html"
    content = html.escape(page.read_text(encoding="utf-8"))
    frame.write_text(FRAME.format(width=width, page=content), encoding="utf-8")
    shown, _ = browse(frame)
    title = re.search("<title>(.*?)</title>", shown).group(1)
    name, needed, available, narrowest_chart = title.split("|")
    assert name.startswith("Outliers in people")
    assert int(needed) <= int(available)
    assert int(narrowest_chart) > 0.7 * min(width, 640)
