"""Take profile updates by gRPC: refuse what is faulty, keep the rest, and acknowledge only then."""

from collections.abc import Callable, Sequence
from typing import Any

import grpc
from sqlalchemy.exc import SQLAlchemyError

from jobs.errors import FaultsError
from jobs.grpc_server import UPDATES_AT_ONCE, Room, unary
from jobs.updates import updates_pb2 as pb
from jobs.updates.inbox import Inbox, InboxFullError, Outcome
from jobs.updates.metrics import UpdateMetrics
from jobs.updates.update import ProfileUpdate, faults_of

SERVICE: str = pb.DESCRIPTOR.services_by_name["ProfileUpdates"].full_name
MAX_UPDATES = 1_000  # a request
_OUTCOMES: dict[Outcome, pb.Outcome] = {
    "accepted": pb.OUTCOME_ACCEPTED,
    "superseded": pb.OUTCOME_SUPERSEDED,
    "repeated": pb.OUTCOME_REPEATED,
}


class ProfileUpdatesService:
    """Puts updates into an inbox.

    Args:
        wake: called when something waits.
    """

    def __init__(self, inbox: Inbox, metrics: UpdateMetrics, *, wake: Callable[[], None]) -> None:
        self._inbox, self._metrics, self._wake = inbox, metrics, wake

    def update_profile(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Keep one update, and acknowledge it."""
        return self._put([request], context)[0]

    def update_profiles(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Keep updates, all or none."""
        if len(request.updates) > MAX_UPDATES:
            raise FaultsError("request", [f"{len(request.updates)} updates, at most {MAX_UPDATES} are taken at once"])
        return pb.UpdateProfilesResponse(acknowledgements=self._put(request.updates, context))

    def _put(self, messages: Sequence[Any], context: grpc.ServicerContext) -> list[Any]:
        updates = [_update_of(message) for message in messages]
        silent = [place for place, message in enumerate(messages) if message.WhichOneof("change") is None]
        faults = [f"update {place}: say profile_text or removed" for place in silent]
        if faults := faults + faults_of(updates):
            raise FaultsError("profile updates", faults)
        try:
            outcomes = self._inbox.put(updates)
        except InboxFullError as error:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        except SQLAlchemyError as error:
            context.abort(
                grpc.StatusCode.UNAVAILABLE, f"the inbox can't be written ({type(error).__name__}): send again"
            )
        for outcome in outcomes:
            self._metrics.received.labels(outcome).inc()
        self._wake()
        return [
            pb.Acknowledgement(
                member_id=update.member_id, profile_version=update.profile_version, outcome=_OUTCOMES[outcome]
            )
            for update, outcome in zip(updates, outcomes, strict=True)
        ]


def _update_of(message: Any) -> ProfileUpdate:
    text = message.profile_text if message.WhichOneof("change") == "profile_text" else None
    return ProfileUpdate(member_id=message.member_id, profile_version=message.profile_version, profile_text=text)


def handler_of(service: ProfileUpdatesService) -> Any:
    """Return the service as gRPC serves it."""
    room = Room(UPDATES_AT_ONCE)
    methods = {
        "UpdateProfile": unary(service.update_profile, pb.ProfileUpdate, pb.Acknowledgement, room),
        "UpdateProfiles": unary(service.update_profiles, pb.UpdateProfilesRequest, pb.UpdateProfilesResponse, room),
    }
    return grpc.method_handlers_generic_handler(SERVICE, methods)
