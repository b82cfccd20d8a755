"""What retention, or an erasure, took away of an answer: said, never guessed."""

from collections.abc import Iterator, Mapping
from typing import Any

from jobs.audit.coverage import MemberCoverage
from jobs.audit.finding import Finding
from jobs.audit.hashes import PairHashes
from schemas.candidates import CANDIDATES
from schemas.coverage import COVERAGE


def taken_away(
    covered: MemberCoverage,
    found: Finding,
    hashes: PairHashes,
    judgment: Mapping[str, Any] | None,
    texts: Mapping[str, str],
) -> Iterator[str]:
    """Yield one sentence for each thing that an answer would show and that is not kept any more.

    Args:
        texts: by hash, those that are kept.
    """
    label = found.label
    if label is not None and covered.stands is None:
        yield f"coverage is kept {COVERAGE.kept_days} days: what the runs of this moment did for the member is gone"
    if label is not None and found.candidate is None:
        run_id = label["published_run_id"]
        yield f"candidates are kept {CANDIDATES.kept_days} days: the similarity that {run_id} found is gone"
    if hashes.missing is not None:
        yield hashes.missing
    known = {"query": hashes.query_hash, "item": hashes.item_hash}
    for kind, hash_ in known.items():
        if hash_ is not None and hash_ not in texts:
            yield f"no {kind} text of hash {hash_[:12]} is kept"
    if None not in known.values() and judgment is None:
        yield "no judgment of this pair is kept"
