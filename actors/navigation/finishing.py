"""What is made of a branch's summary before it is stored (C11, N4, N5). No I/O: long texts, for a thread."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sapwood.actors.navigation.branch import Prepared
from sapwood.actors.navigation.settings import Manner
from sapwood.actors.navigation.wording import stored_summary
from sapwood.actors.outgoing.texts import with_texts
from sapwood.actors.outgoing.veil import Veil
from sapwood.actors.summaries.fidelity import completed, fidelity, last_errors
from sapwood.actors.summaries.steps import Written
from sapwood.events.base import Json


def shown(made_of: Prepared, veil: Veil) -> Prepared:
    """What a summary was made of, as it is meant."""
    if not veil.secrets:
        return made_of
    return attrs.evolve(made_of, messages=tuple(with_texts(message, veil.show) for message in made_of.messages))


def finish(written: Written, made_of: Prepared, texts: Sequence[str], manner: Manner) -> tuple[str, dict[str, Json]]:
    """The text and the details of the entry, with what can be counted put right."""
    kept_to = fidelity(written.text, texts)
    text = completed(written.text, last_errors(made_of.messages))
    details: dict[str, Json] = {
        **made_of.files.details,
        "fidelity": {"score": round(kept_to.score, 3), "madeUp": list(kept_to.made_up)},
    }
    if written.lacking:
        details["lacking"] = list(written.lacking)
    if made_of.dropped:
        details["leftOut"] = made_of.dropped
    return stored_summary(text, made_of.files, manner), details
