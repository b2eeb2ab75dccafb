"""A small study of every kind of run, in a world that is small, too."""

from __future__ import annotations

import json

SIZES = ["environments=4", "batch=8", "chunk=50", "evaluate_every=2", "replay_size=2000", "replay_start=100"]
SIZES += ["network.body=flat", "network.filters=[]", "network.hidden=[8]"]
CALLS = ["calls.network.body=flat", "calls.network.filters=[]", "calls.network.hidden=[8]"]
CALLS += ["calls.replay_size=100", "calls.replay_start=5"]
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
set = {json.dumps([*SIZES, *CALLS, "goals=[2]", "examples=1"])}

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
set = {json.dumps([*SIZES, *CALLS])}

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
set = {json.dumps(SIZES)}

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
