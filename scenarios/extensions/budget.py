"""A budget: a run stops, and no other one begins, before a sum of money is crossed.

What the next turn will cost nobody knows; it is taken to cost as much as the dearest one so far.
"""

from __future__ import annotations

import attrs

import sapwood
from sapwood.events.hooks import BeforeTurnEnd, Boundary, DraftState, Handled, InputReceived

LIMIT = 1.00
"""Dollars of one session."""


@attrs.define
class Budget:
    """What was spent since this file was loaded."""

    spent: float = 0.0
    dearest: float = 0.0

    def add(self, cost: float) -> None:
        self.spent += cost
        self.dearest = max(self.dearest, cost)

    @property
    def is_used_up(self) -> bool:
        """Whether one more turn might cross the limit."""
        return self.spent + self.dearest > LIMIT


extension = sapwood.Extension("budget")
budget = Budget()


@extension.on(BeforeTurnEnd)
def count(question: BeforeTurnEnd, context: sapwood.ExtensionContext) -> Boundary | None:
    cost = question.message.usage.cost
    budget.add(0.0 if cost is None else cost.total)
    if not budget.is_used_up:
        return None
    return Boundary(entries=(DraftState(custom_type="budget", data={"spent": budget.spent}),), go_on=False)


@extension.on(InputReceived)
def check(question: InputReceived, context: sapwood.ExtensionContext) -> Handled | None:
    if not budget.is_used_up:
        return None
    return Handled(reason=f"${budget.spent:.2f} of ${LIMIT:.2f} are spent, and one more turn might cross that")
