"""Fine-tuning a base on somebody's own pairs: it learns, whole and by adapter, and leaves files that are whole."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from jobs.errors import FaultsError, MissingRequirementError
from jobs.labeler.finetune import finetune_labeler
from jobs.labeler.merge_adapter import merge_adapter
from jobs.labeler.split_pairs import split_pairs
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.errors import PromptError
from mis_scoring.core.prompt import COMPACT
from mis_scoring.engines.architecture import ArchitectureError
from mis_scoring.evaluation.members import read_members, write_members
from mis_scoring.training.checkpoints import OtherRunError
from tests.tiny_labeler import write_tokenizer

CONTRACT = PromptContract(layout=COMPACT, answers=("YES", "NO"))
WORDS = ("nurse", "tax", "accountant", "degree", "licence")


def write_base(folder: Path, model_type: str = "llama", **changes: Any) -> Path:
    """Write a base of two layers with random weights."""
    from transformers import AutoConfig, AutoModelForCausalLM

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": write_tokenizer(folder),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 128,
        "tie_word_embeddings": True,
        "initializer_range": 0.1,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    config = AutoConfig.for_model(model_type, **(sizes | changes))
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


def pairs() -> Iterator[dict[str, Any]]:
    """Yield 200 pairs: nurses support the first three qualifications, other members none."""
    rng = random.Random(0)
    for member in range(40):
        has = rng.choice(("nurse", "tax"))
        for number, word in enumerate(WORDS):
            yield {
                "member_id": f"m{member}",
                "profile_text": f"{has} of {member} years",
                "qualification_id": f"q{number}",
                "qualification_text": word,
                "answer": "yes" if has == "nurse" and number < 3 else "no",
                "similarity": 0.5,
            }


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return write_base(tmp_path_factory.mktemp("base"))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(pair) + "\n" for pair in pairs()), encoding="utf-8")
    split_pairs(file, tmp_path / "work", seed=0)
    return tmp_path / "work"


def train(work: Path, base: Path, **choices: Any) -> dict[str, Any]:
    given = {"epochs": 8, "learning_rate": 3e-3, "pairs_per_step": 20, "tokens_per_batch": 1024, "device": "cpu"}
    return finetune_labeler(work, base, CONTRACT, log=lambda _: None, **(given | choices))


def weights_of(model: Path) -> dict[str, torch.Tensor]:
    with safe_open(str(model / "model.safetensors"), framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


LORA = {"lora": True, "learning_rate": 5e-3, "epochs": 20}


@pytest.mark.parametrize("choices", [{}, LORA], ids=["full", "lora"])
def test_a_plain_rule_is_learned_from_two_hundred_pairs(work: Path, base: Path, choices: dict[str, Any]) -> None:
    document = train(work, base, **choices)
    assert document["validation"]["f1"] == 1.0, "members that training never met, by the model as written"
    assert document["validation_by_epoch"][0]["loss"] > 5 * document["validation_by_epoch"][-1]["loss"]
    assert (document["kind"], document["is_packed"]) == ("lora" if choices else "full", True)
    assert document["pairs_trained"] == document["pairs"] * len(document["validation_by_epoch"])
    assert document["flops"]["flops_per_pair"] > 0
    assert document["flops"]["limit_pairs_per_s"] is None, "no peak is known of a CPU"
    assert json.loads((work / "training.json").read_text(encoding="utf-8")) == document
    assert PromptContract.load(work / "contract.json") == CONTRACT
    assert {path.name for path in (work / "model").iterdir()} == {"config.json", "model.safetensors", "tokenizer.json"}
    assert all(tensor.dtype == torch.bfloat16 for tensor in weights_of(work / "model").values())


def test_the_same_seed_gives_the_same_weights_and_another_gives_others(work: Path, base: Path) -> None:
    weights = []
    for seed in (3, 3, 4):
        train(work, base, lora=True, epochs=1, seed=seed, dtype="float32")
        weights.append(weights_of(work / "model"))
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert any(not torch.equal(weights[0][name], weights[2][name]) for name in weights[0])


@pytest.mark.parametrize("choices", [{}, {"lora": True}], ids=["full", "lora"])
def test_packed_and_single_item_training_end_with_the_same_model(
    work: Path, base: Path, choices: dict[str, Any]
) -> None:
    weights = []
    for layout in ({"packed": True}, {"packed": False}, {"packed": True, "tokens_per_batch": 64}):
        train(work, base, dtype="float32", steps=4, **(choices | layout))
        weights.append(weights_of(work / "model"))
    for name, tensor in weights[0].items():
        for other in weights[1:]:
            torch.testing.assert_close(tensor, other[name], rtol=1e-3, atol=2e-4)


def test_nothing_of_the_platform_is_loaded() -> None:
    platform = ("airflow", "deltalake", "mlflow", "pydantic", "pyspark", "ray")
    jobs = "jobs.labeler.finetune, jobs.labeler.merge_adapter"
    code = f"import sys, {jobs}; print([n for n in {platform!r} if n in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert ended.stdout.strip() == "[]"


class Killed(Exception):
    """Stands for a signal."""


@pytest.mark.parametrize("choices", [{}, {"lora": True}], ids=["full", "lora"])
def test_a_run_that_is_killed_and_started_again_ends_with_the_weights_of_one_that_was_not(
    work: Path, base: Path, choices: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = choices | {"epochs": 2, "dtype": "float32"}
    whole = train(work, base, **choices)
    expected = weights_of(work / "model")
    monkeypatch.setattr("mis_scoring.training.finetune.SAVE_EVERY_S", 0.0)
    for steps_before in (3, 11):  # within the first epoch, within the second
        with monkeypatch.context() as patch:
            stop_after(patch, steps_before)
            with pytest.raises(Killed):
                train(work, base, state_dir=tmp_path / "state", **choices)
    resumed = train(work, base, state_dir=tmp_path / "state", **choices)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights_of(work / "model").items())
    for name in ("steps", "pairs_trained", "validation_by_epoch", "validation"):
        assert resumed[name] == whole[name]
    with pytest.raises(OtherRunError, match="other pairs, base or settings"):
        train(work, base, state_dir=tmp_path / "state", **(choices | {"seed": 9}))


def stop_after(patch: pytest.MonkeyPatch, n_saves: int) -> None:
    """Let a run die right after it saved the state of that step."""
    from mis_scoring.training import finetune

    save_state = finetune.save_state

    def save_and_die(folder: Path, decoder: Any, optimizer: Any, position: Any, **more: Any) -> None:
        save_state(folder, decoder, optimizer, position, **more)
        if position.step == n_saves:
            raise Killed

    patch.setattr(finetune, "save_state", save_and_die)


def test_an_adapter_merged_elsewhere_gives_the_same_model(work: Path, base: Path, tmp_path: Path) -> None:
    train(work, base, lora=True, epochs=1)
    assert {path.name for path in (work / "adapter").iterdir()} == {"adapter_config.json", "adapter_model.safetensors"}
    assert str(base) not in (work / "adapter" / "adapter_config.json").read_text(encoding="utf-8")
    merge_adapter(base, work / "adapter", tmp_path / "merged")
    expected, merged = weights_of(work / "model"), weights_of(tmp_path / "merged")
    assert all(torch.equal(tensor, merged[name]) for name, tensor in expected.items())
    before = weights_of(base)
    assert any(not torch.equal(tensor, before[name].bfloat16()) for name, tensor in expected.items())
    train(work, base, steps=1)
    assert not (work / "adapter").exists(), "no adapter of an earlier run beside another model"


@pytest.mark.parametrize("model_type", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("is_tied", [True, False])
def test_every_shape_is_trained_and_written_as_what_it_is(
    work: Path, tmp_path: Path, model_type: str, is_tied: bool
) -> None:
    from transformers import AutoModelForCausalLM

    base = write_base(tmp_path / "base", model_type, tie_word_embeddings=is_tied)
    train(work, base, steps=2, dtype="float32", bfloat16=True)
    config = json.loads((work / "model" / "config.json").read_text(encoding="utf-8"))
    names = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
    assert config["architectures"] == [names[model_type]]
    weights = weights_of(work / "model")
    assert ("lm_head.weight" in weights) is not is_tied
    loaded, info = AutoModelForCausalLM.from_pretrained(work / "model", output_loading_info=True)
    assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert torch.equal(loaded.lm_head.weight, weights["model.embed_tokens.weight" if is_tied else "lm_head.weight"])
    assert not torch.equal(weights["model.norm.weight"], weights_of(base)["model.norm.weight"])


def with_long_members(work: Path, members: set[str]) -> None:
    path = work / "splits" / "train.jsonl.gz"
    read = read_members(path)
    write_members(path, [replace(m, profile_text="tax " * 200) if m.member_id in members else m for m in read])


def test_a_member_longer_than_the_context_is_named_and_left_out(work: Path, base: Path) -> None:
    members = [m.member_id for m in read_members(work / "splits" / "train.jsonl.gz")]
    with_long_members(work, {members[1]})
    lines: list[str] = []
    document = finetune_labeler(work, base, CONTRACT, steps=1, device="cpu", log=lines.append)
    assert list(document["left_out_too_long"]) == [members[1]]
    assert any(f"member {members[1]!r} has a pair of" in line and "128 are possible" in line for line in lines)
    with_long_members(work, set(members[:4]))
    with pytest.raises(FaultsError, match="shorten profiles") as refused:
        train(work, base)
    assert all(member in str(refused.value) for member in members[:4])


def test_a_base_that_cannot_be_trained_is_refused_with_every_fault(work: Path, tmp_path: Path) -> None:
    base = write_base(tmp_path / "base", "qwen2")
    config = json.loads((base / "config.json").read_text(encoding="utf-8"))
    wrong = {"use_sliding_window": True, "sliding_window": 64, "vocab_size": 7, "layer_types": ["linear_attention"] * 2}
    (base / "config.json").write_text(json.dumps(config | wrong), encoding="utf-8")
    with pytest.raises(ArchitectureError) as refused:
        train(work, base)
    for part in ("sliding_window", "linear_attention", "config.json has vocab_size 7"):
        assert part in str(refused.value)
    (base / "model.safetensors").rename(base / "pytorch_model.bin")
    (base / "config.json").write_text(json.dumps(config | {"model_type": "mamba"}), encoding="utf-8")
    with pytest.raises(ArchitectureError, match="is a pickle, which is never read") as refused:
        train(work, base)
    assert "model_type is 'mamba'" in str(refused.value)


def test_answers_of_two_tokens_and_choices_without_sense_are_refused(work: Path, base: Path, tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="one is needed"):
        finetune_labeler(work, base, PromptContract(layout=COMPACT, answers=("MAYBE", "NO")))
    with pytest.raises(FaultsError) as refused:
        train(work, base, epochs=0, learning_rate=-1.0, dtype="int8")
    assert len(refused.value.faults) == 3
    path = work / "splits" / "validation.jsonl.gz"
    write_members(path, sorted(read_members(path), key=lambda m: len(m.supported)))
    with pytest.raises(FaultsError, match="no pair of the 1 members that are read is supported"):
        train(work, base, validation_members=1)
    with pytest.raises(MissingRequirementError, match="split your pairs first"):
        train(tmp_path / "empty", base)
