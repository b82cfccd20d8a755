"""Answer every question about a label, without Spark: why it is there or not, now or at an earlier moment.

Everything is read from rows that stay (`label_changes`, `coverage`, `judgments`, `texts`, the ledger), never by time
travel: a VACUUM, a compaction or a moved alias changes no answer. What retention took away is said.
"""

from jobs.audit.history import label_history
from jobs.audit.known import unknown_ids
from jobs.audit.label import audit_label
from jobs.audit.label_set import audit_member, labels_of
from jobs.audit.run_diff import run_diff
from jobs.audit.search import find_members, find_qualifications

__all__ = [
    "audit_label",
    "audit_member",
    "find_members",
    "find_qualifications",
    "label_history",
    "labels_of",
    "run_diff",
    "unknown_ids",
]
