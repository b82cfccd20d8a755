"""Whom a gRPC server answers, and over what: one rule for the model server and for the servers of the jobs.

A token lies in a file, for environments are shown and inherited. Profiles are personal data, so an address that others
reach needs the token and TLS.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from mis_scoring.core.errors import DataError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
LEAST_TOKEN_CHARACTERS = 24


@dataclass(frozen=True, kw_only=True)
class Access:
    """An address with the files that guard it.

    Attributes:
        token_file: whoever has its content is answered; None: anybody is.
        tls_certificate: PEM, with `tls_key`; None: no TLS.
    """

    host: str
    token_file: Path | None = None
    tls_certificate: Path | None = None
    tls_key: Path | None = None

    @property
    def token(self) -> str:
        """What a caller must know; empty: nothing.

        Raises:
            DataError: the file can't be read, or holds too little.
        """
        return "" if self.token_file is None else read_token(self.token_file)

    def faults(self) -> list[str]:
        """Return one sentence for each thing that is missing, can't be used or is not safe."""
        faults = [*self._token_faults(), *self._tls_faults()]
        if self.host not in LOOPBACK and None in (self.token_file, self.tls_certificate, self.tls_key):
            faults.append(
                f"host is {self.host!r}, which others reach: profiles are personal data, so it needs token_file, "
                "tls_certificate and tls_key; or bind 127.0.0.1"
            )
        return faults

    def credentials(self) -> Any:
        """Return gRPC's credentials of the server; None without TLS.

        Raises:
            DataError: a file can't be read.
        """
        if self.tls_certificate is None or self.tls_key is None:
            return None
        key, certificate = read_file("tls_key", self.tls_key), read_file("tls_certificate", self.tls_certificate)
        return grpc.ssl_server_credentials([(key, certificate)])

    def _token_faults(self) -> list[str]:
        try:
            _ = self.token
        except DataError as error:
            return [str(error)]
        return []

    def _tls_faults(self) -> list[str]:
        if (self.tls_certificate is None) != (self.tls_key is None):
            return ["tls_certificate and tls_key belong together: give both or none"]
        if self.tls_certificate is None or self.tls_key is None:
            return []
        faults = []
        for name, file in (("tls_certificate", self.tls_certificate), ("tls_key", self.tls_key)):
            try:
                read_file(name, file)
            except DataError as error:
                faults.append(str(error))
        return faults or _pair_faults(self.tls_certificate, self.tls_key)


def read_token(file: Path, *, name: str = "token_file") -> str:
    """Return the token that a file holds.

    Args:
        name: of the setting, for the error.
    Raises:
        DataError: the file can't be read, or holds too little.
    """
    token = read_file(name, file).decode(errors="replace").strip()
    if len(token) < LEAST_TOKEN_CHARACTERS:
        raise DataError(
            f"{name} {file} holds fewer than {LEAST_TOKEN_CHARACTERS} characters: `openssl rand -hex 24` makes a token"
        )
    return token


def read_file(name: str, file: Path) -> bytes:
    """Return the content of a file that a setting names.

    Raises:
        DataError: names the setting, the file and why.
    """
    try:
        return file.read_bytes()
    except OSError as error:
        raise DataError(f"{name} {file} cannot be read: {error.strerror}") from error


def open_channel(address: str, ca_file: Path | None, *, server_name: str = "") -> Any:
    """Open a client's connection.

    Args:
        ca_file: PEM, who signed the server's certificate; None: no TLS.
        server_name: in the certificate, where the address is another.
    Raises:
        DataError: the file can't be read.
    """
    if ca_file is None:
        return grpc.insecure_channel(address)
    options = [("grpc.ssl_target_name_override", server_name)] if server_name else []
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(read_file("ca_file", ca_file)), options)


def _pair_faults(certificate: Path, key: Path) -> list[str]:
    """Return why a certificate and a key can't be used: gRPC itself only says that it can't bind."""
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        return [f"tls_certificate {certificate} and tls_key {key} are no pair of PEM files: {reason}"]
    return []
