"""Texts of any size, of the kinds that sessions are made of. The same every time."""

from __future__ import annotations

import base64
import json
from random import Random
from typing import Final

ENGLISH: Final = """
The old oak at the end of the lane has lost a branch in the storm, and nobody has moved it yet. Its sapwood is pale, almost white; the
heartwood behind it is the brown of strong tea. When you count the rings you must begin at the bark, because the centre of a tree like this
one is often gone. "How old is it?" she asked. About two hundred and forty years, I said, give or take a decade: the narrow rings of the
dry summers run together.
"""
CHINESE: Final = """
小路尽头的老橡树在暴风雨中折断了一根树枝，至今没有人把它搬走。它的边材颜色很浅，几乎是白色的；后面的心材则是浓茶一样的棕色。
数年轮的时候要从树皮开始，因为这样的老树中心往往已经空了。她问这棵树有多少年了，我说大约两百四十年，前后相差十年左右。请先运行测试，然后提交代码。
"""
JAPANESE: Final = """
小道の先にある古い樫の木は、嵐で枝を一本失いましたが、まだ誰も片付けていません。辺材は白に近い淡い色で、その奥の心材は濃いお茶のような茶色です。
年輪を数えるときは樹皮の側から始めてください。こういう木の中心はたいてい空洞になっているからです。テストを実行してから、コードをコミットしてください。
"""
CODE: Final = '''
def ring_widths(samples: list[float], *, bark: float = 0.0) -> list[float]:
    """Widths of the rings in millimetres, from the bark inwards."""
    widths = [after - before for before, after in zip(samples, samples[1:], strict=False)]
    if not widths or min(widths) < 0:
        raise ValueError(f"samples must grow: {samples!r:.80}")
    return [round(width, 2) for width in widths if width > bark]


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    rings: tuple[float, ...] = ()

    @property
    def age(self) -> int:
        return len(self.rings) or DEFAULT_AGE

export async function* readLines(stream) {
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk)).split("\\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line);
  }
}
'''
EMOJI: Final = "😀🎉👍🏽❤️👩‍💻🌳🍂🚀🇩🇪✅⚠️🐛🔥😅🤷‍♀️🪵"


def text_of(kind: str, size: int) -> str:
    """About `size` bytes of a kind, cut at a character."""
    pieces, random = list[bytes](), Random(kind)  # noqa: S311 - the same every time is the point
    held = 0
    while held < size:
        pieces.append(_piece(kind, random).encode())
        held += len(pieces[-1])
    return b"".join(pieces)[:size].decode(errors="ignore")


def _piece(kind: str, random: Random) -> str:
    match kind:
        case "english":
            return " ".join(random.sample(ENGLISH.split(), 12)) + random.choice([". ", ",\n", "; ", ".\n\n"])
        case "code":
            lines = CODE.splitlines(keepends=True)
            first = random.randrange(len(lines))
            return "".join(lines[first : first + 8])
        case "json":
            row = {"id": random.randrange(10**9), "name": random.choice(ENGLISH.split()), "at": random.random()}
            return json.dumps({**row, "tags": random.sample(CODE.split(), 3), "ok": random.choice([True, None])}) + "\n"
        case "chinese":
            return random.choice(CHINESE.strip().replace("\n", "").split("，")) + "，"
        case "japanese":
            return random.choice(JAPANESE.strip().replace("\n", "").split("、")) + "、"
        case "emoji":
            return "".join(random.sample(EMOJI, 5)) + random.choice([" ok ", "\n", " 好 "])
        case _:
            return base64.b64encode(random.randbytes(57)).decode()


KINDS: Final = ("english", "code", "json", "chinese", "japanese", "emoji", "base64")
