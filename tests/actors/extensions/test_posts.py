"""What waits for an extension that is late: joined where it can be, and counted where it is left out."""

from __future__ import annotations

from sapwood.actors.extensions.posts import MOST, Post
from sapwood.events.deltas import TextDelta
from sapwood.events.runtime import AgentStart, MessageUpdate, TurnStart


def piece(words: str, call: str = "c") -> MessageUpdate:
    return MessageUpdate(call_id=call, assistant_message_event=TextDelta(content_index=0, delta=words))


def test_pieces_of_one_answer_are_one_piece() -> None:
    post = Post("late")
    for one in (piece("a"), piece("b"), AgentStart(), piece("c"), piece("d", "other")):
        post.put(one)

    assert [*post.waiting] == [piece("ab"), AgentStart(), piece("c"), piece("d", "other")]
    assert post.lost == 0


def test_beyond_the_most_the_oldest_is_left_out_and_counted() -> None:
    post = Post("late")
    for index in range(MOST + 3):
        post.put(TurnStart(turn_index=index))

    assert (len(post.waiting), post.lost) == (MOST, 3)
    assert post.waiting[0] == TurnStart(turn_index=3)
