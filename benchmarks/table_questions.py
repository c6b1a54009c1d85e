"""Twelve tables in three languages, and 60 questions with the values that a spreadsheet gives for them.

The rows are made here by fixed rules; the values are calculated from them in Python, not by SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import docx
import openpyxl

Rows = Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class MadeTable:
    """A table of a file: its header, and its rows as they are written there."""

    file: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    total: tuple[object, ...] = ()
    """A last row that adds up the others."""


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question, and the texts that the answer's first lines must have. With ``sql`` it takes a model, which writes that."""

    language: str
    text: str
    answers: tuple[str, ...]
    sql: str = ""
    where: str = ""


def _staff() -> MadeTable:
    teams = ("Engineering", "Sales", "Support", "Finance")
    offices = ("Berlin", "Lisbon", "Oslo")
    names = [
        "Anna",
        "Ben",
        "Cleo",
        "Dan",
        "Eva",
        "Finn",
        "Gina",
        "Hugo",
        "Iris",
        "Jon",
        "Kira",
        "Leo",
        "Mona",
        "Nils",
        "Olga",
        "Paul",
        "Rita",
        "Sven",
        "Tara",
        "Uwe",
    ]
    rows = tuple(
        (name, teams[n % 4], offices[n % 3], f"20{15 + n % 9}-{1 + n % 12:02}-15", f"{41_000 + n * 1_750:,} EUR")
        for n, name in enumerate(names)
    )
    return MadeTable("staff.xlsx", "Staff", ("Employee", "Department", "Office", "Start date", "Salary"), rows)


def _orders() -> MadeTable:
    regions, products = ("North", "South", "East"), ("Pump", "Valve", "Filter", "Hose")
    rows = tuple(
        (
            f"A-{101 + n}",
            f"2026-{1 + n % 6:02}-{3 + n:02}",
            regions[n % 3],
            products[n % 4],
            2 + n * 7 % 11,
            f"{(2 + n * 7 % 11) * 125:,}.50",
        )
        for n in range(24)
    )
    return MadeTable("orders.csv", "", ("Order", "Date", "Region", "Product", "Units", "Revenue (EUR)"), rows)


def _energy() -> MadeTable:
    rows = tuple(
        (site, month, f"{3 + n}.{100 + n * 37},5 kWh", f"{41 + 3 * n} %")
        for n, (site, month) in enumerate(
            (s, m) for s in ("Plant A", "Plant B", "Depot") for m in ("January", "February", "March")
        )
    )
    return MadeTable("energy.md", "Energy use by site", ("Site", "Month", "Consumption", "Renewable share"), rows)


def _budget() -> MadeTable:
    rows = tuple(
        (name, *(f"{base + q * 3_500:,} EUR" for q in range(4)))
        for name, base in (("Engineering", 52_000), ("Marketing", 21_500), ("Logistics", 34_250), ("Training", 8_000))
    )
    totals = tuple(f"{sum((52_000, 21_500, 34_250, 8_000)) + 4 * q * 3_500:,} EUR" for q in range(4))
    return MadeTable(
        "budget.docx", "Table 2: Budget by quarter", ("Unit", "Q1", "Q2", "Q3", "Q4"), rows, ("Total", *totals)
    )


def _people_ja() -> MadeTable:
    names = ["佐藤", "鈴木", "高橋", "田中", "伊藤", "渡辺", "山本", "中村", "小林", "加藤", "吉田", "山田"]
    teams, offices = ("営業部", "開発部", "総務部"), ("東京", "大阪")
    rows = tuple(
        (
            name,
            teams[n % 3],
            offices[n % 2],
            f"令和{1 + n % 6}年{1 + n}月1日",
            24 + n * 5 % 31,
            f"¥{245_000 + n * 13_500:,}",
        )
        for n, name in enumerate(names)
    )
    return MadeTable("社員名簿.xlsx", "社員", ("氏名", "部署", "勤務地", "入社日", "年齢", "月給"), rows)


