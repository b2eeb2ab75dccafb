"""Tests with agents and worlds of other libraries, which are large extras: `make test-worlds` runs them."""

from __future__ import annotations

import os

if os.environ.get("TEST_WORLDS") != "1":
    collect_ignore_glob = ["test_*.py"]
