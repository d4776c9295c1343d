"""Read tables and encode their columns as numbers."""

from skim.tables._causes import list_causes
from skim.tables._decide import ColumnDecision
from skim.tables._detector import TableDetector
from skim.tables._encoder import TableEncoder
from skim.tables._read import read_table

__all__ = [
    "ColumnDecision",
    "TableDetector",
    "TableEncoder",
    "list_causes",
    "read_table",
]
