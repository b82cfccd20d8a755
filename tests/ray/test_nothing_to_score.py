"""What a round does not start, and what its job does not load; in processes of their own."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from jobs.settings import CHECKOUT, Settings
from mis_scoring.ray_data.staging import STAGED_SCORES
from mis_scoring.ray_data.summary import read_staged
from tests.ray.round_tables import RUN_ID, member_row, write_rows

CHILD = """
import json, sys
from pathlib import Path
from jobs.run_job import run_job
from jobs.settings import Settings
result = run_job("score_round", {{"run_id": {run_id!r}, "round": "0"}}, Settings(home=Path({home!r}), _env_file=None))
print(json.dumps({{"result": result, "modules": sorted(name for name in sys.modules if "." not in name)}}))
"""


def test_a_round_without_items_starts_neither_ray_nor_an_engine(
    settings: Settings, pinned: Callable[..., Path]
) -> None:
    folder = pinned("dying")
    write_rows(settings, [member_row(f"m{n}", "all reused", ()) for n in range(3)])

    code = CHILD.format(run_id=RUN_ID, home=str(settings.home))
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)

    seen = json.loads(done.stdout)
    assert (seen["result"]["rows"], seen["result"]["scored"], seen["result"]["engines_started"]) == (0, 0, 0)
    assert read_staged(folder, STAGED_SCORES.names).schema == STAGED_SCORES
    assert not {"ray", "torch", "transformers", "pyspark", "airflow", "mlflow"} & set(seen["modules"])
