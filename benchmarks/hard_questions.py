"""Hard questions to made-up documents, in three languages: lists, procedures, comparisons, versions, identifiers,
follow-ups, and questions that nothing answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Hard:
    """A question with what a complete answer has. ``parts`` is empty where there is no answer."""

    kind: str
    text: str
    parts: tuple[str, ...]
    before: str = ""
    """The question before it, of a follow-up."""


DOCUMENTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "travel-2023.md": """# Travel policy 2023

This policy is in force from 1 March 2023.

## Hotels

Employees choose the hotel themselves. The limit is 140 EUR a night. What is above the limit is paid by the traveller unless the head of
the department agreed in writing before.

## Booking

Journeys are booked ten days in advance at least. Late bookings are approved by Miriam Vogel.
""",
        "travel-2025.md": """# Travel policy 2025

This policy is in force from 1 March 2025 and replaces that of 2023.

## Hotels

Employees choose the hotel themselves. The limit is 175 EUR a night. What is above the limit is paid by the traveller unless the head of
the department agreed in writing before.

## Booking

Journeys are booked seven days in advance at least. Late bookings are approved by Aiko Hara.
""",
        "pump-h70.md": """# Manual of the pump H-70

## Contents

1. Safety ........ 3
2. Changing the shaft seal ........ 7
3. Error codes ........ 12

## Safety

Only trained persons may open the pump. Protective gloves and goggles are worn during all work.

## Changing the shaft seal

The seal is changed every 4,000 hours of operation. It takes about forty minutes. Proceed as follows:

1. Switch the pump off and lock the main switch.
2. Drain the housing through the valve V3.
3. Remove the four screws of the cover.
4. Pull the old seal off the shaft with the puller T-12.
5. Oil the new seal and push it on until it snaps in.
6. Close the cover and open the valve V3 again.

Dispose of the old seal as hazardous waste.

## Error codes

E-104 means that the motor is too hot. Let it cool down for twenty minutes, and clean the fan.

E-207 means that the intake pressure is too low. Check whether the strainer is clogged.

max_pressure_bar (floating point)

Sets the pressure at which the pump switches off. The default is 9.5. It can only be set while the pump stands still.
""",
        "contract.md": """# Service contract with Brightwell Ltd

Signed in Rotterdam on 19 February 2024 by Lena Okafor for Halden Instruments and Samuel Pritchard for Brightwell Ltd.

## Deadlines

The following deadlines apply to both parties:

- Reports of defects: within 5 working days.
- Repair of serious defects: within 24 hours after the report.
- Invoices: payable within 30 days of receipt.
- Return of all data: within 45 days of the end of the agreement.

## Fee

The yearly fee amounts to 48,000 EUR without taxes. It is paid in four equal parts.

## Subcontractors

Brightwell may use subcontractors only with written consent. Consent may be withheld without giving reasons.
""",
        "site.md": """# The site in Halden

## Gate

The gate is open from 6:30 to 19:00 on working days. Outside of these hours the porter is called.

## First aid

First aid kits hang beside every fire extinguisher. A flange is a ring with holes for screws by which two pipes are joined. First aiders
wear a green badge, and there are eleven of them on the site.

## Waste

The site sorts its waste into four kinds: paper, metal, plastics and hazardous waste.
""",
    },
    "ja": {
        "出張規程2023.md": """# 出張旅費規程 2023年版

この規程は2023年3月1日から施行する。

## 宿泊

宿泊先は出張者が自分で選ぶ。宿泊費の上限は1泊12,000円である。上限を超える分は、部長が事前に書面で認めた場合を除き、出張者が負担する。

## 予約

出張は10日前までに予約する。期限を過ぎた予約は長谷川健が承認する。
""",
        "出張規程2025.md": """# 出張旅費規程 2025年版

この規程は2025年3月1日から施行し、2023年版に代わる。

## 宿泊

