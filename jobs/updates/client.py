"""Send updates to a service and read labels from it, for the command line."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from jobs.errors import CheckFailedError, FaultsError, MissingRequirementError
from jobs.grpc_server import access_of
from jobs.kv import labels_pb2, labels_pb2_grpc
from jobs.settings import Settings
from jobs.updates import updates_pb2, updates_pb2_grpc
from jobs.updates.update import ProfileUpdate
from mis_scoring.serving.access import open_channel
from mis_scoring.serving.login import bearer

_CALL_S = 30.0
_LOOK_EVERY_S = 0.1


def message_of(update: ProfileUpdate) -> updates_pb2.ProfileUpdate:
    """Return an update as it is sent."""
    change: dict[str, Any] = (
        {"removed": updates_pb2.Removed()} if update.profile_text is None else {"profile_text": update.profile_text}
    )
    return updates_pb2.ProfileUpdate(member_id=update.member_id, profile_version=update.profile_version, **change)


def send(settings: Settings, update: ProfileUpdate, *, wait_s: float = 0.0) -> dict[str, Any]:
    """Send one update and return its outcome; with `wait_s` also the labels made of it, once they can be read.

    Returns:
        member_id, profile_version, outcome; labels, and readable_s since the acknowledgement.
    Raises:
        FaultsError: the update is faulty. MissingRequirementError: no service answers.
        CheckFailedError: its labels can't be read in time.
    """
    with _channel(settings) as (channel, metadata):
        stub: Any = updates_pb2_grpc.ProfileUpdatesStub(channel)  # type: ignore[no-untyped-call]
        answer = stub.UpdateProfile(message_of(update), timeout=_CALL_S, metadata=metadata)
        outcome = updates_pb2.Outcome.Name(answer.outcome).removeprefix("OUTCOME_").lower()
        found = {"member_id": answer.member_id, "profile_version": answer.profile_version, "outcome": outcome}
        return found | (_wait(channel, metadata, update, wait_s) if wait_s else {})


def _wait(channel: grpc.Channel, metadata: Any, update: ProfileUpdate, wait_s: float) -> dict[str, Any]:
    stub: Any = labels_pb2_grpc.LabelsStub(channel)  # type: ignore[no-untyped-call]
    started = time.monotonic()

    def look() -> dict[str, Any] | None:
        """Return the labels that are as new as the update; None while they are not."""
        try:
            found = stub.GetLabels(
                labels_pb2.GetLabelsRequest(member_id=update.member_id), timeout=_CALL_S, metadata=metadata
            )
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.NOT_FOUND:
                raise
            return {"labels": []} if update.profile_text is None else None
        if update.profile_text is None or found.profile_version < update.profile_version:
            return None
        labels = [{"qualification_id": label.qualification_id, "score": label.score} for label in found.labels]
        return {"labels": labels, "run_id": found.run_id}

    looks = Retrying(
        retry=retry_if_result(lambda found: found is None),
        wait=wait_fixed(_LOOK_EVERY_S),
        stop=stop_after_delay(wait_s),
        retry_error_callback=lambda _: None,
    )
    found: dict[str, Any] | None = looks(look)
    if found is None:
        raise CheckFailedError(
            f"Labels of version {update.profile_version} of the profile can't be read after {wait_s:g} s; the update "
            "is kept. `semlabel runs` shows what became of it."
        )
    return found | {"readable_s": round(time.monotonic() - started, 2)}


@contextmanager
def _channel(settings: Settings) -> Iterator[tuple[grpc.Channel, Any]]:
    """Yield a connection to the service of the settings, with the metadata of a call."""
    address = f"{settings.updates_host}:{settings.updates_port}"
    channel = open_channel(address, settings.updates_tls_certificate)
    try:
        with channel:
            yield channel, bearer(access_of(settings).token)
    except grpc.RpcError as error:
        raise _error_of(error, address) from error


def _error_of(error: Any, address: str) -> Exception:
    status, details = error.code(), error.details()
    if status == grpc.StatusCode.INVALID_ARGUMENT:
        return FaultsError("profile update", details.splitlines())
    if status == grpc.StatusCode.UNAVAILABLE:
        return MissingRequirementError(
            f"No update service answers at {address} ({details}): start one with `semlabel updates serve`."
        )
    return CheckFailedError(f"the update service at {address} refused ({status.name}): {details}")
