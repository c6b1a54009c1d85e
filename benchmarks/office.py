"""A made-up office's files in three languages, with prose and tables, and the questions that they answer."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from openpyxl import Workbook

Table = Sequence[Sequence[str]]

PROSE: Mapping[str, Mapping[str, str]] = {
    "en": {
        "handbook.md": """# Employee handbook

## Working hours

The office is open from 7:00 to 20:00 on working days. Core time, in which everybody can be reached, is from 10:00 to 15:00.
Overtime is agreed with the team lead beforehand. It is compensated by time off within three months.

## Remote work

Remote work is possible on up to three days a week. A request for remote work is sent to the team lead. It has to arrive two
working days before. Whoever works from abroad needs the consent of the personnel office, which takes about ten days.

## Fire and evacuation

In case of fire the alarm bell rings without interruption. Leave the building by the stairs; the lifts are switched off. The
assembly point is the car park behind hall 2. The floor wardens count everybody there and report to the fire brigade.

## Parking

Visitors park on level P1. Employees have a place on level P3 and pay 35 EUR a month. Bicycles are kept in the cage beside the
loading ramp, for which the porter has the code.

## Equipment

Laptops are replaced every four years. A lost badge is reported to the porter at once; a new one costs 20 EUR. Broken screens are
repaired by the service desk, extension 4410.
""",
        "maintenance.md": """# Maintenance of the coolant pumps

The coolant is changed every 500 operating hours, or once a year. Only coolant of type G12 may be used. The filter is cleaned
with warm water whenever the coolant is changed.

Before the cover is opened the pump has to be without pressure. Turn the red valve to the left until the gauge shows zero. The
screws of the cover are tightened with 25 Nm.

Spare gaskets are kept in hall 4, shelf B7. When the last one is taken, order new ones from Brandt & Sohn.
""",
    },
    "ja": {
        "就業規則.md": """# 就業規則のしおり

## 勤務時間

会社は平日の午前7時から午後8時まで開いている。全員が連絡を取れるコアタイムは午前10時から午後3時までである。残業は事前に上長と相談して決める。残業した分は3か月以内に代休で精算する。

## 在宅勤務

在宅勤務は週3日まで認められる。在宅勤務を希望する者は、希望日の3営業日前までに上長へ申請書を提出する。海外から勤務する場合は人事部の承認が必要で、承認には約10日かかる。

## 火災と避難

火災のときは非常ベルが鳴り続ける。階段を使って建物の外に出ること。エレベーターは停止する。集合場所は第2棟の裏の駐車場である。フロア責任者が人数を確認し、消防隊に報告する。

## 駐車場

来客は地下1階に駐車する。従業員の駐車場は地下3階で、料金は月5,000円である。自転車は搬入口の横の駐輪場に置き、暗証番号は守衛に尋ねる。

## 備品

ノートパソコンは4年ごとに交換する。社員証を紛失したときは、すぐに守衛に届け出る。再発行の手数料は2,000円である。壊れた画面の修理はサービスデスク(内線4410)が受け付ける。
""",
        "保守手順.md": """# 冷却ポンプの保守

冷却液は運転時間500時間ごと、または年に1回交換する。使用できる冷却液はG12だけである。フィルターは冷却液を交換するたびに温水で洗う。

カバーを開ける前に、ポンプの圧力を抜く。赤いバルブを左に回し、圧力計がゼロを示すまで待つ。カバーのねじは25 N·mで締める。

予備のガスケットは第4棟の棚B7に保管している。最後の1個を使ったら、ブラント商会に注文する。
""",
    },
    "ko": {
        "취업규칙.md": """# 취업 규칙 안내

## 근무 시간

사무실은 평일 오전 7시부터 오후 8시까지 열려 있다. 모두가 연락을 받을 수 있는 핵심 근무 시간은 오전 10시부터 오후 3시까지이다. 초과 근무는 미리 팀장과 합의한다. 초과 근무한 시간은 석 달 안에 대체 휴무로 보상한다.

## 재택근무

재택근무는 일주일에 사흘까지 할 수 있다. 재택근무 신청서는 희망일 2영업일 전까지 팀장에게 낸다. 해외에서 일하려면 인사팀의 승인이 필요하며, 승인에는 열흘쯤 걸린다.

## 화재와 대피

화재가 나면 비상벨이 계속 울린다. 계단으로 건물 밖으로 나간다. 승강기는 멈춘다. 집합 장소는 정문 앞 광장이다. 층별 책임자가 인원을 확인하고 소방대에 보고한다.

## 주차

방문객은 지하 1층에 주차한다. 직원 주차장은 지하 3층이고 요금은 한 달에 30,000원이다. 자전거는 하역장 옆 보관소에 두며, 비밀번호는 경비실에 물어본다.

## 비품