宿泊先は出張者が自分で選ぶ。宿泊費の上限は1泊15,500円である。上限を超える分は、部長が事前に書面で認めた場合を除き、出張者が負担する。

## 予約

出張は7日前までに予約する。期限を過ぎた予約は原愛子が承認する。
""",
        "ポンプH70.md": """# ポンプH-70取扱説明書

## 目次

1. 安全 ........ 3
2. 軸シールの交換 ........ 7
3. エラーコード ........ 12

## 安全

ポンプを開けてよいのは訓練を受けた者だけである。作業中は保護手袋と保護眼鏡を着用する。

## 軸シールの交換

軸シールは運転4,000時間ごとに交換する。作業には約40分かかる。次の手順で行う。

1. ポンプを止め、主電源をロックする。
2. バルブV3からハウジングの液を抜く。
3. カバーのねじ4本を外す。
4. 引き抜き工具T-12で古いシールを軸から抜く。
5. 新しいシールに油を塗り、音がするまで押し込む。
6. カバーを閉め、バルブV3を再び開く。

古いシールは有害廃棄物として処分する。

## エラーコード

E-104はモーターの過熱を示す。20分間冷まし、ファンを清掃する。

E-207は吸込圧力の不足を示す。ストレーナーの詰まりを確認する。

max_pressure_bar(浮動小数点)

ポンプが停止する圧力を設定する。既定値は9.5である。ポンプが止まっている間だけ設定できる。
""",
        "業務委託契約.md": """# 業務委託契約書

2024年2月19日に大阪で、北斗計測の小川玲奈と明光商会の田村聡が署名した。

## 期限

両当事者には次の期限が適用される。

- 不具合の報告：5営業日以内
- 重大な不具合の修理：報告後24時間以内
- 請求書の支払い：受領後30日以内
- データの返却：契約終了後45日以内

## 委託料

年間の委託料は税抜きで480万円とする。4回に等分して支払う。

## 再委託

明光商会は書面による同意がなければ再委託できない。同意を拒む理由を述べる必要はない。
""",
        "構内案内.md": """# 構内案内

## 正門

正門は平日の6時30分から19時まで開いている。それ以外の時間は守衛を呼ぶ。

## 救急

救急箱はすべての消火器の横に掛けてある。フランジとは、二本の管をつなぐための、ねじ穴のある輪のことである。救護員は緑のバッジを付けており、構内に11人いる。

## 廃棄物

構内の廃棄物は、紙、金属、プラスチック、有害廃棄物の4種類に分ける。
""",
    },
    "ko": {
        "출장규정2023.md": """# 출장 여비 규정 2023년판

이 규정은 2023년 3월 1일부터 시행한다.

## 숙박

숙소는 출장자가 직접 고른다. 숙박비 한도는 1박 90,000원이다. 한도를 넘는 금액은 부서장이 미리 서면으로 승인하지 않으면 출장자가 부담한다.

## 예약

출장은 10일 전까지 예약한다. 기한을 넘긴 예약은 윤하늘이 승인한다.
""",
        "출장규정2025.md": """# 출장 여비 규정 2025년판

이 규정은 2025년 3월 1일부터 시행하며 2023년판을 대체한다.

## 숙박

숙소는 출장자가 직접 고른다. 숙박비 한도는 1박 125,000원이다. 한도를 넘는 금액은 부서장이 미리 서면으로 승인하지 않으면 출장자가 부담한다.

## 예약

출장은 7일 전까지 예약한다. 기한을 넘긴 예약은 정다운이 승인한다.
""",
        "펌프H70.md": """# 펌프 H-70 설명서

## 목차

1. 안전 ........ 3
2. 축 씰 교체 ........ 7
3. 오류 코드 ........ 12

## 안전

교육을 받은 사람만 펌프를 열 수 있다. 작업하는 동안 보호 장갑과 보안경을 착용한다.

## 축 씰 교체

축 씰은 4,000시간마다 교체한다. 작업에는 약 40분이 걸린다. 다음 순서로 진행한다.

