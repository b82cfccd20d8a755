"""The driver of a score stage that owns its engine: LABELER ROWS FOLDER ROWS_A_BATCH."""

import sys
from pathlib import Path

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.ray_data.pipeline import read_rows, score_dataset, write_staged
from mis_scoring.ray_data.placement import Placement
from mis_scoring.ray_data.session import ray_session
from mis_scoring.ray_data.summary import prepare_folder
from tests.gpu.conftest import SMALL

labeler, rows, folder = map(Path, sys.argv[1:4])
spec = ScoreSpec.of(LabelerArtifact.load(labeler), labeler, engine="sglang", engine_options=SMALL)
placement = Placement(rows_per_block=int(sys.argv[4]), gpus_per_engine=0.5, max_restarts=2, n_io_tasks=2)
prepare_folder(folder)
with ray_session(num_cpus=8):
    write_staged(score_dataset(read_rows([str(rows)], placement), spec, placement), folder, placement)
