"""The ceilings of planned runs on a batch: its rounds are priced by the same forecast, before an engine is asked.

They bound one batch, as they bound one refresh; how many batches there are is for the source to say.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jobs.pins import Pins
from jobs.rules.forecast import Forecast, RoundFacts, Survival, forecast
from jobs.run_price import BOUNDS, cost_of, measured_tokens_per_s, refuse_above_ceiling, seconds_of
from jobs.settings import Settings
from jobs.survival_history import experience_of
from jobs.updates.batch_candidates import Candidates
from jobs.updates.round_rows import Judgments, RoundRow, read_judgments, round_row
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.readout import decisions
from mis_scoring.core.rounds import RoundRule
from mis_scoring.core.tokenizer import PromptTokenizer


def refuse_batch_above_ceiling(
    settings: Settings,
    pins: Pins,
    artifact: LabelerArtifact,
    profile_texts: Mapping[str, str],
    candidates: Candidates,
    entry_texts: Mapping[str, str],
) -> None:
    """Stop a batch that may take more than a setting allows; without a ceiling nothing is read.

    Args:
        profile_texts, candidates, entry_texts: as `walk_rounds` takes them.
    Raises:
        CeilingError: gives each figure, its ceiling and the setting.
    """
    if settings.max_pairs is None and settings.max_cost_usd is None:
        return
    layout, root = artifact.prompt, settings.tables
    queries = {member: layout.render_query(profile_texts[member]) for member in candidates}
    items = {key: layout.render_item(entry_texts[key]) for found in candidates.values() for key in found}
    known, survival = read_judgments(root, pins, queries.values()), experience_of(root, pins).survival
    tokenizer = PromptTokenizer(Path(pins.artifact_folder) / "tokenizer.json", layout)
    forecasts = []
    for member, query in queries.items():
        numbers = range(pins.n_rounds)
        rows = [round_row(pins, number, member, query, candidates[member], items, known) for number in numbers]
        forecasts.append(_forecast(rows, pins, known, tokenizer, survival))
    refuse_above_ceiling(_priced(settings, pins, forecasts), settings)


def _forecast(
    rows: Sequence[RoundRow], pins: Pins, known: Judgments, tokenizer: PromptTokenizer, survival: Survival
) -> Forecast:
    """Return what one member's rounds take."""
    rule = RoundRule(candidates_per_round=pins.candidates_per_round, stop_below=pins.stop_below)
    facts = [
        RoundFacts(
            pairs=len(row.to_score) + len(row.reused),
            known=len(row.reused),
            accepted=int(decisions(np.asarray([known[row.pair(item)] for item in row.reused]), pins.threshold).sum()),
            item_tokens=sum(len(tokenizer.encode_item(item.text)) for item in row.to_score),
        )
        for row in rows
    ]
    return forecast(len(tokenizer.encode_query(rows[0].query_text)), facts, rule, survival)


def _priced(settings: Settings, pins: Pins, forecasts: Sequence[Forecast]) -> dict[str, Any]:
    """Return the figures that ceilings bound, as `plan_figures` does for a refresh."""
    speed = measured_tokens_per_s(settings.tables, scorer_id=pins.scorer_id, engine=pins.engine)
    pairs, tokens = (
        {bound: sum(getattr(getattr(one, name), bound) for one in forecasts) for bound in BOUNDS}
        for name in ("pairs_to_score", "tokens")
    )
    seconds = {bound: seconds_of(tokens[bound], speed) for bound in BOUNDS}
    cost = {bound: cost_of(seconds[bound], settings.engines_usd_per_hour) for bound in BOUNDS}
    return {"pairs_to_score": pairs, "cost": cost}