1. 펌프를 끄고 주 스위치를 잠근다.
2. 밸브 V3으로 하우징의 액체를 빼낸다.
3. 덮개의 나사 네 개를 푼다.
4. 풀러 T-12로 낡은 씰을 축에서 빼낸다.
5. 새 씰에 기름을 바르고 소리가 날 때까지 밀어 넣는다.
6. 덮개를 닫고 밸브 V3을 다시 연다.

낡은 씰은 유해 폐기물로 처리한다.

## 오류 코드

E-104는 모터가 과열되었다는 뜻이다. 20분 동안 식히고 팬을 청소한다.

E-207은 흡입 압력이 너무 낮다는 뜻이다. 여과기가 막혔는지 확인한다.

max_pressure_bar (부동 소수점)

펌프가 멈추는 압력을 정한다. 기본값은 9.5이다. 펌프가 서 있는 동안에만 바꿀 수 있다.
""",
        "용역계약.md": """# 용역 계약서

2024년 2월 19일 대전에서 한결계측의 오가람과 밝은상사의 서준호가 서명하였다.

## 기한

양 당사자에게 다음 기한을 적용한다.

- 결함 신고: 5영업일 이내
- 중대한 결함 수리: 신고 후 24시간 이내
- 대금 지급: 청구서를 받은 날부터 30일 이내
- 자료 반환: 계약 종료 후 45일 이내

## 용역비

연간 용역비는 세금을 빼고 4,800만 원이다. 네 번에 나누어 똑같이 지급한다.

## 재위탁

밝은상사는 서면 동의가 없으면 재위탁할 수 없다. 동의를 거부하는 이유는 밝히지 않아도 된다.
""",
        "구내안내.md": """# 구내 안내

## 정문

정문은 평일 6시 30분부터 19시까지 열려 있다. 그 밖의 시간에는 경비실에 연락한다.

## 응급 처치

구급함은 모든 소화기 옆에 걸려 있다. 플랜지란 두 관을 잇기 위해 나사 구멍을 낸 고리이다. 응급 처치 요원은 녹색 배지를 달고 있으며 구내에 11명이 있다.

## 폐기물

