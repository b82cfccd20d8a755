"""The routes: each parses an address, reads what it names, and renders; a deep link is all that a page needs."""

import re
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse

from jobs.errors import MissingRequirementError
from jobs.page_templates import render_page
from jobs.pins import PINNED
from jobs.settings import Settings
from jobs.web import reader
from jobs.web.facts import flat, runs_of, sections_of
from jobs.web.headers import REPORT_POLICY
from jobs.web.lineage import steps_of, told_of
from jobs.web.shell import show

router = APIRouter()

Id = Annotated[str, Query(min_length=1, max_length=400)]
Typed = Annotated[str, Query(max_length=400)]
Page = Annotated[int, Query(ge=1, le=10_000_000)]
_RUN_ID = re.compile(r"[a-z_]+-[0-9a-f]{12}")


@router.get("/")
def home(request: Request) -> Response:
    """The search field and what to expect of it."""
    return show(request, "home", here="labels")


@router.get("/search")
def search(request: Request, q: Typed = "") -> Response:
    """Members and catalog entries by what was typed."""
    typed = q.strip()
    settings = _settings(request)
    members = reader.find_members(settings, typed) if typed else reader.Rows()
    entries = reader.find_qualifications(settings, typed) if typed else reader.Rows()
    return show(request, "search", typed=typed, members=members, entries=entries)


@router.get("/member")
def member(request: Request, id: Id, as_of: Typed = "", history_page: Page = 1) -> Response:
    """A member's label set, now or at an earlier moment, and what made it so."""
    settings = _settings(request)
    found = reader.read_member(settings, id, as_of=as_of or None)
    if found["state"] == "not_evaluated" and not reader.knows_member(settings, id):
        raise MissingRequirementError(f"No table has a member {id!r}.")
    return show(
        request,
        "member",
        member=found,
        member_id=id,
        as_of=as_of or None,
        history=reader.history_of(settings, id, page=history_page),
    )


@router.get("/qualification")
def qualification(request: Request, id: Id, page: Page = 1) -> Response:
    """A catalog entry, and who has it."""
    settings = _settings(request)
    entry = reader.read_entry(settings, id)
    n_labels = reader.count_holders(settings, id)
    if entry is None and n_labels == 0:
        raise MissingRequirementError(f"The catalog has no entry {id!r}, and nobody has it as a label.")
    holders = reader.holders_of(settings, id, page=page)
    return show(request, "qualification", qualification_id=id, entry=entry, n_labels=n_labels, holders=holders)


@router.get("/label")
def label(request: Request, member: Id, qualification: Id, as_of: Typed = "", history_page: Page = 1) -> Response:
    """One pair: its state, the way to it as a picture, and every fact of its audit."""
    settings = _settings(request)
    audit = reader.read_audit(settings, member, qualification, as_of=as_of or None)
    steps = steps_of(audit)
    return show(
        request,
        "label",
        audit=audit,
        as_of=as_of or None,
        entry=reader.read_entry(settings, qualification),
        steps=steps,
        told=told_of(steps),
        sections=sections_of(audit),
        runs=runs_of(audit),
        history=reader.history_of(settings, member, qualification, page=history_page),
    )


@router.get("/runs")
def runs(request: Request, page: Page = 1) -> Response:
    """The runs, newest first, and what is on hold."""
    settings = _settings(request)
    found = reader.runs(settings, page=page)
    return show(request, "runs", here="runs", runs=found, holds=reader.holds(settings))


@router.get("/run")
def run(request: Request, id: Id, page: Page = 1) -> Response:
    """One run: what it pinned, planned and did, and the labels that it changed."""
    settings = _settings(request)
    ledger = reader.read_ledger(settings, id)
    if ledger is None:
        raise MissingRequirementError(f"The ledger has no run {id!r}.")
    return show(
        request,
        "run",
        here="runs",
        run=ledger,
        pins=flat(ledger.of(PINNED)),
        plan=flat(ledger.of("plan_refresh")),
        has_report=_report(settings, id) is not None,
        changes=reader.changes_by(settings, id, page=page),
    )


@router.get("/report")
def report(request: Request, run: Id) -> Response:
    """A run's report, as its job wrote it."""
    path = _report(_settings(request), run)
    if path is None:
        raise MissingRequirementError(f"Run {run!r} has left no report.")
    policy = REPORT_POLICY.format(framing=request.app.state.framing)
    return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": policy})


@router.get("/catalog")
def catalog(request: Request, then: Typed = "", now: Typed = "", page: Page = 1) -> Response:
    """The catalog's versions, what the first run of each was planned to cost, and how two of them differ."""
    settings = _settings(request)
    diff, entries = reader.compare_catalogs(settings, then, now, page=page) if then and now else (None, reader.Rows())
    versions = reader.catalog_versions(settings)
    return show(request, "catalog", here="catalog", versions=versions, then=then, now=now, diff=diff, entries=entries)


@router.get("/style.css")
def style() -> Response:
    """The one style sheet."""
    text = render_page("style.css") + render_page("web.css")
    return Response(text, media_type="text/css", headers={"Cache-Control": "private, max-age=300"})


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


def _report(settings: Settings, run_id: str) -> Any:
    path = settings.reports / f"{run_id}.html"
    return path if _RUN_ID.fullmatch(run_id) and path.is_file() else None
