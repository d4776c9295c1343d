"""Take the picture of a report with Chromium: ``python docs/make_screenshot.py``."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from skim import TableDetector
from skim.datasets import load_breast_cancer_outliers
from skim.report import write_report

PICTURE = Path(__file__).parent / "report.png"

X, y = load_breast_cancer_outliers(return_X_y=True, as_frame=True)
detector = TableDetector(random_state=0).fit(X)
with TemporaryDirectory() as folder:
    page = Path(folder) / "report.html"
    write_report(detector, X, page, source="breast cancer")
    subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            f"--screenshot={PICTURE}",
            "--window-size=1100,1400",
            page.as_uri(),
        ],
        check=True,
        capture_output=True,
    )
Image.open(PICTURE).quantize(256).save(PICTURE, optimize=True)
