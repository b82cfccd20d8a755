"""Erase a member: the tombstone first, then rows, then files, then a look whether anything is left.

With the tombstone written no plan takes the member up again, also while the source still has the profile. Killed at any
moment and run again, it goes on: what was named stands in the tombstone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jobs.audit.changes import label_rows
from jobs.audit.moment import moment_of
from jobs.erasure.files import clean_work, remove_old_files, rewrite_staged
from jobs.erasure.rows import Rows, count_rows, delete_rows, rows_of
from jobs.erasure.served import forget_served, forget_updates, has_update
from jobs.erasure.traces import Traces, find_traces
from jobs.errors import CheckFailedError, MissingRequirementError
from jobs.run_ledger import read_runs
from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_path import table_exists
from jobs.table_reader import Reader, equals
from jobs.tombstone import FINISHED, STARTED, tombstone_of, write_tombstone
from schemas.every import RUN_TABLES
from schemas.profiles import PROFILES
from schemas.runs import RUNS
from schemas.scope import SCOPE


def forget_member(settings: Settings, member_id: str, *, work: Sequence[Path] = ()) -> dict[str, Any]:
    """Erase a member from all that the project keeps, on disk too, and leave a tombstone.

    Args:
        work: work folders of labelers whose pairs may hold the member.
    Returns:
        rows_deleted: by table; files_deleted, staged_rewritten, work_files: counts; texts_shared: query texts that
        stay, another member having the same profile; labelers_gone: whose queries are found only where a row names
        them; is_in_profiles: whether the source has still to remove it.
    Raises:
        MissingRequirementError: nothing knows the member.
        CheckFailedError: a run over the member goes on, or something of the member is left.
    """
    root, reader = settings.tables, Reader(settings.tables)
    refuse_while_open(settings, member_id)
    if table_exists(root, RUNS):
        create_missing(root, *RUN_TABLES)  # and the columns that tables of an earlier release lack
    tombstone = tombstone_of(reader, member_id)
    traces = find_traces(reader, settings, member_id, tombstone)
    there = [rows for rows in rows_of(traces) if rows.values and table_exists(root, rows.table)]
    counts = {rows.table.name: count_rows(reader, rows) for rows in there}
    is_present = reader.one(f"SELECT 1 AS one FROM profiles WHERE {equals(member_id=member_id)}", PROFILES) is not None
    is_known = is_present or any(counts.values()) or has_update(settings, member_id)
    if tombstone is None and not is_known:
        raise MissingRequirementError(f"No member {member_id!r} in {root}: nothing to erase.")
    _start(reader, root, traces)
    refuse_while_open(settings, member_id)  # again: a run may have been planned before the tombstone was there
    n_updates = forget_updates(settings, member_id)
    for rows in there:
        if counts[rows.table.name]:
            delete_rows(root, rows)
    is_served = forget_served(settings, member_id)
    idle_s = settings.run_idle_hours * 3600
    removed = [remove_old_files(root, rows, broken_after_s=idle_s) for rows in there]
    staged = rewrite_staged(settings.staging, member_id, broken_after_s=idle_s)
    work_files = sum(clean_work(folder, member_id) for folder in work)
    _require_nothing_left(root, member_id, there, [file for one in (*removed, staged) for file in one.unread])
    write_tombstone(root, member_id, FINISHED)
    return {
        "member_id": member_id,
        "rows_deleted": {name: n for name, n in counts.items() if n},
        "files_deleted": sum(one.n_files for one in removed),
        "staged_rewritten": staged.n_files,
        "work_files": work_files,
        "texts_shared": len(traces.shared),
        "labelers_gone": traces.n_labelers_gone,
        "is_in_profiles": is_present,
        "updates_deleted": n_updates,
        "is_in_store": is_served,
    }


def refuse_while_open(settings: Settings, member_id: str) -> None:
    """Refuse while a job may be at work on the member.

    A run that is held or failed has no job at work; tried again, it finds the member's rows gone and goes on without.

    Raises:
        CheckFailedError: names the runs that are open and have the member in scope, or have no scope yet.
    """
    root = settings.tables
    if not table_exists(root, RUNS):
        return
    reader = Reader(root)
    going = [run for run in read_runs(root) if run.state == "open"]
    over = [run.run_id for run in going if "scope_members" not in run.times or _has(reader, run.run_id, member_id)]
    if over:
        raise CheckFailedError(
            f"{', '.join(over)} may be at work on member {member_id!r}: erase it when the run is published or failed "
            f"(table maintenance fails a run after SEMLABEL_RUN_IDLE_HOURS, {settings.run_idle_hours:g}, without an "
            "event)."
        )


def _has(reader: Reader, run_id: str, member_id: str) -> bool:
    where = equals(run_id=run_id, member_id=member_id)
    return reader.one(f"SELECT 1 AS one FROM scope WHERE {where} LIMIT 1", SCOPE) is not None


def _start(reader: Reader, root: Path, traces: Traces) -> None:
    labels = label_rows(reader, moment_of(reader, None), traces.member_id)
    write_tombstone(
        root,
        traces.member_id,
        STARTED,
        profile_hashes=traces.profile_hashes,
        query_hashes=traces.query_hashes,
        labels=labels,
    )


def _require_nothing_left(root: Path, member_id: str, rows: Sequence[Rows], unread: Sequence[Path]) -> None:
    reader = Reader(root)
    left = [f"{n} row(s) in {one.table.name}" for one in rows if (n := count_rows(reader, one))]
    left += [f"{file}, which cannot be read: a writer may be at it" for file in unread]
    if left:
        raise CheckFailedError(
            f"Member {member_id!r} is not erased whole: {'; '.join(left)}. Run it again when no run is going on."
        )
