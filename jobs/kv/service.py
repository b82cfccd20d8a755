"""The labels of a member by gRPC and HTTP GET, from the key-value store alone."""

from typing import Any

import grpc
from fastapi import APIRouter, Depends, HTTPException
from fastapi.responses import JSONResponse

from jobs.grpc_server import READS_AT_ONCE, Room, unary
from jobs.kv import labels_pb2 as pb
from jobs.kv.store import LabelStore, StoreAwayError
from jobs.kv.value import MemberLabels, Position

SERVICE: str = pb.DESCRIPTOR.services_by_name["Labels"].full_name
_UNKNOWN = "no published run has covered the member, or the member was removed"


def read_labels(store: LabelStore, member_id: str) -> tuple[MemberLabels, Position] | None:
    """Return a member's value with the position of the store; None where there are no labels to tell.

    The position is read first: the value is at least as new.

    Raises:
        StoreAwayError: the store does not answer.
    """
    position = store.position() or Position()
    value = store.get(member_id)
    return None if value is None or value.is_removed else (value, position)


def document_of(value: MemberLabels, position: Position) -> dict[str, Any]:
    """Return the answer as JSON has it."""
    return {
        "member_id": value.member_id,
        "labels": [{"qualification_id": key, "score": score} for key, score in sorted(value.scores.items())],
        "run_id": value.run_id,
        "profile_version": value.profile_version,
        "labels_version": value.labels_version,
        "published_at": value.published_at,
        "position": {"labels_version": position.labels_version, "published_at": position.published_at},
    }


def grpc_handler(store: LabelStore) -> Any:
    """Return the gRPC service over a store."""

    def get_labels(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            found = read_labels(store, request.member_id)
        except StoreAwayError as error:
            context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        if found is not None:
            return pb.MemberLabels(**document_of(*found))
        context.abort(grpc.StatusCode.NOT_FOUND, _UNKNOWN)

    methods = {"GetLabels": unary(get_labels, pb.GetLabelsRequest, pb.MemberLabels, Room(READS_AT_ONCE))}
    return grpc.method_handlers_generic_handler(SERVICE, methods)


def http_router(store: LabelStore, guard: Any) -> APIRouter:
    """Return the HTTP routes over a store.

    Args:
        guard: a FastAPI dependency that refuses who may not read.
    """
    router = APIRouter(dependencies=[Depends(guard)])

    @router.get("/members/{member_id:path}/labels")
    def get_labels(member_id: str) -> JSONResponse:
        try:
            found = read_labels(store, member_id)
        except StoreAwayError as error:
            raise HTTPException(503, str(error)) from error
        if found is None:
            raise HTTPException(404, _UNKNOWN)
        return JSONResponse(document_of(*found))

    return router