def _sales_ja() -> MadeTable:
    shops, goods = ("渋谷店", "梅田店", "札幌店"), ("緑茶", "紅茶", "珈琲")
    rows = tuple(
        (f"2026年{1 + n % 4}月{2 + n}日", shops[n % 3], goods[n // 3 % 3], 10 + n * 3, f"{(10 + n * 3) * 480:,}円")
        for n in range(18)
    )
    return MadeTable("売上明細.csv", "", ("日付", "店舗", "商品", "数量", "売上"), rows)


def _equipment_ja() -> MadeTable:
    kinds, places = ("机", "椅子", "モニター"), ("三階", "四階", "会議室")
    rows = tuple(
        (f"B{n + 1:03}", kinds[n % 3], places[n // 2 % 3], 4 + n % 5, f"{18 + n * 2},000円") for n in range(12)
    )
    return MadeTable("備品台帳.html", "備品の一覧", ("管理番号", "品名", "設置場所", "個数", "単価"), rows)


def _visitors_ja() -> MadeTable:
    rows = (
        ("科学館", "札幌市", "12万3千人", "61 %"),
        ("水族館", "横浜市", "48万人", "74 %"),
        ("美術館", "金沢市", "27万5千人", "58 %"),
        ("動物園", "札幌市", "35万人", "69 %"),
        ("植物園", "京都市", "9万8千人", "52 %"),
    )
    return MadeTable(
        "施設.docx", "表 1 施設の来場者", ("施設", "所在地", "来場者数", "満足度"), rows, ("合計", "", "132万6千人", "")
    )


def _branches_ko() -> MadeTable:
    names = ["강남점", "홍대점", "종로점", "해운대점", "서면점", "동성로점", "수성점", "둔산점"]
    places = ("서울", "서울", "서울", "부산", "부산", "대구", "대구", "대전")
    rows = tuple(
        (name, place, f"{2016 + n}년 {1 + n}월 {3 + n}일", 6 + n * 2, f"{88_000_000 + n * 4_500_000:,}원")
        for n, (name, place) in enumerate(zip(names, places, strict=True))
    )
    return MadeTable("지점현황.xlsx", "지점", ("지점", "지역", "개점일", "직원 수", "매출"), rows)


def _orders_ko() -> MadeTable:
    goods, ways = ("노트북", "모니터", "키보드"), ("택배", "퀵", "방문 수령")
    rows = tuple(
        (
            f"K{n + 1:04}",
            f"2026-{3 + n % 3:02}-{4 + n:02}",
            goods[n % 3],
            ways[n // 2 % 3],
            1 + n % 4,
            f"{(1 + n % 4) * 35_000:,}원",
        )
        for n in range(20)
    )
    return MadeTable("주문내역.csv", "", ("주문번호", "주문일", "상품", "배송 방법", "수량", "금액"), rows)


def _books_ko() -> MadeTable:
    kinds, years = ("소설", "과학", "역사"), (2019, 2021, 2023, 2024)
    titles = ["달빛", "별자리", "바람", "강물", "씨앗", "항로", "유산", "등대", "숲길", "파도", "거울", "지도"]
    rows = tuple(
        (title, kinds[n % 3], years[n % 4], 180 + n * 23, f"{1 + n % 3}만 {2 + n % 7}천 원")
        for n, title in enumerate(titles)
    )
    return MadeTable("도서목록.md", "도서 목록", ("제목", "분야", "출판 연도", "쪽수", "가격"), rows)


def _survey_ko() -> MadeTable:
    rows = (
        ("구내식당", "1,240", "72.5 %"),
        ("통근 버스", "860", "64.0 %"),
        ("체력 단련실", "430", "81.5 %"),
        ("도서실", "275", "88.0 %"),
        ("휴게실", "1,015", "59.5 %"),
    )
    return MadeTable("설문.html", "복지 시설 만족도 조사", ("시설", "응답자 수", "만족도"), rows)


TABLES: Mapping[str, tuple[MadeTable, ...]] = {
    "en": (_staff(), _orders(), _energy(), _budget()),
    "ja": (_people_ja(), _sales_ja(), _equipment_ja(), _visitors_ja()),
    "ko": (_branches_ko(), _orders_ko(), _books_ko(), _survey_ko()),
}


def write_tables(folder: Path, language: str) -> list[Path]:
    """Write the files of a language into a folder."""
    writers: Mapping[str, Callable[[Path, MadeTable], None]] = {
        ".xlsx": _write_xlsx,
        ".csv": _write_csv,
        ".md": _write_md,
        ".docx": _write_docx,
        ".html": _write_html,
    }
    for table in TABLES[language]:
        writers[Path(table.file).suffix](folder / table.file, table)
    return [folder / table.file for table in TABLES[language]]


def _all_rows(table: MadeTable) -> list[Sequence[object]]:
    return [table.header, *table.rows, *([table.total] if table.total else [])]


def _write_xlsx(path: Path, table: MadeTable) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = table.title
    for row in _all_rows(table):
        sheet.append(list(row))
    book.save(path)


def _write_csv(path: Path, table: MadeTable) -> None:
    lines = [",".join(f'"{cell}"' for cell in row) for row in _all_rows(table)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_md(path: Path, table: MadeTable) -> None:
    header, *rows = ([str(cell) for cell in row] for row in _all_rows(table))
    lines = [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows)]
    path.write_text(f"# {table.title}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


def _write_html(path: Path, table: MadeTable) -> None:
    header, *rows = _all_rows(table)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    head = "".join(f"<th>{cell}</th>" for cell in header)
    page = f"<html><head><title>{table.title}</title></head><body><h1>{table.title}</h1>"
    path.write_text(
        f"{page}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></body></html>", encoding="utf-8"
    )


def _write_docx(path: Path, table: MadeTable) -> None:
    document = docx.Document()
    document.add_heading(table.title.partition(": ")[2] or table.title, level=1)
    document.add_paragraph(table.title)
    rows = _all_rows(table)
    made = document.add_table(rows=len(rows), cols=len(table.header))
    for line, row in zip(made.rows, rows, strict=True):
        for cell, value in zip(line.cells, row, strict=True):
            cell.text = str(value)
    document.save(str(path))


# ---------------------------------------------------------------- the questions


def _number(cell: object) -> float:
    return float("".join(char for char in str(cell) if char.isdigit() or char == "."))


def _picked(table: MadeTable, column: str, **only: object) -> list[float]:
    """Return the numbers of a column in the rows whose columns begin with the given values."""
    at = table.header.index(column)
    return [_number(row[at]) for row in _where(table, **only)]


def _where(table: MadeTable, **only: object) -> list[tuple[object, ...]]:
    places = {table.header.index(name.replace("_", " ")): str(value) for name, value in only.items()}
    return [row for row in table.rows if all(str(row[at]).startswith(value) for at, value in places.items())]


def questions() -> list[TableQuestion]:
    """Return the 60 questions, 20 of each language: 14 plain ones, and 6 that take a model."""
    return [*_english(), *_japanese(), *_korean()]


def _english() -> list[TableQuestion]:
    staff, orders, _, _ = TABLES["en"]
    revenue = {r: sum(_picked(orders, "Revenue (EUR)", Region=r)) for r in ("North", "South", "East")}
    units = {p: sum(_picked(orders, "Units", Product=p)) for p in ("Pump", "Valve", "Filter", "Hose")}
    best = max(staff.rows, key=lambda row: _number(row[4]))
    sales, since = _picked(staff, "Salary", Department="Sales"), [r for r in staff.rows if str(r[3])[:4] >= "2020"]
    late = max(staff.rows, key=lambda row: str(row[3]))
    plain = [
        ("How many employees are in the Sales department?", f"{len(sales)}"),
        (
            "What is the total salary of the Engineering department?",
            f"{sum(_picked(staff, 'Salary', Department='Engineering')):,.0f} EUR",
        ),
        (
            "What is the average salary in Oslo?",
            f"{_mean(_picked(staff, 'Salary', Office='Oslo')):,.2f}".rstrip("0").rstrip(".") + " EUR",
        ),
        ("Which employee has the highest salary?", f"{best[0]}|{best[4]}"),
        ("How many employees started since 2020?", f"{len(since)}"),
        (
            "How many employees have a salary of more than 60,000 EUR?",
            f"{sum(v > 60_000 for v in _picked(staff, 'Salary'))}",
        ),
        ("What is the total revenue of the North region?", f"{revenue['North']:,.2f}"),
        ("Total revenue by region", "|".join(f"{v:,.2f}" for v in revenue.values())),
        ("How many units of the pump were sold?", f"{units['Pump']:.0f}"),
        ("Which product sold the most units in total?", max(units, key=lambda p: units[p])),
        ("How many orders were there in March 2026?", f"{len(_where(orders, Date='2026-03'))}"),
        ("What is the total of Q3 in the budget?", "143,750 EUR"),
        ("Which unit has the lowest Q1?", "Training|8,000 EUR"),
        ("What is the total consumption of Plant B?", _german(sum(_energy_of("Plant B"))) + " kWh"),
    ]
    modelled = [
        TableQuestion(
            "en",
            "What is the difference between the highest and the lowest salary?",
            (f"{max(_picked(staff, 'Salary')) - min(_picked(staff, 'Salary')):,.0f} EUR",),
            'SELECT MAX("Salary") - MIN("Salary") FROM "Staff"',
        ),
        TableQuestion(
            "en",
            "How many employees do not work in Berlin or Oslo?",
            (f"{len(_where(staff, Office='Lisbon'))}",),
            """SELECT COUNT(*) FROM "Staff" WHERE "Office" NOT IN ('Berlin', 'Oslo')""",
            "\"Office\" NOT IN ('Berlin', 'Oslo')",
        ),
        TableQuestion(
            "en",
            "What share of the revenue comes from the East, in percent? How much is it in total?",
            (f"{100 * revenue['East'] / sum(revenue.values()):.1f}",),
            """SELECT ROUND(100.0 * SUM("Revenue (EUR)") / (SELECT SUM("Revenue (EUR)") FROM "orders"), 1) AS "percent" FROM "orders" WHERE "Region" = 'East'""",
            "\"Region\" = 'East'",
        ),
        TableQuestion(
            "en",
            "How many departments have more than four employees each?",
            (f"{sum(len(_where(staff, Department=d)) > 4 for d in ('Engineering', 'Sales', 'Support', 'Finance'))}",),
            'SELECT COUNT(*) FROM (SELECT "Department" FROM "Staff" GROUP BY 1 HAVING COUNT(*) > 4)',
        ),
        TableQuestion(
            "en",
            "Who was the last to join, the newest colleague?",
            (str(late[0]),),
            'SELECT "Employee", "Start date" FROM "Staff" ORDER BY "Start date" DESC LIMIT 1',
        ),
        TableQuestion(
            "en",
            "What is the total of all four quarters for Logistics?",
            ("158,000 EUR",),
            """SELECT "Q1" + "Q2" + "Q3" + "Q4" AS "Q1 to Q4" FROM "Table 2: Budget by quarter" WHERE "Unit" = 'Logistics'""",
            "\"Unit\" = 'Logistics'",
        ),
    ]
    return [*(TableQuestion("en", text, tuple(answer.split("|"))) for text, answer in plain), *modelled]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _german(value: float) -> str:
    return f"{value:,.1f}".translate(str.maketrans(",.", ".,"))


def _energy_of(site: str) -> list[float]:
    rows = _where(TABLES["en"][2], Site=site)
    return [float(str(row[2]).removesuffix(" kWh").replace(".", "").replace(",", ".")) for row in rows]


def _japanese() -> list[TableQuestion]:
    people, sales, goods, _ = TABLES["ja"]
    shops = {s: sum(_picked(sales, "売上", 店舗=s)) for s in ("渋谷店", "梅田店", "札幌店")}
    kinds = {k: sum(_picked(sales, "数量", 商品=k)) for k in ("緑茶", "紅茶", "珈琲")}
    best, old = max(people.rows, key=lambda row: _number(row[5])), max(people.rows, key=lambda row: _number(row[4]))
    pay = _picked(people, "月給")
    plain = [
        ("営業部には何人いますか？", f"{len(_where(people, 部署='営業部'))}"),
        (
            "開発部の月給の平均はいくらですか？",
            f"¥{_mean(_picked(people, '月給', 部署='開発部')):,.2f}".rstrip("0").rstrip("."),
        ),
        ("月給の合計はいくらですか？", f"¥{sum(pay):,.0f}"),
        ("月給が最も高い社員は誰ですか？", f"{best[0]}|{best[5]}"),
        ("最も年齢が高い社員は誰ですか？", f"{old[0]}|{old[4]}"),
        ("令和4年以降に入社した社員は何人ですか？", f"{sum(int(str(r[3])[2]) >= 4 for r in people.rows)}"),
        ("月給が30万円以上の社員は何人ですか？", f"{sum(v >= 300_000 for v in pay)}"),
        (
            "部署ごとの平均月給を教えてください。",
            "|".join(f"¥{_mean(_picked(people, '月給', 部署=d)):,.0f}" for d in ("営業部", "開発部", "総務部")),
        ),
        ("渋谷店の売上の合計は？", f"{shops['渋谷店']:,.0f}円"),
        ("店舗別の売上の合計を教えて", "|".join(f"{v:,.0f}円" for v in shops.values())),
        ("緑茶は全部で何個売れましたか？", f"{kinds['緑茶']:.0f}"),
        ("売上の合計が最も多い店舗はどこですか？", max(shops, key=lambda s: shops[s])),
        ("椅子の個数の合計はいくつですか？", f"{sum(_picked(goods, '個数', 品名='椅子')):.0f}"),
        ("来場者数が最も多い施設はどこですか？", "水族館|480,000人"),
    ]
    tokyo = _picked(people, "年齢", 勤務地="東京")
    modelled = [
        TableQuestion(
            "ja",
            "月給の最高と最低の差はいくらですか？",
            (f"¥{max(pay) - min(pay):,.0f}",),
            'SELECT MAX("月給") - MIN("月給") FROM "社員"',
        ),
        TableQuestion(
            "ja",
            "東京以外で働く社員は何人いますか？",
            (f"{len(people.rows) - len(tokyo)}",),
            """SELECT COUNT(*) FROM "社員" WHERE "勤務地" <> '東京'""",
            "\"勤務地\" <> '東京'",
        ),
        TableQuestion(
            "ja",
            "梅田店の売上は全体の何パーセントですか？合計に対する割合で教えてください。",
            (f"{100 * shops['梅田店'] / sum(shops.values()):.1f}",),
            """SELECT ROUND(100.0 * SUM("売上") / (SELECT SUM("売上") FROM "売上明細"), 1) AS "割合" FROM "売上明細" WHERE "店舗" = '梅田店'""",
            "\"店舗\" = '梅田店'",
        ),
        TableQuestion(
            "ja",
            "備品の総額（個数×単価の合計）はいくらですか？",
            (f"{sum(_number(r[3]) * _number(r[4]) for r in goods.rows):,.0f}",),
            'SELECT SUM("個数" * "単価") AS "総額" FROM "備品の一覧"',
        ),
        TableQuestion(
            "ja",
            "札幌市の施設の来場者数は合わせて何人になりますか、京都市は除きます。",
            ("473,000",),
            """SELECT SUM("来場者数") FROM "表 1 施設の来場者" WHERE "所在地" = '札幌市'""",
            "\"所在地\" = '札幌市'",
        ),
        TableQuestion(
            "ja",
            "三十歳未満か五十歳以上の社員は合わせて何人？",
            (f"{sum(not 30 <= _number(r[4]) < 50 for r in people.rows)}",),
            'SELECT COUNT(*) FROM "社員" WHERE "年齢" < 30 OR "年齢" >= 50',
            '"年齢" < 30 OR "年齢" >= 50',
        ),
    ]
    return [*(TableQuestion("ja", text, tuple(answer.split("|"))) for text, answer in plain), *modelled]


def _korean() -> list[TableQuestion]:
    branches, orders, books, survey = TABLES["ko"]
    places = {p: sum(_picked(branches, "매출", 지역=p)) for p in ("서울", "부산", "대구", "대전")}
    best, sold = (
        max(branches.rows, key=lambda r: _number(r[4])),
        {g: sum(_picked(orders, "금액", 상품=g)) for g in ("노트북", "모니터", "키보드")},
    )
    thick = max(books.rows, key=lambda r: _number(r[3]))
    plain = [
        ("서울에 있는 지점은 몇 곳인가요?", f"{len(_where(branches, 지역='서울'))}"),
        ("부산 지점의 매출 합계는 얼마인가요?", f"{places['부산']:,.0f}원"),
        ("매출이 가장 높은 지점은 어디인가요?", f"{best[0]}|{best[4]}"),
        ("매출이 가장 낮은 지점은 어디인가요?", f"{branches.rows[0][0]}|{branches.rows[0][4]}"),
        ("지역별 매출 합계를 알려주세요.", "|".join(f"{v:,.0f}원" for v in places.values())),
        ("지점의 평균 매출은 얼마예요?", f"{_mean(_picked(branches, '매출')):,.0f}원"),
        ("직원 수가 10명 이상인 지점은 몇 곳인가요?", f"{sum(v >= 10 for v in _picked(branches, '직원 수'))}"),
        ("2020년 이후에 개점한 지점은 몇 곳인가요?", f"{sum(int(str(r[2])[:4]) >= 2020 for r in branches.rows)}"),
        ("대구 지점의 직원은 모두 몇 명인가요?", f"{sum(_picked(branches, '직원 수', 지역='대구')):.0f}"),
        ("노트북의 금액 합계는 얼마인가요?", f"{sold['노트북']:,.0f}원"),
        ("상품별 금액 합계를 알려줘", "|".join(f"{v:,.0f}원" for v in sold.values())),
        ("2026년 4월의 주문은 몇 건인가요?", f"{len(_where(orders, 주문일='2026-04'))}"),
        ("쪽수가 가장 많은 도서는 무엇인가요?", f"{thick[0]}|{thick[3]}"),
        ("만족도가 가장 높은 시설은 어디인가요?", "도서실|88.0 %"),
    ]
    modelled = [
        TableQuestion(
            "ko",
            "매출이 가장 높은 지점과 가장 낮은 지점의 차이는 얼마인가요?",
            (f"{max(_picked(branches, '매출')) - min(_picked(branches, '매출')):,.0f}원",),
            'SELECT MAX("매출") - MIN("매출") FROM "지점"',
        ),
        TableQuestion(
            "ko",
            "서울을 제외한 지점은 몇 곳인가요?",
            (f"{len(branches.rows) - len(_where(branches, 지역='서울'))}",),
            """SELECT COUNT(*) FROM "지점" WHERE "지역" <> '서울'""",
            "\"지역\" <> '서울'",
        ),
        TableQuestion(
            "ko",
            "직원 한 명당 매출이 가장 높은 지점은 어디인가요?",
            (str(max(branches.rows, key=lambda r: _number(r[4]) / _number(r[3]))[0]),),
            'SELECT "지점", ROUND("매출" / "직원 수") AS "한 명당" FROM "지점" ORDER BY 2 DESC LIMIT 1',
        ),
        TableQuestion(
            "ko",
            "택배 주문이 전체 주문에서 차지하는 비율은 몇 퍼센트인가요, 모두 몇 건 중에서?",
            (f"{100 * len(_where(orders, 배송_방법='택배')) / len(orders.rows):.1f}".removesuffix(".0"),),
            """SELECT ROUND(100.0 * SUM("배송 방법" = '택배') / COUNT(*), 1) AS "비율" FROM "주문내역\"""",
        ),
        TableQuestion(
            "ko",
            "소설이 아닌 책은 몇 권인가요?",
            (f"{len(books.rows) - len(_where(books, 분야='소설'))}",),
            """SELECT COUNT(*) FROM "도서 목록" WHERE "분야" <> '소설'""",
            "\"분야\" <> '소설'",
        ),
        TableQuestion(
            "ko",
            "응답자가 천 명이 넘는 시설의 평균 만족도는 얼마인가요?",
            (f"{_mean([_number(r[2]) for r in survey.rows if _number(r[1]) > 1000]):.1f} %",),
            'SELECT AVG("만족도") FROM "복지 시설 만족도 조사" WHERE "응답자 수" > 1000',
            '"응답자 수" > 1000',
        ),
    ]
    return [*(TableQuestion("ko", text, tuple(answer.split("|"))) for text, answer in plain), *modelled]
