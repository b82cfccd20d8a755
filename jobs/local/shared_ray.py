"""A Ray that the rounds of one foreground command share."""

from collections.abc import Iterator
from contextlib import contextmanager

from jobs.settings import Settings
from mis_scoring.ray_data.session import ray_session


@contextmanager
def shared_ray(settings: Settings, *, is_needed: bool) -> Iterator[str]:
    """Yield the address of a Ray that the rounds share, or none.

    A round that scores starts a Ray of its own where it is given none, which takes some 25 s; a run that scores nothing
    needs none.
    """
    if settings.ray_address or not is_needed:
        yield settings.ray_address
    else:
        with ray_session(num_cpus=max(2, settings.engine_threads)) as address:
            yield address
