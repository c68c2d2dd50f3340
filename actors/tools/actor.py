"""The shell of the tools: a batch an answer, stoppable."""

from __future__ import annotations

from typing import assert_never

from sapwood.actors.kernel import Actor, Reply, Start
from sapwood.actors.stops import Stops
from sapwood.actors.tools.batch import Batch, Bench
from sapwood.events.requests import BatchId, RunTools, StopTools, ToolsRan


class Tools(Actor[RunTools | StopTools]):
    """Owns the calls that are under way."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._batches: dict[BatchId, Batch] = {}
        self._stops = Stops()

    def handle(self, message: RunTools | StopTools) -> Reply | Start:
        match message:
            case RunTools():
                return Start(lambda: self._run(message), name=f"tools {message.batch_id}")
            case StopTools(batch_id=batch_id):
                batch = self._batches.get(batch_id)
                if batch is not None:
                    batch.cancel()  # whatever becomes of the rest
                    return Start(batch.stop, name=f"stop tools {batch_id}")
                self._stops.stop(batch_id)
                return Reply()
            case _:
                assert_never(message)

    async def _run(self, asked: RunTools) -> ToolsRan:
        batch = self._batches[asked.batch_id] = Batch(asked, self._bench)
        try:
            if self._stops.begins(asked.batch_id):
                await batch.stop()
            return await batch.run()
        finally:
            del self._batches[asked.batch_id]
            self._stops.ended(asked.batch_id)
