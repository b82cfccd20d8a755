"""Write the sample's tables: profiles by construction, the ESCO catalog, and the known answers.

Streams: memory holds one chunk of members, whatever their number.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from jobs.domain import set_domain
from jobs.errors import MissingRequirementError
from jobs.labeler.registry import has_labeler, register
from jobs.sample.catalog import CatalogEntry, sample_catalog
from jobs.sample.esco import read_esco
from jobs.sample.members import SampleMember, sample_members
from jobs.sample.reference import Reference
from jobs.sample.seeds import SAMPLE_SEED
from jobs.settings import CHECKOUT, Settings
from jobs.table_admin import create_missing
from jobs.table_path import table_exists, table_path
from mis_scoring.core.identity import text_hash
from schemas.catalog import CATALOG
from schemas.every import UPSTREAM_TABLES
from schemas.profiles import PROFILES
from schemas.reference import REFERENCE
from schemas.table import Table

BUNDLED_LABELER = CHECKOUT / "labelers" / "esco-small"
ESCO_CSV = "esco_v_1_1_1_data_formatted.csv"
DEFAULT_DOMAIN = "ESCO v1.1.1, default sample"  # what the bundled labeler was evaluated on
WHOLE_DOMAIN = "ESCO v1.1.1, whole"
_CHUNK_MEMBERS = 2000


def has_upstream_tables(settings: Settings) -> bool:
    """Whether profiles and catalog exist."""
    return table_exists(settings.tables, PROFILES) and table_exists(settings.tables, CATALOG)


def write_sample(settings: Settings, *, n_members: int, full_catalog: bool, seed: int = SAMPLE_SEED) -> dict[str, Any]:
    """Replace profiles, catalog and reference by a sample, and register the bundled labeler if there is none.

    Raises:
        MissingRequirementError: ESCO's file is not there.
    """
    source = settings.data_dir / ESCO_CSV
    if not source.exists():
        raise MissingRequirementError(f"{source} is missing: run `make setup`, or set SEMLABEL_DATA_DIR.")
    esco = read_esco(source)
    catalog = sample_catalog(esco, full=full_catalog)
    root, domain = settings.tables, WHOLE_DOMAIN if full_catalog else DEFAULT_DOMAIN
    create_missing(root, *UPSTREAM_TABLES)
    reference = Reference(esco, catalog)

    def batches(to_batch: Callable[[Sequence[SampleMember]], pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        members = sample_members(esco, catalog, n_members=n_members, seed=seed)
        return (to_batch(chunk) for chunk in _chunks(members))

    _replace(root, CATALOG, [_entry_batch(catalog)], domain)
    _replace(root, PROFILES, batches(_profile_batch), domain)
    _replace(root, REFERENCE, batches(lambda chunk: _answer_batch(reference, chunk)), domain)
    if not has_labeler(settings):
        register(settings, BUNDLED_LABELER, alias=settings.labeler_alias)
    return {"members": n_members, "qualifications": len(catalog), "table_root": str(root), "seed": seed}


def _chunks(members: Iterator[SampleMember]) -> Iterator[list[SampleMember]]:
    while chunk := list(islice(members, _CHUNK_MEMBERS)):
        yield chunk


def _replace(root: Path, table: Table, batches: Iterable[pa.RecordBatch], domain: str) -> None:
    reader = pa.RecordBatchReader.from_batches(table.columns, batches)
    write_deltalake(table_path(root, table), reader, mode="overwrite")
    set_domain(root, table, domain)


def _entry_batch(catalog: Sequence[CatalogEntry]) -> pa.RecordBatch:
    rows = [
        {"qualification_id": e.qualification_id, "category": e.category, "text": e.text, "status": "active"}
        for e in catalog
    ]
    return pa.RecordBatch.from_pylist(rows, schema=CATALOG.columns)


def _profile_batch(members: Sequence[SampleMember]) -> pa.RecordBatch:
    now = datetime.now(UTC)
    rows = [
        {
            "member_id": member.member_id,
            "profile_text": member.profile_text,
            "profile_version": 1,
            "updated_at": now,
            "profile_hash": text_hash(member.profile_text),
        }
        for member in members
    ]
    return pa.RecordBatch.from_pylist(rows, schema=PROFILES.columns)


def _answer_batch(reference: Reference, members: Sequence[SampleMember]) -> pa.RecordBatch:
    rows = [
        {"member_id": member.member_id, "qualification_id": qualification_id, "answer": answer}
        for member in members
        for qualification_id, answer in reference.answers(member.facts).items()
    ]
    return pa.RecordBatch.from_pylist(rows, schema=REFERENCE.columns)
