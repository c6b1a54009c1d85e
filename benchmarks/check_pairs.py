"""Sentences for `benchmarks.checks`: true ones that are nearly literal, altered ones, paraphrases and translations."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import EVAL, ROOT
from braid.core.chat.support.reading import language_of
from braid.core.text.sentences import sentences

SOURCES = {
    "en": ("mtrag-mini", "scifact", "reading/xquad.en.json"),
    "ja": ("jsquad-valid", "gimphelp-ja"),
    "ko": ("reading/KorQuAD_v1.0_dev.json", "ko-strategyqa-facts", "gimphelp-ko"),
}
KINDS = ("number", "unit", "date", "negation")
LONGEST_PASSAGE = 3_000
SAME = 4.99
KLUE_SAME = 4.5
"""Scores, of 5, from which people say that two sentences mean the same; no mean of seven in KLUE is 5."""
_LETTERS = {"en": r"[A-Za-z]", "ja": r"[\u3040-\u30ff\u4e00-\u9fff]", "ko": r"[\uac00-\ud7a3]"}
_LENGTHS = {"en": (40, 320), "ja": (20, 160), "ko": (20, 200)}


@dataclass(frozen=True)
class Pair:
    """A sentence, the passage that it cites, another passage beside it, and what was done to the sentence."""

    language: str
    kind: str
    sentence: str
    passage: str
    origin: str = ""
    """The sentence as the passage has it."""


def near_literal(language: str, *, seed: int, later: bool, true: int = 150, altered: int = 150) -> list[Pair]:
    """The pairs of one half of the documents; ``later`` takes the half that nobody tuned on."""
    drawn = random.Random(seed)
    texts = [text for key, text in _texts(language) if (_half(key) == 1) is later]
    drawn.shuffle(texts)
    plain = [(one, text) for text in texts for one in _good(text, language)[:3]]
    drawn.shuffle(plain)
    pairs = [Pair(language, "true", _reworded(one, text, language, drawn), text, one) for one, text in plain[:true]]
    of_kind: dict[str, list[Pair]] = {kind: [] for kind in KINDS}
    most = -(-altered // len(KINDS))
    for one, text in plain[true:]:
        for kind in sorted(KINDS, key=lambda kind: len(of_kind[kind])):
            changed = ALTER[kind](one, language, drawn)
            if changed and changed != one and len(of_kind[kind]) < most and changed not in text:
                of_kind[kind].append(Pair(language, kind, changed, text, one))
                break
        if all(len(found) == most for found in of_kind.values()):
            break
    return pairs + [pair for found in of_kind.values() for pair in found]


def translations(*, later: bool) -> Iterator[Pair]:
    """Lines of pages in two languages, each with the other language's page as its passage."""
    for key, pages in _parallel_pages():
        if (_half(key) == 1) is not later:
            continue
        names = list(pages)
        for one in names:
            for other in names:
                lines, others = pages[one], pages[other]
                if one == other or len(lines) != len(others):
                    continue
                for line, counterpart in zip(lines, others, strict=True):
                    shares = (_share(line, one) > 0.5, _share(counterpart, other) > 0.5)
                    if all(shares) and len(line) > _LENGTHS[one][0]:
                        near = others[max(0, others.index(counterpart) - 4) :][:9]
                        yield Pair(one, f"{one} of {other}", line, "\n\n".join(near), counterpart)


def entailed(folder: Path, *, later: bool) -> Iterator[tuple[str, list[Pair] | str]]:
    """One half of the public pairs whose second sentence follows from the first, or says the same; for a set that is
    not there the reason.
    """
    for name, (file, language, read) in PUBLIC.items():
        path = folder / file
        if not path.exists():
            yield name, f"{path.name} is not in {folder.name}"
            continue
        yield name, [pair for pair in read(path, language) if (_half(pair.passage) == 1) is later]


_DIGITS = re.compile(r"\d+")
_NAMED = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october"
    r"|november|december|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)s?\b",
    re.IGNORECASE,
)


def has_other_facts(pair: Pair) -> bool:
    """Whether digits, a day, a month or a small number of a sentence are not in its passage.

    News of the same matter, of which people say that they mean the same, often give other figures.
    """
    said, there = ({*_DIGITS.findall(text), *_NAMED.findall(text.lower())} for text in (pair.sentence, pair.passage))
    return not said <= there


def of_kinds() -> Iterator[Pair]:
    """Sentences by hand, true and altered ones of the kinds that facts and denials come in, with their passages."""
    for one in json.loads(Path(__file__).with_name("check_kinds.json").read_text()):
        language = language_of(one["passage"])
        for name, said in (("true", one["true"]), ("altered", one["altered"])):
            yield from (Pair(language, f"{one['kind']}, {name}", each, one["passage"]) for each in said)


