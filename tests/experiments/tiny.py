"""A small study of every kind of run, in a world that is small, too."""

from __future__ import annotations

import json

from envs.test_third_domain import TINY

SIZES = [f"{name}={value}" for name, value in TINY.items()]
CALLS = ("call_network", "call_replay_size", "call_replay_start")
FLAT = """[[runs]]
name = "flat"
command = "flat"
settings = ["short"]
tasks = ["leave"]
methods = ["jirp"]
seeds = 1
instances = 2
max_steps = 30
episodes = 200
"""
"""Its block of one run that needs no compiled program."""
STUDY = f"""
title = "Tiny"
claims = ["hierarchy-first", "restricted-time", "flat-infeasible"]

[[runs]]
name = "learned"
command = "learn"
settings = ["short"]
tasks = ["leave", "ring"]
preset = "table"
seeds = 2
instances = 2
max_steps = 30
steps = 2400
set = {json.dumps([*SIZES, "first_goals=2", "goals=2", "examples=1"])}

[[runs]]
name = "trained"
command = "train"
settings = ["short"]
tasks = ["leave"]
algorithms = ["hrl"]
seeds = 2
instances = 2
max_steps = 30
steps = 600
set = {json.dumps(SIZES)}

[[runs]]
name = "crm"
command = "train"
settings = ["short"]
tasks = ["leave"]
algorithms = ["crm"]
seeds = 1
instances = 2
max_steps = 30
steps = 600
set = {json.dumps([size for size in SIZES if not size.startswith(CALLS)])}

{FLAT}
[[tables]]
kind = "lhrm"
title = "LHRM"
blocks = ["learned"]

[[tables]]
kind = "reach"
title = "Reach"
blocks = ["trained", "crm"]

[[tables]]
kind = "flat"
title = "Flat"
blocks = ["flat"]

[[figures]]
kind = "tasks"
title = "Learning curves"
blocks = ["learned"]

[[figures]]
kind = "algorithms"
title = "Policies"
blocks = ["trained", "crm"]
"""
