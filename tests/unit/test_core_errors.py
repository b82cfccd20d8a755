"""An error that an actor raised arrives as it was, with what its caller can act on."""

import pickle

import pytest

from mis_scoring.core.errors import ArtifactError, DataError, MissingScoreError, SemlabelError
from mis_scoring.engines.canary import CanaryError


@pytest.mark.parametrize(
    "error",
    [
        DataError("a text"),
        MissingScoreError([3, 5]),
        ArtifactError("folder", ["one fault", "another"]),
        CanaryError("cascade", ["permuted: a margin moved by 2"]),
    ],
)
def test_an_error_crosses_processes_with_its_fields(error: SemlabelError) -> None:
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is type(error)
    assert (str(arrived), vars(arrived)) == (str(error), vars(error))