def _texts(language: str) -> Iterator[tuple[str, str]]:
    for source in SOURCES[language]:
        path = EVAL / source
        if path.suffix == ".json":
            paragraphs = [one for each in json.loads(path.read_text())["data"] for one in each["paragraphs"]]
            yield from ((f"{source}{n}", one["context"]) for n, one in enumerate(paragraphs))
            continue
        for line in (path / "corpus.jsonl").open():
            document = json.loads(line)
            if len(document["text"]) <= LONGEST_PASSAGE:
                yield document["_id"], document["text"]


def _half(key: str) -> int:
    return hashlib.sha256(key.encode()).digest()[0] % 2


def _share(text: str, language: str) -> float:
    return len(re.findall(_LETTERS[language], text)) / max(1, len(text.replace(" ", "")))


def _good(text: str, language: str) -> list[str]:
    least, most = _LENGTHS[language]
    found = [one.strip() for one in sentences(text)]
    return [
        one
        for one in found
        if least <= len(one) <= most and _share(one, language) > 0.6 and "\n" not in one and one[-1:] in ".。다요"
    ]


# ---------------------------------------------------------------- true sentences


def _reworded(one: str, text: str, language: str, drawn: random.Random) -> str:
    """A sentence as it stands, shorter, with another beginning, or with its neighbour."""
    choice = drawn.randrange(4)
    if choice == 0:
        return one
    if choice == 1:  # without a bracket, or its last clause
        shorter = re.sub(r"\s?[(（][^()（）]*[)）]", "", one)
        cut = {"en": r", (?:and|but|which|with|including|while)\b[^,]*\.$", "ja": None, "ko": None}[language]
        return re.sub(cut, ".", shorter) if cut else shorter
    if choice == 2:
        begin = {
            "en": "According to the document, ",
            "ja": "資料によれば、",
            "ko": "문서에 따르면 ",
        }[language]
        return begin + (one[0].lower() + one[1:] if language == "en" and one[1:2].islower() else one)
    found = [each.strip() for each in sentences(text)]
    place = found.index(one) if one in found else -1
    if 0 <= place < len(found) - 1 and len(found[place + 1]) < 150:
        joint = {"en": "; ", "ja": "、また", "ko": ", 그리고 "}[language]
        return one.rstrip(".。") + joint + found[place + 1]
    return one


# ---------------------------------------------------------------- altered sentences

_MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]
_DATE = re.compile(
    rf"(?P<name>\b(?:{'|'.join(_MONTHS)})\b)|(?P<year>(?<![\d.,])(?:1[5-9]|20)\d\d(?=年|년|[\s,.)]))"
    r"|(?P<month>\b(?:1[0-2]|[1-9])(?=月|월))|(?P<day>(?<=[月월])\s?(?:[12]\d|3[01]|[1-9])(?=日|일))"
)
_NUMBER = re.compile(
    r"(?<![\w.,/-])(?!\d{1,3}[.)]\s)(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)(?![\d/-]|[.,]\d|[A-Za-z]|年|년|月|월|\s?[日일]|th|st|nd|rd|時(?!間))"
)
_UNITS = {
    "en": [
        ("days", "hours"),
        ("hours", "minutes"),
        ("minutes", "seconds"),
        ("years", "months"),
        ("months", "weeks"),
        ("weeks", "days"),
        ("kg", "mg"),
        ("miles", "kilometers"),
        ("feet", "meters"),
        ("million", "billion"),
        ("%", " times"),
        ("km", "m"),
        ("mm", "cm"),
        ("percent", "times"),
        ("degrees", "meters"),
        ("metres", "feet"),
        ("pixels", "inches"),
    ],
    "ja": [
        ("年間", "か月間"),
        ("時間", "分"),
        ("日間", "週間"),
        ("か月", "年"),
        ("km", "m"),
        ("キロメートル", "メートル"),
        ("メートル", "センチメートル"),
        ("%", "倍"),
        ("万", "億"),
        ("億", "万"),
        ("円", "ドル"),
        ("分", "秒"),
        ("m", "km"),
        ("トン", "キログラム"),
        ("歳", "か月"),
        ("ピクセル", "センチ"),
        ("人", "万人"),
    ],
    "ko": [
        ("년간", "개월간"),
        ("시간", "분"),
        ("일간", "주간"),
        ("개월", "년"),
        ("km", "m"),
        ("킬로미터", "미터"),
        ("미터", "센티미터"),
        ("%", "배"),
        ("만", "억"),
        ("억", "만"),
        ("원", "달러"),
        ("분", "초"),
        ("m", "km"),
        ("톤", "킬로그램"),
        ("세", "개월"),
        ("픽셀", "센티미터"),
        ("명", "만 명"),
    ],
}
_NEGATIONS: dict[str, list[tuple[str, str]]] = {
    "en": [
        (r"\b(is|are|was|were|can|will|should|must|could|would|may) (?!not\b|no\b)", r"\1 not "),
        (r"\b(has|have|had) (?=\w+(?:ed|en)\b)", r"\1 not "),
        (r"\b(is|are|was|were|does|do|did|can|has|have) not ", r"\1 "),
    ],
    "ja": [
        (r"である。$", "ではない。"),
        (r"されている。$", "されていない。"),
        (r"している。$", "していない。"),
        (r"された。$", "されなかった。"),
        (r"した。$", "しなかった。"),
        (r"できる。$", "できない。"),
        (r"する。$", "しない。"),
        (r"できます。$", "できません。"),
        (r"します。$", "しません。"),
        (r"されます。$", "されません。"),
        (r"だった。$", "ではなかった。"),
        (r"であった。$", "ではなかった。"),
        (r"がある。$", "がない。"),
        (r"いる。$", "いない。"),
        (r"ていない。$", "ている。"),
        (r"ではない。$", "である。"),
    ],
    "ko": [
        (r"하였다\.$", "하지 않았다."),
        (r"했다\.$", "하지 않았다."),
        (r"되었다\.$", "되지 않았다."),
        (r"됐다\.$", "되지 않았다."),
        (r"한다\.$", "하지 않는다."),
        (r"된다\.$", "되지 않는다."),
        (r"있다\.$", "있지 않다."),
        (r"있습니다\.$", "없습니다."),
        (r"합니다\.$", "하지 않습니다."),
        (r"됩니다\.$", "되지 않습니다."),
        (r"했습니다\.$", "하지 않았습니다."),
        (r"되었습니다\.$", "되지 않았습니다."),
        (r"이다\.$", "이 아니다."),
        (r"이었다\.$", "이 아니었다."),
        (r"입니다\.$", "이 아닙니다."),
        (r"없다\.$", "있다."),
        (r"지 않았다\.$", "았다."),
    ],
}


