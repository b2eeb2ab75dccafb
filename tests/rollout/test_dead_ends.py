"""Dead ends of Gymnasium environments: which of them are not shared, or not shown by a label."""

from __future__ import annotations

from rewardmachines.rollout.dead_ends import DeadEnds, NotShared, NotShown, Sight, sight


def test_dead_ends_are_judged_by_enough_sights_and_said_once() -> None:
    seen, pit = DeadEnds(least=3), frozenset({"pit"})
    seen.see("one", pit, Sight.DEAD_END, 3)
    seen.see("two", pit, Sight.PASSED, 2)
    assert seen.news() == []
    seen.see("two", pit, Sight.GOAL)
    seen.see("three", pit, Sight.PASSED, 9)
    seen.see("three", pit, Sight.DEAD_END)
    found = seen.news()
    assert found == [NotShared(pit, "one", "two", 3, 2, 1)]
    assert "'two' went on 2 times and reached the goal once" in str(found[0])
    assert seen.news() == []
    seen.see("one", pit, Sight.PASSED, 4)
    seen.see("four", pit, Sight.PASSED, 9)
    assert seen.news() == []
    seen.see("four", frozenset(), Sight.HIDDEN, 3)
    assert seen.news() == [NotShown("four", 3)]


def test_a_dead_end_without_a_label_of_its_own_is_hidden() -> None:
    pit, nothing = frozenset({"pit"}), frozenset[str]()

    def seen(label: frozenset[str], end: str = "", *, is_event: bool = True) -> Sight | None:
        return sight(label, is_event=is_event, is_goal=end == "goal", is_dead_end=end == "dead")

    assert seen(pit, "dead") is Sight.DEAD_END
    assert seen(nothing, "dead") is seen(pit, "dead", is_event=False) is Sight.HIDDEN
    assert seen(pit) is Sight.PASSED
    assert seen(pit, "goal") is Sight.GOAL
    assert seen(nothing) is seen(pit, is_event=False) is None
