"""The services over real connections: a clear status for every fault, and nothing acknowledged that is not on disk."""

import json
import re
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from sqlalchemy.exc import OperationalError

from jobs import grpc_server
from jobs.errors import CheckFailedError, FaultsError, MissingRequirementError
from jobs.generate_stubs import CHECKOUT, STUBS, generate_stubs
from jobs.grpc_server import READS_AT_ONCE, GrpcServer, access_of
from jobs.kv import labels_pb2, labels_pb2_grpc
from jobs.kv import service as labels_service
from jobs.kv.lmdb_store import LmdbStore
from jobs.kv.store import StoreAwayError
from jobs.kv.value import Position
from jobs.settings import Settings
from jobs.updates import client, updates_pb2, updates_pb2_grpc
from jobs.updates.http_app import create_app
from jobs.updates.inbox import Inbox, open_inbox
from jobs.updates.metrics import UpdateMetrics
from jobs.updates.serve import _Http
from jobs.updates.service import MAX_UPDATES, SERVICE, ProfileUpdatesService, handler_of
from mis_scoring.core.errors import DataError
from tests.updates.test_inbox import edit
from tests.updates.test_label_store import START, at, labels
from tests.world import settings_under

TOKEN = "a-token-of-the-test-that-one-does-not-guess"


