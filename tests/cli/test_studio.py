"""`hrm studio`: a page on loopback."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from rewardmachines.cli import main
from rewardmachines.files.extras import to_install


def test_without_the_extra_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["studio", "--no-browser"]) == 2
    assert capsys.readouterr().err == f"hrm studio needs the extra 'studio': {to_install('studio')}\n"


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_is_a_number_of_sixteen_bits(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    assert main(["studio", "--no-browser", "--port", port]) == 2
    assert capsys.readouterr().err == f"hrm: --port: a port is a number from 0 to 65535, not {port}\n"


def test_a_port_that_is_taken_is_an_error_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["studio", "--no-browser", "--port", str(port)]) == 2
    assert f"hrm: --port: {port} cannot be used" in capsys.readouterr().err


def test_it_serves_the_page_at_the_address_that_it_prints() -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    words = [sys.executable, "-m", "rewardmachines", "studio", "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as served:
        try:
            assert served.stdout is not None
            address = served.stdout.readline().split()[4]
            with urllib.request.urlopen(address, timeout=60) as answer:
                assert b"Studio" in answer.read()
            without_token = address.rstrip("/").rpartition("/")[0] + "/"
            with pytest.raises(urllib.error.HTTPError) as refused, urllib.request.urlopen(without_token, timeout=60):
                pass
            refused.value.close()
            assert refused.value.code == 403
        finally:
            served.send_signal(signal.SIGINT)
            served.wait(60)
