"""The server of the page: it answers who has the address, and nobody else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")

from starlette.testclient import TestClient

from rewardmachines.studio.server import MAX_REQUEST, page_files, studio_app

TOKEN, PORT = "a-secret", 4321
HERE = f"http://127.0.0.1:{PORT}"
PARSE = {"action": "parse", "source": {"text": "a ; b"}}
PAGE = Path(__file__).parents[2] / "src" / "rewardmachines" / "studio" / "page"


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(studio_app(TOKEN, PORT), base_url=HERE) as client:
        yield client


def post(client: TestClient, path: str = f"/{TOKEN}/answer", **options: Any) -> Any:
    chosen: dict[str, Any] = {"json": PARSE, "headers": {"origin": HERE}} | options
    return client.post(path, **chosen)


def test_the_page_and_all_that_it_names_are_there(client: TestClient) -> None:
    page = client.get(f"/{TOKEN}/")
    assert page.status_code == 200
    named = re.findall(r'(?:src|href)="([^"#]+)"', page.text)
    imported = re.findall(r'from "\./([^"]+)"', "".join(path.read_text() for path in PAGE.glob("*.js")))
    assert {"main.js", "studio.css", "engine.js"} <= {*named, *imported}
    for name in {*named, *imported}:
        assert client.get(f"/{TOKEN}/{name}").status_code == 200, name
    assert client.get(f"/{TOKEN}/engine.json").json() == {"kind": "server"}


def test_it_answers(client: TestClient) -> None:
    assert post(client).json()["result"]["propositions"] == ["a", "b"]
    assert post(client, json=[]).json()["ok"] is False
    assert post(client, json=None, content=b"\xff", headers=_json({"origin": HERE})).json()["ok"] is False


def _json(headers: dict[str, str]) -> dict[str, str]:
    return headers | {"content-type": "application/json"}


@pytest.mark.parametrize(
    "path", ["/", "/answer", "/index.html", "/x/", "/x/index.html", f"/{TOKEN}x/", f"/{TOKEN[:-1]}/"]
)
def test_without_the_token_nothing_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 403
    assert post(client, "/x/answer").status_code == 403


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", ""])
def test_other_hosts_are_refused(client: TestClient, host: str) -> None:
    assert client.get(f"/{TOKEN}/", headers={"host": host}).status_code == 421
    assert post(client, headers={"origin": HERE, "host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1", ""])
def test_other_origins_are_refused(client: TestClient, origin: str) -> None:
    assert post(client, headers={"origin": origin}).status_code == 403
    assert client.get(f"/{TOKEN}/", headers={"origin": origin}).status_code == 403


def test_a_request_must_say_where_it_comes_from_and_be_json(client: TestClient) -> None:
    assert post(client, headers={}).status_code == 403
    assert post(client, headers={"origin": HERE, "content-type": "text/plain"}).status_code == 415
    assert client.get(f"/{TOKEN}/answer").status_code in (404, 405)


def test_a_request_that_is_too_large_is_refused(client: TestClient) -> None:
    huge = b" " * (MAX_REQUEST + 1)
    assert post(client, json=None, content=huge, headers=_json({"origin": HERE})).status_code == 413


@pytest.mark.parametrize("path", ["/../server.py", "/..%2fserver.py", "/server.py", "/%2e%2e/actions.py", "/page"])
def test_nothing_but_the_page_is_served(client: TestClient, path: str) -> None:
    assert client.get(f"/{TOKEN}{path}").status_code in (403, 404)


def test_every_answer_has_a_strict_policy(client: TestClient) -> None:
    for answer in (client.get(f"/{TOKEN}/"), client.get("/"), post(client)):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers


def test_the_page_itself_names_no_address_elsewhere_and_has_no_code_in_it() -> None:
    shown = page_files()
    assert set(shown) == {path.name for path in PAGE.iterdir()}
    for name, content in shown.items():
        addresses = set(re.findall(r"https?://[^\s\"']+", content.decode()))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
    html = shown["index.html"].decode()
    assert "default-src 'none'" in html
    assert not re.search(r"\son\w+=|<script(?![^>]*src=)|\sstyle=|<style", html)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", "".join(
        content.decode() for name, content in shown.items() if name.endswith(".js")
    ))  # fmt: skip
