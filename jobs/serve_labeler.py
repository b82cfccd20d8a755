"""Serve the champion: resolve the alias once, then answer with that version's scores until told to end.

An alias that moves meanwhile changes nothing here: requests name the artifact, and those for the new one are refused
until a server of it is started.
"""

from dataclasses import fields, replace

from jobs.labeler.registry import PinnedLabeler, pin_labeler
from jobs.score_spec import score_spec
from jobs.settings import Settings
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.serving.server import serve
from mis_scoring.serving.settings import ServerSettings


def serve_labeler(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        MissingRequirementError: no version has the alias, or a port is taken.
        DataError: a setting means nothing or is not safe, or the engine computes other scores than the artifact's.
        EngineError: the engine did not start, or its canary failed.
    """
    of_server = server_settings(settings)
    pinned = pin_labeler(settings)
    serve(pinned.artifact, spec_of(settings, pinned), of_server)


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
