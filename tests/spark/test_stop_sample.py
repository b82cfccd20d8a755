"""A sampled member is judged past its stop, and nothing of what the run publishes shows it."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import build_round, stop_early
from jobs.report_run import report_of
from jobs.run_price import ceilings_passed, spent_at
from jobs.settings import Settings
from jobs.stop_rule import stop_rule
from jobs.table_reader import pins_of
from tests.spark.conftest import CATALOG_TEXTS, PROFILE_TEXTS
from tests.world import World, settings_under, shares_a_word

PROFILES = PROFILE_TEXTS | {"eve": "Nothing of all this.", "fay": "Coding, some selling.", "gus": "On foot only."}
SAMPLED = {"stop_sample_from": 0, "stop_sample_at_least": 5, "stop_price_max_width": 1.0}


@dataclass
class Played:
    """A world after a run that drew a sample."""

    world: World
    run_id: str
    plan: dict[str, Any]
    sample: dict[str, dict[str, Any]]


class LateLiker:
    """Accepts what shares a word with the profile; cat likes all but its first round, and eve's second one fails."""

    def __init__(self) -> None:
        self.n_asked = {"long walks": 0, "Nothing of all": 0}

    def __call__(self, query_text: str, item_text: str) -> float | None:
        for words in self.n_asked:
            self.n_asked[words] += words in query_text
        if "Nothing of all" in query_text and self.n_asked["Nothing of all"] > 4:
            return None
        is_late = "long walks" in query_text and self.n_asked["long walks"] > 4
        return 2.0 if is_late else shares_a_word(query_text, item_text)


@pytest.fixture(scope="module")
def played(spark: SparkSession, registry: Settings, tmp_path_factory: pytest.TempPathFactory) -> Played:
    home = tmp_path_factory.mktemp("sampled")
    settings = settings_under(home, mlflow_uri=registry.tracking_uri, candidates_per_member=10, **SAMPLED)
    world = World(spark, settings)
    world.put_profiles(PROFILES)
    world.put_catalog(CATALOG_TEXTS)
    run_id = world.retrieve("the same")
    plan = world.plan(run_id)
    world.score_rounds(run_id, LateLiker())
    world.publish(run_id)
    return Played(world, run_id, plan, {row["member_id"]: row for row in world.rows("stop_sample")})


def walked(world: World, member_id: str) -> tuple[int, set[str]]:
    """How far a member is judged, and the labels that it gets, going by the rule alone: rounds of 4, a quarter."""
    ranked = sorted(world.rows("candidates", where=f"member_id = '{member_id}'"), key=lambda row: row["rank"])
    ids = [row["qualification_id"] for row in ranked]
    likes = [CATALOG_TEXTS[key].split()[0] in PROFILES[member_id] for key in ids]
    depth = next((end for end in (4, 8) if sum(likes[end - 4 : end]) < 1), 10)
    return depth, {key for key, is_liked in zip(ids[:depth], likes[:depth], strict=True) if is_liked}


def test_labels_and_coverage_are_as_if_nobody_had_gone_on(played: Played) -> None:
    covered = {row["member_id"]: row for row in played.world.rows("coverage")}
    expected = {member: walked(played.world, member) for member in PROFILES}
    assert {member: row["depth"] for member, row in covered.items()} == {m: depth for m, (depth, _) in expected.items()}
    assert all(row["is_complete"] and row["judged"] == row["depth"] for row in covered.values())
    assert covered["cat"]["stop_reason"] == "accepted_too_little"
    assert played.world.labels() == {(member, key) for member, (_, keys) in expected.items() for key in keys}
    assert any(row["is_past_stop"] for row in played.world.rows("round_outcomes")), "some members went on"


def test_the_members_with_the_least_hashes_are_drawn(played: Played) -> None:
    hashed = sorted(PROFILES, key=lambda member: hashlib.sha256(f"{played.run_id}:{member}".encode()).hexdigest())
    assert set(played.sample) == set(hashed[:5])


