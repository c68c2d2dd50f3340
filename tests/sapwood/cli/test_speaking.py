"""An answer as it is said."""

from __future__ import annotations

import errno
import io
import os
import sys

import pytest

from sapwood.actors.kernel import Published, Resync
from sapwood.cli.speaking import LOST, Speaker
from sapwood.events.commands import Snapshot
from sapwood.events.deltas import TextDelta, ThinkingDelta
from sapwood.events.ids import EntryId
from sapwood.events.runtime import Event, MessageEnd, MessageUpdate, StoreRecovered
from tests.build import assistant


def said(*texts: str) -> list[Event]:
    return [
        MessageUpdate(call_id="c", assistant_message_event=TextDelta(content_index=0, delta=text)) for text in texts
    ]


END = MessageEnd(message=assistant(), entry_id=EntryId("a"))


def say(speaker: Speaker, *events: Event) -> None:
    for seq, event in enumerate(events):
        speaker.say(Published(seq, event))


def test_pieces_are_joined_and_an_answer_ends_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    say(Speaker(), *said("An ", "oak."), END, *said("A pine.\n"), END)

    assert capsys.readouterr() == ("An oak.\nA pine.\n", "")


def test_what_was_thought_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    thought = ThinkingDelta(content_index=0, delta="Hm.")
    say(Speaker(), MessageUpdate(call_id="c", assistant_message_event=thought), END)

    assert capsys.readouterr().out == ""


def test_no_character_steers_the_terminal_however_it_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    say(Speaker(), *said("a\r", "\nb\x1b", "[2J\r", "c\r"), END)

    assert capsys.readouterr().out == "a\nb�[2J�c\n"


def test_news_begins_a_line_and_a_quiet_speaker_says_news_alone(capsys: pytest.CaptureFixture[str]) -> None:
    say(Speaker(), *said("An "), StoreRecovered(written=1), *said("oak."), END)
    say(Speaker(quiet=True), *said("A pine."), StoreRecovered(written=1), END)

    told = "sapwood: the disk takes it again\n"
    assert capsys.readouterr() == ("An \noak.\n", told + told)


def test_a_reader_that_was_lost_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Speaker().say(Resync(seq=9, snapshot=Snapshot(state="run", leaf=None, entries=0)))

    assert capsys.readouterr().err == f"sapwood: {LOST}\n"


@pytest.mark.parametrize(("code", "told"), [(errno.EPIPE, None), (errno.ENOSPC, "no space left on device")])
def test_an_output_that_takes_nothing_is_noticed_once(
    code: int, told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []

    class Broken(io.StringIO):
        def write(self, text: str, /) -> int:
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(sys, "stdout", Broken())
    monkeypatch.setattr("sapwood.cli.speaking.write_nowhere", lambda: closed.append(True))
    speaker = Speaker()
    say(speaker, *said("a", "b"), END)

    assert speaker.gone
    assert closed == [True]
    assert (speaker.trouble is None) == (told is None)
    assert told is None or told in speaker.trouble.format_message()  # type: ignore[union-attr]
