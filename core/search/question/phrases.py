"""How questions in English, Japanese and Korean say which documents they mean, as expressions for folded texts."""

from __future__ import annotations

import re
from collections.abc import Mapping

# ---------------------------------------------------------------- documents

# Documents that are of the day on which they were written, and those that tell of a time before it.
_OF_THEIR_DAY = (
    r"documents?|files?|minutes|memos?|notes?|e-?mails?|messages?|newsletters?|slides?|presentations?"
    r"|spreadsheets?|pdfs?"
)
_OF_EARLIER = r"reports?|papers?|articles?|manuals?|policies|guidelines?|contracts?|invoices?|pages?|records?"
_OF_THEIR_DAY_JA = (
    r"資料|文書|書類|ファイル|ドキュメント|議事録|メモ|メール|お知らせ|スライド|スプレッドシート|エクセル|pdf"
)
_OF_EARLIER_JA = r"報告書|レポート|論文|記事|マニュアル|規程|規則|契約書|請求書|提案書|仕様書|企画書|稟議書"
_OF_THEIR_DAY_KO = r"문서|자료|파일|회의록|메모|이메일|메일|공지|슬라이드|스프레드시트|엑셀|pdf"
_OF_EARLIER_KO = r"보고서|논문|기사|매뉴얼|규정|계약서|청구서|제안서|명세서|기획서"
_LATIN_DOCUMENT = rf"(?:{_OF_THEIR_DAY}|{_OF_EARLIER})"
_LATIN_DOCUMENTS = rf"{_LATIN_DOCUMENT}(?<=s)"
_CJK_DOCUMENT = rf"(?:{_OF_THEIR_DAY_JA}|{_OF_EARLIER_JA}|{_OF_THEIR_DAY_KO}|{_OF_EARLIER_KO})"
DOCUMENT = re.compile(rf"\b{_LATIN_DOCUMENT}\b|{_CJK_DOCUMENT}")
"""Names of documents."""

_WRITTEN = r"(?:written|authored|prepared|drafted|signed|compiled|edited|filed)"
_CHANGED = r"(?:written|created|added|uploaded|updated|modified|changed|edited|published|issued|sent|received|dated)"
_DONE_JA = (
    r"(?:に|中に)?(?:作成|更新|追加|登録|公開|改訂|発行|アップロード|送信|受信)(?:され|し)た|に(?:作ら|書か|送ら)れた"
)
_DONE_KO = r"에? ?(?:작성|수정|추가|등록|업로드|공개|발행|변경)(?:된|한) ?|에? ?(?:쓴|만든|보낸|받은) ?"

# ---------------------------------------------------------------- times

BEFORE_TIME = re.compile(
    rf"\b(?P<noun>{_LATIN_DOCUMENT})(?: (?:that|which))?(?: (?:were|was|are|is))?(?: {_CHANGED})?"
    r"(?: (?:in|from|of|on|during|for|since|before|after|between))?(?: the)? $"
)
"""What ends where a time begins that says which documents are meant: *documents updated in*."""
AFTER_TIME = re.compile(
    rf"(?:['’]s?)? (?P<noun>(?:{_LATIN_DOCUMENT})\b)"
    rf"|(?:の|分の|付けの|付の|以降の|以前の|までの|{_DONE_JA})?(?P<noun_ja>{_OF_THEIR_DAY_JA}|{_OF_EARLIER_JA})"
    rf"|(?:의|자)? ?(?:{_DONE_KO})?(?P<noun_ko>{_OF_THEIR_DAY_KO}|{_OF_EARLIER_KO})"
)
"""What begins where such a time ends: *last month's minutes*, 先月の議事録."""
DAILY_NOUN = re.compile(rf"(?:{_OF_THEIR_DAY}|{_OF_THEIR_DAY_JA}|{_OF_THEIR_DAY_KO})")

# ---------------------------------------------------------------- kinds of files

TYPES: Mapping[str, tuple[frozenset[str], str, str]] = {
    # name: file types, in Latin letters, in Japanese and Korean
    "pdf": (frozenset({"pdf"}), r"pdfs?", "pdf"),
    "spreadsheet": (
        frozenset({"xlsx", "xls", "ods", "csv", "tsv"}),
        r"spreadsheets?|workbooks?|excels?|xlsx?",
        "excel|エクセル|スプレッドシート|表計算|엑셀|스프레드시트",
    ),
    "csv": (frozenset({"csv", "tsv"}), r"csvs?", "csv"),
    "word": (frozenset({"docx", "doc", "odt", "rtf"}), r"word|docx?", "word|ワード|워드"),
    "hangul": (frozenset({"hwp", "hwpx"}), r"hwpx?", "hwpx?|한글"),
    "slides": (
        frozenset({"pptx", "ppt", "odp"}),
        r"slides?|slide decks?|presentations?|powerpoints?|pptx?",
        "スライド|パワーポイント|パワポ|powerpoint|pptx?|プレゼン資料|슬라이드|파워포인트|프레젠테이션|발표 ?자료",
    ),
    "mail": (frozenset({"eml", "msg"}), r"e-?mails?", "メール|이메일|메일"),
    "markdown": (frozenset({"md"}), r"markdown", "マークダウン|markdown|마크다운"),
    "text": (frozenset({"txt"}), r"text|txt", "テキスト|텍스트"),
    "web": (frozenset({"html"}), r"web ?pages?|html", "ウェブページ|webページ|html|웹페이지|웹 페이지"),
    "book": (frozenset({"epub"}), r"e-?books?|epubs?", "電子書籍|epub|전자책"),
}
_FILES = r"(?:files?|documents?|sheets?|pages?)"
_ALONE = ("hangul", "text", "word", "markdown")
"""Types whose names mean something else where no *file* follows."""


