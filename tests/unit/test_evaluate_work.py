"""From a work folder to an artifact and its report, on the tiny labeler and the product's engines."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jobs.errors import FaultsError
from jobs.labeler.evaluate_work import evaluate_work
from jobs.labeler.registry import EVALUATION_FILES
from jobs.labeler.report import PERSONAL_DATA
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import DataError, PromptError
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.readout import margin_of
from mis_scoring.core.rounds import RoundRule
from mis_scoring.evaluation.members import UNSUPPORTED, read_members, write_members
from mis_scoring.evaluation.metrics import Agreement
from tests.labeler_work import SECRET, write_work

DOMAIN = {"catalog": "made up", "description": "answers drawn at random"}
RULE = RoundRule(candidates_per_round=5, stop_below=0.1)
TOO_LONG = "member-too-long"
TRAINING = {
    "kind": "lora",
    "is_packed": True,
    "seed": 0,
    "base": {"name": "tiny base", "digests": {"model.safetensors": "0" * 64}},
    "members": 5,
    "pairs": 60,
    "left_out_too_long": {TOO_LONG: 2_000},
    "steps": 3,
    "pairs_trained": 180,
    "seconds": 1.5,
    "flops": {"device": "cpu"},
}


def evaluate(work: Path, **changes: Any) -> dict[str, Any]:
    return evaluate_work(work, **({"domain": DOMAIN, "tie_pairs": 40, "round_rule": RULE, "name": "tiny"} | changes))


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluated") / "work"
    write_work(folder, further=["unseen_concepts"])
    (folder / "training.json").write_text(json.dumps(TRAINING), encoding="utf-8")
    champion = write_work(folder.parent / "other", seed=5)
    evaluate(champion)
    evaluate(folder, champion_folder=champion / "labeler", notes="## Data\n\nDrawn & made up.")
    return folder


@pytest.fixture(scope="module")
def figures(work: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((work / "evaluation" / "evaluation.json").read_text(encoding="utf-8"))
    return found


def test_every_slice_is_judged_and_training_members_are_not(figures: dict[str, Any]) -> None:
    assert set(figures["slices"]) == {"validation", "test", "unseen_concepts", "injection", "non_english"}
    for part in figures["slices"].values():
        assert {"labeler", "cosine", "always_no", "by_category", "balanced", "calibration", "counts"} <= set(part)


def test_the_threshold_has_the_best_f1_on_validation_and_knows_nothing_of_the_test_members(
    work: Path, figures: dict[str, Any]
) -> None:
    with np.load(work / "evaluation" / "margins.npz", allow_pickle=False) as stored:
        margins, answers = stored["validation"].astype(np.float64), stored["validation.answers"]
    known, right = margins[answers >= 0], answers[answers >= 0] == 1
    best = max(Agreement.of(known >= m, right).f1 for m in known)
    assert Agreement.of(known >= margin_of(figures["threshold"]), right).f1 == pytest.approx(best)


def test_other_test_members_choose_no_other_threshold(work: Path, figures: dict[str, Any], tmp_path: Path) -> None:
    again = write_work(tmp_path / "work")
    write_members(again / "splits" / "test.jsonl.gz", read_members(work / "splits" / "unseen_concepts.jsonl.gz"))
    assert evaluate(again)["threshold"] == figures["threshold"]


def test_the_artifact_carries_contract_rule_bound_and_figures(work: Path, figures: dict[str, Any]) -> None:
    artifact = LabelerArtifact.load(work / "labeler")
    assert artifact.artifact_id == figures["artifact_id"]
    assert (artifact.prompt, artifact.round_rule, artifact.domain) == (COMPACT, RULE, DOMAIN)
    assert artifact.tie_eps >= 2.0 * figures["tie"]["max_difference"] > 0.0
    assert artifact.evaluation["f1"] == figures["slices"]["test"]["labeler"]["f1"]
    assert artifact.evaluation["measured"] == {"scorer_id": artifact.scorer_id, "threshold": artifact.threshold}
    assert figures["tie"]["n_pairs"] == 48  # the first members that have 40 pairs


def test_the_same_evaluation_makes_the_same_artifact(work: Path, figures: dict[str, Any], tmp_path: Path) -> None:
    again = write_work(tmp_path / "work", further=["unseen_concepts"])
    assert evaluate(again)["artifact_id"] == figures["artifact_id"]


def test_an_artifact_is_judged_on_other_members_and_stays_the_same_scorer(
    work: Path, figures: dict[str, Any], tmp_path: Path
) -> None:
    other = write_work(tmp_path / "work", seed=5)
    write_members(other / "splits" / "test.jsonl.gz", read_members(work / "splits" / "unseen_concepts.jsonl.gz"))
    found = evaluate(other, artifact_folder=work / "labeler", name=None)
    assert (found["labeler"], found["scorer_id"]) == ("tiny", figures["scorer_id"])
    assert found["slices"]["test"]["labeler"] == figures["slices"]["unseen_concepts"]["labeler"]
    again = evaluate(other, artifact_folder=other / "labeler", name=None)
    assert again["artifact_id"] == found["artifact_id"]


def test_the_engine_that_scored_gives_its_numeric_profile_and_a_champion_of_another_dtype_is_refused(
    work: Path, tmp_path: Path
) -> None:
    other = write_work(tmp_path / "work")
    on_cpu = {"engine": "prefill", "engine_options": {"device": "cpu"}}
    found = evaluate(other, **on_cpu)
    artifact = LabelerArtifact.load(other / "labeler")
    assert artifact.numeric_profile == {"dtype": "bfloat16", "quantisation": "none", "readout": "float32"}
    assert found["engine"]["dtype"] == "bfloat16"
    assert "engine `prefill`" in (other / "labeler" / "README.md").read_text()
    again = evaluate(other, champion_folder=other / "labeler", **on_cpu)
    assert again["flips"]["flipped_share"] == 0
    with pytest.raises(DataError, match="computes in bfloat16"):
        evaluate(other, champion_folder=work / "labeler", **on_cpu)


def test_order_changes_no_label(figures: dict[str, Any]) -> None:
    assert figures["order"]["with_tie_rule"]["n_changed"] == 0
    assert figures["order"]["with_tie_rule"]["n_pairs"] == 48


def test_flips_against_a_champion_are_over_all_test_pairs(figures: dict[str, Any]) -> None:
    flips = figures["flips"]
    assert sum(flips[name] for name in ("both_yes", "both_no", "yes_to_no", "no_to_yes")) == 60
    assert flips["yes_to_no"] + flips["no_to_yes"] > 0


def test_margins_come_from_the_labelers_own_contract(work: Path, figures: dict[str, Any], tmp_path: Path) -> None:
    other = write_work(tmp_path / "work", layout=replace(COMPACT, name="own", query_prefix="A nurse of years:\n"))
    evaluate(other)
    one, two = (np.load(f / "evaluation" / "margins.npz")["test"] for f in (work, other))
    assert np.abs(one - two).max() > 1e-3
    assert LabelerArtifact.load(other / "labeler").scorer_id != figures["scorer_id"]


class _Page(HTMLParser):
    """Collects what a page refers to, its ids and its headings."""

    def __init__(self) -> None:
        super().__init__()
        self.refers: list[str] = []
        self.ids: list[str] = []
        self.images: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.refers += [str(v) for name in ("href", "src", "xlink:href") if (v := found.get(name)) is not None]
        self.ids += [str(found["id"])] if "id" in found else []
        if tag == "svg":
            self.images.append(found.get("aria-label") if found.get("role") == "img" else None)


def read_page(path: Path) -> tuple[str, _Page]:
    text, page = path.read_text(encoding="utf-8"), _Page()
    page.feed(text)
    return text, page


def test_the_report_leads_with_quality_beside_both_baselines(work: Path, figures: dict[str, Any]) -> None:
    text, _ = read_page(work / "evaluation" / "report.html")
    test = figures["slices"]["test"]
    lead = text[: text.index("<nav")]
    for value in (test["labeler"]["precision"], test["labeler"]["recall"], test["labeler"]["f1"], test["cosine"]["f1"]):
        assert f"{value:.3f}" in lead
    assert "always answering NO" in " ".join(lead.split())


def test_the_report_needs_nothing_from_outside_and_its_contents_lead_somewhere(work: Path) -> None:
    text, page = read_page(work / "evaluation" / "report.html")
    assert all(target.startswith("#") for target in page.refers)
    assert {target[1:] for target in page.refers} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert not re.search(r"<(script|link|img|iframe)\b|@import|url\((?!#)", text)


def test_every_plot_says_in_words_what_it_shows(work: Path) -> None:
    _, page = read_page(work / "evaluation" / "report.html")
    assert len(page.images) == 4
    assert all(told and re.search(r"\d", told) for told in page.images)


def test_the_report_shows_every_slice_and_every_section(work: Path, figures: dict[str, Any]) -> None:
    text, page = read_page(work / "evaluation" / "report.html")
    wanted = ("quality", "balanced", "threshold", "calibration", "categories", "slices", "order", "tie", "flips")
    assert {*wanted, "rounds", "cost", "borderline", "how"} <= set(page.ids)
    assert all(f">{name}</th>" in text for name in figures["slices"])
    assert "<td>lora</td>" in text and "<td>tiny base</td>" in text
    assert "0" * 64 not in text, "one long word makes every other value of its table unreadable"


def test_the_artifact_has_a_card_with_its_figures_its_making_and_the_notes(work: Path, figures: dict[str, Any]) -> None:
    card = (work / "labeler" / "README.md").read_text(encoding="utf-8")
    test = figures["slices"]["test"]["labeler"]
    assert card.startswith("# tiny\n")
    for told in (figures["artifact_id"], figures["scorer_id"], "answers drawn at random. Data: made up.", "`best_f1`"):
        assert told in card
    row = f"| {test['precision']:.3f} | {test['recall']:.3f} | {test['f1']:.3f} |"
    assert row in next(line for line in card.splitlines() if line.startswith("| **test** |"))
    assert all(f"| {name} |" in card for name in figures["slices"] if name != "test")
    assert "Base `tiny base`, a LoRA adapter, merged, packed under the MIS mask" in card
    assert card.endswith("\n## Data\n\nDrawn & made up.\n")
    assert "\n\n\n" not in card


def test_a_labeler_of_unknown_training_has_a_card_too(tmp_path: Path) -> None:
    work = write_work(tmp_path / "work")
    evaluate(work)
    assert "## Training" not in (work / "labeler" / "README.md").read_text(encoding="utf-8")


def test_no_member_is_named_where_the_evaluation_is_uploaded_or_shipped(work: Path) -> None:
    members = [m.member_id for name in ("test", "train") for m in read_members(work / "splits" / f"{name}.jsonl.gz")]
    shipped = [work / "evaluation" / name for name in EVALUATION_FILES]
    shipped += [work / "labeler" / name for name in ("README.md", "labeler.json")]
    for path in shipped:
        content = path.read_bytes()
        assert not [m for m in (TOO_LONG, *members) if f'"{m}"'.encode() in content or f" {m} ".encode() in content]


def test_profile_texts_are_in_the_borderline_files_alone(work: Path) -> None:
    holding = {path.name for path in (work / "evaluation").iterdir() if SECRET.encode() in path.read_bytes()}
    assert holding == {"borderline.html", "borderline.json"}
    assert not [path for path in (work / "labeler").iterdir() if SECRET.encode() in path.read_bytes()]


def test_the_borderline_files_say_that_they_are_personal_data_and_are_sorted(work: Path) -> None:
    content = json.loads((work / "evaluation" / "borderline.json").read_text(encoding="utf-8"))
    distances = [abs(pair["distance"]) for pair in content["pairs"]]
    assert content["notice"] == PERSONAL_DATA
    assert len(distances) == 50 and distances == sorted(distances)
    assert PERSONAL_DATA in (work / "evaluation" / "borderline.html").read_text(encoding="utf-8")


def test_a_text_of_a_profile_is_text_in_the_page(tmp_path: Path) -> None:
    work = write_work(tmp_path / "work")
    members = read_members(work / "splits" / "test.jsonl.gz")
    write_members(
        work / "splits" / "test.jsonl.gz", [replace(m, profile_text="<script>alert(1)</script>") for m in members]
    )
    evaluate(work)
    assert "<script>" not in (work / "evaluation" / "borderline.html").read_text(encoding="utf-8")


def test_a_precision_floor_that_nothing_holds_is_an_error_and_makes_no_artifact(tmp_path: Path) -> None:
    work = write_work(tmp_path / "work")
    with pytest.raises(DataError, match="no threshold has a precision of 1"):
        evaluate(work, target="precision>=1.0")
    assert not (work / "labeler").exists()


def test_what_a_work_folder_lacks_is_listed_at_once(tmp_path: Path) -> None:
    work = write_work(tmp_path / "work")
    (work / "contract.json").unlink()
    (work / "model" / "tokenizer.json").unlink()
    with pytest.raises(FaultsError) as caught:
        evaluate(work)
    assert caught.value.faults == ["contract.json is missing", "model/tokenizer.json is missing"]


def test_faulty_splits_are_listed_at_once(tmp_path: Path) -> None:
    work = write_work(tmp_path / "work")
    (work / "splits" / "validation.jsonl.gz").write_bytes(b"no gzip")
    members = read_members(work / "splits" / "test.jsonl.gz")
    one_class = [replace(m, candidates=[replace(c, answer=UNSUPPORTED) for c in m.candidates]) for m in members]
    write_members(work / "splits" / "test.jsonl.gz", one_class)
    with pytest.raises(FaultsError) as caught:
        evaluate(work)
    assert ["validation" in f or "no pair is supported" in f for f in caught.value.faults] == [True, True]


def test_an_answer_of_two_tokens_is_refused(tmp_path: Path) -> None:
    work = write_work(tmp_path / "work")
    text = (work / "contract.json").read_text(encoding="utf-8").replace('"YES"', '"MAYBE"')
    (work / "contract.json").write_text(text, encoding="utf-8")
    with pytest.raises(PromptError, match="MAYBE"):
        evaluate(work)


def test_a_profile_that_the_model_cannot_take_is_named(tmp_path: Path) -> None:
    work = write_work(tmp_path / "work")
    members = read_members(work / "splits" / "test.jsonl.gz")
    members[1] = replace(members[1], profile_text="word " * 2000)
    write_members(work / "splits" / "test.jsonl.gz", members)
    with pytest.raises(FaultsError, match="tokens, the model takes 1024") as caught:
        evaluate(work)
    assert [fault.split(":")[0] for fault in caught.value.faults] == [f"member {members[1].member_id}"]
