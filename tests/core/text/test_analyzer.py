from __future__ import annotations

import json
import math
import random
import sys
import time
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tantivy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from braid.core.errors import InvalidInputError
from braid.core.text.analyzer import ANALYZER_VERSION, MAX_TOKEN_CHARS, Analyzer
from braid.core.text.normalization import align, normalize

EVALUATION = Path(__file__).resolve().parents[4] / "shared" / "eval"
ENGLISH = Analyzer()

any_text = st.text(st.characters(), max_size=60)  # surrogates included
tricky_text = st.text(
    "aAsSzZ0159_.,'’-‐&+# \n\t\x00éÉßİΣσйЙ漢字のはカーｶﾞ한글은에서ㄱㅏกำ์मिंﬁ㍿①½ﷺ\u00ad\u200d\u0301\u0327\u3099\ud800😀",
    max_size=40,
)


# ---------------------------------------------------------------- what becomes of words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cats are running", "cat run"),
        ("Café, CAFÉ and cafe\u0301", "cafe cafe cafe"),
        ("résumés resumes", "resum resum"),
        ("Ｆｕｌｌ ｗｉｄｔｈ ﬁnes", "full width fine"),
        ("infor\u00admation", "inform"),
        ("the patient's notes, we don't", "patient note"),
        ("O’Brien", "o brien"),
        ("URLs of GPUs", "url gpu"),
        ("before and not after", "befor not after"),
    ],
)
def test_english_words(text: str, expected: str) -> None:
    assert ENGLISH.tokens(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", "get user name getusernam"),
        ("get_user_name", "get user name getusernam"),
        ("GET_USER_NAME", "get user name getusernam"),
        ("parseHTTPUrl2", "pars http url 2 parsehttpurl2"),
        ("__init__", "init"),
        ("os.path.join", "os path join os.path.join"),
        ("IL-10 IL10", "il 10 il10 il 10 il10"),
        ("state-of-the-art", "state art stateoftheart"),
        ("e‐mails", "e mail email"),
        ("--log-level", "log level loglevel"),
        ("miRNAs miRNA", "mi rna mirna mi rna mirna"),
        ("U.S. US", "us us"),
        ("C++, C# or c", "c c++ c c# c"),
        ("R&D", "r d rd"),
        ("std::vec<T>", "std vec t"),
        ("a/b/file.txt", "b file txt file.txt"),
    ],
)
def test_identifiers_are_kept_whole_and_split(text: str, expected: str) -> None:
    assert ENGLISH.tokens(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000 and 1000", "1000 1000"),
        ("1,000,000.50", "1000000 50 1000000.50"),
        ("1,2,3", "1 2 3"),
        ("3.11", "3 11 3.11"),
        ("v1.2", "v 1 2 v1.2"),
        ("2024-01-05", "2024 01 05 20240105"),
        ("５月１日", "5 月 1 日"),
        ("①", "1"),
    ],
)
def test_numbers(text: str, expected: str) -> None:
    assert ENGLISH.tokens(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("日本語", "日 本 語 日本 本語"),
        ("検索の設定", "検 索 設 定 検索 索の の設 設定"),
        ("サーバー", "サ ー バ ー サー ーバ バー"),
        ("ｻｰﾊﾞｰ", "サ ー バ ー サー ーバ バー"),
        ("です。", "です"),
        ("GIMPの設定", "gimp 設 定 の設 設定"),
        ("東京・大阪", "東 京 東京 大 阪 大阪"),
        ("𠮷野家", "𠮷 野 家 𠮷野 野家"),
        ("北京大学", "北 京 大 学 北京 京大 大学"),
    ],
)
def test_han_and_kana_become_characters_and_bigrams(text: str, expected: str) -> None:
    assert ENGLISH.tokens(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("물", "물"),
        ("물은", "물 물은"),
        ("물에서", "물"),
        ("온도", "온 온도"),
        ("온도를", "온 온도"),
        ("사용자에게는", "사용 용자"),
        ("토마토", "토마 마토"),
        ("GIMP의 레이어", "gimp 의 레이 이어"),
        (unicodedata.normalize("NFD", "토마토"), "토마 마토"),
    ],
)
def test_hangul_becomes_bigrams_of_the_stem(text: str, expected: str) -> None:
    assert ENGLISH.tokens(text) == expected.split()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("хорошие книги", "хорошая книга"),
        ("за\u0301мок", "замок"),
        ("ΆΝΘΡΩΠΟΣ", "ανθρωπος"),
        ("السَّلام", "السلام"),
        ("שָׁלוֹם", "שלום"),
        ("Straße", "STRASSE"),
        ("Łódź", "lodz"),
        ("İstanbul", "istanbul"),
    ],
)
def test_other_spellings_of_a_word_become_the_same_token(one: str, other: str) -> None:
    assert ENGLISH.tokens(one) == ENGLISH.tokens(other) != []


