"""supervisord for a deployment's services: starts them again when they die, ends what it started, nothing else."""

import os
import pwd
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xmlrpc.client import Fault, ServerProxy

from supervisor.xmlrpc import SupervisorTransport
from tenacity import Retrying, retry_if_exception_type, retry_if_result, stop_after_delay, wait_fixed

from jobs.errors import MissingRequirementError
from jobs.local.services import Service

_STOP_S = 30  # a scheduler waits for its running tasks; what is left then is killed, and taken up again by a later one
_MAX_SOCKET_PATH = 100  # bytes, of a Unix socket's address


class Supervisor:
    """The supervisord of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._socket = folder / "supervisor.sock"
        if len(str(self._socket)) > _MAX_SOCKET_PATH:
            raise MissingRequirementError(f"{self._socket} is too long for a socket: give a shorter SEMLABEL_HOME")

    def is_running(self) -> bool:
        """Whether it answers."""
        try:
            self._call("getState")
        except (OSError, Fault):
            return False
        return True

    def launch(self, services: Sequence[Service], env: Mapping[str, str]) -> None:
        """Start supervisord with these programs, none of them running yet."""
        for folder in (self.folder / "logs", self.folder / "airflow"):
            folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "supervisord.conf"
        config.write_text(_config(self.folder, self._socket, services))
        command = [sys.executable, "-m", "supervisor.supervisord", "--configuration", str(config)]
        subprocess.run(command, env=dict(env), check=True, stdout=subprocess.DEVNULL)

    def start(self, service: Service) -> None:
        """Start a program unless it runs."""
        if self.state(service.name) not in ("RUNNING", "STARTING"):
            self._call("startProcess", service.name, False)

    def state(self, name: str) -> str:
        """Return a program's state, such as RUNNING or BACKOFF."""
        return str(self._call("getProcessInfo", name)["statename"])

    def programs(self) -> list[dict[str, Any]]:
        """Return name, state and pid of every program."""
        found: list[dict[str, Any]] = self._call("getAllProcessInfo")
        return [{"name": one["name"], "state": one["statename"], "pid": one["pid"] or None} for one in found]

    def end(self) -> None:
        """End all programs, then supervisord itself, and return when it is gone."""
        self._call("shutdown")
        until_gone = Retrying(
            retry=retry_if_result(lambda is_gone: not is_gone),
            stop=stop_after_delay(_STOP_S * 10),  # it ends its programs one after the other
            wait=wait_fixed(0.5),
        )
        until_gone(self._is_gone)

    def _is_gone(self) -> bool:
        """Whether nobody answers any more; while it ends its programs it answers that it is about to."""
        try:
            self._call("getState")
        except OSError:
            return True
        except Fault:
            return False
        return False

    def _call(self, method: str, *arguments: Any) -> Any:
        transport = SupervisorTransport(None, None, f"unix://{self._socket}")
        with ServerProxy("http://supervisor", transport=transport) as server:
            return getattr(server.supervisor, method)(*arguments)


def wait_until_healthy(service: Service, *, within_s: float, log: Path) -> None:
    """Return when the service answers as it should.

    Raises:
        MissingRequirementError: it does not in time; its log is named.
    """
    attempts = Retrying(
        retry=retry_if_exception_type((OSError, KeyError)) | retry_if_result(lambda is_healthy: not is_healthy),
        stop=stop_after_delay(within_s),
        wait=wait_fixed(0.5),
        retry_error_callback=lambda _: False,
    )
    if not attempts(service.is_healthy):
        raise MissingRequirementError(f"{service.name} is not healthy after {within_s:.0f} s: see {log}")


def _config(folder: Path, socket: Path, services: Sequence[Service]) -> str:
    sections: dict[str, dict[str, Any]] = {
        "supervisord": {
            "user": pwd.getpwuid(os.getuid()).pw_name,
            "pidfile": folder / "supervisord.pid",
            "logfile": folder / "logs" / "supervisord.log",
            "childlogdir": folder / "logs",
        },
        "unix_http_server": {"file": socket, "chmod": "0700"},
        "rpcinterface:supervisor": {
            "supervisor.rpcinterface_factory": "supervisor.rpcinterface:make_main_rpcinterface"
        },
    }
    sections |= {f"program:{service.name}": _program(folder, service) for service in services}
    return "\n".join(
        "\n".join([f"[{name}]", *(f"{key} = {str(value).replace('%', '%%')}" for key, value in values.items()), ""])
        for name, values in sections.items()
    )


def _program(folder: Path, service: Service) -> dict[str, Any]:
    return {
        "command": " ".join(service.command),
        "autostart": "false",
        "autorestart": "true",
        "stopasgroup": "true",
        "killasgroup": "true",
        "stopwaitsecs": _STOP_S,
        "redirect_stderr": "true",
        "stdout_logfile": folder / "logs" / f"{service.name}.log",
        "stdout_logfile_maxbytes": "20MB",
        "stdout_logfile_backups": 3,
    }
