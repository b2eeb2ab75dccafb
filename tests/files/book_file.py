"""A machine file as the documents show it."""

from __future__ import annotations

BOOK = """
propositions: [iron, sugarcane, rabbit, workbench, table]
root: book
machines:
  paper:
    edges:
      - {from: u0, to: u1, when: sugarcane}
      - {from: u1, to: uA, when: workbench}
  leather:
    edges:
      - {from: u0, to: u1, when: rabbit}
      - {from: u1, to: uA, when: workbench}
  book:
    initial: u0          # defaults: u0, [uA], [uR]
    accepting: [uA]
    rejecting: [uR]
    edges:
      - {from: u0, to: u1, call: paper, when: "!rabbit"}
      - {from: u0, to: u2, call: leather}
      - {from: u1, to: u3, call: leather}
      - {from: u2, to: u3, call: paper}
      - {from: u3, to: uA, when: table}
"""