노트북은 4년마다 교체한다. 사원증을 잃어버리면 바로 경비실에 알린다. 재발급 수수료는 10,000원이다. 깨진 화면은 서비스 데스크(내선 4410)에서 수리한다.
""",
        "정비절차.md": """# 냉각 펌프 정비

냉각수는 운전 500시간마다 또는 일 년에 한 번 교환한다. 냉각수는 G12만 쓸 수 있다. 필터는 냉각수를 교환할 때마다 따뜻한 물로 씻는다.

덮개를 열기 전에 펌프의 압력을 뺀다. 빨간 밸브를 왼쪽으로 돌리고 압력계가 0을 가리킬 때까지 기다린다. 덮개 나사는 25 N·m로 조인다.

예비 개스킷은 4동 선반 B7에 있다. 마지막 것을 쓰면 브란트 상사에 주문한다.
""",
    },
}

TABLES: Mapping[str, Mapping[str, Table]] = {
    "en": {
        "budget.xlsx": (
            ("Department", "Q1", "Q2", "Q3", "Q4"),
            ("Engineering", "52,000 EUR", "58,500 EUR", "61,000 EUR", "64,200 EUR"),
            ("Sales", "31,000 EUR", "30,400 EUR", "33,700 EUR", "35,100 EUR"),
            ("Personnel", "12,300 EUR", "12,900 EUR", "12,800 EUR", "13,600 EUR"),
        ),
        "allowances.md": (
            ("Country", "Full day", "Half day", "Hotel, at most"),
            ("Japan", "6,500 JPY", "3,200 JPY", "18,000 JPY"),
            ("South Korea", "62,000 KRW", "31,000 KRW", "190,000 KRW"),
            ("Germany", "28 EUR", "14 EUR", "120 EUR"),
        ),
        "rooms.csv": (
            ("Room", "Floor", "Seats", "Booked by"),
            ("Aurora", "2", "12", "reception"),
            ("Borealis", "5", "30", "facility team"),
            ("Comet", "1", "6", "service desk"),
        ),
    },
    "ja": {
        "予算.xlsx": (
            ("部門", "第1四半期", "第2四半期", "第3四半期", "第4四半期"),
            ("開発部", "520万円", "585万円", "610万円", "642万円"),
            ("営業部", "310万円", "304万円", "337万円", "351万円"),
            ("人事部", "123万円", "129万円", "128万円", "136万円"),
        ),
        "出張日当.md": (
            ("国", "全日", "半日", "宿泊費の上限"),
            ("日本", "6,500円", "3,200円", "18,000円"),
            ("韓国", "62,000ウォン", "31,000ウォン", "190,000ウォン"),
            ("ドイツ", "28ユーロ", "14ユーロ", "120ユーロ"),
        ),
        "会議室.csv": (
            ("会議室", "階", "席数", "予約先"),
            ("あけぼの", "2階", "12席", "受付"),
            ("いずみ", "5階", "30席", "施設課"),
            ("うみ", "1階", "6席", "サービスデスク"),
        ),
    },
    "ko": {
        "예산.xlsx": (
            ("부서", "1분기", "2분기", "3분기", "4분기"),
            ("개발팀", "5,200만 원", "5,850만 원", "6,100만 원", "6,420만 원"),
            ("영업팀", "3,100만 원", "3,040만 원", "3,370만 원", "3,510만 원"),
            ("인사팀", "1,230만 원", "1,290만 원", "1,280만 원", "1,360만 원"),
        ),
        "경조휴가.md": (
            ("구분", "휴가 일수", "축의금", "제출 서류"),
            ("본인 결혼", "5일", "500,000원", "청첩장"),
            ("자녀 결혼", "2일", "300,000원", "가족관계증명서"),
            ("부모 사망", "6일", "700,000원", "사망진단서"),
        ),
        "회의실.csv": (
            ("회의실", "층", "좌석", "예약처"),
            ("가람", "2층", "12석", "안내 데스크"),
            ("나래", "5층", "30석", "시설팀"),
            ("다솜", "1층", "6석", "서비스 데스크"),
        ),
    },
}

QUESTIONS: Mapping[str, Sequence[tuple[str, str]]] = {
    "en": (
        ("What is the budget of Engineering in Q3?", "61,000 EUR"),
        ("How much may Sales spend in the second quarter, Q2?", "30,400 EUR"),
        ("What was planned for Personnel in Q4?", "13,600 EUR"),
        ("How much is the daily allowance for a full day in Japan?", "6,500 JPY"),
        ("What is paid for half a day in Germany?", "14 EUR"),
        ("How much may a hotel in South Korea cost?", "190,000 KRW"),
        ("How many seats does the room Borealis have?", "30"),
        ("Who books the room Comet?", "service desk"),
        ("On which floor is Aurora?", "2"),
        ("When is core time?", "10:00 to 15:00"),
        ("On how many days a week can I work remotely?", "three days"),
        ("By when do I have to ask for remote work?", "two working days"),
        ("Where do we meet when there is a fire?", "car park behind hall 2"),
        ("Where do visitors park?", "P1"),
        ("How much do employees pay for parking?", "35 EUR"),
        ("How often are laptops replaced?", "four years"),
        ("What does a new badge cost?", "20 EUR"),
        ("Who repairs a broken screen?", "service desk"),
        ("How often is the coolant changed?", "500 operating hours"),
        ("Which coolant may be used?", "G12"),
        ("How tight must the screws of the cover be?", "25 Nm"),
        ("In which hall are the gaskets stored?", "hall 4"),
        ("From whom are gaskets ordered?", "Brandt"),
    ),
    "ja": (
        ("開発部の第3四半期の予算はいくらですか", "610万円"),
        ("営業部は第2四半期にいくら使えますか", "304万円"),
        ("人事部の第4四半期の予算を教えてください", "136万円"),
        ("日本での全日の日当はいくらですか", "6,500円"),
        ("ドイツの半日の日当は?", "14ユーロ"),
        ("韓国の宿泊費の上限はいくらですか", "190,000ウォン"),
        ("いずみは何席ありますか", "30席"),
        ("会議室うみはどこに予約しますか", "サービスデスク"),
        ("コアタイムは何時から何時までですか", "午前10時から午後3時"),
        ("在宅勤務の申請はいつまでに出せばよいですか", "3営業日前"),
        ("在宅勤務は週に何日できますか", "週3日"),
        ("火事のときはどこに集まればよいですか", "第2棟の裏の駐車場"),
        ("来客はどこに車を止めますか", "地下1階"),
        ("従業員の駐車料金はいくらですか", "5,000円"),
        ("ノートパソコンは何年ごとに新しくなりますか", "4年"),
        ("社員証の再発行にはいくらかかりますか", "2,000円"),
        ("冷却液はどのくらいの間隔で交換しますか", "500時間"),
        ("使ってよい冷却液の種類は何ですか", "G12"),
        ("カバーのねじはどのくらいの力で締めますか", "25 N"),
        ("ガスケットの予備はどこにありますか", "第4棟"),
    ),
    "ko": (
        ("개발팀의 3분기 예산은 얼마인가요?", "6,100만 원"),
        ("영업팀은 2분기에 얼마를 쓸 수 있나요?", "3,040만 원"),
        ("인사팀의 4분기 예산을 알려 주세요", "1,360만 원"),
        ("본인 결혼 휴가는 며칠인가요?", "5일"),
        ("부모 사망 시 휴가는 며칠인가요?", "6일"),
        ("자녀 결혼 축의금은 얼마인가요?", "300,000원"),
        ("본인 결혼 때 무슨 서류를 내나요?", "청첩장"),
        ("나래 회의실은 좌석이 몇 개인가요?", "30석"),
        ("다솜은 어디에 예약하나요?", "서비스 데스크"),
        ("가람은 몇 층에 있나요?", "2층"),
        ("핵심 근무 시간은 언제인가요?", "오전 10시부터 오후 3시"),
        ("재택근무는 일주일에 며칠까지 되나요?", "사흘"),
        ("재택근무 신청은 언제까지 해야 하나요?", "2영업일 전"),
        ("화재가 나면 어디로 모이나요?", "정문 앞 광장"),
        ("방문객은 어디에 주차하나요?", "지하 1층"),
        ("직원 주차 요금은 얼마인가요?", "30,000원"),
        ("노트북은 얼마나 자주 바꾸나요?", "4년"),
        ("사원증 재발급에는 얼마가 드나요?", "10,000원"),
        ("깨진 화면은 어디에서 고치나요?", "서비스 데스크"),
        ("냉각수는 얼마나 자주 교환하나요?", "500시간"),
        ("어떤 냉각수를 써야 하나요?", "G12"),
        ("덮개 나사는 얼마로 조이나요?", "25 N"),
        ("예비 개스킷은 어디에 있나요?", "4동"),
        ("개스킷은 어디에 주문하나요?", "브란트"),
    ),
}


def write_office(folder: Path, language: str) -> list[Path]:
    """Write the files of one language into the folder, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in PROSE[language].items():
        paths.append(folder / name)
        paths[-1].write_text(text, encoding="utf-8")
    for name, table in TABLES[language].items():
        paths.append(folder / name)
        _write_table(paths[-1], table)
    return paths


def _write_table(path: Path, table: Table) -> None:
    if path.suffix == ".xlsx":
        book = Workbook()
        for row in table:
            book.active.append(list(row))
        book.active.title = path.stem
        book.save(path)
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(table)
    else:
        lines = [f"| {' | '.join(row)} |" for row in table]
        lines.insert(1, "|" + " --- |" * len(table[0]))
        path.write_text(f"# {path.stem}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