구내의 폐기물은 종이, 금속, 플라스틱, 유해 폐기물의 네 가지로 나눈다.
""",
    },
}
"""Language → name of the file → its text."""


def _hard(*rows: tuple[str, str, Sequence[str]] | tuple[str, str, Sequence[str], str]) -> list[Hard]:
    return [Hard(kind, text, tuple(parts), *before) for kind, text, parts, *before in rows]


HARD_QUESTIONS: Mapping[str, Sequence[Hard]] = {
    "en": _hard(
        (
            "list",
            "List all deadlines in the contract with Brightwell",
            ("5 working days", "24 hours", "30 days", "45 days"),
        ),
        ("list", "Which deadlines apply to both parties?", ("5 working days", "24 hours", "30 days", "45 days")),
        ("list", "Into which kinds does the site sort its waste?", ("paper, metal, plastics and hazardous",)),
        (
            "procedure",
            "How do I change the shaft seal of the H-70?",
            ("lock the main switch", "V3", "screws", "T-12", "snaps in", "Close the cover"),
        ),
        (
            "procedure",
            "What are the steps for replacing the shaft seal?",
            ("lock the main switch", "V3", "screws", "T-12", "snaps in", "Close the cover"),
        ),
        (
            "comparison",
            "What changed about the hotel limit between the travel policies 2023 and 2025?",
            ("140 EUR", "175 EUR"),
        ),
        ("comparison", "Compare the booking rules of 2023 and 2025", ("ten days", "seven days")),
        ("version", "What was the hotel limit in 2023?", ("140 EUR",)),
        ("version", "What is the limit for hotels now?", ("175 EUR",)),
        ("version", "Who approves late bookings according to the policy of 2025?", ("Aiko Hara",)),
        ("version", "How many days in advance must journeys be booked?", ("seven days",)),
        ("unanswerable", "What are the opening hours of the canteen?", ()),
        ("unanswerable", "What is the telephone number of Brightwell?", ()),
        ("unanswerable", "How much does the pump H-70 cost?", ()),
        ("unanswerable", "Who is the managing director of Brightwell?", ()),
        ("unanswerable", "What is the e-mail address of the porter?", ()),
        ("unanswerable", "When was Halden Instruments founded?", ()),
        ("identifier", "E-207", ("intake pressure",)),
        ("identifier", "What does E-104 mean?", ("too hot",)),
        ("identifier", "What is the default value of max_pressure_bar?", ("9.5",)),
        ("follow-up", "And in 2025?", ("175 EUR",), "What was the hotel limit in 2023?"),
        ("follow-up", "And E-207?", ("intake pressure",), "What does E-104 mean?"),
        ("definition", "What is a flange?", ("ring with holes",)),
        ("time", "When does the gate open?", ("6:30",)),
        ("fact", "What is the yearly fee of the Brightwell contract?", ("48,000 EUR",)),
        ("fact", "Who signed for Brightwell?", ("Samuel Pritchard",)),
        ("fact", "How often is the shaft seal changed?", ("4,000 hours",)),
        ("fact", "May Brightwell use subcontractors?", ("only with written consent",)),
        ("fact", "How many first aiders are there?", ("eleven",)),
        ("fact", "Who may open the pump?", ("trained persons",)),
    ),
    "ja": _hard(
        ("list", "業務委託契約の期限をすべて挙げてください", ("5営業日", "24時間", "30日以内", "45日以内")),
        ("list", "両当事者に適用される期限の一覧", ("5営業日", "24時間", "30日以内", "45日以内")),
        ("list", "構内の廃棄物は何種類に分けますか", ("紙、金属、プラスチック",)),
        (
            "procedure",
            "H-70の軸シールはどうやって交換しますか",
            ("主電源", "バルブV3", "ねじ4本", "T-12", "押し込む", "カバーを閉め"),
        ),
        (
            "procedure",
            "軸シール交換の手順を教えてください",
            ("主電源", "バルブV3", "ねじ4本", "T-12", "押し込む", "カバーを閉め"),
        ),
        ("comparison", "宿泊費の上限は2023年版と2025年版でどう変わりましたか", ("12,000円", "15,500円")),
        ("comparison", "2023年と2025年の予約の規定を比較してください", ("10日前", "7日前")),
        ("version", "2023年の宿泊費の上限はいくらでしたか", ("12,000円",)),
        ("version", "今の宿泊費の上限はいくらですか", ("15,500円",)),
        ("version", "2025年版では期限を過ぎた予約を誰が承認しますか", ("原愛子",)),
        ("version", "出張は何日前までに予約しますか", ("7日前",)),
        ("unanswerable", "社員食堂の営業時間は何時から何時までですか", ()),
        ("unanswerable", "明光商会の電話番号を教えてください", ()),
        ("unanswerable", "ポンプH-70の価格はいくらですか", ()),
        ("unanswerable", "明光商会の社長は誰ですか", ()),
        ("unanswerable", "守衛のメールアドレスは何ですか", ()),
        ("unanswerable", "北斗計測はいつ設立されましたか", ()),
        ("identifier", "E-207", ("吸込圧力",)),
        ("identifier", "E-104とは何ですか", ("過熱",)),
        ("identifier", "max_pressure_barの既定値は何ですか", ("9.5",)),
        ("follow-up", "では2025年は", ("15,500円",), "2023年の宿泊費の上限はいくらでしたか"),
        ("follow-up", "E-207は?", ("吸込圧力",), "E-104とは何ですか"),
        ("definition", "フランジとは何ですか", ("ねじ穴のある輪",)),
        ("time", "正門は何時に開きますか", ("6時30分",)),
        ("fact", "業務委託契約の年間の委託料はいくらですか", ("480万円",)),
        ("fact", "明光商会の誰が署名しましたか", ("田村聡",)),
        ("fact", "軸シールはどのくらいの間隔で交換しますか", ("4,000時間",)),
        ("fact", "明光商会は再委託できますか", ("同意がなければ",)),
        ("fact", "救護員は何人いますか", ("11人",)),
        ("fact", "ポンプを開けてよいのは誰ですか", ("訓練を受けた者",)),
    ),
    "ko": _hard(
        ("list", "용역 계약의 기한을 모두 알려 주세요", ("5영업일", "24시간", "30일 이내", "45일 이내")),
        ("list", "양 당사자에게 적용되는 기한 목록", ("5영업일", "24시간", "30일 이내", "45일 이내")),
        ("list", "구내의 폐기물은 몇 가지로 나누나요?", ("종이, 금속, 플라스틱",)),
        (
            "procedure",
            "H-70의 축 씰은 어떻게 교체하나요?",
            ("주 스위치", "V3", "나사 네 개", "T-12", "밀어 넣는다", "덮개를 닫고"),
        ),
        (
            "procedure",
            "축 씰 교체 절차를 알려 주세요",
            ("주 스위치", "V3", "나사 네 개", "T-12", "밀어 넣는다", "덮개를 닫고"),
        ),
        ("comparison", "숙박비 한도는 2023년판과 2025년판에서 어떻게 바뀌었나요?", ("90,000원", "125,000원")),
        ("comparison", "2023년과 2025년의 예약 규정을 비교해 주세요", ("10일 전", "7일 전")),
        ("version", "2023년의 숙박비 한도는 얼마였나요?", ("90,000원",)),
        ("version", "지금 숙박비 한도는 얼마인가요?", ("125,000원",)),
        ("version", "2025년판에서는 기한을 넘긴 예약을 누가 승인하나요?", ("정다운",)),
        ("version", "출장은 며칠 전까지 예약해야 하나요?", ("7일 전",)),
        ("unanswerable", "구내식당의 운영 시간은 몇 시부터 몇 시까지인가요?", ()),
        ("unanswerable", "밝은상사의 전화번호는 무엇인가요?", ()),
        ("unanswerable", "펌프 H-70의 가격은 얼마인가요?", ()),
        ("unanswerable", "밝은상사의 대표는 누구인가요?", ()),
        ("unanswerable", "경비실의 이메일 주소는 무엇인가요?", ()),
        ("unanswerable", "한결계측은 언제 설립되었나요?", ()),
        ("identifier", "E-207", ("흡입 압력",)),
        ("identifier", "E-104는 무슨 뜻인가요?", ("과열",)),
        ("identifier", "max_pressure_bar의 기본값은 무엇인가요?", ("9.5",)),
        ("follow-up", "2025년에는요?", ("125,000원",), "2023년의 숙박비 한도는 얼마였나요?"),
        ("follow-up", "E-207은요?", ("흡입 압력",), "E-104는 무슨 뜻인가요?"),
        ("definition", "플랜지란 무엇인가요?", ("나사 구멍을 낸 고리",)),
        ("time", "정문은 몇 시에 여나요?", ("6시 30분",)),
        ("fact", "용역 계약의 연간 용역비는 얼마인가요?", ("4,800만 원",)),
        ("fact", "밝은상사에서는 누가 서명했나요?", ("서준호",)),
        ("fact", "축 씰은 얼마나 자주 교체하나요?", ("4,000시간",)),
        ("fact", "밝은상사는 재위탁할 수 있나요?", ("서면 동의가 없으면",)),
        ("fact", "응급 처치 요원은 몇 명인가요?", ("11명",)),
        ("fact", "누가 펌프를 열 수 있나요?", ("교육을 받은 사람만",)),
    ),
}


def write_documents(folder: Path, language: str) -> None:
    """Write the documents of a language into a folder."""
    for name, text in DOCUMENTS[language].items():
        (folder / name).write_text(text, encoding="utf-8")
