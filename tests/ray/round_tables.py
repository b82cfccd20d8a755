"""A small artifact and the tables that a round reads, written without Spark."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from jobs.pins import PINNED, Pins
from jobs.settings import Settings
from mis_scoring.core.artifact import LabelerArtifact, digests_of
from mis_scoring.core.identity import text_hash
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.rounds import RoundRule
from mis_scoring.ray_data.staging import scores_folder
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.runs import RUNS

RUN_ID = "weekly_full-0123456789ab"
LAYOUT = COMPACT
ITEM_TEXTS = ("Python", "forklift driving", "licence C", "bachelor of nursing", "tax accounting")


def write_artifact(folder: Path, *, tie_eps: float = 0.0) -> LabelerArtifact:
    """Write an artifact whose tokenizer is real and whose model is not."""
    folder.mkdir(parents=True)
    _tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"no model")
    artifact = LabelerArtifact(
        name="test-labeler",
        prompt=LAYOUT,
        label_tokens={"yes": "YES", "no": "NO"},
        numeric_profile={"dtype": "float32", "quantisation": "none", "readout": "float32"},
        threshold=0.5,
        round_rule=RoundRule(candidates_per_round=50, stop_below=0.1),
        tie_eps=tie_eps,
        domain={"catalog": "test"},
        evaluation={},
        digests=digests_of(folder),
    )
    artifact.save(folder)
    return artifact


def write_pins(settings: Settings, artifact: LabelerArtifact, folder: Path, *, engine: str) -> Pins:
    """Append the `pinned` event of a run."""
    pins = Pins(
        run_id=RUN_ID,
        kind="weekly_full",
        trigger_id="test",
        pinned_at="2026-01-01T00:00:00+00:00",
        profiles_delta_version=0,
        catalog_delta_version=0,
        catalog_version="c" * 64,
        labeler="test-labeler",
        labeler_version="1",
        artifact_id=artifact.artifact_id,
        scorer_id=artifact.scorer_id,
        artifact_folder=str(folder),
        threshold=artifact.threshold,
        candidates_per_round=artifact.round_rule.candidates_per_round,
        stop_below=artifact.round_rule.stop_below,
        candidates_per_member=200,
        retriever_id="r" * 64,
        engine=f"tests.ray.fake_engines:{engine}",
        is_validated=True,
        unvalidated_reason="",
    )
    row = {"run_id": RUN_ID, "event": PINNED, "attempt": 1, "at": datetime.now(UTC), "payload": json.dumps(vars(pins))}
    write_deltalake(str(settings.tables / RUNS.name), _table([row], RUNS.columns), mode="append")
    return pins


def pin_run(settings: Settings, folder: Path, *, engine: str, tie_eps: float = 0.0) -> Path:
    """Write an artifact and pin a run to it and a fake engine; return where its round 0 is staged."""
    pins = write_pins(settings, write_artifact(folder, tie_eps=tie_eps), folder, engine=engine)
    return scores_folder(settings.staging, pins.run_id, 0, pins.scorer_id)


def member_row(member_id: str, profile: str, items: tuple[str, ...], *, round: int = 0) -> dict[str, object]:
    """Return a row of `member_rounds`."""
    query, texts = LAYOUT.render_query(profile), [LAYOUT.render_item(item) for item in items]
    return {
        "run_id": RUN_ID,
        "round": round,
        "member_id": member_id,
        "query_hash": text_hash(query),
        "query_text": query,
        "item_ids": [f"skill:{item}" for item in items],
        "item_hashes": [text_hash(text) for text in texts],
        "item_texts": texts,
        "reused_ids": ["skill:reused"],
        "reused_hashes": [text_hash("reused")],
    }


def write_rows(settings: Settings, rows: list[dict[str, object]]) -> None:
    """Append to `member_rounds`."""
    table = _table(rows, MEMBER_ROUNDS.columns)
    path = str(settings.tables / MEMBER_ROUNDS.name)
    write_deltalake(path, table, mode="append", partition_by=list(MEMBER_ROUNDS.partition_by))


def _table(rows: list[dict[str, object]], columns: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=pa.schema([field.with_nullable(True) for field in columns]))


def _tokenizer() -> Tokenizer:
    symbols = sorted(ByteLevel.alphabet())
    vocabulary = {symbol: i for i, symbol in enumerate([*symbols, "YE", "YES", "NO"])}
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=[("Y", "E"), ("YE", "S"), ("N", "O")]))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.add_special_tokens([AddedToken("<|readout|>", special=True)])
    return tokenizer
