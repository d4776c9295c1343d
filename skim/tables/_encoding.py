"""Finding the encoding of text."""

import codecs
import io
from contextlib import suppress

from skim.tables._source import import_extra

# What a table may be in if not in UTF-8. Unrestricted, the detector finds EBCDIC in
# short Western texts.
CANDIDATES = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "koi8_r"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
WIDE = ["utf_16", "utf_32", "utf_16_le", "utf_16_be", "utf_32_le", "utf_32_be"]
SAMPLE = 2**16  # bytes given to the detector
CONTROL = bytes({*range(32)}.difference(b"\t\n\r\f\x1a\x1b"))


def encoding_of(source, wanted, notes):
    """Return the wanted encoding or, if None, the one found; raise if it is wrong.

    Only the beginning of the text is checked; `detect_encoding` finds the encoding
    if UTF-8 turns out to be wrong later on.
    """
    codec = wanted or "utf-8-sig"
    try:
        io.TextIOWrapper(io.BytesIO(), codec)
    except LookupError:
        raise ValueError(f"Unknown encoding {wanted!r}.") from None
    text = None
    with suppress(UnicodeError):
        text = codecs.getincrementaldecoder(codec)().decode(source.head())
    if text is not None and "\0" not in text:
        return codecs.lookup(codec).name
    if wanted is None:
        return detect_encoding(source, notes)
    if text is None:
        raise ValueError(f"{source.name} is not {wanted} text.")
    raise _not_text(source)


def detect_encoding(source, notes):
    """Return the encoding of text that is not UTF-8, and add a note about it."""
    import_extra(
        "Text in an encoding other than UTF-8 needs charset-normalizer",
        "charset_normalizer",
    )
    from charset_normalizer import from_bytes

    head = source.head()
    is_marked = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if head.startswith(codecs.BOM_UTF32_BE) or is_marked or b"\0" in head:
        found = from_bytes(head[:SAMPLE], cp_isolation=WIDE).best()
        is_wide = is_marked or head.count(0) > len(head) / 8
        if found is None or not is_wide:
            raise _not_text(source)
        name = found.encoding
    else:
        sample = _sample(source)
        if len(sample.translate(None, CONTROL)) < 0.99 * len(sample):
            raise _not_text(source)
        name = _western_if_tied(from_bytes(sample, cp_isolation=CANDIDATES), sample)
    name = name.replace("_", "-")
    notes.append(f"Read {source.name} as {name}; set encoding if that is wrong.")
    return codecs.lookup(name).name


def _western_if_tied(matches, sample):
    """Return the best match, or Windows-1252 if nothing speaks against it.

    A few accented letters do not tell one Windows code page from another, and the
    detector then returns the first one in the alphabet.
    """
    best = matches.best()
    tied = {
        name
        for match in matches
        if (match.chaos, match.coherence) == (best.chaos, best.coherence)
        for name in match.could_be_from_charset
    }
    if best is not None and "cp1252" not in tied:
        return best.encoding
    try:
        sample.decode("cp1252")
    except UnicodeDecodeError:  # five bytes are undefined
        return "latin-1"
    return "cp1252"


def _sample(source):
    """Return lines that are not UTF-8, which alone tell the encoding."""
    lines, size, n_utf8, first = [], 0, 0, 0
    with source.open() as file:
        for number, line in enumerate(file, start=1):
            if line.isascii():
                continue
            try:
                line.decode()
                n_utf8 += 1
            except UnicodeDecodeError:
                first = first or number
                lines.append(line)
                size += len(line)
                if size > SAMPLE:
                    break
    if n_utf8 > len(lines):
        raise ValueError(
            f"{source.name}, line {first}: not UTF-8, though most of the file is; "
            "repair this line, or set encoding=latin-1."
        )
    return b"".join(lines)


def _not_text(source):
    kind = source.kind()
    what = f"is {kind}, not text; change its extension" if kind else "is not text"
    return ValueError(f"{source.name} {what}.")
