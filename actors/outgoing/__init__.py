"""What goes to a provider, whoever asks for it: a pure library, no actor.

`prepare` is applied to every request on its way out, turns and summaries alike: what may not be sent is left out (P5), what is ours is
put into words (`rendering`), calls and results are paired (P4), and what the model does not take is kept back (P11). The log is never
touched by it. An `Outbox` does it for one request after the other, at the price of what each adds.
"""

from sapwood.actors.outgoing.limits import Limited, images_of
from sapwood.actors.outgoing.pairing import Repair, pair
from sapwood.actors.outgoing.prepare import Outbox, Outgoing, prepare
from sapwood.actors.outgoing.sending import marked, unsent

__all__ = ["Limited", "Outbox", "Outgoing", "Repair", "images_of", "marked", "pair", "prepare", "unsent"]