def test_a_plan_prices_what_comes_after_the_stop_apart_and_a_ceiling_counts_it(played: Played, tmp_path: Path) -> None:
    plan, n_sampled, n_others = played.plan, 5, len(PROFILES) - 5
    sample = plan["stop_sample"]
    assert sample["members"] == n_sampled and plan["pairs_to_score"]["min"] == 4 * len(PROFILES)
    assert sample["pairs"]["min"] == 0 and sample["pairs"]["max"] == n_sampled * (10 - 4)
    scored = sum(row["scored"] for row in played.world.rows("round_outcomes", where="is_past_stop"))
    assert 0 < scored <= sample["pairs"]["max"] and sample["tokens"]["max"] > sample["pairs"]["max"]
    least = 10 * n_sampled + 4 * n_others  # whoever is drawn is judged to the end
    assert [spent_at(plan, "pairs_to_score", bound) for bound in ("min", "max")] == [least, 10 * len(PROFILES)]
    over = settings_under(tmp_path, max_pairs=10 * len(PROFILES) - 1)
    assert ceilings_passed(plan, over) and not ceilings_passed(plan, settings_under(tmp_path, max_pairs=70))


def test_a_recompute_judges_the_sample_anew_and_a_round_that_runs_twice_changes_nothing(
    played: Played, tmp_path: Path
) -> None:
    world = played.world.copy(tmp_path)
    run_id = world.retrieve("anew", recompute=True)
    for number in (0, 1, 1, 2):  # after round 1 the machine dies, and the round is run again
        params: dict[str, Any] = {"run_id": run_id, "round": number}
        build_round.run(world.spark, world.settings, build_round.Params(**params))
        world.score(run_id, number, shares_a_word)
        stopped = stop_early.run(world.spark, world.settings, stop_early.Params(**params))
        assert stopped["past_stop_scored"] > 0 or number == 0
    assert world.publish(run_id)["changes"] == {}
    drawn = world.rows("stop_sample", where=f"run_id = '{run_id}' AND is_judged_to_end")
    assert len(drawn) == 5
    for row in drawn:
        assert row["scored_past_stop"] == 10 - min(10, 4 * row["rounds"]), "no pair past the stop is of the first run"


def test_every_sampled_member_is_judged_to_its_last_candidate(played: Played) -> None:
    for row in played.sample.values():
        rounds = played.world.rows("round_outcomes", where=f"member_id = '{row['member_id']}'")
        if row["member_id"] == "eve":
            continue
        assert row["candidates"] == 10 and row["unjudged_ranks"] == []
        assert row["is_judged_to_end"] and len(rounds) == 3
        past = [one for one in rounds if one["is_past_stop"]]
        assert row["scored_past_stop"] == sum(one["scored"] for one in past) == 10 - min(10, 4 * row["rounds"])
        assert {one["reason"] for one in past} <= {"past_stop"} and not any(one["goes_on"] for one in past)


def test_what_fails_past_the_stop_leaves_the_member_complete(played: Played) -> None:
    assert not played.sample["eve"]["is_judged_to_end"]
    assert {(row["table"], row["key"]) for row in played.world.rows("quarantine")} == {("stop_sample", "eve")}


def test_the_report_prices_the_stop_apart_from_the_run(played: Played) -> None:
    settings = played.world.settings
    report = report_of(settings, pins_of(settings.tables, played.run_id))
    price = report["stop_price"]
    stopped = [row for row in played.sample.values() if row["rounds"] < 3 and row["is_judged_to_end"]]
    lost = sum(rank >= 4 * row["rounds"] for row in stopped for rank in row["accepted_ranks"])
    assert lost >= 6, "cat's"
    assert price["sampled"] == 5 and price["sampled_stopped"] == len(stopped) + 1 and price["sampled_not_judged"] == 1
    assert price["labels_lost"]["total"] == pytest.approx(lost / len(stopped) * price["members_stopped"])
    assert report["rounds"][1]["judged"] == sum(
        row["judged"] for row in played.world.rows("round_outcomes", where="round = 1 AND NOT is_past_stop")
    )


def test_the_rule_now_loses_and_saves_what_the_sample_says(played: Played) -> None:
    found = stop_rule(played.world.settings, [], [2])
    now = next(point for point in found["points"] if found["rule"].items() <= point.items())
    whole = [row for row in played.sample.values() if row["is_judged_to_end"]]
    lost = sum(rank >= 4 * row["rounds"] for row in whole for rank in row["accepted_ranks"])
    assert now["labels_lost"]["total"] == pytest.approx(lost / len(whole) * len(PROFILES))
    never = [point for point in found["points"] if point["stop_below"] == 0.0]
    assert len(never) == 2 and all(point["pairs_saved"]["total"] == 0 for point in never)
    assert Path(found["plot"]).read_text().startswith("<svg")
