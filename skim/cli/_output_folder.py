"""A folder of results that is written part by part, and by several runs if need be."""

import json
import re

import skim
from skim._utils import replacing

SUMMARY, MODEL = "_summary.json", "_model.skops"  # readers of Parquet skip a "_"
OWN = re.compile(r"part-\d{5,}\.parquet|_summary\.json|_model\.skops")
DRAFT = re.compile(r"\.(part-\d{5,}|_summary|_model)\.[0-9a-f]{8}\.\w+")


class OutputFolder:
    """The results of a run, in Parquet parts beside a summary.

    Files appear whole. If the folder has been begun by a run with the same input,
    model and options, its parts are kept.

    Parameters
    ----------
    path : Path
    run : dict of str to str
        What the results depend on: names of things, and their fingerprints.

    Attributes
    ----------
    is_begun : bool
        Whether a run has begun before.
    """

    def __init__(self, path, run):
        self.path = path
        self.run = run | {"version": skim.__version__}
        self.summary = {"skim": skim.__version__, "is_complete": False, "run": self.run}
        self.is_begun = False
        self._check()

    def begin(self):
        """Create the folder, or remove what a run that was killed left half-written."""
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"{self.path} cannot be written: {self.path.parent} does not exist."
            )
        self.path.mkdir(exist_ok=True)
        for file in self.path.iterdir():
            if DRAFT.fullmatch(file.name):
                file.unlink()
        if not self.is_begun:
            self.note()

    def _check(self):
        if not self.path.exists():
            return
        for file in sorted(self.path.iterdir()):
            if not (OWN.fullmatch(file.name) or DRAFT.fullmatch(file.name)):
                raise ValueError(
                    f"{self.path} has something else in it ({file.name}); choose an "
                    "empty folder."
                )
        if not any(OWN.fullmatch(file.name) for file in self.path.iterdir()):
            return
        try:
            summary = json.loads((self.path / SUMMARY).read_text(encoding="utf-8"))
            run = summary["run"]
        except (OSError, ValueError, KeyError, TypeError):
            raise ValueError(
                f"{self.path} has parts without a valid {SUMMARY}; choose another "
                "folder, or delete it."
            ) from None
        other = [name for name in self.run if run.get(name) != self.run[name]]
        if other:
            raise ValueError(
                f"{self.path} holds the results of another run (other "
                f"{' and '.join(other)}); choose another folder, or delete it."
            )
        self.summary = summary
        self.is_begun = True

    def note(self, **facts):
        """Write the summary, with more facts in it."""
        self.summary |= facts
        text = json.dumps(self.summary, indent=2, ensure_ascii=False)
        with replacing(self.path / SUMMARY) as draft:
            draft.write_text(f"{text}\n", encoding="utf-8")

    def part(self, number):
        """Return the file of a part."""
        return self.path / f"part-{number:05d}.parquet"

    def write(self, number, data):
        """Write the bytes of a part."""
        with replacing(self.part(number)) as draft:
            draft.write_bytes(data)

    @property
    def model(self):
        """The file of the model."""
        return self.path / MODEL