def _date(one: str, language: str, drawn: random.Random) -> str:
    found = list(_DATE.finditer(one))
    if not found:
        return ""
    each = drawn.choice(found)
    if each["name"]:
        if each["name"] in ("May", "March") and not re.search(r"\d", one[each.end() : each.end() + 4]):
            return ""
        new = drawn.choice([name for name in _MONTHS if name != each["name"]])
    elif each["year"]:
        new = str(int(each["year"]) + drawn.choice([-11, -4, -3, -1, 1, 2, 5, 10]))
    elif each["month"]:
        new = str(drawn.choice([n for n in range(1, 13) if n != int(each["month"])]))
    else:
        new = str(drawn.choice([n for n in range(1, 29) if n != int(each["day"])]))
    return one[: each.start()] + new + one[each.end() :]


def _number(one: str, language: str, drawn: random.Random) -> str:
    found = [
        each
        for each in _NUMBER.finditer(one)
        if not (each[1].isdigit() and 1000 <= int(each[1]) <= 2100) and float(each[1].replace(",", "")) > 2
    ]
    if not found:
        return ""
    each = drawn.choice(found)
    digits = list(each[1])
    places = [n for n, sign in enumerate(digits) if sign.isdigit()]
    place = drawn.choice(places[: max(1, len(places) - 1)])
    digits[place] = drawn.choice([sign for sign in "123456789" if sign != digits[place]])
    return one[: each.start(1)] + "".join(digits) + one[each.end(1) :]


def _unit(one: str, language: str, drawn: random.Random) -> str:
    for unit, other in drawn.sample(_UNITS[language], len(_UNITS[language])):
        behind = r"(?![A-Za-z])" if unit[-1].isascii() else r"(?![間後頃前代]|間|째|위)"
        found = re.search(rf"(?<=\d)(\s?){re.escape(unit)}{behind}", one)
        if found:
            return one[: found.start()] + found[1] + other + one[found.end() :]
    return ""


def _negation(one: str, language: str, drawn: random.Random) -> str:
    if re.search(r"\b(?:not|no|never)\b|ない|ません|않|아니|없", one) and language == "en":
        return ""
    for pattern, instead in _NEGATIONS[language]:
        changed = re.sub(pattern, instead, one, count=1)
        if changed != one:
            return changed
    return ""


ALTER: dict[str, Callable[[str, str, random.Random], str]] = {
    "number": _number,
    "unit": _unit,
    "date": _date,
    "negation": _negation,
}


# ---------------------------------------------------------------- pages in two languages, public pairs


