"""Make a version the champion: only through a passing gate of exactly its artifact, or by force with a reason.

An alias that moves changes what the next run pins, never a run that is pinned.
"""

import json
from datetime import UTC, datetime
from typing import Any

from jobs.errors import CheckFailedError
from jobs.labeler.adoption_cost import adoption_cost
from jobs.labeler.flips import flips_between
from jobs.labeler.gate import champion_of, gate_of
from jobs.labeler.gate_result import GateLimits, faults_of
from jobs.labeler.registry import resolve_version, stage_labeler
from jobs.mlflow_client import registry_client
from jobs.page_templates import render_page
from jobs.settings import Settings

PROMOTION_FILE, PROMOTION_PAGE = "promotion/promotion.json", "promotion/promotion.html"
_SPEED = "pairs a second, measured"


def promote_labeler(settings: Settings, named: str, *, force_reason: str | None = None) -> dict[str, Any]:
    """Move the deployment's alias to a version, the old one to `previous_<alias>`, and return the promotion's report.

    Of a version that is the champion already nothing is moved: the report is that of its promotion, where there is one,
    with `moved_to` null.

    Args:
        named: a version's number or alias.
        force_reason: why a version goes past the gate; kept with it.
    Raises:
        CheckFailedError: no passing gate of this artifact is stored, and no reason is given.
        MissingRequirementError: there is no such version.
    """
    labeler = stage_labeler(settings, resolve_version(settings, named))
    gate = gate_of(settings, labeler.version)
    faults = _gate_faults(gate, labeler.artifact.artifact_id)
    if faults and not force_reason:
        raise CheckFailedError(
            "\n".join(
                [
                    f"version {labeler.version} is not promoted: {len(faults)} fault(s)",
                    *(f"  - {fault}" for fault in faults),
                    f"`semlabel labeler gate {labeler.version}` runs the checks; --force REASON goes past them.",
                ]
            )
        )
    champion = champion_of(settings)
    moves = champion is None or champion.version != labeler.version
    if not moves and (told := settings.reports / f"promotion-{labeler.version}.json").exists():
        return dict(json.loads(told.read_text(encoding="utf-8"))) | {"moved_to": None}
    report = {
        "version": labeler.version,
        "moved_to": labeler.version if moves else None,
        "artifact_id": labeler.artifact.artifact_id,
        "scorer_id": labeler.artifact.scorer_id,
        "previous_version": champion.version if champion else None,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "forced": force_reason if faults else None,
        "gate_faults": faults,
        "gate_limits_relaxed": _relaxed(gate),
        "flips": flips_between(settings, champion, labeler),
        "cost": adoption_cost(
            settings, champion.artifact if champion else None, labeler.artifact, pairs_per_s=_speed(gate)
        ).as_dict(),
    }
    _move(settings, labeler.version, report, gate)
    return report


def require_gate_for_alias(settings: Settings, alias: str | None) -> None:
    """Refuse to move the deployment's alias on registration, but for its first version: the way is the gate.

    Raises:
        CheckFailedError: a champion stands already.
    """
    champion = champion_of(settings) if alias == settings.labeler_alias else None
    if champion is not None:
        raise CheckFailedError(
            f"{alias} is version {champion.version}: register without --alias, then `semlabel labeler gate VERSION` "
            "and `semlabel labeler promote VERSION` (--force REASON goes past the gate)."
        )


def _gate_faults(gate: dict[str, Any] | None, artifact_id: str) -> list[str]:
    if gate is None:
        return ["it was never put through the gate"]
    if gate["artifact_id"] != artifact_id:
        return [f"its gate was of artifact {gate['artifact_id']}, this one is {artifact_id}"]
    return faults_of(gate)


def _relaxed(gate: dict[str, Any] | None) -> dict[str, Any]:
    """Return the limits of the gate that are not the defaults."""
    defaults = vars(GateLimits())
    return {name: value for name, value in (gate or {}).get("limits", {}).items() if value != defaults.get(name)}


def _speed(gate: dict[str, Any] | None) -> float | None:
    figures = [figure for check in (gate or {}).get("checks", []) for figure in check["figures"]]
    return next((figure["value"] for figure in figures if figure["name"] == _SPEED), None)


def _move(settings: Settings, version: str, report: dict[str, Any], gate: dict[str, Any] | None) -> None:
    """Leave the report first, then move the aliases: a version that became champion has its report."""
    client, name = registry_client(settings), settings.labeler_name
    text = json.dumps(report, indent=2, sort_keys=True, ensure_ascii=False)
    settings.reports.mkdir(parents=True, exist_ok=True)
    (settings.reports / f"promotion-{version}.json").write_text(text + "\n", encoding="utf-8")
    page = render_page("promotion.html.j2", r=report, gate=gate)
    (settings.reports / f"promotion-{version}.html").write_text(page, encoding="utf-8")
    run_id = str(client.get_model_version(name, version).run_id)
    client.log_text(run_id, text, PROMOTION_FILE)
    client.log_text(run_id, page, PROMOTION_PAGE)
    if report["forced"]:
        client.set_model_version_tag(name, version, "promotion_forced", report["forced"])
    if report["previous_version"] not in (None, version):
        client.set_registered_model_alias(name, f"previous_{settings.labeler_alias}", report["previous_version"])
    client.set_registered_model_alias(name, settings.labeler_alias, version)
