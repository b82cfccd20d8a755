"""What the first edit would wait for, done when the service starts: the catalog's index, the engine, a publication."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from deltalake.exceptions import DeltaError
from mlflow.exceptions import MlflowException
from pyspark.errors import PySparkException
from sqlalchemy.exc import SQLAlchemyError

from jobs.settings import Settings
from jobs.updates.micro_batch import MicroBatches
from jobs.updates.rehearsal import rehearse
from mis_scoring.core.errors import SemlabelError

log = logging.getLogger(__name__)

AWAY = (SemlabelError, DeltaError, MlflowException, PySparkException, SQLAlchemyError, OSError)


def warm_up(
    settings: Settings,
    batches: MicroBatches,
    publish: Callable[[Settings, str], Mapping[str, Any]],
    *,
    feed: Callable[[], None],
) -> bool:
    """Load and compile what the first batch needs, and return whether all of it is there.

    What is away is not waited for: the first batch waits for it then, as any other.

    Args:
        feed: feeds what was published while no service ran; readers do not wait for the rest.
    """
    started = time.monotonic()
    try:
        feed()
        batches.warm_up()
        state = rehearse(settings, publish)
    except AWAY as error:
        log.warning("the first edit will take longer: %s: %s", type(error).__name__, error)
        return False
    log.info("ready after %.1f s; the rehearsal was %s", time.monotonic() - started, state)
    return state == "published"