def _of_types(part: int, *, alone: bool) -> str:
    return "|".join(f"(?P<t_{name}_{part}>{TYPES[name][1]})" for name in TYPES if alone or name not in _ALONE)


def _cjk_types(part: int, *, alone: bool) -> str:
    return "|".join(f"(?P<t_{name}_{part}>{TYPES[name][2]})" for name in TYPES if (name in _ALONE) is alone)


_PLACE = r"(?:in|from|within|among|across|inside|through|search|searching)"
_DETERMINED = r"(?:all |any |only |just )?(?:of )?(?:the|my|our|your|their|these|those|all)(?: \w{2,20})?"
IN_FILES = re.compile(
    rf"\b{_PLACE} {_DETERMINED} (?:(?:{_of_types(0, alone=True)}) {_FILES}"
    rf"|(?:{_of_types(1, alone=False)})(?<=s))\b"
    rf"|\b(?:only|just) (?:{_PLACE} )?(?:the |my |our )?"
    rf"(?:(?:{_of_types(2, alone=True)}) {_FILES}|(?:{_of_types(3, alone=False)})(?<=s))\b"
    rf"|\b(?:{_of_types(4, alone=True)}) {_FILES} only\b"
    r"|(?:" + _cjk_types(5, alone=False) + r")(?:ファイル|形式|文書|資料|シート| ?파일| ?문서| ?시트)?(?:들)?"
    r"(?:の中|のうち| ?중)?(?:では|だけで|のみで|で(?![きすあし])|から(?!なる)|内で|内の|だけ|のみ|에서는|에서만|에서"
    r"|만 ?(?=검색|찾|에서))"
    r"|(?:" + _cjk_types(6, alone=True) + r")(?:ファイル|文書| ?파일| ?문서)(?:들)?"
    r"(?:の中|のうち| ?중)?(?:では|だけで|のみで|で(?![きすあし])|から|内で|内の|에서는|에서만|에서)"
)
"""Kinds of files as places to look in."""
OPERATION = re.compile(
    r"\b(?:convert|export|import|save|saved|open|opened|create|make|format|print|merge|edit|write|read|parse|insert"
    r"|delete|remove|python|formula|function|macro|compress|sign|attach|upload|download"
    r"|how (?:do|can|could|should|to))\b"
    r"|方法|やり方|手順|仕方|保存|変換|出力|書き出|開[くきけい]|作成(?!した|され|者)|作[るりっ]|編集|印刷|提出|添付|送|結合|関数|マクロ|挿入"
    r"|削除|セル|インポート|エクスポート|取り込|読み込|ダウンロード|使[いうっ]"
    r"|방법|저장|변환|출력|내보내|열[기어려]|여는|작성(?!한|된|자)|만[들드]|편집|인쇄|제출|첨부|보내|병합|함수|매크로|셀|삽입|삭제|가져오"
    r"|다운로드|사용"
)
"""What is done with a program or a file: its name is then a tool rather than a place."""

# ---------------------------------------------------------------- datasets