def test_scripts_with_vowel_signs_stay_whole() -> None:
    assert ENGLISH.tokens("हिन्दी में") == ["हिन्दी", "में"]


def test_thai_becomes_bigrams_of_characters_with_marks() -> None:
    assert ENGLISH.tokens("สวัสดี") == ["สวั", "วัส", "สดี"]
    assert ENGLISH.tokens("ก") == ["ก"]


# ---------------------------------------------------------------- stop words and languages


@pytest.mark.parametrize("text", ["to be or", "The Who", "what is it?", "の", "don't"])
def test_a_text_of_stop_words_alone_keeps_them(text: str) -> None:
    assert ENGLISH.tokens(text)


def test_stop_words_are_dropped_from_a_text_with_others() -> None:
    assert ENGLISH.tokens("the cat") == ["cat"] == ENGLISH.tokens("what is a cat?")
    assert ENGLISH.tokens("is_valid") == ["valid", "isvalid"]


def test_languages_choose_stems_and_stop_words() -> None:
    german = Analyzer(("de",))
    assert german.tokens("Die Häuser und das Haus") == ["haus", "haus"]
    assert Analyzer(("fr",)).tokens("l'eau de l’étang") == ["eau", "etang"]
    assert Analyzer(()).tokens("the running Cats") == ["the", "running", "cats"]
    assert Analyzer(("en", "de")).tokens("the running Häuser und das Haus") == ["run", "haus", "haus"]


def test_a_configured_language_takes_its_script() -> None:
    word = "књигама"
    assert Analyzer(("sr",)).tokens(word) != Analyzer().tokens(word)


def test_an_unknown_language_is_named_with_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match=r"'xx'.*choose from .*en") as caught:
        Analyzer(("en", "xx"))
    assert caught.value.field == "languages"


def test_the_version_tells_number_and_languages() -> None:
    assert Analyzer(("en", "de")).version.startswith(f"{ANALYZER_VERSION}:en+de:")
    assert len({Analyzer(languages).version for languages in [(), ("en",), ("de", "en"), ("en", "de")]}) == 4
    assert Analyzer().version == Analyzer(("en", "en")).version


# ---------------------------------------------------------------- odd and hostile text


@pytest.mark.parametrize("text", ["", " \t\n\u3000", "…!?、。", "\x00", "\ud800", "😀👩‍👩‍👧", "___", "++ #", "\u0301"])
def test_text_without_words_has_no_tokens(text: str) -> None:
    assert ENGLISH.tokens(text) == []
    assert ENGLISH.spans(text) == []


