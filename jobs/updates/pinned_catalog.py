"""A pinned catalog as retrieval sees it: the entries that can be used, the faulty ones, and the index of vectors.

Made once for a version of the catalog, a retriever and a labeler, and kept while runs pin the same. Memory: the index
(3 KB an entry) and the entries' texts. What is read grows with all texts that were ever embedded.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.pins import Pins
from jobs.retrieval.topk import CatalogIndex
from jobs.rules.inputs import fault_of
from jobs.settings import Settings
from jobs.table_reader import query
from jobs.updates.embeddings import Embeddings
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.identity import text_hash
from mis_scoring.core.limits import max_item_tokens
from mis_scoring.core.tokenizer import PromptTokenizer
from schemas.catalog import CATALOG


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A row of `quarantine`, but for where and when."""

    table: str
    key: str
    reason: str
    value_hash: str | None


@dataclass(frozen=True, kw_only=True)
class PinnedCatalog:
    """A catalog at a version.

    Attributes:
        texts: of the active entries that can be used, by id.
        index: those of them that are retrieved; None where there are none.
        faults: what can't be used, and why.
    """

    texts: Mapping[str, str]
    index: CatalogIndex | None
    faults: tuple[Fault, ...]


def load_catalog(settings: Settings, pins: Pins, artifact: LabelerArtifact, embeddings: Embeddings) -> PinnedCatalog:
    """Read the catalog that a run pinned; embed and keep what no run has embedded."""
    sql = "SELECT qualification_id, text, status FROM catalog"
    rows = query(settings.tables, sql, CATALOG, versions={CATALOG.name: pins.catalog_delta_version})
    faults = _faults(rows)
    faulty = {fault.key for fault in faults}
    usable = {
        row["qualification_id"]: row["text"]
        for row in rows
        if row["status"] == "active" and (row["qualification_id"] or "") not in faulty
    }
    too_long = _too_long(usable, Path(pins.artifact_folder), artifact)
    faults += too_long
    entries = {key: text for key, text in usable.items() if key not in {fault.key for fault in too_long}}
    vectors = embeddings.of(entries.values(), pins.retriever_id)
    vectors.keep(settings.tables, pins.retriever_id, transaction=f"{pins.run_id}:catalog_vectors")
    indexed = [key for key, text in entries.items() if vectors.has_direction(text)]
    faults += [
        Fault(table="catalog", key=key, reason="embeds to nothing", value_hash=text_hash(text))
        for key, text in entries.items()
        if not vectors.has_direction(text)
    ]
    return PinnedCatalog(
        texts=usable,
        index=CatalogIndex.build(indexed, vectors.stacked([entries[key] for key in indexed])) if indexed else None,
        faults=tuple(faults),
    )


def _faults(rows: list[dict[str, Any]]) -> list[Fault]:
    """Return one fault a key, as `jobs.inputs` finds them; entries that are retired are looked at, too."""
    n_rows = Counter(row["qualification_id"] for row in rows)
    found: dict[str, Fault] = {}
    for row in rows:
        key, text = row["qualification_id"], row["text"]
        if reason := fault_of("qualification_id", key, "text", text, n_rows=n_rows[key]):
            value_hash = None if text is None else text_hash(text)
            found.setdefault(key or "", Fault(table="catalog", key=key or "", reason=reason, value_hash=value_hash))
    return list(found.values())


def _too_long(entries: Mapping[str, str], folder: Path, artifact: LabelerArtifact) -> list[Fault]:
    """Return the entries with more tokens than an item may have, as `jobs.item_length` finds them."""
    limit = max_item_tokens(json.loads((folder / "config.json").read_text())["max_position_embeddings"])
    items = {key: artifact.prompt.render_item(text) for key, text in entries.items()}
    suspects = {key: item for key, item in items.items() if len(item.encode()) > limit}  # a token is a byte at least
    if not suspects:
        return []
    tokenizer = PromptTokenizer(folder / "tokenizer.json", artifact.prompt)
    n_tokens = {key: len(tokenizer.encode_item(item)) for key, item in suspects.items()}
    return [
        Fault(
            table="catalog",
            key=key,
            reason=f"{count} tokens; the labeler takes {limit} an item",
            value_hash=text_hash(entries[key]),
        )
        for key, count in n_tokens.items()
        if count > limit
    ]
