"""By what a member is found: the id, and the hashes of all texts that were ever made of the member's profiles.

`texts` names no member. A query of the member is one that a label, a round or coverage names, or one whose profile has
a hash that coverage, candidates or scope name. Reads `texts` once, hashing its queries where they are read: rare and
slow.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.audit.artifact import artifact_of
from jobs.pins import PINNED, Pins
from jobs.retrieval.sections import split_sections
from jobs.settings import Settings
from jobs.table_reader import Reader, equals, is_in, literal
from jobs.tombstone import Tombstone
from mis_scoring.core.errors import PromptError
from mis_scoring.core.identity import text_hash
from mis_scoring.core.prompt import PromptLayout
from schemas.candidates import CANDIDATES
from schemas.coverage import COVERAGE
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.profiles import PROFILES
from schemas.runs import RUNS
from schemas.scope import SCOPE
from schemas.table import Table
from schemas.texts import TEXTS

_NAME_A_PROFILE = (COVERAGE, CANDIDATES, SCOPE)


@dataclass(frozen=True, kw_only=True)
class Traces:
    """What names a member.

    Attributes:
        shared: those of the query hashes that are another member's too, whose profile reads the same.
        section_hashes: of the parts that were embedded; a part that another member has too is embedded again.
        n_labelers_gone: labelers whose layout nobody has any more: of their queries those are found that a row names.
    """

    member_id: str
    profile_hashes: frozenset[str]
    query_hashes: frozenset[str]
    shared: frozenset[str]
    section_hashes: frozenset[str]
    n_labelers_gone: int


def find_traces(reader: Reader, settings: Settings, member_id: str, earlier: Tombstone | None) -> Traces:
    """Find a member's traces in all tables.

    Args:
        earlier: of an attempt that did not end: what it named may be gone from where it was found.
    """
    found = _layouts(reader, settings)
    layouts = {layout for layout in found if layout is not None}
    profile = reader.one(f"SELECT profile_text FROM profiles WHERE {equals(member_id=member_id)}", PROFILES)
    known = [profile["profile_text"]] if profile and profile["profile_text"] is not None else []
    profile_hashes = {text_hash(text) for text in known} | _profile_hashes(reader, member_id)
    profile_hashes |= earlier.profile_hashes if earlier else set()
    query_hashes = {text_hash(layout.render_query(text)) for layout in layouts for text in known}
    query_hashes |= _named_queries(reader, member_id) | _queries_of(reader, profile_hashes, layouts)
    query_hashes |= earlier.query_hashes if earlier else set()
    profiles = _profiles_by_query(reader, member_id, query_hashes, layouts)
    others = _others_profile_hashes(reader, member_id, profile_hashes)
    return Traces(
        member_id=member_id,
        profile_hashes=frozenset(profile_hashes),
        query_hashes=frozenset(query_hashes),
        shared=frozenset(query for query, text in profiles.items() if text_hash(text) in others),
        section_hashes=frozenset(_sections([*known, *profiles.values()])),
        n_labelers_gone=found.count(None),
    )


def _layouts(reader: Reader, settings: Settings) -> list[PromptLayout | None]:
    """Return the layout of each artifact that a run ever pinned; None where it is gone."""
    rows = reader.rows(f"SELECT payload FROM runs WHERE event = '{PINNED}'", RUNS)
    pins = {payload["artifact_id"]: Pins(**payload) for payload in (json.loads(row["payload"]) for row in rows)}
    return [artifact_of(settings, one).layout for one in pins.values()]


def _profile_hashes(reader: Reader, member_id: str) -> set[str]:
    found: set[str] = set()
    for table in _NAME_A_PROFILE:
        sql = f"SELECT DISTINCT profile_hash FROM {table.name} WHERE {equals(member_id=member_id)}"
        found |= {row["profile_hash"] for row in reader.rows(sql, table)}
    return found - {None}


def _others_profile_hashes(reader: Reader, member_id: str, profile_hashes: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for table in (COVERAGE, SCOPE):
        where = f"{is_in('profile_hash', set(profile_hashes))} AND member_id <> {literal(member_id)}"
        rows = reader.rows(f"SELECT DISTINCT profile_hash FROM {table.name} WHERE {where}", table)
        found |= {row["profile_hash"] for row in rows}
    return found


def _named_queries(reader: Reader, member_id: str) -> set[str]:
    columns: tuple[tuple[Table, str], ...] = (
        (LABELS, "query_hash"),
        (COVERAGE, "query_hash"),
        (MEMBER_ROUNDS, "query_hash"),
        (LABEL_CHANGES, "before['query_hash']"),
        (LABEL_CHANGES, "after['query_hash']"),
    )
    found: set[str] = set()
    for table, column in columns:
        sql = f"SELECT DISTINCT {column} AS found FROM {table.name} WHERE {equals(member_id=member_id)}"
        found |= {row["found"] for row in reader.rows(sql, table)}
    return found - {None}


def _queries_of(reader: Reader, profile_hashes: set[str], layouts: Iterable[PromptLayout]) -> set[str]:
    found: set[str] = set()
    for layout in layouts:
        around = len(layout.query_prefix) + len(layout.query_suffix)
        inside = f"substr(text, {len(layout.query_prefix) + 1}, character_length(text) - {around})"
        sql = f"""
            SELECT text_hash FROM texts WHERE kind = 'query' AND character_length(text) >= {around}
            AND {is_in(f"encode(sha256({inside}), 'hex')", profile_hashes)}"""
        found |= {row["text_hash"] for row in reader.rows(sql, TEXTS)}
    return found


def _profiles_by_query(
    reader: Reader, member_id: str, query_hashes: set[str], layouts: Iterable[PromptLayout]
) -> dict[str, str]:
    """Return query hash -> profile text; the whole query where no known layout made it."""
    kept = reader.rows(f"SELECT text_hash, text FROM texts WHERE {is_in('text_hash', query_hashes)}", TEXTS)
    sql = f"SELECT query_hash AS text_hash, query_text AS text FROM member_rounds WHERE {equals(member_id=member_id)}"
    return {row["text_hash"]: _profile_in(row["text"], layouts) for row in [*kept, *reader.rows(sql, MEMBER_ROUNDS)]}


def _profile_in(query_text: str, layouts: Iterable[PromptLayout]) -> str:
    for layout in layouts:
        try:
            return layout.profile_of(query_text)
        except PromptError:
            continue
    return query_text


def _sections(profiles: Iterable[str]) -> set[str]:
    return {text_hash(section) for text in profiles for section in split_sections(text)}
