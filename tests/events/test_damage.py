"""What is wrong with a file: each kind has its severity, and its form on the wire."""

from __future__ import annotations

from typing import get_args

import pytest

from sapwood.events.codec import decode_event, encode_event
from sapwood.events.damage import SEVERITY, Damage, DamageKind, Severity
from sapwood.events.runtime import DamageFound
from tests.events.wire import as_json, shape


def test_each_kind_has_a_severity() -> None:
    assert set(SEVERITY) == set(get_args(DamageKind))
    assert set(SEVERITY.values()) == set(get_args(Severity))


@pytest.mark.parametrize(
    ("kind", "severity"), [("several_roots", "note"), ("lost_newline", "mended"), ("torn_tail", "lost")]
)
def test_a_reset_is_no_damage_and_what_cannot_be_read_is_lost(kind: DamageKind, severity: Severity) -> None:
    damage = Damage(kind=kind, line=1, offset=0, length=0)

    assert damage.severity == severity
    assert damage.is_note is (severity == "note")


def test_what_is_not_known_is_left_out_on_the_wire() -> None:
    assert shape(Damage) == "kind line offset length entryId? parentId? bridged? count?"
    assert as_json(Damage(kind="nul_run", line=3, offset=99, length=7)) == {
        "kind": "nul_run",
        "line": 3,
        "offset": 99,
        "length": 7,
    }


def test_it_is_told_by_an_event() -> None:
    lost = Damage(kind="cut_line", line=2, offset=5, length=9, entry_id="b", parent_id="a", bridged=True)
    told = DamageFound(records=(lost, Damage(kind="crlf", line=1, offset=4, length=0, count=3)))

    assert decode_event(encode_event(told)) == told
