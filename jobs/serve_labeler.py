"""Serve the champion: resolve the alias, answer with that version's scores, and follow the alias once it moves.

Requests name the artifact: those for the new one are refused until the server has drained and started with it, those
for the old one from then on. A version that can't be served with these settings is said and not followed.
"""

import asyncio
import logging
from dataclasses import fields, replace
from functools import partial

from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from jobs.labeler.registry import PinnedLabeler, champion_version, pin_labeler
from jobs.score_spec import score_spec
from jobs.settings import Settings
from mis_scoring.core.errors import SemlabelError
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.serving.server import serve
from mis_scoring.serving.settings import ServerSettings

log = logging.getLogger(__name__)


def serve_labeler(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT, whichever version is the champion.

    Raises:
        MissingRequirementError: no version has the alias, or a port is taken.
        DataError: a setting means nothing or is not safe, or the engine computes other scores than the artifact's.
        EngineError: the engine did not start, or its canary failed.
    """
    of_server = server_settings(settings)
    pinned: PinnedLabeler | None = pin_labeler(settings)
    while pinned is not None:
        spec = spec_of(settings, pinned)
        pinned = serve(pinned.artifact, spec, of_server, partial(next_champion, settings, pinned.version))


async def next_champion(settings: Settings, served: str) -> PinnedLabeler:
    """Wait until another version than the one that is served is the champion, and can be served."""
    while (found := await asyncio.to_thread(_other_champion, settings, served)) is None:
        await asyncio.sleep(settings.serve_look_every_s)
    log.info("version %s is the champion: it is served instead of %s", found.version, served)
    return found


def _other_champion(settings: Settings, served: str) -> PinnedLabeler | None:
    """Return the champion where it is another version; None also where it can't be found or served now."""
    try:
        if champion_version(settings) in (None, served):
            return None
        found = pin_labeler(settings)
        spec_of(settings, found)
    except (SemlabelError, MlflowException, SQLAlchemyError, OSError) as error:
        log.warning("version %s is served on: what is the champion can't be: %s", served, error)
        return None
    return found


def server_settings(settings: Settings) -> ServerSettings:
    """Return what SEMLABEL_SERVE_* says.

    Raises:
        DataError: lists everything that means nothing or is not safe.
    """
    return ServerSettings(**{field.name: getattr(settings, f"serve_{field.name}") for field in fields(ServerSettings)})


def spec_of(settings: Settings, pinned: PinnedLabeler) -> ScoreSpec:
    """Return what decides the scores: the same as a refresh's, but for a tie rule that is turned off."""
    spec = score_spec(settings, pinned.artifact, pinned.folder, engine=settings.engine)
    return spec if settings.serve_tie_rule else replace(spec, tie_eps=0.0)
