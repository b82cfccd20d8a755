"""The rows of the benchmark fit the tables as they are."""

import numpy as np
import pytest

from jobs.bench_rows import BIG, Population, Run, rows_of
from schemas.table import Table


@pytest.mark.parametrize("table", BIG, ids=lambda table: str(table.name))
def test_made_up_rows_have_all_that_a_table_requires(table: Table) -> None:
    run = Run(run_id="a run", members=np.arange(4))
    files = list(rows_of(table, Population(4), run, "sorted", n_files=2))
    assert sum(rows.num_rows for rows in files) >= 4
    missing = {f.name for rows in files for f in table.columns if not f.nullable and rows[f.name].null_count}
    assert missing == set()