@pytest.mark.parametrize(
    "unit",
    ["a", "aB", "a1", "_", "a_", "漢", "ー", "한", "ก", "é", "\u0323\u0301", "ﾞ\u0301", "ﷺ", "\ud800", "\x00", "1,000"],
)
def test_a_long_text_without_a_space_is_analyzed_in_seconds(unit: str) -> None:
    text = "x" + unit * (100_000 // len(unit))
    started = time.thread_time()
    tokens = ENGLISH.tokens(text)
    assert time.thread_time() - started < 5
    assert max(map(len, tokens)) <= MAX_TOKEN_CHARS


def test_of_a_word_that_is_too_long_the_beginning_counts() -> None:
    assert ENGLISH.tokens("a" * 1_000_000) == ["a" * MAX_TOKEN_CHARS]
    assert ENGLISH.tokens("com." + "x" * 70 + ".Main") == ["com", "x" * MAX_TOKEN_CHARS, "main"]


def test_a_hash_is_one_token() -> None:
    digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert ENGLISH.tokens(digest) == [digest]


def test_what_is_remembered_is_bounded() -> None:
    analyzer = Analyzer()
    for start in range(0, 40_000, 1000):
        analyzer.tokens(" ".join(f"w{number}" for number in range(start, start + 1000)))
    remembered = analyzer._remembered_tokens.cache_info()
    assert remembered.maxsize is not None
    assert remembered.currsize <= remembered.maxsize < 40_000


@given(
    any_text | tricky_text, st.sampled_from(["", "seen", "表示", "프린터"]), st.sampled_from([" ", "\n", " (", "。"])
)
@settings(max_examples=100, deadline=None)
def test_a_text_has_the_common_tokens_of_what_occurs_in_it_as_whole_words(text: str, other: str, gap: str) -> None:
    analyzer = Analyzer()
    assert analyzer.common_tokens(text) <= set(analyzer.tokens(f"{other}{gap}{text} {other}"))


@pytest.mark.parametrize(
    ("text", "longer"),
    [
        ("os.path", "os.path.join"),
        ("getUser", "getUserName()"),
        ("온도", "온도계"),
        ("プリンタ", "プリンター"),
        ("47", "IL-47"),
    ],
)
def test_words_of_a_compound_are_common_to_longer_ones(text: str, longer: str) -> None:
    tokens = Analyzer().common_tokens(text)
    assert tokens
    assert tokens <= set(Analyzer().tokens(longer))


@given(any_text | tricky_text)
@settings(max_examples=150, deadline=None)
def test_tokens_can_be_joined_by_spaces_and_stored(text: str) -> None:
    tokens = ENGLISH.tokens(text)
    assert " ".join(tokens).split() == tokens
    assert all(len(token) <= MAX_TOKEN_CHARS for token in tokens)
    " ".join(tokens).encode("utf-8")


# ---------------------------------------------------------------- places


@pytest.mark.parametrize(
    ("text", "token", "place"),
    [
        ("Two Cats", "cat", "Cats"),
        ("x ｻｰﾊﾞｰ", "バー", "ﾊﾞｰ"),
        ("㍿東京", "社東", "㍿東"),
        ("ｘ ﬁnes", "fine", "ﬁnes"),
        ("①cafe\u0301s", "cafe", "cafe\u0301s"),
        ("ｘ soft\u00adware", "softwar", "soft\u00adware"),
        ("getUserName", "user", "User"),
        ("getUserName", "getusernam", "getUserName"),
        ("ＧＰＵｓ", "gpu", "ＧＰＵ"),
        ("the patient’s", "patient", "patient"),
        (unicodedata.normalize("NFD", "한글"), "한글", unicodedata.normalize("NFD", "한글")),
        ("İİ ISTANBUL", "istanbul", "ISTANBUL"),
        ("👩‍👩‍👧 네트워크를", "워크", "워크"),
        ("a" * 100 + ".Main", "main", "Main"),
    ],
)
def test_a_span_is_where_the_token_stands_in_the_original(text: str, token: str, place: str) -> None:
    assert place in [text[start:end] for found, start, end in ENGLISH.spans(text) if found == token]


@given(any_text | tricky_text)
@example("ㄱㅏ\u00ad각ﾞ\u3099か\u00ad\u3099")
@example("to be ｏr")
@example("a" + "\u0323\u0301" * 40 + "ﾞ" * 40)
@settings(max_examples=250, deadline=None)
def test_spans_are_the_tokens_with_places_inside_the_text(text: str) -> None:
    spans = ENGLISH.spans(text)
    assert [token for token, _, _ in spans] == ENGLISH.tokens(text)
    assert all(0 <= start < end <= len(text) for _, start, end in spans)


@given(any_text | tricky_text)
@settings(max_examples=100, deadline=None)
def test_bigrams_of_han_stand_in_the_text_of_their_span(text: str) -> None:
    for token, start, end in ENGLISH.spans(text):
        if len(token) == 2 and "\u3400" <= token[0] <= "\u9fff" and "\u3400" <= token[1] <= "\u9fff":
            assert token in normalize(text[start:end])


def test_no_character_composes_across_the_places_that_are_kept_apart() -> None:
    bases = "aか가ㄱ가ｶᄀत\U00011131"
    for codepoint in range(sys.maxunicode + 1):
        character = chr(codepoint)
        if unicodedata.category(character)[0] == "M" or normalize(character) != character:
            text = bases + character.join(bases)
            normalized, starts, ends = align(text)
            assert len(normalized) == len(starts) == len(ends), f"U+{codepoint:04X}"


# ---------------------------------------------------------------- properties


@given(tricky_text | any_text)
@settings(max_examples=100, deadline=None)
def test_tokens_do_not_depend_on_the_normal_form(text: str) -> None:
    tokens = ENGLISH.tokens(text)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert ENGLISH.tokens(unicodedata.normalize(form, text)) == tokens
    assert normalize(normalize(text)) == normalize(text)


@given(tricky_text, tricky_text)
@settings(max_examples=100, deadline=None)
def test_lines_are_analyzed_by_themselves(one: str, other: str) -> None:
    lines = [f"{one} cat", f"{other} dog"]
    assert ENGLISH.tokens("\n".join(lines)) == [token for line in lines for token in ENGLISH.tokens(line)]


@given(st.text("abcdefgh ABC", max_size=30))
def test_words_in_small_and_capital_letters_are_the_same(text: str) -> None:
    assert ENGLISH.tokens(text.lower()) == ENGLISH.tokens(text.upper())


@given(st.text("的一是検索設定東京大阪語文書", min_size=1, max_size=12))
def test_a_passage_has_every_token_of_a_quotation_from_it(quotation: str) -> None:
    passage = f"これは「前{quotation}後」という passage です"
    assert set(ENGLISH.tokens(quotation)) <= set(ENGLISH.tokens(passage))


# ---------------------------------------------------------------- threads and speed


def _sentences(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    stems = ["connect", "retriev", "organiz", "книг", "maison", "検索エンジン", "네트워크", "getUserName"]
    endings = ["ing", "ed", "ation", "ами", "s", "を設定", "에서는", "Value"]
    return [" ".join(draw.choice(stems) + draw.choice(endings) + str(i % 97) for i in range(12)) for _ in range(count)]


def test_threads_get_the_tokens_that_one_thread_gets() -> None:
    texts = _sentences(7, 300)
    expected = [Analyzer().tokens(text) for text in texts]
    for _ in range(3):
        shared = Analyzer(("en",))
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(shared.tokens, texts)) == expected


def _joined(folders: tuple[str, ...], characters: int) -> str:
    texts = [document["text"] for folder in folders for document in _documents(folder)]
    return "\n".join(texts)[:characters]


@pytest.mark.parametrize("folders", [("scifact",), ("gimphelp-ja", "jsquad-valid")])
def test_a_million_characters_take_less_than_a_second_of_one_core(folders: tuple[str, ...]) -> None:
    text = _joined(folders, 1_000_000)

    def seconds() -> float:
        analyzer = Analyzer()  # remembers nothing yet
        started = time.thread_time()
        analyzer.tokens(text)
        return time.thread_time() - started

    assert min(seconds() for _ in range(3)) < len(text) / 1_000_000


# ---------------------------------------------------------------- quality: BM25 in tantivy


def _documents(folder: str) -> Iterator[dict[str, str]]:
    return _json_lines(folder, "corpus.jsonl")


def _json_lines(folder: str, name: str) -> Iterator[dict[str, str]]:
    path = EVALUATION / folder / name
    if not path.exists():
        pytest.skip(f"there is no evaluation folder {folder} beside the repository (../shared/eval)")
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _judgements(folder: str) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    rows = (EVALUATION / folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]
    for query_id, document_id, score in (row.split("\t") for row in rows):
        judged.setdefault(query_id, {})[document_id] = int(score)
    return judged


def _index(folder: str) -> tantivy.Index:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    builder.add_text_field("tokens", tokenizer_name="whitespace", index_option="freq")
    index = tantivy.Index(builder.build())
    writer = index.writer(num_threads=1)
    for document in _documents(folder):
        tokens = ENGLISH.tokens(f"{document['title']} {document['text']}")
        writer.add_document(tantivy.Document(id=document["_id"], tokens=" ".join(tokens)))
    writer.commit()
    index.reload()
    return index


def _ndcg_at_10(ranking: list[str], judged: dict[str, int]) -> float:
    gain = sum(judged.get(document_id, 0) / math.log2(rank + 1) for rank, document_id in enumerate(ranking, 1))
    ideal = sorted(judged.values(), reverse=True)[:10]
    return gain / sum(score / math.log2(rank + 1) for rank, score in enumerate(ideal, 1))


@pytest.mark.parametrize(
    ("folder", "bound"),
    [("jsquad-valid", 0.93), ("ko-strategyqa-facts", 0.74), ("cosqa-dev", 0.38)],
)
def test_bm25_over_the_tokens_finds_what_was_judged_relevant(folder: str, bound: float) -> None:
    index, judged = _index(folder), _judgements(folder)
    searcher = index.searcher()
    values = []
    for query in _json_lines(folder, "queries.jsonl"):
        terms = [
            (tantivy.Occur.Should, tantivy.Query.term_query(index.schema, "tokens", token, index_option="freq"))
            for token in ENGLISH.tokens(query["text"])
        ]
        hits = searcher.search(tantivy.Query.boolean_query(terms), 10).hits
        ranking = [searcher.doc(address)["id"][0] for _, address in hits]
        values.append(_ndcg_at_10(ranking, judged[query["_id"]]))
    assert sum(values) / len(values) >= bound
