"""The prefix tree of a task's traces, so that what they have in common is searched once.

Labels on which no edge of the root can fire are skipped: the node after such a label is represented by the node before
it, unless a call may end there.

The outcomes of calls are computed before any search, since the callees are known: for every node, which machines its
label starts, and at which later node of each branch they return or reject. The search then sees calls as edges that
take several steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, can_start, initial_state, step, verdict_of
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.task import LearningTask
from rewardmachines.traces import Outcome, Trace


def starting_labels(callee: Hierarchy, labels: Sequence[Label]) -> frozenset[Label]:
    """The labels on which the machine starts."""
    root = callee[callee.root]
    return frozenset(label for label in labels if can_start(callee, callee.root, root.initial, label))


@dataclass(slots=True)
class TraceNode:
    """A prefix of traces, by its last label and the node of the prefix before."""

    label: Label
    parent: int
    children: dict[Label, int] = field(default_factory=dict)
    end: Outcome | None = None
    """The outcome of the trace that ends here, if one does."""


@dataclass(frozen=True, slots=True)
class CallBranch:
    """The course of a call on the branches below: where it returns and where it rejects."""

    returns: tuple[int, ...]
    rejects: tuple[int, ...]
    stuck: tuple[int, ...]
    """Goals and dead ends at which it is still running: where all traces are right, it cannot have been started."""


class TraceTree:
    """Nodes by number, the root first, parents before children."""

    def __init__(
        self,
        task: LearningTask,
        limits: SearchLimits | None = None,
        labels: Iterable[Label] = (),
        traces: Iterable[Trace] | None = None,
    ) -> None:
        """Grows the tree, and works out all calls.

        Args:
            task: The learning task.
            limits: The limits of the search.
            labels: Labels that matter beside those of the traces.
            traces: The traces, if they are not those of the task.

        Raises:
            BudgetExceeded: if a limit of the search is reached.
        """
        self._limits = limits or SearchLimits()
        self.nodes = [TraceNode(frozenset(), -1)]
        for trace in task.traces if traces is None else traces:
            self._end(self._node(trace.labels), trace)
        self.labels: tuple[Label, ...] = tuple(dict.fromkeys((*(n.label for n in self.nodes[1:]), *labels)))
        self.starting: Mapping[str, frozenset[Label]] = {
            name: starting_labels(callee, self.labels) for name, callee in task.callees.items()
        }
        self.runs = {name: self._runs(callee) for name, callee in task.callees.items()}
        """For each callee, the calls by the node after the label that starts them."""
        self.firing = self._firing(task)
        """The labels on which some edge could fire."""
        self.moment = self._moments()
        """The node that represents each node."""

    def _end(self, node: int, trace: Trace) -> None:
        """Notes that a trace ends at the node."""
        self.nodes[node].end = trace.outcome

    def _ends_stuck(self, node: int) -> bool:
        """Whether a trace ends at the node, with a goal or a dead end, so that no call may still run there."""
        return self.nodes[node].end in (Outcome.GOAL, Outcome.DEAD_END)

    def _node(self, labels: Iterable[Label]) -> int:
        """The node of a prefix, which grows if it is not there."""
        here = 0
        for label in self._limits.checked(labels):
            following = self.nodes[here].children.get(label)
            if following is None:
                following = len(self.nodes)
                self.nodes.append(TraceNode(label, here))
                self.nodes[here].children[label] = following
            here = following
        return here

    def _runs(self, callee: Hierarchy) -> dict[int, CallBranch]:
        starts = self.starting[callee.root]
        memo: dict[tuple[int, int], CallBranch] = {}
        walk = CalleeWalk(callee)
        return {
            number: self._run(walk, number, memo)
            for number, node in enumerate(self.nodes)
            if number and node.label in starts
        }

    def _run(self, walk: CalleeWalk, node: int, memo: dict[tuple[int, int], CallBranch]) -> CallBranch:
        """A call that the label of `node` starts; children before parents, without recursion."""
        waiting = [(0, node)]
        while waiting:
            self._limits.check()
            key = waiting[-1]
            if key in memo:
                waiting.pop()
                continue
            here = self.nodes[key[1]]
            after, verdict = walk.after(key[0], here.label)
            if verdict is Verdict.NEITHER:
                parts = [(after, child) for child in here.children.values()]
                missing = [part for part in parts if part not in memo]
                if missing:
                    waiting.extend(missing)
                    continue
                memo[key] = self._joined(key[1], [memo[part] for part in parts])
            else:
                memo[key] = (
                    CallBranch((key[1],), (), ()) if verdict is Verdict.ACCEPT else CallBranch((), (key[1],), ())
                )
            waiting.pop()
        return memo[0, node]

    def _joined(self, node: int, parts: list[CallBranch]) -> CallBranch:
        ends = self._ends_stuck(node)
        if len(parts) == 1 and not ends:
            return parts[0]
        return CallBranch(
            tuple(n for part in parts for n in part.returns),
            tuple(n for part in parts for n in part.rejects),
            (*((node,) if ends else ()), *(n for part in parts for n in part.stuck)),
        )

    def _firing(self, task: LearningTask) -> frozenset[Label]:
        every = frozenset(task.propositions)
        callees = frozenset().union(*self.starting.values())
        return frozenset(
            label
            for label in self.labels
            if label or label in callees or (task.options.negative_formulas and label != every)
        )

    def _moments(self) -> list[int]:
        ends = {n for runs in self.runs.values() for run in runs.values() for n in (*run.returns, *run.rejects)}
        moment = [0] * len(self.nodes)
        for number, node in enumerate(self.nodes):
            apart = number == 0 or node.label in self.firing or number in ends
            moment[number] = number if apart else moment[node.parent]
        return moment


class CalleeWalk:
    """A callee's hierarchy states by number, 0 being the initial one, and where labels lead from them."""

    def __init__(self, callee: Hierarchy) -> None:
        self._callee = callee
        self._states = [initial_state(callee)]
        self._numbers = {self._states[0]: 0}
        self._known: dict[tuple[int, Label], tuple[int, Verdict]] = {}

    def after(self, number: int, label: Label) -> tuple[int, Verdict]:
        """The state that a label leads to, and the verdict there."""
        known = self._known.get((number, label))
        if known is None:
            state = step(self._callee, self._states[number], label)
            following = self._numbers.setdefault(state, len(self._states))
            if following == len(self._states):
                self._states.append(state)
            known = self._known[number, label] = (following, verdict_of(self._callee, state))
        return known
