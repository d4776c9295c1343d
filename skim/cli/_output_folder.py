"""A folder of results that is written part by part, and by several runs if need be."""

import hashlib
import json
import re

import skim
from skim._utils import naming, replacing

SUMMARY, MODEL = "_summary.json", "_model.skops"  # readers of Parquet skip a "_"
PARTS = "_parts.jsonl"
OWN = re.compile(r"part-\d{5,}\.parquet|_summary\.json|_model\.skops|_parts\.jsonl")
DRAFT = re.compile(r"\.(part-\d{5,}|_summary|_model)\.[0-9a-f]{8}\.\w+")


class OutputFolder:
    """The results of a run, in Parquet parts beside a summary.

    Files appear whole. If the folder has been begun by a run with the same input,
    model and options, its parts are kept, unless they have been damaged since.

    `run` is what the results depend on, names of things and their fingerprints, and
    `parts` is what is known about the parts that are written, by number.
    """

    def __init__(self, path, run):
        self.path = path
        self.model = path / MODEL
        self.run = run | {"version": skim.__version__}
        self.summary = {"skim": skim.__version__, "is_complete": False, "run": self.run}
        self.is_begun = False
        self.parts: dict = {}
        names = sorted(file.name for file in path.iterdir()) if path.exists() else []
        for name in names:
            if not (OWN.fullmatch(name) or DRAFT.fullmatch(name)):
                raise ValueError(
                    f"{path} has something else in it ({name}); choose an empty folder."
                )
        if any(map(OWN.fullmatch, names)):
            self._continue()

    def _continue(self):
        """Read the summary of the run that began the folder, which must be the same."""
        try:
            summary = json.loads((self.path / SUMMARY).read_text(encoding="utf-8"))
            run = summary["run"]
            other = [name for name in self.run if run.get(name) != self.run[name]]
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            raise ValueError(
                f"{self.path} has parts without a valid {SUMMARY}; choose another "
                "folder, or delete it."
            ) from None
        if other:
            by = "; the input is known by its size and time" * ("input" in other)
            raise ValueError(
                f"{self.path} holds the results of another run (other "
                f"{' and '.join(other)}{by}); choose another folder, or delete it."
            )
        self.summary = summary
        self.is_begun = True

    def begin(self):
        """Create the folder, or see what another run has left there."""
        with naming(self.path):
            self.path.mkdir(exist_ok=True)
            for file in self.path.iterdir():
                if DRAFT.fullmatch(file.name):
                    file.unlink()
        if not self.is_begun or not (self.path / PARTS).exists():
            self.note()
            return
        for line in (self.path / PARTS).read_text(encoding="utf-8").splitlines():
            try:
                part = json.loads(line)
                if _digest(self.part(part["number"]).read_bytes()) == part["sha256"]:
                    self.parts[part["number"]] = part
            except (OSError, ValueError, KeyError, TypeError):
                pass  # half a line, or a part that is gone

    def note(self, **facts):
        """Write the summary, with more facts in it."""
        self.summary |= facts
        text = json.dumps(self.summary, indent=2, ensure_ascii=False)
        self._write(self.path / SUMMARY, f"{text}\n".encode())

    def part(self, number):
        """Return the file of a part."""
        return self.path / f"part-{number:05d}.parquet"

    def write(self, number, data, **facts):
        """Write the bytes of a part, and note facts about it."""
        self._write(self.part(number), data)
        part = {"number": number, "file": self.part(number).name} | facts
        self.parts[number] = part | {"sha256": _digest(data)}
        with naming(self.path / PARTS), (self.path / PARTS).open("a") as file:
            file.write(f"\n{json.dumps(self.parts[number])}")

    def _write(self, path, data):
        with replacing(path) as draft, naming(path):
            draft.write_bytes(data)


def _digest(data):
    return hashlib.sha256(data).hexdigest()
