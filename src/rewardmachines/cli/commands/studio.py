"""The command `hrm studio`: a page in the browser on which hierarchies are written, stepped, compared and learned."""

from __future__ import annotations

import socket
import webbrowser
from dataclasses import dataclass

from rewardmachines.cli.shared import Command, Flag, say
from rewardmachines.core.errors import RewardMachineError

_HOST = "127.0.0.1"


@dataclass(frozen=True)
class Studio(Command):
    """Open a page on which hierarchies are written, drawn, stepped, compared and learned.

    It is served to this machine alone, at an address with a secret part, until Ctrl-C.
    """

    port: int = 0
    """The port; a free one, if it is 0."""
    no_browser: Flag = False
    """Print the address, and leave it to you to open it."""

    def run(self) -> int:
        import uvicorn

        from rewardmachines.studio.server import new_token, studio_app

        with _listening(self.port) as listener:
            port = listener.getsockname()[1]
            token = new_token()
            address = f"http://{_HOST}:{port}/{token}/"
            say(f"the Studio is at {address} (Ctrl-C ends it)")
            if not self.no_browser:
                webbrowser.open(address)
            server = uvicorn.Server(uvicorn.Config(studio_app(token, port), log_level="warning", access_log=False))
            server.run(sockets=[listener])
        return 0


def _listening(port: int) -> socket.socket:
    """A socket that accepts connections from this machine: the browser may ask before the server is there."""
    if not 0 <= port <= 65_535:
        raise RewardMachineError(f"--port: a port is a number from 0 to 65535, not {port}")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_HOST, port))
        listener.listen()
    except OSError as problem:
        listener.close()
        raise RewardMachineError(f"--port: {port} cannot be used: {problem.strerror}") from None
    return listener
