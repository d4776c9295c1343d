"""Finding the encoding of text."""

import codecs
import io

from skim.tables._source import HEAD, import_extra

# What a table may be in if not in UTF-8. Unrestricted, the detector finds EBCDIC in
# short Western texts.
CANDIDATES = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "koi8_r"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
SAMPLE = 2**16  # bytes given to the detector
CONTROL = bytes({*range(32)}.difference(b"\t\n\r\f\x1a\x1b"))


def encoding_of(source, wanted, notes, *, whole=True):
    """Return the wanted encoding, or the one found in the whole text or its head."""
    with source.open() as file:
        head = file.read(HEAD)
        is_utf_16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        codec = wanted or ("utf-16" if is_utf_16 else "utf-8-sig")
        try:
            io.TextIOWrapper(io.BytesIO(), codec)
            decoder = codecs.getincrementaldecoder(codec)()
            if "\0" in decoder.decode(head):
                raise ValueError(f"{source.name} is not text.")
            while whole and head:
                head = file.read(HEAD)
                decoder.decode(head, final=not head)
        except LookupError:
            raise ValueError(f"Unknown encoding {wanted!r}.") from None
        except UnicodeError:
            if wanted is not None:
                raise wrong_encoding(source, wanted) from None
            return _detect(source, notes)
    return codec


def _detect(source, notes):
    """Return the encoding of text that is not UTF-8, and add a note about it."""
    import_extra(
        "Text in an encoding other than UTF-8 needs charset-normalizer",
        "charset_normalizer",
    )
    from charset_normalizer import from_bytes

    sample = _sample(source)
    if len(sample.translate(None, CONTROL)) < 0.99 * len(sample):
        raise ValueError(f"{source.name} is not text.")
    matches = from_bytes(sample, cp_isolation=CANDIDATES)
    best = matches.best()
    # A few accented letters do not tell one Windows code page from another, and the
    # detector then returns the first one in the alphabet.
    name = "cp1252" if best is None else best.encoding
    for match in matches:
        if best and (match.chaos, match.coherence) == (best.chaos, best.coherence):
            name = "cp1252" if "cp1252" in match.could_be_from_charset else name
    try:
        sample.decode(name)
    except UnicodeDecodeError:  # five bytes are undefined in cp1252
        name = "latin-1"
    name = name.replace("_", "-")
    notes.append(f"Read {source.name} as {name}; set encoding if that is wrong.")
    return name


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
            "repair this line, or set encoding='latin-1'."
        )
    return b"".join(lines)


def wrong_encoding(source, codec):
    """Return an error that says that text is in another encoding."""
    shown = codec.removesuffix("-sig").upper()
    return ValueError(f"{source.name} is not {shown} text; set encoding.")