class Running:
    """Both servers over an inbox and a store of the test's own."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        settings = settings_under(folder, updates_port=0, updates_http_port=0, **changes)
        self.inbox, self.store, self.woken = open_inbox(settings), LmdbStore(folder / "kv"), Event()
        self.store.replace_all([labels("a/b c", 2, q1=0.75)], at(2))
        self.metrics = UpdateMetrics(self.inbox)
        service = ProfileUpdatesService(self.inbox, self.metrics, wake=self.woken.set)
        handlers = {SERVICE: handler_of(service), labels_service.SERVICE: labels_service.grpc_handler(self.store)}
        self.grpc = GrpcServer(settings, handlers, port=0)
        token = access_of(settings).token
        self.ready = Event()
        app = create_app(self.store, self.inbox, self.metrics.registry, token=token, ready=self.ready)
        self.http = _Http(settings, app)
        self.settings = settings.model_copy(
            update={"updates_port": self.grpc.port, "updates_http_port": self.http.__enter__()}
        )
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.grpc.port}")
        self.updates = updates_pb2_grpc.ProfileUpdatesStub(self.channel)
        self.labels = labels_pb2_grpc.LabelsStub(self.channel)

    def get(self, path: str, token: str = "") -> tuple[int, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.settings.updates_http_port}{path}", headers={"Authorization": f"Bearer {token}"}
        )
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def end(self) -> None:
        self.channel.close()
        self.grpc.end()
        self.http.__exit__()
        self.store.close()
        self.inbox.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    found = Running(tmp_path_factory.mktemp("services"), updates_waiting_limit=50)
    yield found
    found.end()


def sent(*updates: Any) -> updates_pb2.UpdateProfilesRequest:
    return updates_pb2.UpdateProfilesRequest(updates=[client.message_of(update) for update in updates])


def status_of(call: Callable[[], Any]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as raised:
        call()
    return raised.value.code(), raised.value.details()  # type: ignore[attr-defined]


def test_the_stubs_are_those_of_the_protos(tmp_path: Path) -> None:
    generate_stubs(tmp_path)
    for stub in STUBS:
        assert (CHECKOUT / stub).read_text() == (tmp_path / stub).read_text(), "python -m jobs.generate_stubs"


def test_an_acknowledged_update_is_in_the_inbox_and_says_what_became_of_it(running: Running) -> None:
    running.woken.clear()
    answer = running.updates.UpdateProfiles(sent(edit("ann", 5), edit("ann", 4), edit("ann", 5), edit("bob", 1, None)))
    outcomes = [updates_pb2.Outcome.Name(one.outcome) for one in answer.acknowledgements]
    assert outcomes == ["OUTCOME_ACCEPTED", "OUTCOME_SUPERSEDED", "OUTCOME_REPEATED", "OUTCOME_ACCEPTED"]
    assert running.woken.is_set()
    batch = running.inbox.take(10)
    assert batch is not None and batch.updates == (edit("ann", 5), edit("bob", 1, None))
    running.inbox.finish(batch.batch_id)
    _, metrics = running.get("/metrics")
    assert 'semlabel_updates_received_total{outcome="superseded"} 1.0' in metrics
    assert "semlabel_updates_waiting 0.0" in metrics and "semlabel_update_readable_seconds_bucket" in metrics


def test_all_faults_are_named_at_once_and_nothing_is_taken_in(running: Running) -> None:
    request = sent(edit("fine", 1), edit("", -1))
    request.updates.add(member_id="silent", profile_version=1)
    code, details = status_of(lambda: running.updates.UpdateProfiles(request))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    for fault in ("update 1: member_id is empty", "update 1: profile_version is -1", "update 2: say profile_text or"):
        assert fault in details
    many = sent(*(edit(f"member-{number}", 1) for number in range(MAX_UPDATES + 1)))
    assert status_of(lambda: running.updates.UpdateProfiles(many))[0] == grpc.StatusCode.INVALID_ARGUMENT
    raw = running.channel.unary_unary(f"/{SERVICE}/UpdateProfile")
    code, details = status_of(lambda: raw(b"\xff\xff no protobuf"))
    assert (code, details) == (
        grpc.StatusCode.INVALID_ARGUMENT, "the message is no semlabel.updates.v1.ProfileUpdate"
    )  # fmt: skip
    assert running.inbox.figures().waiting == 0


def test_a_full_inbox_and_one_that_cannot_be_written_refuse_and_say_so(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = sent(*(edit(f"member-{number}", 1) for number in range(51)))
    assert status_of(lambda: running.updates.UpdateProfiles(many))[0] == grpc.StatusCode.RESOURCE_EXHAUSTED

    def fail(*_: Any) -> Any:
        raise OperationalError("INSERT", {}, OSError("disk full"))

    monkeypatch.setattr(Inbox, "put", fail)
    code, details = status_of(lambda: running.updates.UpdateProfile(client.message_of(edit("ann", 9))))
    assert code == grpc.StatusCode.UNAVAILABLE and "send again" in details
    with pytest.raises(MissingRequirementError, match="inbox can't be written"):
        client.send(running.settings, edit("ann", 9))


def hanging_reads(monkeypatch: pytest.MonkeyPatch) -> tuple[Semaphore, Event]:
    """Let reads of the store hang until the event is set; the semaphore counts those that have begun."""
    reading, is_over, read_one = Semaphore(0), Event(), LmdbStore.get

    def hang(store: LmdbStore, member_id: str) -> Any:
        reading.release()
        is_over.wait(60)
        return read_one(store, member_id)

    monkeypatch.setattr(LmdbStore, "get", hang)
    return reading, is_over


def test_a_store_that_hangs_takes_no_thread_from_updates_and_too_many_readers_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Running(tmp_path)
    reading, is_over = hanging_reads(monkeypatch)
    try:
        request = labels_pb2.GetLabelsRequest(member_id="a/b c")
        readers = [here.labels.GetLabels.future(request) for _ in range(READS_AT_ONCE)]
        for _ in readers:
            assert reading.acquire(timeout=30)
        code, details = status_of(lambda: here.labels.GetLabels(request, timeout=30))
        assert code == grpc.StatusCode.RESOURCE_EXHAUSTED and "send later" in details
        update = client.message_of(edit("ann", 1))
        assert here.updates.UpdateProfile(update, timeout=30).outcome == updates_pb2.OUTCOME_ACCEPTED
        is_over.set()
        assert {reader.result().run_id for reader in readers} == {"run-2"}
        assert here.labels.GetLabels(request, timeout=30).run_id == "run-2", "there is room again"
    finally:
        is_over.set()
        here.end()


def test_calls_that_no_thread_can_take_up_are_refused_and_not_queued_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grpc_server, "_CALLS", 2)
    here = Running(tmp_path)
    reading, is_over = hanging_reads(monkeypatch)
    try:
        request = labels_pb2.GetLabelsRequest(member_id="a/b c")
        readers = [here.labels.GetLabels.future(request) for _ in range(2)]
        for _ in readers:
            assert reading.acquire(timeout=30)
        code, _ = status_of(lambda: here.labels.GetLabels(request, timeout=30))
        assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
        is_over.set()
        assert {reader.result().run_id for reader in readers} == {"run-2"}
    finally:
        is_over.set()
        here.end()


def test_labels_are_answered_alike_by_grpc_and_http(running: Running) -> None:
    status, body = running.get("/members/a/b%20c/labels")
    found = json.loads(body)
    assert (status, found) == (
        200,
        {
            "member_id": "a/b c",
            "labels": [{"qualification_id": "q1", "score": 0.75}],
            "run_id": "run-2",
            "profile_version": 2,
            "labels_version": 2,
            "published_at": START.isoformat(),
            "position": {"labels_version": 2, "published_at": START.isoformat()},
        },
    )
    answer = running.labels.GetLabels(labels_pb2.GetLabelsRequest(member_id="a/b c"))
    assert answer == labels_pb2.MemberLabels(**found)


def test_who_has_no_labels_to_tell_is_not_found_also_when_removed(running: Running) -> None:
    gone = labels("gone", 3)
    running.store.update(["gone"], lambda *_: gone.__class__(**vars(gone) | {"is_removed": True}), at(3))
    for member_id in ("nobody", "gone"):
        assert running.get(f"/members/{member_id}/labels")[0] == 404
        request = labels_pb2.GetLabelsRequest(member_id=member_id)
        assert status_of(lambda request=request: running.labels.GetLabels(request))[0] == grpc.StatusCode.NOT_FOUND


def test_a_store_that_is_away_is_unavailable_and_updates_are_taken_in_all_the_same(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise StoreAwayError("Redis does not answer")

    monkeypatch.setattr(LmdbStore, "position", fail)
    assert running.get("/members/ann/labels")[0] == 503
    request = labels_pb2.GetLabelsRequest(member_id="ann")
    assert status_of(lambda: running.labels.GetLabels(request)) == (
        grpc.StatusCode.UNAVAILABLE, "Redis does not answer"
    )  # fmt: skip
    assert json.loads(running.get("/health")[1])["store"] == "away"
    assert client.send(running.settings, edit("cat", 1))["outcome"] == "accepted"


def test_health_and_reflection_answer(running: Running) -> None:
    health = health_pb2_grpc.HealthStub(running.channel)
    assert health.Check(health_pb2.HealthCheckRequest()).status == 2, "an edit would wait for much to load"
    assert not json.loads(running.get("/health")[1])["is_ready"]
    running.grpc.say_ready()
    running.ready.set()
    assert json.loads(running.get("/health")[1])["is_ready"]
    for name in ("", SERVICE, labels_service.SERVICE):
        assert health.Check(health_pb2.HealthCheckRequest(service=name)).status == 1
    found = ProtoReflectionDescriptorDatabase(running.channel)
    assert {SERVICE, labels_service.SERVICE} <= set(found.get_services())
    methods = DescriptorPool(found).FindServiceByName(SERVICE).methods_by_name
    assert set(methods) == {"UpdateProfile", "UpdateProfiles"}


def test_a_client_waits_until_labels_of_its_version_can_be_read(running: Running) -> None:
    running.store.replace_all([labels("dan", 7, q1=0.5)], Position())
    assert client.send(running.settings, edit("dan", 7), wait_s=5)["labels"] == [
        {"qualification_id": "q1", "score": 0.5}
    ]
    with pytest.raises(CheckFailedError, match=r"version 8 of the profile can't be read after 0.2 s"):
        client.send(running.settings, edit("dan", 8), wait_s=0.2)
    with pytest.raises(FaultsError, match="member_id is empty"):
        client.send(running.settings, edit("", 8))


def test_with_a_token_only_who_sends_it_is_answered_but_for_health(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    guarded = Running(tmp_path, updates_token_file=tmp_path / "token")
    try:
        call = client.message_of(edit("ann", 1))
        assert status_of(lambda: guarded.updates.UpdateProfile(call))[0] == grpc.StatusCode.UNAUTHENTICATED
        assert [guarded.get(path)[0] for path in ("/members/a/labels", "/metrics", "/health")] == [401, 401, 200]
        assert guarded.get("/members/a/labels", TOKEN)[0] == 404
        assert client.send(guarded.settings, edit("ann", 1))["outcome"] == "accepted"
        assert health_pb2_grpc.HealthStub(guarded.channel).Check(health_pb2.HealthCheckRequest()).status == 2
    finally:
        guarded.end()


def test_with_a_certificate_the_service_speaks_tls(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    options = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost")
    files = ("-keyout", str(key), "-out", str(certificate), "-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run(["openssl", "req", "-x509", *options, *files], check=True, capture_output=True)
    encrypted = Running(tmp_path, updates_tls_certificate=certificate, updates_tls_key=key)
    try:
        assert client.send(encrypted.settings, edit("ann", 1))["outcome"] == "accepted"
        call = client.message_of(edit("ann", 2))
        assert status_of(lambda: encrypted.updates.UpdateProfile(call))[0] == grpc.StatusCode.UNAVAILABLE
        address = f"https://127.0.0.1:{encrypted.settings.updates_http_port}/health"
        trusting = ssl.create_default_context(cafile=str(certificate))
        with urllib.request.urlopen(address, context=trusting) as answer:
            assert json.load(answer)["waiting"] == 1
    finally:
        encrypted.end()


def test_beyond_loopback_all_that_is_missing_or_cannot_be_used_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "k.pem").write_text("no key")
    settings = Settings(
        home=tmp_path,
        updates_host="0.0.0.0",
        updates_token_file=tmp_path / "t",
        updates_tls_key=tmp_path / "k.pem",
        _env_file=None,  # type: ignore[call-arg]
    )
    with pytest.raises(DataError, match=r"SEMLABEL_UPDATES_") as raised:
        GrpcServer(settings, {}, port=0)
    for fault in ("token_file .*t cannot be read: No such file", "belong together", "needs token_file"):
        assert re.search(fault, str(raised.value)), fault
