"""Tests on real Ray clusters, which need the extra `ray` and some minutes: `make test-ray` runs them."""

from __future__ import annotations

import os

if os.environ.get("TEST_RAY") != "1":
    collect_ignore_glob = ["test_*.py"]
