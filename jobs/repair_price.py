"""What a revocation concerns, and what the repair may cost at most, before it is made.

Counts by SQL over the judgments, the standing coverage and the labels, each read once. Tokens go by the cost model
(`mis_scoring.core.cost`): a member's query once a round that it walked, each withdrawn item once, as if all of them
were as long as the longest; the rescoring of ties comes on top.
"""

from pathlib import Path
from typing import Any

from jobs.artifact_folder import load_artifact
from jobs.pins import PINNED
from jobs.revocations import is_usable, is_withdrawn_by, read_revocations
from jobs.rules.revocation import Revocation
from jobs.run_price import cost_of, measured_tokens_per_s, seconds_of
from jobs.settings import Settings
from jobs.standing_coverage import standing_coverage
from jobs.table_reader import literal, pins_of, query
from mis_scoring.core.tokenizer import PromptTokenizer
from schemas.coverage import COVERAGE
from schemas.judgments import JUDGMENTS
from schemas.labels import LABELS
from schemas.runs import RUNS
from schemas.texts import TEXTS

TEXTS_MEASURED = 200


def repair_of(settings: Settings, one: Revocation) -> dict[str, Any]:
    """Return what a revocation concerns and what its repair may cost.

    Returns:
        judgments, members, labels; pairs, tokens, seconds and cost_usd at most, null where not known.
    """
    root, facts = settings.tables, _facts(settings.tables, one)
    counted = query(root, facts + _COUNTS, JUDGMENTS, COVERAGE, LABELS)[0]
    work = query(root, facts + _WORK, JUDGMENTS, COVERAGE)
    prices = [_price(settings, facts, **row) for row in work]
    return counted | {f"{name}_at_most": _sum([price[name] for price in prices]) for name in _PRICED}


def _facts(root: Path, one: Revocation) -> str:
    """WITH the usable judgments that would be withdrawn, and those of them that leave their pair without any."""
    usable = is_usable(read_revocations(root))
    return f"""{standing_coverage(root)},
        withdrawn AS (SELECT * FROM judgments WHERE {usable} AND {is_withdrawn_by(one)}),
        left_over AS (SELECT * FROM judgments WHERE {usable} AND NOT {is_withdrawn_by(one)}),
        pairs AS (
            SELECT DISTINCT w.scorer_id, w.query_hash, w.item_hash FROM withdrawn w LEFT ANTI JOIN left_over o
            ON o.scorer_id = w.scorer_id AND o.query_hash = w.query_hash AND o.item_hash = w.item_hash),
        repairs AS (
            SELECT s.member_id, s.scorer_id, s.rounds, count(*) AS n
            FROM stands s JOIN pairs p ON p.scorer_id = s.scorer_id AND p.query_hash = s.query_hash
            GROUP BY s.member_id, s.scorer_id, s.rounds)"""


_COUNTS = """
SELECT (SELECT count(*) FROM withdrawn) AS judgments,
       (SELECT count(*) FROM stands s LEFT SEMI JOIN withdrawn w
        ON w.scorer_id = s.scorer_id AND w.query_hash = s.query_hash) AS members,
       (SELECT count(*) FROM labels l LEFT SEMI JOIN withdrawn w
        ON w.scorer_id = l.scorer_id AND w.query_hash = l.query_hash AND w.item_hash = l.item_hash) AS labels"""

_PRICED = ("pairs", "tokens", "seconds", "cost_usd")

_WORK = """
SELECT scorer_id, sum(n) AS pairs, sum(least(n, rounds)) AS requests FROM repairs GROUP BY scorer_id"""


def _price(settings: Settings, facts: str, *, scorer_id: str, pairs: int, requests: int) -> dict[str, float | None]:
    query_tokens, item_tokens = _tokens_at_most(settings.tables, facts, scorer_id)
    tokens = round(requests * query_tokens + pairs * item_tokens)
    seconds = seconds_of(tokens, measured_tokens_per_s(settings.tables, scorer_id=scorer_id, engine=settings.engine))
    cost_usd = cost_of(seconds, settings.engines_usd_per_hour)
    return {"pairs": pairs, "tokens": tokens, "seconds": seconds, "cost_usd": cost_usd}


def _tokens_at_most(root: Path, facts: str, scorer_id: str) -> tuple[float, float]:
    """Return the mean tokens of the longest queries and items that would be scored again; by the scorer's tokenizer."""
    sql = f"""
        SELECT run_id FROM runs WHERE event = '{PINNED}' AND payload LIKE {literal(f'%"{scorer_id}"%')}
        ORDER BY at DESC LIMIT 1"""
    pins = pins_of(root, query(root, sql, RUNS)[0]["run_id"])
    tokenizer = PromptTokenizer(Path(pins.artifact_folder) / "tokenizer.json", load_artifact(pins).prompt)
    queries, items = (_longest(root, facts, scorer_id, column) for column in ("query_hash", "item_hash"))
    return (
        _mean([len(tokenizer.encode_query(text)) for text in queries]),
        _mean([len(tokenizer.encode_item(text)) for text in items]),
    )


def _longest(root: Path, facts: str, scorer_id: str, column: str) -> list[str]:
    sql = f"""{facts}
        SELECT t.text FROM texts t LEFT SEMI JOIN pairs p
        ON p.{column} = t.text_hash AND p.scorer_id = {literal(scorer_id)}
        ORDER BY octet_length(t.text) DESC LIMIT {TEXTS_MEASURED}"""
    return [row["text"] for row in query(root, sql, TEXTS, JUDGMENTS, COVERAGE)]


def _mean(lengths: list[int]) -> float:
    return sum(lengths) / len(lengths) if lengths else 0.0


def _sum(values: list[Any]) -> Any:
    return None if None in values else sum(values)
