"""e4m3 weights and activations, emulated: never without the artifact's word, near the model, outliers refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from mis_scoring.core.errors import DataError
from mis_scoring.engines.architecture import ArchitectureError
from mis_scoring.engines.dense import DenseEngine
from mis_scoring.engines.prefill.calibrate import calibrated_profile, write_profile
from mis_scoring.engines.prefill.fp8 import ALL, LARGEST, MLP, quantise_rows, saturated
from mis_scoring.engines.score_spec import ScoreSpec
from tests.ray.round_tables import write_artifact
from tests.unit.conftest import LABELS, UNEQUAL_LENGTHS, draw_request
from tests.unit.prefill.conftest import ON_CPU, Make


@pytest.fixture(scope="module", params=[MLP, ALL])
def profiled(request: pytest.FixtureRequest, qwen3: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A checkpoint with a calibrated profile."""
    folder = tmp_path_factory.mktemp("fp8") / "model"
    shutil.copytree(qwen3, folder)
    requests = [draw_request(seed, UNEQUAL_LENGTHS) for seed in range(3)]
    profile = calibrated_profile(qwen3, requests, LABELS, quantisation=request.param, **ON_CPU)
    write_profile(folder, profile)
    return request.param, folder


def test_fp8_scores_are_near_the_models_and_not_equal(
    profiled: tuple[str, Path], qwen3: Path, make_engine: Make
) -> None:
    quantisation, folder = profiled
    engine = make_engine(folder, quantisation=quantisation, attention="tiled", dtype="bfloat16", verify=False)
    query, items = draw_request(9, UNEQUAL_LENGTHS)
    exact = DenseEngine(qwen3).label_logits(query, items, LABELS)
    moved = np.abs(engine.label_logits(query, items, LABELS) - exact)
    assert 1e-3 < moved.max() < 1.5 and moved.mean() < 0.3 * exact.std()
    layer = engine._runner.forward.weights.layers[0]
    assert layer.down.is_fp8 and layer.gate_up.is_fp8 and layer.qkv.is_fp8 == layer.out.is_fp8 == (quantisation == ALL)
    assert engine.fingerprint["quantisation"] == quantisation


def test_fp8_is_never_a_switch_of_the_engine_alone(profiled: tuple[str, Path], qwen3: Path, make_engine: Make) -> None:
    quantisation, folder = profiled
    with pytest.raises(DataError, match=r"config.json has semlabel_fp8 None"):
        make_engine(qwen3, quantisation=quantisation)
    with pytest.raises(DataError, match=rf"semlabel_fp8 '{quantisation}'"):
        make_engine(folder, quantisation=MLP if quantisation == ALL else ALL)


def test_an_artifact_and_an_engine_of_different_quantisation_are_refused(tmp_path: Path) -> None:
    artifact = write_artifact(tmp_path / "artifact")
    with pytest.raises(DataError, match=r"asked for quantisation 'fp8-mlp', but artifact .* 'none'"):
        ScoreSpec.of(artifact, tmp_path / "artifact", engine="cascade", engine_options={"quantisation": MLP})


def test_rows_are_quantised_to_half_a_step_and_what_is_too_large_saturates() -> None:
    values = torch.randn(7, 33, generator=torch.Generator().manual_seed(0)) * torch.logspace(-3, 3, 7)[:, None]
    found, scales = quantise_rows(values)
    back = found.float() * scales
    assert ((back - values).abs() <= values.abs() / 16 + scales / 512).all() and not scales.isnan().any()
    assert saturated(torch.tensor([1e9, -1e9, 3.0])).float().tolist() == [LARGEST, -LARGEST, 3.0]
    assert saturated(torch.tensor([float("nan")])).float().isnan().all(), "what is no number stays none"


def test_a_weight_with_rows_far_from_the_others_is_refused_by_name(
    profiled: tuple[str, Path], make_engine: Make, tmp_path: Path
) -> None:
    quantisation, source = profiled
    folder = shutil.copytree(source, tmp_path / "outlier")
    tensors = load_file(folder / "model.safetensors")
    tensors["model.layers.1.mlp.down_proj.weight"][5] *= 1_000
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ArchitectureError, match=r"layer 1, down: row 5 is .* times as large"):
        make_engine(folder, quantisation=quantisation)


def test_a_profile_with_another_number_of_layers_is_refused(
    profiled: tuple[str, Path], make_engine: Make, tmp_path: Path
) -> None:
    quantisation, source = profiled
    folder = shutil.copytree(source, tmp_path / "short")
    config = json.loads((folder / "config.json").read_text())
    config["semlabel_fp8"]["gated_scales"].pop()
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match="gated_scales has 1 scales; it must have 2"):
        make_engine(folder, quantisation=quantisation)
