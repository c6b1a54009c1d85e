"""Braid's own sentences in an answer, in the language of the question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Language = Literal["en", "ja", "ko"]

TEXTS: Mapping[str, Mapping[Language, str]] = {
    "not_found": {
        "en": "This was not found in the selected datasets.",
        "ja": "選択したデータセットには見つかりませんでした。",
        "ko": "선택한 데이터셋에서 찾지 못했어요.",
    },
    "not_found_in_part": {
        "en": "This was not found in what could be searched.",
        "ja": "検索できた範囲には見つかりませんでした。",
        "ko": "검색할 수 있었던 범위에서는 찾지 못했어요.",
    },
    "nothing_to_search": {
        "en": "There is nothing to search yet.",
        "ja": "検索できる文書がまだありません。",
        "ko": "아직 검색할 문서가 없어요.",
    },
    "refers_to_nothing": {
        "en": "What do you mean? Nothing was asked before in this conversation. Please name what it is about.",
        "ja": "何についての質問でしょうか。この会話にはまだ前の話題がありません。知りたい対象を書き添えてください。",
        "ko": "무엇에 대한 질문인가요? 이 대화에는 앞선 내용이 없어요. 알고 싶은 대상을 함께 적어 주세요.",
    },
    "another_script": {
        "en": "In another language, quoted without a language model:",
        "ja": "質問と別の言語の文書から、そのまま引用しました（言語モデルは使っていません）：",
        "ko": "질문과 다른 언어의 문서에서 그대로 인용했어요(언어 모델 사용 안 함):",
    },
    "in_en": {
        "en": "In English, quoted without a language model:",
        "ja": "英語の文書から、そのまま引用しました（言語モデルは使っていません）：",
        "ko": "영어 문서에서 그대로 인용했어요(언어 모델 사용 안 함):",
    },
    "in_ja": {
        "en": "In Japanese, quoted without a language model:",
        "ja": "日本語の文書から、そのまま引用しました（言語モデルは使っていません）：",
        "ko": "일본어 문서에서 그대로 인용했어요(언어 모델 사용 안 함):",
    },
    "in_ko": {
        "en": "In Korean, quoted without a language model:",
        "ja": "韓国語の文書から、そのまま引用しました（言語モデルは使っていません）：",
        "ko": "한국어 문서에서 그대로 인용했어요(언어 모델 사용 안 함):",
    },
    "weak": {
        "en": "Only weak matches were found; the answer may not be among them:",
        "ja": "関連の弱い抜粋しか見つかりませんでした。答えが含まれていないかもしれません：",
        "ko": "관련성이 낮은 단락만 찾았어요. 답이 없을 수도 있어요:",
    },
    "extractive": {
        "en": "Quoted without a language model:",
        "ja": "関連する抜粋をそのまま引用しました（言語モデルは使っていません）：",
        "ko": "관련된 내용을 그대로 인용했어요(언어 모델 사용 안 함):",
    },
    "also": {"en": "Also:", "ja": "こちらも参考になります：", "ko": "함께 참고할 내용:"},
    "related": {
        "en": "This was not found. The closest passages:",
        "ja": "見つかりませんでした。最も近い抜粋：",
        "ko": "찾지 못했어요. 가장 가까운 내용:",
    },
    "whole_summary": {
        "en": "Outline of “{title}”, without a language model; all {total} passages were read:",
        "ja": "「{title}」の概要（言語モデル不使用、全 {total} 件の抜粋を確認）：",
        "ko": "“{title}”의 개요(언어 모델 사용 안 함, 단락 {total}개 모두 확인):",
    },
    "part_summary": {
        "en": "Outline of a part of “{title}”, without a language model; {read} of {total} passages were read:",
        "ja": "「{title}」の一部の概要（言語モデル不使用、{total} 件中 {read} 件の抜粋を確認）：",
        "ko": "“{title}” 일부의 개요(언어 모델 사용 안 함, 단락 {total}개 중 {read}개 확인):",
    },
    "sections_joined": {
        "en": "({sections} sections in {lines} lines)",
        "ja": "（{sections} 節を {lines} 行に要約）",
        "ko": "(절 {sections}개를 {lines}줄로 요약)",
    },
    "whole_dates": {
        "en": "Dates and periods in “{title}”; all {total} passages were read:",
        "ja": "「{title}」の日付と期間（全 {total} 件の抜粋を確認）：",
        "ko": "“{title}”의 날짜와 기간(단락 {total}개 모두 확인):",
    },
    "part_dates": {
        "en": "Dates and periods in a part of “{title}”; {read} of {total} passages were read:",
        "ja": "「{title}」の一部の日付と期間（{total} 件中 {read} 件の抜粋を確認）：",
        "ko": "“{title}” 일부의 날짜와 기간(단락 {total}개 중 {read}개 확인):",
    },
    "whole_amounts": {
        "en": "Amounts in “{title}”; all {total} passages were read:",
        "ja": "「{title}」の金額（全 {total} 件の抜粋を確認）：",
        "ko": "“{title}”의 금액(단락 {total}개 모두 확인):",
    },
    "part_amounts": {
        "en": "Amounts in a part of “{title}”; {read} of {total} passages were read:",
        "ja": "「{title}」の一部の金額（{total} 件中 {read} 件の抜粋を確認）：",
        "ko": "“{title}” 일부의 금액(단락 {total}개 중 {read}개 확인):",
    },
    "changes": {
        "en": "“{old}” and “{new}” compared, without a language model; all passages of both ({total_old} and "
        "{total_new}) were read:",
        "ja": "「{old}」と「{new}」の違い（言語モデル不使用、全 {total_old} 件と {total_new} 件の抜粋を確認）：",
        "ko": "“{old}”, “{new}” 비교(언어 모델 사용 안 함, 단락 {total_old}개와 {total_new}개 모두 확인):",
    },
    "changes_in_part": {
        "en": "Parts of “{old}” and “{new}” compared, without a language model; {read_old} of {total_old} and "
        "{read_new} of {total_new} passages were read:",
        "ja": "「{old}」と「{new}」の一部の違い（言語モデル不使用、"
        "{total_old} 件中 {read_old} 件と {total_new} 件中 {read_new} 件の抜粋を確認）：",
        "ko": "“{old}”, “{new}” 일부 비교(언어 모델 사용 안 함, "
        "단락 {total_old}개 중 {read_old}개와 {total_new}개 중 {read_new}개 확인):",
    },
    "no_changes": {
        "en": "“{old}” and “{new}” say the same: no sentence differs. All passages of both ({total_old} and "
        "{total_new}) were read.",
        "ja": "「{old}」と「{new}」の内容は同じで、異なる文はありません"
        "（全 {total_old} 件と {total_new} 件の抜粋を確認）。",
        "ko": "“{old}”, “{new}”: 내용이 같고 다른 문장이 없어요(단락 {total_old}개와 {total_new}개 모두 확인).",
    },
    "no_changes_in_part": {
        "en": "No sentence differs in the parts of “{old}” and “{new}” that were read: {read_old} of {total_old} and "
        "{read_new} of {total_new} passages.",
        "ja": "「{old}」と「{new}」の確認した部分に異なる文はありません"
        "（{total_old} 件中 {read_old} 件と {total_new} 件中 {read_new} 件の抜粋を確認）。",
        "ko": "“{old}”, “{new}”: 확인한 부분에는 다른 문장이 없어요"
        "(단락 {total_old}개 중 {read_old}개와 {total_new}개 중 {read_new}개 확인).",
    },
    "changes_left_out": {
        "en": "Not shown: {count} more differences, in: {where}.",
        "ja": "ほかの違い {count} 件は省略しました：{where}。",
        "ko": "표시하지 않은 차이 {count}개: {where}.",
    },
    "changes_left_out_bare": {
        "en": "Not shown: {count} more differences.",
        "ja": "ほかの違い {count} 件は省略しました。",
        "ko": "표시하지 않은 차이가 {count}개 더 있어요.",
    },
    "versions": {
        "en": "Changes in “{title}”, quoted without a language model:",
        "ja": "「{title}」の変更内容をそのまま引用しました（言語モデルは使っていません）：",
        "ko": "“{title}”의 변경 내용을 그대로 인용했어요(언어 모델 사용 안 함):",
    },
    "no_newer_version": {
        "en": "“{title}” has no newer version than this one:",
        "ja": "「{title}」にこれより新しいバージョンはありません：",
        "ko": "“{title}”에 이보다 새로운 버전은 없어요:",
    },
    "section": {"en": "Section", "ja": "節", "ko": "절"},
    "is_new": {"en": "— (new)", "ja": "—（新規）", "ko": "—(새로 생김)"},
    "is_gone": {"en": "— (gone)", "ja": "—（削除）", "ko": "—(없어짐)"},
    "calculated": {"en": "Calculated", "ja": "計算結果", "ko": "계산 결과"},
    "calculated_count": {"en": "Count", "ja": "件数", "ko": "개수"},
    "calculated_sum": {"en": "Total of {column}", "ja": "{column}の合計", "ko": "{column} 합계"},
    "calculated_average": {"en": "Average of {column}", "ja": "{column}の平均", "ko": "{column} 평균"},
    "calculated_highest": {"en": "Highest {column}", "ja": "{column}の最大", "ko": "{column} 최댓값"},
    "calculated_lowest": {"en": "Lowest {column}", "ja": "{column}の最小", "ko": "{column} 최솟값"},
    "rows_used": {
        "en": "Calculated from the table “{table}”; rows used: {count}.",
        "ja": "表「{table}」から計算しました。使用した行：{count} 行。",
        "ko": "“{table}” 표에서 계산했어요. 사용한 행: {count}개.",
    },
    "rows_used_in_part": {
        "en": "Calculated from the table “{table}”; rows used: {count}, of which the first {shown}:",
        "ja": "表「{table}」から計算しました。使用した行：{count} 行（最初の {shown} 行）：",
        "ko": "“{table}” 표에서 계산했어요. 사용한 행: {count}개(처음 {shown}개):",
    },
    "period": {"en": "Period: {period}", "ja": "期間：{period}", "ko": "기간: {period}"},
    "not_calculated": {
        "en": "I could not calculate this: no table alone answers the question as it is asked. Related rows:",
        "ja": "計算できませんでした。1 つの表だけでは、この質問に答えられません。関連する行：",
        "ko": "계산하지 못했어요. 표 하나만으로는 이 질문에 답할 수 없어요. 관련된 행:",
    },
    "not_calculated_said": {
        "en": "I could not calculate this: “{said}” is not understood. Related rows:",
        "ja": "計算できませんでした。「{said}」の意味を読み取れません。関連する行：",
        "ko": "계산하지 못했어요. 이해하지 못한 말이 있어요(“{said}”). 관련된 행:",
    },
    "not_calculated_empty": {
        "en": "I could not calculate this: no row of the table “{table}” fits. Related rows:",
        "ja": "計算できませんでした。表「{table}」に当てはまる行がありません。関連する行：",
        "ko": "계산하지 못했어요. “{table}” 표에 해당하는 행이 없어요. 관련된 행:",
    },
    "totals_left_out": {
        "en": "Not counted, because they are totals themselves: {rows}.",
        "ja": "合計などの行は数えていません：{rows}。",
        "ko": "합계 행은 세지 않았어요: {rows}.",
    },
    "degraded": {
        "en": "Something is missing from this answer: {reasons}",
        "ja": "この回答には欠けている部分があります：{reasons}",
        "ko": "이 답변에는 빠진 부분이 있어요: {reasons}",
    },
    "withdrawn": {
        "en": "The answer above broke off; this one replaces it:",
        "ja": "上の回答は途中で切れました。代わりの回答です：",
        "ko": "위 답변이 중간에 끊겨 다시 작성했어요:",
    },
    "withheld_from_reader": {
        "en": "Left out: you may not read what is cited here.",
        "ja": "省略：ここで引用されている文書を閲覧する権限がありません。",
        "ko": "생략: 여기에 인용된 문서를 볼 권한이 없어요.",
    },
    "withheld": {
        "en": "Left out: you may no longer read what is cited here.",
        "ja": "省略：ここで引用されている文書を読む権限がなくなりました。",
        "ko": "생략: 여기에 인용된 문서를 더 이상 볼 수 없어요.",
    },
    "question": {"en": "Question", "ja": "質問", "ko": "질문"},
    "answer": {"en": "Answer", "ja": "回答", "ko": "답변"},
    "state_running": {"en": "running", "ja": "作成中", "ko": "작성 중"},
    "state_stopped": {"en": "stopped", "ja": "停止", "ko": "중지됨"},
    "state_failed": {"en": "failed", "ja": "失敗", "ko": "실패"},
    "state_cut": {"en": "cut", "ja": "途中まで", "ko": "잘림"},
    "state_interrupted": {"en": "interrupted", "ja": "中断", "ko": "중단됨"},
    "variant": {
        "en": "variant {number} of {total}",
        "ja": "{total} 件中 {number} 件目のバージョン",
        "ko": "버전 {total}개 중 {number}번째",
    },
    "thumb_up": {"en": "thumbs up", "ja": "役に立った", "ko": "도움이 됐어요"},
    "thumb_down": {"en": "thumbs down", "ja": "役に立たなかった", "ko": "도움이 안 됐어요"},
    "page": {"en": "page {number}", "ja": "{number} ページ", "ko": "{number}페이지"},
    "line": {"en": "line {number}", "ja": "{number} 行目", "ko": "{number}행"},
    "fate_changed": {"en": "changed since", "ja": "その後変更されました", "ko": "이후 변경됨"},
    "fate_deleted": {"en": "deleted since", "ja": "その後削除されました", "ko": "이후 삭제됨"},
    "fate_withheld": {
        "en": "you may no longer read this",
        "ja": "この出典は閲覧できなくなりました",
        "ko": "이 출처를 더 이상 볼 수 없어요",
    },
    "agrees": {"en": "agrees", "ja": "一致", "ko": "일치"},
    "differs": {"en": "differs", "ja": "不一致", "ko": "차이"},
    "not_mentioned": {"en": "not mentioned", "ja": "記載なし", "ko": "언급 없음"},
    "nothing": {"en": "nothing", "ja": "なし", "ko": "없음"},
    "instead_of": {"en": "{found} instead of {asked}", "ja": "{asked} ではなく {found}", "ko": "{asked} 대신 {found}"},
    "summary": {"en": "Summary", "ja": "まとめ", "ko": "요약"},
    "closest": {
        "en": "{cited} has {agreed} of {total} terms.",
        "ja": "{cited}：{total} 語のうち {agreed} 語が一致しています。",
        "ko": "{cited}: 단어 {total}개 중 {agreed}개가 일치해요.",
    },
    "in_none": {
        "en": "In none of the passages: {terms}.",
        "ja": "どの抜粋にもない語：{terms}。",
        "ko": "어느 단락에도 없는 단어: {terms}.",
    },
    "compared_without_model": {
        "en": "Compared by words and quantities, without a language model.",
        "ja": "言語モデルを使わず、語と数量で比較しました。",
        "ko": "언어 모델 없이 단어와 수량으로 비교했어요.",
    },
    "purpose": {"en": "Purpose", "ja": "目的", "ko": "목적"},
    "materials": {"en": "Materials", "ja": "材料", "ko": "재료"},
    "methods": {"en": "Methods", "ja": "方法", "ko": "방법"},
    "instruction": {"en": "Instruction", "ja": "指示", "ko": "지시"},
}


def say(name: str, language: Language, **values: object) -> str:
    """Return a text by its name, with the values filled in."""
    return TEXTS[name][language].format(**values)
