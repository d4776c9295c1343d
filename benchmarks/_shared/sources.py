"""Which tables have the same source, and which half of the sources a table is in.

Tables of one source are not independent of each other: a study averages over the
tasks of a family, over the families of a source, and then over sources. Settings are
chosen on one half of the sources and confirmed on the other.
"""

import zlib

from benchmarks._shared.keel import FAMILIES
from benchmarks._shared.tables import TABLES

HALVES = ("choosing half", "confirming half")
# Families that come from the same source under different names.
SAME = {
    "breast_cancer": "wdbc",
    "breastw": "wisconsin",
    "http": "kddcup",
    "magic.gamma": "magic",
    "pageblocks": "page-blocks",
    "pendigits": "penbased",
    "satimage-2": "landsat",
    "smtp": "kddcup",
    "wbc": "wisconsin",
}


def source_of(family):
    """Return the source of a family, such as "WBC", "adbench/WBC" or "keel/wine"."""
    name = family.split("/")[-1].lower()
    return SAME.get(name, name)


# In this order, they are in either half by turns.
SOURCES = sorted({source_of(name) for name in (*TABLES, *FAMILIES)})


def half_of(source):
    """Return the half of a source, whatever other sources there are."""
    if source in SOURCES:
        return HALVES[SOURCES.index(source) % 2]
    return HALVES[zlib.crc32(source.encode()) % 2]


def source_means(values, families):
    """Average values by task over the tasks of a family, then over its source."""
    by_family = values.groupby(list(families)).mean()
    return by_family.groupby(source_of).mean()
