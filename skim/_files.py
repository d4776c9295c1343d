"""Files that appear whole or not at all."""

import contextlib
import os
import uuid


@contextlib.contextmanager
def replacing(target):
    """Yield where to write what takes the place of a file if all goes well.

    Parameters
    ----------
    target : Path

    Yields
    ------
    draft : Path
        A file beside it, of the same extension, which is not there yet.
    """
    draft = target.with_name(f".{target.stem}.{uuid.uuid4().hex[:8]}{target.suffix}")
    try:
        yield draft
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
