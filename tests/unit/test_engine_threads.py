"""Waiting threads sleep unless an operator says otherwise, and that is settled before torch is loaded."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
import mis_scoring.engines.registry
print(os.environ["OMP_WAIT_POLICY"], "torch" in sys.modules)
"""


@pytest.mark.parametrize(("given", "found"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")])
def test_threads_of_an_engine_sleep_while_they_wait(given: dict[str, str], found: str) -> None:
    env = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"} | given
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [found, "False"]
