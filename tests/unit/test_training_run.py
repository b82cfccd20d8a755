"""A training run: it learns, anneals, stops in time, and goes on where it was stopped."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.training.batches import Batch, collate
from mis_scoring.training.checkpoints import Position, load_state, load_weights, save_model, save_state
from mis_scoring.training.examples import TrainingExample
from mis_scoring.training.loss import losses, to_torch
from mis_scoring.training.model import DecoderShape, make_decoder
from mis_scoring.training.schedule import Schedule
from mis_scoring.training.tokenizer import READOUT, train_tokenizer
from mis_scoring.training.trainer import Hyperparameters, make_optimizer, train

YES, NO, PAD = 5, 6, 0
SHAPE = DecoderShape(
    vocab_size=20, hidden_size=32, intermediate_size=48, n_layers=2, n_heads=2, n_kv_heads=1, head_dim=16
)


def settings_of(*, max_steps: int) -> Hyperparameters:
    schedule = Schedule(
        max_steps=max_steps, max_seconds=1e9, peak_learning_rate=5e-3, warm_up_steps=5, lm_until=0.2, short_until=0.1
    )
    return Hyperparameters(yes_id=YES, no_id=NO, schedule=schedule, n_lm_tokens=1_000)


def steps(seed: int, *, skip: int = 0) -> Iterator[list[Batch]]:
    """Yield an easy task without end, a batch a step: every item is supported when the query's only token is even."""
    rng = random.Random(seed)
    while True:
        rows = []
        for _ in range(8):
            query = rng.randrange(7, 20)
            items = [[rng.randrange(7, 20)] for _ in range(8)]
            rows.append(TrainingExample(query=[query] * 2, items=items, answers=[query % 2 == 0] * 8))
        if skip:
            skip -= 1
        else:
            yield [collate(rows, pad_id=PAD)]


def run(decoder: Any, optimizer: Any, source: Iterator[list[Batch]], *, to_step: int, start: Position) -> Position:
    settings = settings_of(max_steps=40)

    class Stop(Exception):
        pass

    at = [start]

    def on_step(position: Position) -> None:
        at[0] = position
        if position.step == to_step:
            raise Stop

    try:
        return train(decoder, optimizer, source, settings, start=start, on_step=on_step, log=lambda _: None)
    except Stop:
        return at[0]


def test_a_small_decoder_learns_an_easy_task() -> None:
    decoder = make_decoder(SHAPE, seed=0)
    settings = settings_of(max_steps=120)
    lines: list[str] = []
    train(decoder, make_optimizer(decoder, settings), steps(0), settings, start=Position(), log=lines.append)
    [batch] = next(steps(1))
    _, _, logits = losses(decoder, to_torch(batch, yes_id=YES, no_id=NO, device="cpu"), n_lm_tokens=0)
    right = (logits[:, YES] >= logits[:, NO]).numpy() == batch.answers
    assert right.mean() > 0.9


def test_a_stopped_run_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    settings = settings_of(max_steps=40)
    whole = make_decoder(SHAPE, seed=0)
    # The language-model loss draws its tokens at random: there are fewer than it may take, so the draw does not matter.
    run(whole, make_optimizer(whole, settings), steps(0), to_step=40, start=Position())
    stopped = make_decoder(SHAPE, seed=0)
    optimizer = make_optimizer(stopped, settings)
    position = run(stopped, optimizer, steps(0), to_step=20, start=Position())
    save_state(tmp_path, stopped, optimizer, position)
    resumed = make_decoder(SHAPE, seed=99)
    optimizer = make_optimizer(resumed, settings)
    start = load_state(tmp_path, resumed, optimizer)
    assert (start.step, start.n_starts) == (20, 1)
    run(resumed, optimizer, steps(0, skip=20), to_step=40, start=start)
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_a_folder_without_a_state_is_the_start_of_a_run(tmp_path: Path) -> None:
    decoder = make_decoder(SHAPE, seed=0)
    assert load_state(tmp_path, decoder, make_optimizer(decoder, settings_of(max_steps=1))) == Position()


@given(step=st.integers(0, 1000), elapsed_s=st.floats(0, 100), more=st.integers(1, 100))
def test_progress_never_falls_and_the_rate_stays_within_its_bounds(step: int, elapsed_s: float, more: int) -> None:
    schedule = Schedule(max_steps=1000, max_seconds=100.0)
    now = schedule.progress(step=step, elapsed_s=elapsed_s)
    assert 0.0 <= now <= schedule.progress(step=step + more, elapsed_s=elapsed_s) <= 1.0
    assert 0.0 < schedule.learning_rate(step=step, progress=now) <= schedule.peak_learning_rate


def test_a_run_ends_in_time_even_when_its_steps_are_not_done() -> None:
    schedule = Schedule(max_steps=10**9, max_seconds=60.0)
    assert schedule.progress(step=5, elapsed_s=61.0) == 1.0
    assert schedule.learning_rate(step=1000, progress=1.0) == pytest.approx(schedule.peak_learning_rate * 0.01)


def test_the_auxiliary_loss_fades_and_the_short_start_ends() -> None:
    schedule = Schedule(max_steps=100, max_seconds=1e9, lm_until=0.4, short_until=0.1)
    weights = [schedule.lm_weight(p) for p in (0.0, 0.2, 0.4, 1.0)]
    assert weights == pytest.approx([1.0, 0.5, 0.0, 0.0])
    assert schedule.is_short(0.05)
    assert not schedule.is_short(0.1)


def make_texts() -> list[str]:
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(400)]
    return [" ".join(rng.choices(words, k=12)) + f" {rng.randint(1, 2025)} years" for _ in range(500)]


def test_answers_are_single_tokens_and_digits_stand_alone(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    train_tokenizer(make_texts(), vocab_size=800, path=path)
    tokenizer = PromptTokenizer(path, COMPACT)
    labels = tokenizer.label_tokens("YES", "NO")
    assert labels.yes != labels.no
    years = tokenizer.encode_item(COMPACT.render_item("2012 abc"))
    assert len(years) >= 6  # a space, four digits, a word, the readout
    tokenizer.check_split(make_texts()[:20], ["abc", "5+ years", " padded ", f"spells {READOUT} out"])


def test_too_few_merges_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give more text"):
        train_tokenizer(["a few words"], vocab_size=5_000, path=tmp_path / "tokenizer.json")


def test_a_saved_model_is_bfloat16_safetensors_and_loads_back(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    decoder = make_decoder(SHAPE, seed=0)
    save_model(decoder, tmp_path / "tokenizer.json", tmp_path)
    with safe_open(str(tmp_path / "model.safetensors"), framework="pt") as file:
        names = set(file.keys())
        assert "lm_head.weight" not in names
        assert all(file.get_tensor(name).dtype == torch.bfloat16 for name in names)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["Qwen3ForCausalLM"]
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    again = make_decoder(SHAPE, seed=5)
    load_weights(again, tmp_path)
    for a, b in zip(loaded.parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_model_of_another_shape_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    save_model(make_decoder(SHAPE, seed=0), tmp_path / "tokenizer.json", tmp_path)
    deeper = DecoderShape(**(vars(SHAPE) | {"n_layers": 3}))
    with pytest.raises(ValueError, match="does not fit"):
        load_weights(make_decoder(deeper, seed=0), tmp_path)