def _parallel_pages() -> Iterator[tuple[str, dict[str, list[str]]]]:
    manuals: dict[str, dict[str, list[str]]] = {}
    for language in ("ja", "ko"):
        for line in (EVAL / f"gimphelp-{language}" / "corpus.jsonl").open():
            document = json.loads(line)
            manuals.setdefault(document["_id"], {})[language] = document["text"].split("\n")
    yield from manuals.items()
    for path in sorted((ROOT / "app" / "sample").glob("*.en.md")):
        name = path.name.removesuffix(".en.md")
        pages = {
            language: [
                " ".join(part.split()) for part in path.with_name(f"{name}.{language}.md").read_text().split("\n\n")
            ]
            for language in ("en", "ja", "ko")
        }
        yield name, pages


def _jnli(path: Path, language: str) -> Iterator[Pair]:
    for line in path.open():
        pair = json.loads(line)
        if pair["label"] == "entailment":
            yield Pair(language, "entailed", pair["sentence2"], pair["sentence1"])


def _klue(path: Path, language: str) -> Iterator[Pair]:
    for pair in json.loads(path.read_text()):
        if pair["gold_label"] == "entailment":
            yield Pair(language, "entailed", pair["hypothesis"], pair["premise"])


def _xnli(path: Path, language: str) -> Iterator[Pair]:
    for line in path.read_text().splitlines()[1:]:
        premise, hypothesis, label = line.split("\t")
        if label == "entailment":
            yield Pair(language, "entailed", hypothesis, premise)


def _mrpc(path: Path, language: str) -> Iterator[Pair]:
    for row in csv.reader(path.open(encoding="utf-8-sig"), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row[0] == "1":
            yield Pair(language, "entailed", row[4], row[3])


def _sick(path: Path, language: str) -> Iterator[Pair]:
    for line in path.read_text().splitlines():
        _, premise, hypothesis, _, label = line.split("\t")
        if label == "ENTAILMENT":
            yield Pair(language, "entailed", hypothesis, premise)


def _jsick(path: Path, language: str) -> Iterator[Pair]:
    for row in csv.DictReader(path.open(), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row["entailment_label_Ja"] == "entailment":
            yield Pair(language, "entailed", row["sentence_B_Ja"], row["sentence_A_Ja"])


def _jsts(path: Path, language: str) -> Iterator[Pair]:
    for line in path.open():
        pair = json.loads(line)
        if pair["label"] >= SAME:
            yield Pair(language, "the same", pair["sentence2"], pair["sentence1"])


def _klue_sts(path: Path, language: str) -> Iterator[Pair]:
    for pair in json.loads(path.read_text()):
        if pair["labels"]["label"] >= KLUE_SAME:
            yield Pair(language, "the same", pair["sentence2"], pair["sentence1"])


def _korsts(path: Path, language: str) -> Iterator[Pair]:
    for line in path.read_text().splitlines()[1:]:
        *_, score, one, other = line.split("\t")
        if float(score) >= SAME:
            yield Pair(language, "the same", other, one)


def _scifact(path: Path, language: str) -> Iterator[Pair]:
    texts = {
        document["_id"]: document["text"]
        for line in (EVAL / "scifact" / "corpus.jsonl").open()
        for document in [json.loads(line)]
    }
    for line in path.open():
        claim = json.loads(line)
        for document, evidence in claim.get("evidence", {}).items():
            if document in texts and all(each["label"] == "SUPPORT" for each in evidence):
                yield Pair(language, "entailed", claim["claim"], texts[document])


PUBLIC: dict[str, tuple[str, str, Callable[[Path, str], Iterator[Pair]]]] = {
    "JNLI valid": ("valid-v1.3.json", "ja", _jnli),
    "JNLI test": ("test-v1.3.json", "ja", _jnli),
    "KLUE-NLI dev": ("klue-nli-v1.1_dev.json", "ko", _klue),
    "KorNLI dev": ("xnli.dev.ko.tsv", "ko", _xnli),
    "KorNLI test": ("xnli.test.ko.tsv", "ko", _xnli),
    "MRPC train": ("msr_paraphrase_train.txt", "en", _mrpc),
    "MRPC test": ("msr_paraphrase_test.txt", "en", _mrpc),
    "SICK train": ("SICK_train.txt", "en", _sick),
    "SICK test": ("SICK_test_annotated.txt", "en", _sick),
    "JSICK": ("jsick-test.tsv", "ja", _jsick),
    "JSTS train": ("jsts-train-v1.3.json", "ja", _jsts),
    "KLUE-STS dev": ("klue-sts-v1.1_dev.json", "ko", _klue_sts),
    "KorSTS train": ("sts-train.tsv", "ko", _korsts),
    "SciFact dev": ("claims_dev.jsonl", "en", _scifact),
}
"""Sets by name: the file as its publisher names it, its language, its reader."""
