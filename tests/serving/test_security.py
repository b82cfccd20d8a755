"""Who is answered, and from where: loopback alone, or whoever has the token, over TLS."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from mis_scoring.core.errors import DataError, MissingRequirementError
from mis_scoring.serving import health
from mis_scoring.serving.answers import NotAnsweredError, RefusedError
from mis_scoring.serving.server import SERVICE
from mis_scoring.serving.settings import ServerSettings
from tests.ray.round_tables import write_artifact
from tests.serving.running import SERVING, Running, running_server
from tests.serving.steered_engine import ENGINE

TOKEN = "not-a-token-that-one-guesses"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A token, and a certificate of 127.0.0.1 that signs itself."""
    folder = tmp_path_factory.mktemp("secrets")
    found = {name: folder / name for name in ("token_file", "tls_certificate", "tls_key")}
    found["token_file"].write_text(f"{TOKEN}\n")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    found["tls_key"].write_bytes(key.private_bytes(pem, *plain))
    found["tls_certificate"].write_bytes(certificate.public_bytes(pem))
    return found


def test_a_server_with_token_and_tls_answers_whoever_has_both(tmp_path: Path, secrets: dict[str, Path]) -> None:
    artifact, folder = write_artifact(tmp_path / "artifact"), tmp_path / "artifact"
    ca_file = secrets["tls_certificate"]
    with running_server(artifact, folder, engine=ENGINE, **secrets) as running:
        request = running.query(), running.items("a")
        with running.client_of(artifact.artifact_id, token=TOKEN, ca_file=ca_file) as client:
            assert len(client.score(*request).scores) == 1
            with client.open_query(request[0]) as stream:
                assert len(stream.score(request[1]).scores) == 1
        for token in ("", "another token, as long as it"):
            with running.client_of(artifact.artifact_id, token=token, ca_file=ca_file) as client:
                for call in (lambda: client.score(*request), client.describe, lambda: _on_stream(client, *request)):
                    with pytest.raises(RefusedError) as caught:
                        call()
                    assert caught.value.status == "UNAUTHENTICATED"
        with running.client_of(artifact.artifact_id, token=TOKEN, timeout_s=1.0) as plain:
            with pytest.raises(NotAnsweredError) as not_there:
                plain.score(*request)
            assert not_there.value.status == "UNAVAILABLE"


def test_a_probe_says_whether_a_server_answers(
    running: Running, secrets: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ca_file = ("--ca-file", str(secrets["tls_certificate"]))
    assert health.main([running.address]) == 0
    assert health.main([running.address, *ca_file]) == 1 and "UNAVAILABLE" in capsys.readouterr().err
    assert health.main([running.address, "--ca-file", str(tmp_path / "none")]) == 1
    assert "none cannot be read: No such file" in capsys.readouterr().err
    artifact, folder = write_artifact(tmp_path / "artifact"), tmp_path / "artifact"
    with running_server(artifact, folder, engine=ENGINE, **secrets) as guarded:
        assert health.main([guarded.address, *ca_file]) == 0
        assert health.main([f"localhost:{guarded.server.port}", *ca_file, "--server-name", "127.0.0.1"]) == 0


def test_health_needs_no_token_and_the_service_describes_itself(running: Running) -> None:
    assert running.health() == running.health("") == SERVING
    with grpc.insecure_channel(running.address) as channel:
        assert SERVICE in ProtoReflectionDescriptorDatabase(channel).get_services()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"host": "0.0.0.0"}, "needs token_file, tls_certificate and tls_key"),
        ({"host": "0.0.0.0", "token_file": "token_file"}, "needs token_file"),
        ({"host": "::", "tls_certificate": "tls_certificate", "tls_key": "tls_key"}, "needs token_file"),
        ({"tls_key": "tls_key"}, "belong together"),
        ({"token_file": "nowhere"}, "cannot be read"),
        ({"token_file": "short"}, "fewer than 24 characters"),
        ({"tls_certificate": "tls_certificate", "tls_key": "token_file"}, "no pair of PEM files"),
        (
            {"tls_certificate": "tls_certificate", "tls_key": "nowhere"},
            "tls_key .*nowhere cannot be read: No such file",
        ),
        ({"n_tokenizers": 0, "drain_s": -1}, "n_tokenizers is 0; it must be above 0\n  - drain_s is -1"),
    ],
)
def test_settings_that_are_not_safe_or_mean_nothing_are_refused(
    secrets: dict[str, Path], changes: dict[str, Any], fault: str
) -> None:
    folder = secrets["token_file"].parent
    (folder / "short").write_text("secret")
    paths = {name: folder / value for name, value in changes.items() if name in secrets}
    with pytest.raises(DataError, match=fault):
        ServerSettings(**(changes | paths))


def test_another_host_is_served_with_both(secrets: dict[str, Path]) -> None:
    assert ServerSettings(host="0.0.0.0", **secrets).access.token == TOKEN


@pytest.mark.parametrize("setting", ["port", "metrics_port"])
def test_a_port_that_is_taken_is_said(running: Running, tmp_path: Path, setting: str) -> None:
    artifact, folder = write_artifact(tmp_path / "artifact"), tmp_path / "artifact"
    taken = getattr(running.server, setting)
    with (
        pytest.raises(MissingRequirementError, match=f"give another {setting}"),
        running_server(artifact, folder, engine=ENGINE, **{setting: taken}),
    ):
        raise AssertionError("it serves")


def _on_stream(client: Any, query: str, items: list[str]) -> None:
    with client.open_query(query) as stream:
        stream.score(items)
