"""A connection to a Ray cluster: one that is running somewhere, or one of this machine that is started and ended here.

Ray is an extra, and takes long to load, so it is imported when it is needed.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files.extras import to_install

LOCAL: Final = "local"
"""The address that stands for a cluster of this machine, to be started."""
_FOUND: Final = (LOCAL, "auto")
"""Addresses that are not places."""
_CLIENT: Final = "ray://"
_CLIENT_PORT: Final = 10001
_CONNECT: Final = 10.0
"""How long a cluster may take to answer, in seconds."""
_GREETING: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a client of HTTP/2 begins: a fixed text and empty settings."""
_FRAME: Final = 9
"""Bytes of the head of a frame of HTTP/2; the fourth is its kind."""
_SETTINGS: Final = 4
"""The kind of the frame with which a server of HTTP/2 begins."""
_STORE: Final = 128 << 20
"""Bytes for objects in a cluster of this machine. Ray would take a third of the memory, and results are small."""


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Yields Ray, connected to a cluster. What was started or connected for it is ended after the block.

    Args:
        address: The address of a cluster; if not given, that of the environment variable RAY_ADDRESS, and if there is
            none, a cluster of this machine is started.

    Raises:
        RewardMachineError: Ray is not installed, or the cluster cannot be reached or started.
    """
    ray = load_ray()
    if ray.is_initialized():  # by whoever uses this package; it is theirs to end
        yield ray
        return
    where = address or os.environ.get("RAY_ADDRESS") or LOCAL
    _check_address(where)
    try:
        _connect(ray, where)
        yield ray
    finally:
        ray.shutdown()


def load_ray() -> Any:
    """The module of Ray.

    Raises:
        RewardMachineError: It is not installed.
    """
    try:
        import ray
    except ImportError:
        raise RewardMachineError(f"Ray is not installed: {to_install('ray')}; or leave out --on ray") from None
    return ray


def _check_address(address: str) -> None:
    """Knocks before Ray does, which would wait for minutes if nobody is there."""
    if address in _FOUND:
        return
    try:
        parts = urlsplit(address if address.startswith(_CLIENT) else f"//{address}")
        port = parts.port or (_CLIENT_PORT if parts.scheme else None)
    except ValueError:
        port = None
    if port is None or parts.hostname is None:
        raise RewardMachineError(f"--address {address}: write HOST:PORT, ray://HOST:PORT, or auto")
    try:
        is_there = _speaks_grpc(parts.hostname, port)
    except (OSError, UnicodeError) as problem:
        raise RewardMachineError(f"--address {address}: the cluster cannot be reached ({problem})") from None
    if not is_there:
        raise RewardMachineError(f"--address {address}: something answers there, but it is no Ray cluster")


def _speaks_grpc(host: str, port: int) -> bool:
    """Whether whoever listens there greets as servers of gRPC do, which all parts of Ray are."""
    with socket.create_connection((host, port), timeout=_CONNECT) as connection:
        if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
            return True  # Ray knows the certificates
        connection.sendall(_GREETING)
        answer = connection.recv(_FRAME)
    return len(answer) == _FRAME and answer[3] == _SETTINGS


def _connect(ray: Any, address: str) -> None:
    if address == LOCAL:  # a cluster that is already running has its own settings
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
        settings: dict[str, Any] = {"include_dashboard": False, "object_store_memory": _STORE}
    else:
        settings = {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **settings)
    except Exception as problem:  # Ray's own, gRPC's, and whatever else goes wrong inside
        where = "a cluster on this machine cannot be started" if address == LOCAL else f"no connection to {address}"
        raise RewardMachineError(f"Ray: {where} ({first_sentence(problem)})") from None
    worker: Any = getattr(getattr(ray, "_private", None), "worker", None)
    if hasattr(worker, "_worker_logs_enabled"):
        # Paragraphs on lost workers would go to standard output, among tables; we say it in a line.
        worker._worker_logs_enabled = False


def first_sentence(problem: BaseException) -> str:
    """The first sentence of what an exception says."""
    lines = str(problem).strip().splitlines()
    return lines[0].partition(". ")[0] if lines else type(problem).__name__
