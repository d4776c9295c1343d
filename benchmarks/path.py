"""How many functions a fit and a prediction run through."""

import inspect
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import sklearn
import typer
from sklearn.ensemble import IsolationForest

import skim
from benchmarks._shared.results import print_table
from skim import ALTBIDetector

# Of scikit-learn, what is about detectors and not about input validation.
PLACES = {
    ALTBIDetector: (skim, [""]),
    IsolationForest: (sklearn, ["ensemble", "tree", "base.py"]),
}


def functions_of(package, parts, call):
    """Return the functions of a package that a call runs through.

    They are pairs of file, below the package, and qualified name, for the given files
    and folders of the package. Lambdas, comprehensions and bodies of classes are left
    out.
    """
    root = Path(package.__file__).parent
    codes = set()

    def note(frame, event, _):
        if event == "call":
            codes.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return {
        (str(Path(code.co_filename).relative_to(root)), code.co_qualname)
        for code in codes
        if any(Path(code.co_filename).is_relative_to(root / part) for part in parts)
        and not code.co_name.startswith("<")
        and code.co_flags & inspect.CO_OPTIMIZED
    }


def path(
    list_: Annotated[bool, typer.Option("--list", help="List the functions.")] = False,
):
    """Count the functions that fit and predict run through, on 300 rows of 6 features.

    Functions count once; a first fit, which loads torch, does not count. Those of
    ALTBIDetector are in skim, those of IsolationForest in sklearn.ensemble,
    sklearn.tree and sklearn.base.
    """
    X = np.random.default_rng(0).normal(size=(300, 6))
    counts = []
    for cls, (package, parts) in PLACES.items():
        detector = cls(random_state=0).fit(X)
        for method in (detector.fit, detector.predict):
            functions = functions_of(package, parts, partial(method, X))
            files = {file for file, _ in functions}
            counts.append(
                (f"{cls.__name__}.{method.__name__}", len(functions), len(files))
            )
            if list_:
                print_table(("file", "function"), sorted(functions))
    print_table(("method", "functions", "files"), counts)