_DATASET = r"(?:datasets?|data sets?|collections?|library|folder)"
_QUOTE, _UNQUOTE = r"[\"“'‘「『]", r"[\"”'’」』]"
BEFORE_DATASET = re.compile(
    rf"\b{_PLACE}(?: (?:the|my|our))? {_DATASET} (?:called |named )?{_QUOTE}?$"
    rf"|(?:データセット|데이터셋|데이터 세트) ?{_QUOTE}?$"
)
BEFORE_NAME_OF_DATASET = re.compile(rf"\b(?:{_PLACE}|of|using|only)(?: (?:the|my|our))? {_QUOTE}?$")
AFTER_NAME_OF_DATASET = re.compile(rf"{_UNQUOTE}? {_DATASET}\b")
AFTER_DATASET = re.compile(
    rf"{_UNQUOTE}?(?:という|の)?(?:データセット|コレクション|フォルダー?)"
    rf"|{_UNQUOTE}? ?(?:데이터셋|데이터 세트|컬렉션|폴더)"
)
BEFORE_PLACE = re.compile(
    rf"\b(?:in|within|search|searching|according to|based on|using)(?: (?:the|my|our))?(?P<quote> {_QUOTE}| )$"
)
AFTER_PLACE = re.compile(
    rf"(?P<quote>{_UNQUOTE})?(?:の中)?"
    r"(?:では|で(?=[、,]|の中|探|検索|調べ)|内で|によると|によれば|において|には| ?에서| ?에 따르면| ?에는)"
)
LIKE_DOCUMENTS = re.compile(
    r"(?<=.)(?:handbook|manual|guide|guidelines?|policy|policies|rules|regulations|wiki|faqs?|docs|documentation|contracts"
    r"|minutes|reports|notes|specs|archive|knowledge base)$"
    r"|(?<=.)(?:規程集?|規則|規定集?|マニュアル|ハンドブック|手引き?|ガイド|契約書|議事録|報告書|資料集?|文書|faq)$"
    r"|(?<=.)(?:규정집?|규칙|매뉴얼|핸드북|안내서?|가이드|지침서?|계약서|회의록|보고서|자료집?|문서)$"
)
"""Ends of names that only a set of documents has; a name that is nothing else may be any document's."""

# ---------------------------------------------------------------- values of metadata

_LATIN_PERSON_KEYS = ("author", "authors", "writer", "creator", "created by", "written by")
PERSON_KEYS = frozenset((*_LATIN_PERSON_KEYS, "著者", "作成者", "作者", "筆者", "執筆者", "작성자", "저자"))
"""Keys whose values are who wrote a document."""
_TITLE = r"(?:(?:mr|ms|mrs|dr|prof)\.? )?"
WRITTEN_BY = re.compile(rf"\b{_WRITTEN} by {_TITLE}$")
BY = re.compile(rf"(?:(?<![\w-])(?P<word>[\w-]+) )?\bby {_TITLE}$")
NO_NOUN = re.compile(
    r"(?:ed|en|wn|ung|ought|aught|ade|uilt|eld|ead|et|one|un|ound|ent|it|ly)$|^(?:all|both|it|they|that|this|one|is|are|was|were)$"
)
"""Words before *by* after which a name is who did something, and not who wrote a document."""
_HONORIFIC = r"(?:さん|氏|様|先生|部長|課長|社長| ?님| ?씨| ?부장님?| ?과장님?| ?대리님?| ?팀장님?)?"
WROTE = re.compile(
    rf"{_HONORIFIC}"
    r"(?:[がの](?:書いた|作成した|作った|まとめた|執筆した|起案した)|(?:이|가|께서)? ?(?:쓴|작성한|만든|정리한))"
    rf"[^、。,.?]{{0,12}}?{_CJK_DOCUMENT}"
)
CREATIVE = re.compile(
    r"\b(?:songs?|novels?|books?|albums?|films?|movies?|paintings?|poems?|plays?|theor(?:y|ies)|laws?|music|tracks?|series"
    r"|symphon(?:y|ies)|operas?)\b|小説|歌|楽曲|映画|絵画|詩|漫画|脚本|理論|소설|노래|영화|그림|시집|만화|드라마|이론"
)
"""Works whose author is a part of the question."""
DOCUMENT_BEFORE_VALUE = re.compile(
    rf"\b(?:{_LATIN_DOCUMENTS}|the {_LATIN_DOCUMENT})(?: (?:that|which))?(?: (?:were|was|are|is))?(?: {_CHANGED})?"
    rf" (?:of|from|by|for|in|with|tagged|labell?ed|marked|under)(?: the)?(?: (?:status|tag|label))? {_QUOTE}?{_TITLE}$"
)
DOCUMENT_AFTER_VALUE = re.compile(
    rf"{_UNQUOTE}?(?:['’]s? {_LATIN_DOCUMENT}| {_LATIN_DOCUMENTS})\b"
    rf"|{_UNQUOTE}?{_HONORIFIC}(?:部|課)?の?(?:{_OF_THEIR_DAY_JA}|{_OF_EARLIER_JA})"
    rf"|{_UNQUOTE}?{_HONORIFIC}(?: ?팀| ?부서?)?의? ?(?:{_OF_THEIR_DAY_KO}|{_OF_EARLIER_KO})"
)
MAY_NAME_VALUES = re.compile(
    rf"\bby\b|[:=]|[がの이가] ?(?:書い|作|まとめ|執筆|起案|쓴|작성|만든|정리)|쓴|{DOCUMENT.pattern}"
)
"""What a question has in which a value of metadata may say which documents are meant."""
YEAR_KEYS = frozenset({"year", "年", "연도", "년도"})
FISCAL_YEAR_KEYS = frozenset({"fiscal_year", "fiscal year", "年度", "会計年度", "회계연도"})
