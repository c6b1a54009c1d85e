"""Goes on in a document behind what the last answer quoted, for a follow-up such as *And after that?*"""

from __future__ import annotations

import re
from collections.abc import Sequence

from braid.core.chat.citations import Citation, Featured
from braid.core.chat.quoting.candidates import LEAST_QUOTED, bare
from braid.core.chat.quoting.featured import MOST_CHARS, MOST_SENTENCES, place_of, shown_of
from braid.core.chat.quoting.parts import TextPart
from braid.core.text.normalization import normalize
from braid.core.types import Passage

_GOES_ON = re.compile(
    r"(?:ok(?:ay)?|and|so|but|then|well)?[,\s]*"
    r"(?:what (?:comes|happens|follows|is|do (?:i|we|you) do|should (?:i|we) do)? ?)?"
    r"(?:(?:and )?(?:then|next|after(?:wards?| (?:that|this|it))|from there)|(?:please )?(?:go on|continue))"
    r"(?: (?:happens|comes|follows|what))?"
    r"|(?:では|じゃあ|で)?[、\s]*(?:その(?:次|後|あと)|それから|次|続き)(?:に|で|は|を|の(?:手順|段階))*"
    r"(?:どう(?:なり|し)ますか|どうすれば(?:いい|よい)(?:です)?か|何(?:を|が)?(?:し|あり|起き)ますか|何ですか"
    r"|教えてください|見せて(?:ください)?)?"
    r"|(?:그럼|그러면|그리고)?[,\s]*(?:그 ?(?:다음|뒤|후)|(?:그러고|그리고) ?나서|다음|이어서|계속)"
    r"(?:에|엔|에는|은|는|해(?: ?주세요| ?줘)?)?요?[,\s]*(?:어떻게 (?:되나요|하나요|돼요|해요|됩니까)"
    r"|(?:무엇|뭐|뭘)(?:을|가)? ?(?:하나요|해요|있나요|인가요|예요)|(?:알려|보여) ?(?:주세요|줘))?",
    re.IGNORECASE,
)


def goes_on(question: str) -> bool:
    """Return whether a question asks for no more than what follows the last answer.

    >>> [goes_on(text) for text in ("And after that?", "What happens next?", "その後は？", "그 다음은요?")]
    [True, True, True, True]
    >>> goes_on("And after the meeting?"), goes_on("次の会議はいつですか")
    (False, False)
    """
    return _GOES_ON.fullmatch(normalize(question).strip(" ?？。.!！…")) is not None


def quoted_last(passages: Sequence[Passage], answered: str) -> Passage | None:
    """Return the passage that an answer quotes first; None where it quotes none of these."""
    text = bare(answered)
    first = {at: each for each in reversed(passages) if (at := _first_place(each, text)) >= 0}
    return first[min(first)] if first else None


def next_of(citations: Sequence[Citation], answered: str) -> Featured | None:
    """Return up to four sentences behind the last one that an answer quotes of the first citation; they are of it or of
    the next ones, which follow it in its document. None at the end of these.
    """
    text = bare(answered)
    for citation in citations:
        place = place_of(citation)
        told = [at for at, part in enumerate(place.parts) if _is_told(part, text)]
        begin = next((at for at in range(max(told, default=-1) + 1, len(place.parts)) if place.is_prose(at)), None)
        if begin is None:
            continue
        shown = range(begin, begin + 1)
        while len(shown) < MOST_SENTENCES and place.is_prose(shown.stop):
            wider = range(begin, shown.stop + 1)
            if place.length(wider) > MOST_CHARS:
                break
            shown = wider
        return shown_of(place, shown, shown)
    return None


def _first_place(passage: Passage, answered: str) -> int:
    """Return where in a bare answer the first sentence of a passage stands; -1 where none does."""
    parts = place_of(Citation(0, passage, passage.text)).parts
    return min((answered.find(bare(part.text)) for part in parts if _is_told(part, answered)), default=-1)


def _is_told(part: TextPart, answered: str) -> bool:
    text = bare(part.text)
    return part.kind in ("sentence", "item") and len(text) >= LEAST_QUOTED and text in answered
