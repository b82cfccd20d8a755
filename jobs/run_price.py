"""What a planned run may cost at most, and the ceiling that stops it before anything is spent.

Tokens go by the cost model (`mis_scoring.core.cost`: the query once a round, each item once), as if every text were as
long as the longest are; the rescoring of ties comes on top. Seconds go by the speed of the last published run that
scored enough with the same scorer.
"""

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.artifact_folder import load_artifact
from jobs.errors import CeilingError
from jobs.ledger import PUBLISHED
from jobs.pins import PINNED, Pins
from jobs.settings import Settings
from jobs.table_reader import literal, query
from mis_scoring.core.tokenizer import PromptTokenizer
from schemas.catalog import CATALOG
from schemas.profiles import PROFILES
from schemas.runs import RUNS
from schemas.scope import SCOPE

PROFILES_MEASURED = 200
MEASURED_PAIRS = 1000  # fewer measure the start of an engine, not its speed


@dataclass(frozen=True, kw_only=True)
class RunPrice:
    """What a run may cost at most; None where it is not known.

    Attributes:
        pairs: that may have no judgment yet.
        seconds: of the score stage, all engines of the deployment together.
    """

    pairs: int
    tokens: int
    seconds: float | None
    cost_usd: float | None

    @classmethod
    def of(cls, *, pairs: int, tokens: int, tokens_per_s: float | None, usd_per_hour: float | None) -> "RunPrice":
        """Price tokens by speed and rent; nothing to score costs nothing, whatever is known."""
        seconds = 0.0 if not pairs else None if not tokens_per_s else tokens / tokens_per_s
        cost = 0.0 if not pairs else None if seconds is None or usd_per_hour is None else seconds * usd_per_hour / 3600
        return cls(
            pairs=pairs,
            tokens=tokens,
            seconds=None if seconds is None else round(seconds, 1),
            cost_usd=None if cost is None else round(cost, 4),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the figures under the names of a plan."""
        return {f"{name}_at_most": value for name, value in vars(self).items()}


def price_of(settings: Settings, pins: Pins) -> RunPrice:
    """Price the run's scope."""
    sql = f"""
        SELECT coalesce(sum(pairs_at_most), 0) AS pairs,
               coalesce(sum(ceil(pairs_at_most / CAST({pins.candidates_per_round} AS DOUBLE))), 0) AS requests
        FROM scope WHERE run_id = {literal(pins.run_id)}"""
    work = query(settings.tables, sql, SCOPE)[0]
    query_tokens, item_tokens = tokens_at_most(settings.tables, pins) if work["pairs"] else (0.0, 0.0)
    return RunPrice.of(
        pairs=int(work["pairs"]),
        tokens=round(work["requests"] * query_tokens + work["pairs"] * item_tokens),
        tokens_per_s=measured_tokens_per_s(settings.tables, pins.scorer_id),
        usd_per_hour=settings.engines_usd_per_hour,
    )


def refuse_above_ceiling(price: RunPrice, settings: Settings) -> None:
    """Stop a run that may cost more than a setting allows.

    Raises:
        CeilingError: gives the figure, the ceiling and the setting.
    """
    if settings.max_pairs is not None and price.pairs > settings.max_pairs:
        raise CeilingError(
            f"The run may score {price.pairs} pairs, and SEMLABEL_MAX_PAIRS is {settings.max_pairs}. Nothing was "
            "spent: raise it and run plan_refresh again, or take fewer candidates a member."
        )
    if settings.max_cost_usd is None:
        return
    if price.cost_usd is None:
        raise CeilingError(
            f"SEMLABEL_MAX_COST_USD is {settings.max_cost_usd}, and what {price.pairs} pairs cost is not known: "
            f"SEMLABEL_ENGINES_USD_PER_HOUR is not set, or no published run has scored {MEASURED_PAIRS} pairs with "
            "this scorer yet. Bound the first run by SEMLABEL_MAX_PAIRS in its place."
        )
    if price.cost_usd > settings.max_cost_usd:
        raise CeilingError(
            f"The run may cost {price.cost_usd} USD, and SEMLABEL_MAX_COST_USD is {settings.max_cost_usd}. Nothing was "
            "spent: raise it and run plan_refresh again, or take fewer candidates a member."
        )


def tokens_at_most(root: Path, pins: Pins) -> tuple[float, float]:
    """Return tokens of a query and of an item that the means over the run's requests and pairs do not pass.

    Those are the means over the longest profiles in scope, and over the K longest entries: the candidates of a member
    are K different ones. Longest by bytes, which a tokenizer nearly follows.
    """
    profiles = f"""
        SELECT p.profile_text AS text FROM profiles p JOIN scope s ON p.member_id = s.member_id
        WHERE s.run_id = {literal(pins.run_id)} AND s.pairs_at_most > 0
        ORDER BY octet_length(p.profile_text) DESC LIMIT {PROFILES_MEASURED}"""
    entries = f"""
        SELECT text FROM catalog WHERE status = 'active' AND text IS NOT NULL
        ORDER BY octet_length(text) DESC LIMIT {pins.candidates_per_member}"""
    layout = load_artifact(pins).prompt
    tokenizer = PromptTokenizer(Path(pins.artifact_folder) / "tokenizer.json", layout)
    versions = {PROFILES.name: pins.profiles_delta_version, CATALOG.name: pins.catalog_delta_version}
    queries = [layout.render_query(row["text"]) for row in query(root, profiles, PROFILES, SCOPE, versions=versions)]
    items = [layout.render_item(row["text"]) for row in query(root, entries, CATALOG, versions=versions)]
    return (
        _mean([len(tokenizer.encode_query(text)) for text in queries]),
        _mean([len(tokenizer.encode_item(text)) for text in items]),
    )


def _mean(lengths: list[int]) -> float:
    return sum(lengths) / len(lengths) if lengths else 0.0


def measured_tokens_per_s(root: Path, scorer_id: str) -> float | None:
    """Return the speed of the score stage in the last published run with this scorer that scored enough to tell.

    Reads the ledger: some rows a run and round.
    """
    sql = f"SELECT run_id, event, payload FROM runs WHERE event IN ('{PINNED}', '{PUBLISHED}') OR {_SCORES} ORDER BY at"
    runs: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in query(root, sql, RUNS):
        runs[row["run_id"]][row["event"]] = json.loads(row["payload"])
    for events in reversed(list(runs.values())):
        rounds = [payload for event, payload in events.items() if event not in (PINNED, PUBLISHED)]
        pairs, seconds = (sum(payload[name] for payload in rounds) for name in ("scored", "seconds"))
        is_like = PUBLISHED in events and events[PINNED]["scorer_id"] == scorer_id
        if is_like and pairs >= MEASURED_PAIRS and seconds:
            return float(sum(payload["tokens"] for payload in rounds) / seconds)
    return None


_SCORES = r"event LIKE 'round\_%\_score\_round'"
