"""Altered sentences of rules, contracts, manuals and minutes: what differs is named, and what is true is not."""

from __future__ import annotations

import pytest

from braid.core.chat.support.check import check


@pytest.mark.parametrize(
    ("sentence", "passage", "wrong", "right"),
    [
        (
            "The refund window closes 45 calendar weeks after delivery, except for perishable goods [1].",
            "The refund window closes 45 calendar days after delivery, except for perishable goods.",
            "weeks",
            "days",
        ),
        (
            "Operators must wear class 3 gloves whenever the line voltage exceeds 1.5 V [1].",
            "Operators must wear class 3 gloves whenever the line voltage exceeds 1.5 kV.",
            "1.5 V",
            "1.5 kV",
        ),
        (
            "Two thirds of the members voted in favour; the motion was rejected without debate [1].",
            "Two thirds of the members voted in favour; the motion was adopted without debate.",
            "rejected",
            "adopted",
        ),
        (
            "At least twelve exits have to stay locked during opening hours [1].",
            "At least twelve exits have to stay unlocked during opening hours.",
            "locked",
            "unlocked",
        ),
        (
            "Version 2.1 introduced the new parser; version 2.9 is no longer supported [1].",
            "Version 2.10 introduced the new parser; version 2.9 is no longer supported.",
            "2.1",
            "2.10",
        ),
        (
            "Neither the tenant nor the landlord may terminate the lease after the first year [1].",
            "Neither the tenant nor the landlord may terminate the lease during the first year.",
            "after",
            "during",
        ),
        (
            "Only administrators can reject requests above 10,000 yen [1].",
            "Only administrators can approve requests above 10,000 yen.",
            "reject",
            "approve",
        ),
        (
            "The patch reduces memory use from 128 MB to 512 MB [1].",
            "The patch reduces memory use from 512 MB to 128 MB.",
            "128 MB",
            "512 MB",
        ),
        (
            "The patch increases memory use from 512 MB to 128 MB [1].",
            "The patch reduces memory use from 512 MB to 128 MB.",
            "increases",
            "reduces",
        ),
        (
            "返品は商品到着前14日以内に限り受け付けます[1]。",
            "返品は商品到着後14日以内に限り受け付けます。ただし、生鮮品は対象外です。",
            "商品到着前",
            "商品到着後",
        ),
        (
            "本契約は令和6年4月1日に発効し、満了日の3か月前までに申し出がない限り1年間自動更新されます[1]。",
            "本契約は令和5年4月1日に発効し、満了日の3か月前までに申し出がない限り1年間自動更新されます。",
            "令和6年4月1日",
            "令和5年4月1日",
        ),
        (
            "作業者は電圧が600Vを下回る場合、必ず絶縁手袋を着用しなければならない[1]。",
            "作業者は電圧が600Vを超える場合、必ず絶縁手袋を着用しなければならない。",
            "600Vを下回る",
            "600Vを超える",
        ),
        (
            "作業者は電圧が600kVを超える場合、必ず絶縁手袋を着用しなければならない[1]。",
            "作業者は電圧が600Vを超える場合、必ず絶縁手袋を着用しなければならない。",
            "600kV",
            "600V",
        ),
        (
            "作業者は電圧が600Vを超える場合、絶縁手袋を着用する必要はない[1]。",
            "作業者は電圧が600Vを超える場合、必ず絶縁手袋を着用しなければならない。",
            "必要はない",
            "なければならない",
        ),
        (
            "図書館は毎週月曜日が開館日で、午前9時に開館します[1]。",
            "図書館は毎週月曜日が休館日で、午前9時に開館します。",
            "開館日",
            "休館日",
        ),
        (
            "成年者は保護者の同意なしに申し込むことができません[1]。",
            "未成年者は保護者の同意なしに申し込むことができません。",
            "成年者",
            "未成年者",
        ),
        (
            "会員の3分の2以上の賛成により否決されました[1]。",
            "会員の3分の2以上の賛成により可決されました。",
            "否決",
            "可決",
        ),
        (
            "有給休暇は退社6か月後に10日付与され、翌年度に限り繰り越すことができる[1]。",
            "有給休暇は入社6か月後に10日付与され、翌年度に限り繰り越すことができる。",
            "退社",
            "入社",
        ),
        (
            "申請は月初までに提出し、承認は原則として5営業日以内に行われる[1]。",
            "申請は月末までに提出し、承認は原則として5営業日以内に行われる。",
            "月初",
            "月末",
        ),
        (
            "본 계약은 2024년 4월 1일에 발효되며 만료 3개월 전까지 통지가 없으면 1년간 자동 연장됩니다[1].",
            "본 계약은 2023년 4월 1일에 발효되며 만료 3개월 전까지 통지가 없으면 1년간 자동 연장됩니다.",
            "2024년 4월 1일",
            "2023년 4월 1일",
        ),
        (
            "작업자는 전압이 600V에 미달하면 반드시 절연 장갑을 착용해야 한다[1].",
            "작업자는 전압이 600V를 초과하면 반드시 절연 장갑을 착용해야 한다.",
            "600V에 미달",
            "600V를 초과",
        ),
        (
            "작업자는 전압이 600kV를 초과하면 반드시 절연 장갑을 착용해야 한다[1].",
            "작업자는 전압이 600V를 초과하면 반드시 절연 장갑을 착용해야 한다.",
            "600kV",
            "600V",
        ),
        (
            "도서관은 매주 월요일에 개관하며 오전 9시에 문을 엽니다[1].",
            "도서관은 매주 월요일에 휴관하며 오전 9시에 문을 엽니다.",
            "개관하며",
            "휴관하며",
        ),
        (
            "도서관은 매주 월요일에 휴관하며 오전 9시에 문을 닫습니다[1].",
            "도서관은 매주 월요일에 휴관하며 오전 9시에 문을 엽니다.",
            "닫습니다",
            "엽니다",
        ),
        (
            "성년자는 보호자의 동의 없이 신청할 수 없습니다[1].",
            "미성년자는 보호자의 동의 없이 신청할 수 없습니다.",
            "성년자는",
            "미성년자는",
        ),
        (
            "비밀번호는 12자 이상이어야 하며 변경할 필요가 없습니다[1].",
            "비밀번호는 12자 이상이어야 하며 90일마다 변경해야 합니다.",
            "필요가 없습니다",
            "해야 합니다",
        ),
        (
            "회원 3분의 2 이상의 찬성으로 부결되었습니다[1].",
            "회원 3분의 2 이상의 찬성으로 가결되었습니다.",
            "부결되었습니다",
            "가결되었습니다",
        ),
        (
            "연차는 퇴사 6개월 후 10일이 부여되며 다음 연도에 한해 이월할 수 있다[1].",
            "연차는 입사 6개월 후 10일이 부여되며 다음 연도에 한해 이월할 수 있다.",
            "퇴사",
            "입사",
        ),
        (
            "이 버전에서는 IPv6가 기본적으로 비활성화되어 있습니다[1].",
            "이 버전에서는 IPv6가 기본적으로 활성화되어 있습니다.",
            "비활성화되어",
            "활성화되어",
        ),
        (
            "신청서는 월초까지 제출하고 승인은 원칙적으로 영업일 기준 5일 이내에 이루어진다[1].",
            "신청서는 월말까지 제출하고 승인은 원칙적으로 영업일 기준 5일 이내에 이루어진다.",
            "월초까지",
            "월말까지",
        ),
        (
            "Install Python 3.11.9 or later; releases before 3.9 are rejected [1].",
            "Install Python 3.11.7 or later; releases before 3.9 are rejected.",
            "3.11.9",
            "3.11.7",
        ),
        (
            "The valve closes at 6 bar and opens at 4 bar [1].",
            "The valve opens at 6 bar and closes at 4 bar.",
            "closes",
            "opens",
        ),
        (
            "The valve opens at 6 mbar and closes at 4 bar [1].",
            "The valve opens at 6 bar and closes at 4 bar.",
            "6 mbar",
            "6 bar",
        ),
        (
            "事前登録は不要ですが、身分証明書を持参する必要はありません[1]。",
            "事前登録は不要ですが、身分証明書を持参しなければなりません。",
            "必要はありません",
            "なければなりません",
        ),
        ("弁は6MPaで閉じ、4MPaで開く[1]。", "弁は6MPaで開き、4MPaで閉じる。", "閉", "開"),
        ("議案は全会一致で否決された[1]。", "議案は全会一致で承認された。", "否決", "承認"),
        ("議案は賛成多数で承認された[1]。", "議案は全会一致で承認された。", "賛成多数", "全会一致"),
        (
            "사전 등록은 필요 없지만 신분증은 지참하지 않아도 됩니다[1].",
            "사전 등록은 필요 없지만 신분증은 지참해야 합니다.",
            "지참하지 않아도",
            "지참해야",
        ),
        (
            "회의실은 서관 3층에 있으며 정원은 24명입니다[1].",
            "회의실은 동관 3층에 있으며 정원은 24명입니다.",
            "서관",
            "동관",
        ),
    ],
)
def test_what_is_altered_differs(sentence: str, passage: str, wrong: str, right: str) -> None:
    [found] = check(sentence, [passage]).sentences
    assert (found.verdict, found.findings[0].said, found.findings[0].there) == ("differs", wrong, right)


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        (
            "The contract was signed on March 14, 2019 and runs until March 13, 2024 [1].",
            "The contract was signed on 14 March 2019 and runs until 13 March 2024.",
        ),
        (
            "Net revenue rose 3.2 percent to $4.7 million in the second quarter [1].",
            "Net revenue rose 3.2% to $4.7 million in the second quarter.",
        ),
        (
            "By default the server listens on port 8443 and never writes passwords to its log [1].",
            "The server listens on port 8443 by default and never writes passwords to its log.",
        ),
        (
            "Between 20 and 25 °C the reaction completes in about an hour and a half [1].",
            "Between 20 and 25 °C the reaction completes in about 90 minutes.",
        ),
        (
            "Two thirds of the members voted in favour, and the motion was adopted without debate [1].",
            "Two thirds of the members voted in favour; the motion was adopted without debate.",
        ),
        (
            "At least 12 exits have to stay unlocked during opening hours [1].",
            "At least twelve exits have to stay unlocked during opening hours.",
        ),
        (
            "Version 2.10 introduced the new parser, and version 2.9 is no longer supported [1].",
            "Version 2.10 introduced the new parser; version 2.9 is no longer supported.",
        ),
        (
            "The museum is closed on Mondays and opens at 9:30 on all other days [1].",
            "The museum is closed on Mondays and opens at 9:30 a.m. on all other days.",
        ),
        (
            "The bridge is 1.28 km long and 27 m wide, and it carries six lanes [1].",
            "The bridge is 1,280 m long, 27 m wide and carries six lanes.",
        ),
        (
            "During the first year neither the tenant nor the landlord may terminate the lease [1].",
            "Neither the tenant nor the landlord may terminate the lease during the first year.",
        ),
        (
            "Only administrators can approve requests above ¥10,000 [1].",
            "Only administrators can approve requests above 10,000 yen.",
        ),
        (
            "返品は商品到着後14日以内に限り受け付けます[1]。",
            "返品は商品到着後14日以内に限り受け付けます。ただし、生鮮品は対象外です。",
        ),
        (
            "本契約は2023年4月1日に発効し、満了日の3か月前までに申し出がない限り1年間自動更新されます[1]。",
            "本契約は令和5年4月1日に発効し、満了日の3か月前までに申し出がない限り1年間自動更新されます。",
        ),
        (
            "作業者は電圧が600Vを超える場合、必ず絶縁手袋を着用しなければなりません[1]。",
            "作業者は電圧が600Vを超える場合、必ず絶縁手袋を着用しなければならない。",
        ),
        (
            "第2四半期の売上高は前年同期比12.5%増の3.4億円となった[1]。",
            "第2四半期の売上高は前年同期比12.5%増の3億4,000万円となった。",
        ),
        (
            "未成年者は保護者の同意なしに申し込むことはできません[1]。",
            "未成年者は保護者の同意なしに申し込むことができません。",
        ),
        ("装置の重量は2.4t、幅は1.2mである[1]。", "装置の重量は2.4トン、幅は1,200mmである。"),
        ("会員の三分の二以上の賛成により可決されました[1]。", "会員の3分の2以上の賛成により可決されました。"),
        (
            "有給休暇は入社半年後に10日付与され、翌年度に限り繰り越すことができる[1]。",
            "有給休暇は入社6か月後に10日付与され、翌年度に限り繰り越すことができる。",
        ),
        (
            "본 계약은 2023.4.1.에 발효되며 만료 3개월 전까지 통지가 없으면 1년간 자동 연장됩니다[1].",
            "본 계약은 2023년 4월 1일에 발효되며 만료 3개월 전까지 통지가 없으면 1년간 자동 연장됩니다.",
        ),
        (
            "작업자는 전압이 600V를 초과하면 반드시 절연 장갑을 착용해야 합니다[1].",
            "작업자는 전압이 600V를 초과하면 반드시 절연 장갑을 착용해야 한다.",
        ),
        (
            "2분기 매출은 전년 동기 대비 12.5% 증가한 3억 4,000만 원이었다[1].",
            "2분기 매출은 전년 동기 대비 12.5% 증가한 3억 4천만 원이었다.",
        ),
        ("미성년자는 보호자의 동의 없이는 신청할 수 없습니다[1].", "미성년자는 보호자의 동의 없이 신청할 수 없습니다."),
        ("장비의 무게는 2.4t, 너비는 1.2m이다[1].", "장비의 무게는 2.4톤, 너비는 1,200mm이다."),
        (
            "이 버전에서는 IPv6가 기본으로 활성화되어 있습니다[1].",
            "이 버전에서는 IPv6가 기본적으로 활성화되어 있습니다.",
        ),
        (
            "The battery holds 3 Ah and charges at 18 W in 65 minutes [1].",
            "The battery holds 3,000 mAh and charges at 18 W in 65 minutes.",
        ),
        ("Install Python 3.11.7 or later [1].", "Install Python 3.11.7 or later; releases before 3.9 are rejected."),
        ("Guests may not smoke on the terrace after 10 p.m. [1].", "Guests may not smoke on the terrace after 10 pm."),
        (
            "The committee consists of 7 members, 4 of whom are elected by the staff [1].",
            "The committee consists of seven members, four of whom are elected by the staff.",
        ),
        (
            "Interest of 0.5% per month is charged on amounts overdue for more than 30 days [1].",
            "Interest is charged at 0.5% per month on amounts overdue for more than 30 days.",
        ),
        (
            "Only employees of grade 5 and above are eligible, and contractors are excluded [1].",
            "Only employees of grade 5 and above are eligible; contractors are excluded.",
        ),
        (
            "You do not need to register in advance, but you must bring an identity card [1].",
            "You do not need to register in advance, but you have to bring an identity card.",
        ),
        (
            "バッテリー容量は3Ahで、18Wで65分で充電できます[1]。",
            "バッテリー容量は3,000mAhで、18Wで65分で充電できます。",
        ),
        (
            "委員会は7人で構成され、うち4人は職員の選挙で選ばれる[1]。",
            "委員会は7名で構成され、うち4名は職員の選挙で選ばれる。",
        ),
        (
            "30日を超える延滞については月0.5%の遅延利息を徴収します[1]。",
            "30日を超える延滞については月0.5%の遅延利息を徴収する。",
        ),
        ("対象は5等級以上の正社員に限り、契約社員は除きます[1]。", "対象は5等級以上の正社員に限り、契約社員は除く。"),
        (
            "事前登録は不要ですが、身分証明書を持参する必要があります[1]。",
            "事前登録は不要ですが、身分証明書を持参しなければなりません。",
        ),
        ("2022年度の数値は2023年6月に修正再表示されました[1]。", "2022年度の数値は2023年6月に修正再表示された。"),
        ("会議室は東棟の3階にあり、定員は24人です[1]。", "会議室は東棟の3階にあり、定員は24名です。"),
        ("弁は6MPaで開き、4MPaで閉じます[1]。", "弁は6MPaで開き、4MPaで閉じる。"),
        ("議案は全会一致で承認されました[1]。", "議案は全会一致で承認された。"),
        (
            "배터리 용량은 3Ah이며 18W로 65분 만에 충전됩니다[1].",
            "배터리 용량은 3,000mAh이며 18W로 65분 만에 충전됩니다.",
        ),
        ("테라스에서는 오후 10시 이후 흡연이 금지됩니다[1].", "테라스에서는 오후 10시 이후 흡연이 금지되어 있습니다."),
        (
            "위원회는 일곱 명으로 구성되며 그중 네 명은 직원이 선출한다[1].",
            "위원회는 7명으로 구성되며 그중 4명은 직원이 선출한다.",
        ),
        (
            "30일을 초과하여 연체하면 월 0.5%의 지연 이자를 부과합니다[1].",
            "30일을 초과하여 연체하면 월 0.5%의 지연 이자를 부과한다.",
        ),
        (
            "대상은 5급 이상 정규직에 한하며 계약직은 제외됩니다[1].",
            "대상은 5급 이상 정규직에 한하며 계약직은 제외한다.",
        ),
        ("2022회계연도 수치는 2023년 6월에 재작성되었습니다[1].", "2022회계연도 수치는 2023년 6월에 재작성되었다."),
        ("밸브는 6MPa에서 열리고 4MPa에서 닫힙니다[1].", "밸브는 6MPa에서 열리고 4MPa에서 닫힌다."),
        ("안건은 만장일치로 승인되었습니다[1].", "안건은 만장일치로 승인되었다."),
        ("The rooms 3 and 2 are closed [1].", "The rooms 2 and 3 are closed."),
        ("The open and closed valves are red [1].", "The closed and open valves are red."),
        ("The gate closes at 18:00 and opens at 6:00 [1].", "The gate opens at 6:00 and closes at 18:00."),
        (
            "The maximum is 10 users and the minimum is 2 users [1].",
            "The minimum is 2 users and the maximum is 10 users.",
        ),
        ("In 2023 sales rose, and in 2022 they fell [1].", "In 2022 sales fell, and in 2023 they rose."),
        ("문은 18시에 닫히고 6시에 열린다[1].", "문은 6시에 열리고 18시에 닫힌다."),
        ("A bar has 250 calories [1].", "A bar has 250 kcal."),
        ("一袋は250カロリーです[1]。", "一袋は250kcalです。"),
        ("不要な書類は破棄する[1]。", "使わない書類は破棄する必要がある。"),
        ("The room measures 4 m by 5 m [1].", "The room measures 5 m by 4 m."),
        ("会員以外は入館料を支払う必要がある[1]。", "会員は入館料を支払う必要がない。"),
        ("70歳未満は検査を受けなければならない[1]。", "70歳以上は検査を受ける必要がない。"),
        ("It runs with Python 3.11 [1].", "It runs with Python 3.11.7."),
    ],
)
def test_what_is_true_does_not_differ(sentence: str, passage: str) -> None:
    assert [each.verdict for each in check(sentence, [passage]).sentences if each.verdict == "differs"] == []
