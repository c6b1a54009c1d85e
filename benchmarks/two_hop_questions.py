"""A made-up company in three languages, and 60 questions whose answer takes two of its passages.

Each passage is about one person, project, site, machine, supplier, report or duty, so that all passages of a kind
have the same words. In 14 questions of each language the second passage is named only by the first; the other 6 are
about two named things.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class TwoHop:
    """A question, and the headings of the two passages that answer it."""

    text: str
    needed: tuple[str, str]
    answer: str
    """What the second passage says."""
    pair: bool = False
    """Whether it is about two named things."""


class Kind(NamedTuple):
    """Passages of one kind: a title, a template, and the values for it; the first value is the heading."""

    title: str
    template: str
    rows: Sequence[Sequence[str]]


KINDS: Mapping[str, Sequence[Kind]] = {
    "en": (
        Kind("People", "{0} has room {1} and can be reached at extension {2}. The deputy is {3}. In the office: {4}.", (
            ("Ruth Calloway", "C 112", "4317", "Felix Ahrens", "Monday and Tuesday"),
            ("Tomas Lindqvist", "A 031", "4402", "Grace Okafor", "every day but Friday"),
            ("Ingrid Moreau", "B 208", "4425", "Victor Dumont", "Wednesday and Thursday"),
            ("Felix Ahrens", "C 114", "4318", "Ruth Calloway", "Tuesday to Thursday"),
            ("Nadia Petrov", "D 005", "4551", "Owen Gallagher", "Monday and Friday"),
            ("Owen Gallagher", "D 007", "4552", "Nadia Petrov", "Thursday and Friday"),
            ("Clara Weiss", "A 120", "4460", "Simon Achterberg", "Monday to Wednesday"),
            ("Mateo Rivas", "B 310", "4471", "Hanna Virtanen", "Tuesday and Friday"),
            ("Hanna Virtanen", "B 312", "4472", "Mateo Rivas", "every day"),
            ("Piotr Zielinski", "C 220", "4533", "Elsa Brunner", "Monday and Thursday"),
            ("Leila Haddad", "A 017", "4409", "Clara Weiss", "Wednesday to Friday"),
            ("Simon Achterberg", "A 122", "4461", "Leila Haddad", "Tuesday and Wednesday"),
            ("Grace Okafor", "D 101", "4580", "Tomas Lindqvist", "every day but Monday"),
            ("Victor Dumont", "B 210", "4426", "Ingrid Moreau", "Monday, Wednesday and Friday"),
            ("Elsa Brunner", "C 222", "4534", "Arthur Penrose", "every day but Wednesday"),
            ("Arthur Penrose", "D 103", "4581", "Piotr Zielinski", "Thursday"),
        )),
        Kind("Projects", "Project {0} is led by {1}. Its budget is {2}. The trials take place in {3}. End: {4}.", (
            ("Heron", "Mateo Rivas", "420,000 EUR", "Aarhus", "May 2027"),
            ("Basalt", "Clara Weiss", "95,000 EUR", "Malmo", "June 2026"),
            ("Lantern", "Elsa Brunner", "250,000 EUR", "Porto", "March 2028"),
            ("Juniper", "Ingrid Moreau", "61,000 EUR", "Ghent", "October 2026"),
            ("Meridian", "Felix Ahrens", "1,150,000 EUR", "Graz", "January 2029"),
            ("Tundra", "Owen Gallagher", "310,000 EUR", "Trieste", "August 2027"),
        )),
        Kind("Sites", "{0}: the site is managed by {1}. The reception is open from {2}. It was opened in {3}.", (
            ("Aarhus", "Simon Achterberg", "8:00 to 16:30", "2009"),
            ("Trieste", "Hanna Virtanen", "9:00 to 18:00", "2014"),
            ("Ghent", "Piotr Zielinski", "7:30 to 15:30", "2001"),
            ("Porto", "Nadia Petrov", "8:30 to 17:30", "2019"),
            ("Malmo", "Victor Dumont", "7:00 to 15:00", "2011"),
            ("Graz", "Grace Okafor", "8:15 to 16:45", "2022"),
        )),
        Kind("Machines", "{0} stands in {1}. {2} maintains it, every {3}. Spare parts come from {4}.", (
            ("Milling centre FX-20", "hall 1", "Arthur Penrose", "six weeks", "Halden Tools"),
            ("Laser cutter LC-8", "hall 3", "Leila Haddad", "three months", "Orban Optics"),
            ("Climate chamber KT-3", "the laboratory", "Grace Okafor", "year", "Nordkeram"),
            ("Press PR-60", "hall 2", "Tomas Lindqvist", "four weeks", "Brisa Lubricants"),
            ("Lathe DR-14", "hall 1", "Owen Gallagher", "two months", "Halden Tools"),
            ("Wash plant WA-2", "hall 4", "Victor Dumont", "two weeks", "Pellworm Filters"),
        )),
        Kind("Suppliers", "{0} delivers {1} within {2}. The smallest order is {3}. Invoices are due after {4} days.", (
            ("Halden Tools", "cutting tools", "five working days", "150 EUR", "30"),
            ("Orban Optics", "lenses and mirrors", "three weeks", "600 EUR", "14"),
            ("Castellan Gases", "argon and nitrogen", "two working days", "four bottles", "21"),
            ("Nordkeram", "ceramic insulators", "eight weeks", "1,200 EUR", "60"),
            ("Pellworm Filters", "filter cartridges", "ten working days", "twelve cartridges", "45"),
            ("Brisa Lubricants", "oils and greases", "one week", "80 EUR", "10"),
        )),
        Kind("Reports and duties", "{1}", (
            ("Gearbox", "Piotr Zielinski reported a crack in the gearbox housing after 300 hours of running."),
            ("Noise", "Ingrid Moreau complained that the wash plant is too loud for the neighbouring offices."),
            ("Argon", "The argon for welding samples is ordered from Castellan Gases, always on the first of a month."),
            ("Water damage", "Simon Achterberg found water under the floor of the server room and called the plumber."),
            ("Late bookings", "A journey that is booked late has to be approved by Nadia Petrov beforehand."),
            ("Archive", "The keys of the archive are kept by Felix Ahrens; they are handed out against a signature."),
            ("Fire wardens", "The fire warden of hall 2 is Leila Haddad, the one of hall 3 is Elsa Brunner."),
            ("Data protection", "The data protection officer of the company is Arthur Penrose."),
            ("Protective clothing", "Shoes, helmets and gloves are ordered by Hanna Virtanen twice a year."),
            ("Canteen", "The canteen serves lunch from 11:30 to 13:30; guests pay at the till."),
            ("Parking", "Visitors register their car at the gate and park behind hall 4."),
            ("Waste", "Metal shavings are collected in the blue containers, oily rags in the red ones."),
        )),
    ),
    "ja": (
        Kind("社員名簿", "{0}の席は{1}室にあり、内線は{2}である。代理は{3}が務める。出社日は{4}。", (
            ("相沢郁子", "C112", "4317", "黒木亮介", "月曜と火曜"),
            ("戸田慎一", "A031", "4402", "堀内千夏", "金曜以外"),
            ("三輪佳代", "B208", "4425", "桜田隆", "水曜と木曜"),
            ("黒木亮介", "C114", "4318", "相沢郁子", "火曜から木曜"),
            ("野口早苗", "D005", "4551", "柴崎徹", "月曜と金曜"),
            ("柴崎徹", "D007", "4552", "野口早苗", "木曜と金曜"),
            ("浜田静香", "A120", "4460", "葛西昇", "月曜から水曜"),
            ("岸本剛", "B310", "4471", "若林由紀", "火曜と金曜"),
            ("若林由紀", "B312", "4472", "岸本剛", "毎日"),
            ("大槻誠", "C220", "4533", "神谷文", "月曜と木曜"),
            ("西脇茜", "A017", "4409", "浜田静香", "水曜から金曜"),
            ("葛西昇", "A122", "4461", "西脇茜", "火曜と水曜"),
            ("堀内千夏", "D101", "4580", "戸田慎一", "月曜以外"),
            ("桜田隆", "B210", "4426", "三輪佳代", "月曜、水曜、金曜"),
            ("神谷文", "C222", "4534", "宮本栞", "水曜以外"),
            ("宮本栞", "D103", "4581", "大槻誠", "木曜"),
        )),
        Kind("計画一覧", "{0}計画は{1}が率いる。予算は{2}である。試験は{3}で行う。{4}に終わる。", (
            ("カワセミ", "岸本剛", "4200万円", "函館", "2027年5月"),
            ("玄武", "浜田静香", "950万円", "浜松", "2026年6月"),
            ("灯台", "神谷文", "2500万円", "秋田", "2028年3月"),
            ("若竹", "三輪佳代", "610万円", "高松", "2026年10月"),
            ("子午線", "黒木亮介", "1億1500万円", "佐賀", "2029年1月"),
            ("凍土", "柴崎徹", "3100万円", "松江", "2027年8月"),
        )),
        Kind("事業所", "{0}事業所の所長は{1}である。受付は{2}に開いている。{3}年に開設した。", (
            ("函館", "葛西昇", "8時から16時30分", "2009"),
            ("松江", "若林由紀", "9時から18時", "2014"),
            ("高松", "大槻誠", "7時30分から15時30分", "2001"),
            ("秋田", "野口早苗", "8時30分から17時30分", "2019"),
            ("浜松", "桜田隆", "7時から15時", "2011"),
            ("佐賀", "堀内千夏", "8時15分から16時45分", "2022"),
        )),
        Kind("機械台帳", "{0}は{1}にある。整備は{2}が{3}ごとに行う。交換部品は{4}から取り寄せる。", (
            ("フライス盤FX-20", "第1工場", "宮本栞", "6週間", "北星工具"),
            ("レーザー加工機LC-8", "第3工場", "西脇茜", "3か月", "織部光学"),
            ("恒温槽KT-3", "実験室", "堀内千夏", "1年", "能登窯業"),
            ("プレス機PR-60", "第2工場", "戸田慎一", "4週間", "潮見油脂"),
            ("旋盤DR-14", "第1工場", "柴崎徹", "2か月", "北星工具"),
            ("洗浄機WA-2", "第4工場", "桜田隆", "2週間", "白川フィルター"),
        )),
        Kind("取引先", "{0}は{1}を{2}で納品する。最小注文は{3}。支払いは請求から{4}日以内。", (
            ("北星工具", "切削工具", "5営業日", "1万5000円", "30"),
            ("織部光学", "レンズと鏡", "3週間", "6万円", "14"),
            ("城山ガス", "アルゴンと窒素", "2営業日", "4本", "21"),
            ("能登窯業", "碍子", "8週間", "12万円", "60"),
            ("白川フィルター", "濾過カートリッジ", "10営業日", "12個", "45"),
            ("潮見油脂", "油とグリース", "1週間", "8000円", "10"),
        )),
        Kind("報告と担当", "{1}", (
            ("歯車箱", "大槻誠は、300時間の運転後に歯車箱の筐体にひびが入ったと報告した。"),
            ("騒音", "三輪佳代は、洗浄機の音が隣の事務室まで響くと苦情を述べた。"),
            ("アルゴン", "溶接用のアルゴンは毎月一日に城山ガスへ発注する。"),
            ("漏水", "葛西昇はサーバー室の床下に水を見つけ、業者を呼んだ。"),
            ("直前の予約", "出張を直前に予約するときは、事前に野口早苗の承認を受ける。"),
            ("書庫", "書庫の鍵は黒木亮介が預かり、署名と引き換えに貸し出す。"),
            ("防火担当", "第2工場の防火担当は西脇茜、第3工場の防火担当は神谷文である。"),
            ("個人情報", "会社の個人情報保護責任者は宮本栞である。"),
            ("保護具", "安全靴、ヘルメット、手袋は若林由紀が年に2回まとめて注文する。"),
            ("食堂", "食堂の昼食は11時30分から13時30分まで。来客はレジで支払う。"),
            ("駐車", "来客は門で車を届け出て、第4工場の裏に停める。"),
            ("廃棄物", "金属くずは青い容器、油の付いた布は赤い容器に入れる。"),
        )),
    ),
    "ko": (
        Kind("직원 명부", "{0}의 자리는 {1}호실이고 내선은 {2}번이다. 대리는 {3} 님이다. 출근일은 {4}이다.", (
            ("서지안", "C112", "4317", "백도현", "월요일과 화요일"),
            ("문태오", "A031", "4402", "오라희", "금요일을 뺀 평일"),
            ("한유림", "B208", "4425", "전민결", "수요일과 목요일"),
            ("백도현", "C114", "4318", "서지안", "화요일부터 목요일"),
            ("송가온", "D005", "4551", "임소율", "월요일과 금요일"),
            ("임소율", "D007", "4552", "송가온", "목요일과 금요일"),
            ("노은채", "A120", "4460", "남시우", "월요일부터 수요일"),
            ("권재하", "B310", "4471", "류다온", "화요일과 금요일"),
            ("류다온", "B312", "4472", "권재하", "매일"),
            ("심규원", "C220", "4533", "표세아", "월요일과 목요일"),
            ("하예준", "A017", "4409", "노은채", "수요일부터 금요일"),
            ("남시우", "A122", "4461", "하예준", "화요일과 수요일"),
            ("오라희", "D101", "4580", "문태오", "월요일을 뺀 평일"),
            ("전민결", "B210", "4426", "한유림", "월요일, 수요일, 금요일"),
            ("표세아", "C222", "4534", "곽이든", "수요일을 뺀 평일"),
            ("곽이든", "D103", "4581", "심규원", "목요일"),
        )),
        Kind("프로젝트 목록", "{0} 프로젝트는 {1} 님이 이끈다. 예산은 {2}이다. 시험은 {3}에서 한다. {4}에 끝난다.", (
            ("물총새", "권재하", "4억 2000만 원", "군산", "2027년 5월"),
            ("현무", "노은채", "9500만 원", "제천", "2026년 6월"),
            ("등대", "표세아", "2억 5000만 원", "포항", "2028년 3월"),
            ("새싹", "한유림", "6100만 원", "여수", "2026년 10월"),
            ("자오선", "백도현", "11억 5000만 원", "목포", "2029년 1월"),
            ("동토", "임소율", "3억 1000만 원", "춘천", "2027년 8월"),
        )),
        Kind("사업장", "{0} 사업장의 소장은 {1} 님이다. 안내 창구는 {2}에 연다. {3}년에 열었다.", (
            ("군산", "남시우", "8시부터 16시 30분", "2009"),
            ("춘천", "류다온", "9시부터 18시", "2014"),
            ("여수", "심규원", "7시 30분부터 15시 30분", "2001"),
            ("포항", "송가온", "8시 30분부터 17시 30분", "2019"),
            ("제천", "전민결", "7시부터 15시", "2011"),
            ("목포", "오라희", "8시 15분부터 16시 45분", "2022"),
        )),
        Kind("기계 대장", "{0} 위치는 {1}이다. 정비는 {2} 님이 {3}마다 한다. 교체 부품은 {4}에서 들여온다.", (
            ("밀링 머신 FX-20", "1공장", "곽이든", "6주", "북성공구"),
            ("레이저 절단기 LC-8", "3공장", "하예준", "3개월", "오름광학"),
            ("항온조 KT-3", "실험실", "오라희", "1년", "노림요업"),
            ("프레스 PR-60", "2공장", "문태오", "4주", "해미유지"),
            ("선반 DR-14", "1공장", "임소율", "2개월", "북성공구"),
            ("세척기 WA-2", "4공장", "전민결", "2주", "백천필터"),
        )),
        Kind("거래처", "{0}에서는 {1} 등을 {2} 안에 납품한다. 최소 주문은 {3}이다. 대금은 청구 후 {4}일 안에 낸다.", (
            ("북성공구", "절삭 공구", "영업일 5일", "15만 원", "30"),
            ("오름광학", "렌즈와 거울", "3주", "60만 원", "14"),
            ("성산가스", "아르곤과 질소", "영업일 2일", "4병", "21"),
            ("노림요업", "세라믹 애자", "8주", "120만 원", "60"),
            ("백천필터", "여과 카트리지", "영업일 10일", "12개", "45"),
            ("해미유지", "기름과 그리스", "1주", "8만 원", "10"),
        )),
        Kind("보고와 담당", "{1}", (
            ("기어 박스", "심규원은 300시간 운전 뒤 기어 박스 하우징에 금이 갔다고 보고했다."),
            ("소음", "한유림은 세척기 소리가 옆 사무실까지 울린다고 항의했다."),
            ("아르곤", "용접용 아르곤은 매달 1일에 성산가스에 주문한다."),
            ("누수", "남시우는 서버실 바닥 아래에서 물을 발견하고 업체를 불렀다."),
            ("임박한 예약", "출장을 임박해서 예약할 때는 미리 송가온의 승인을 받는다."),
            ("서고", "서고 열쇠는 백도현이 보관하며 서명을 받고 빌려준다."),
            ("화재 담당", "2공장의 화재 담당은 하예준, 3공장의 화재 담당은 표세아이다."),
            ("개인정보", "회사의 개인정보 보호 책임자는 곽이든이다."),
            ("보호구", "안전화, 헬멧, 장갑은 류다온이 해마다 두 번 주문한다."),
            ("식당", "식당 점심은 11시 30분부터 13시 30분까지이다. 손님은 계산대에서 낸다."),
            ("주차", "손님은 정문에서 차를 등록하고 4공장 뒤에 세운다."),
            ("폐기물", "쇳가루는 파란 통에, 기름 묻은 천은 빨간 통에 넣는다."),
        )),
    ),
}  # fmt: skip

TWO_HOP: Mapping[str, Sequence[TwoHop]] = {
    "en": (
        TwoHop("In which room does the leader of Project Heron sit?", ("Heron", "Mateo Rivas"), "B 310"),
        TwoHop("What is the extension of the manager of the site in Trieste?", ("Trieste", "Hanna Virtanen"), "4472"),
        TwoHop("Who is the deputy of the colleague who reported the crack in the gearbox housing?",
               ("Gearbox", "Piotr Zielinski"), "Elsa Brunner"),
        TwoHop("How fast does the supplier of spare parts for the laser cutter deliver?",
               ("Laser cutter LC-8", "Orban Optics"), "three weeks"),
        TwoHop("What is the smallest order that the supplier of parts for the climate chamber accepts?",
               ("Climate chamber KT-3", "Nordkeram"), "1,200 EUR"),
        TwoHop("On which days is the person in the office who approves late bookings?",
               ("Late bookings", "Nadia Petrov"), "Monday and Friday"),
        TwoHop("When does the reception open at the place where the trials of Project Basalt are held?",
               ("Basalt", "Malmo"), "7:00"),
        TwoHop("Which room does the person who maintains the press PR-60 have?",
               ("Press PR-60", "Tomas Lindqvist"), "A 031"),
        TwoHop("Who is the deputy of the keeper of the archive keys?", ("Archive", "Felix Ahrens"), "Ruth Calloway"),
        TwoHop("Which extension do I dial to reach the fire warden of hall 2?",
               ("Fire wardens", "Leila Haddad"), "4409"),
        TwoHop("Who manages the site where Project Lantern has its trials?", ("Lantern", "Porto"), "Nadia Petrov"),
        TwoHop("On which day can I meet the data protection officer in the office?",
               ("Data protection", "Arthur Penrose"), "Thursday"),
        TwoHop("After how many days are invoices of the company due that supplies our argon for welding?",
               ("Argon", "Castellan Gases"), "21"),
        TwoHop("Which room belongs to the colleague who complained about the noise of the wash plant?",
               ("Noise", "Ingrid Moreau"), "B 208"),
        TwoHop("Which project has the larger budget, Heron or Tundra?", ("Heron", "Tundra"), "420,000", True),
        TwoHop("Do the receptions in Ghent and Graz open at the same time?", ("Ghent", "Graz"), "8:15", True),
        TwoHop("Compare how fast Halden Tools and Brisa Lubricants deliver.",
               ("Halden Tools", "Brisa Lubricants"), "one week", True),
        TwoHop("Which is maintained more often, the lathe DR-14 or the press PR-60?",
               ("Lathe DR-14", "Press PR-60"), "four weeks", True),
        TwoHop("What are the extensions of Leila Haddad and Victor Dumont?",
               ("Leila Haddad", "Victor Dumont"), "4426", True),
        TwoHop("Compare the smallest orders of Nordkeram and Pellworm Filters.",
               ("Nordkeram", "Pellworm Filters"), "twelve cartridges", True),
    ),
    "ja": (
        TwoHop("カワセミ計画を率いる人の席はどの部屋ですか", ("カワセミ", "岸本剛"), "B310"),
        TwoHop("松江事業所の所長の内線番号を教えてください", ("松江", "若林由紀"), "4472"),
        TwoHop("歯車箱の筐体のひびを報告した人の代理は誰ですか", ("歯車箱", "大槻誠"), "神谷文"),
        TwoHop("レーザー加工機の交換部品の取引先は何日で納品しますか", ("レーザー加工機LC-8", "織部光学"), "3週間"),
        TwoHop("恒温槽の部品を取り寄せる会社の最小注文はいくらですか", ("恒温槽KT-3", "能登窯業"), "12万円"),
        TwoHop("直前の予約を承認する人の出社日はいつですか", ("直前の予約", "野口早苗"), "月曜と金曜"),
        TwoHop("玄武計画の試験を行う事業所の受付は何時に開きますか", ("玄武", "浜松"), "7時"),
        TwoHop("プレス機PR-60を整備する人の席は何号室ですか", ("プレス機PR-60", "戸田慎一"), "A031"),
        TwoHop("書庫の鍵を預かる人の代理は誰ですか", ("書庫", "黒木亮介"), "相沢郁子"),
        TwoHop("第2工場の防火担当の内線は何番ですか", ("防火担当", "西脇茜"), "4409"),
        TwoHop("灯台計画の試験を行う事業所の所長は誰ですか", ("灯台", "秋田"), "野口早苗"),
        TwoHop("個人情報保護責任者は何曜日に出社しますか", ("個人情報", "宮本栞"), "木曜"),
        TwoHop("溶接用のアルゴンの発注先への支払いは何日以内ですか", ("アルゴン", "城山ガス"), "21日"),
        TwoHop("洗浄機の音に苦情を述べた人の席はどこですか", ("騒音", "三輪佳代"), "B208"),
        TwoHop("カワセミ計画と凍土計画では、どちらの予算が大きいですか", ("カワセミ", "凍土"), "4200万円", True),
        TwoHop("高松と佐賀の受付は同じ時間に開きますか", ("高松", "佐賀"), "8時15分", True),
        TwoHop("北星工具と潮見油脂の納期を比較してください", ("北星工具", "潮見油脂"), "1週間", True),
        TwoHop("旋盤DR-14とプレス機PR-60ではどちらの整備が多いですか", ("旋盤DR-14", "プレス機PR-60"), "4週間", True),
        TwoHop("西脇茜と桜田隆の内線を教えてください", ("西脇茜", "桜田隆"), "4426", True),
        TwoHop("能登窯業と白川フィルターの最小注文の違いは何ですか", ("能登窯業", "白川フィルター"), "12個", True),
    ),
    "ko": (
        TwoHop("물총새 프로젝트를 이끄는 사람의 자리는 몇 호실인가요?", ("물총새", "권재하"), "B310"),
        TwoHop("춘천 사업장 소장의 내선 번호는 무엇인가요?", ("춘천", "류다온"), "4472"),
        TwoHop("기어 박스 하우징의 금을 보고한 사람의 대리는 누구인가요?", ("기어 박스", "심규원"), "표세아"),
        TwoHop("레이저 절단기 부품의 거래처는 얼마 만에 납품하나요?", ("레이저 절단기 LC-8", "오름광학"), "3주"),
        TwoHop("항온조 부품을 들여오는 회사의 최소 주문은 얼마인가요?", ("항온조 KT-3", "노림요업"), "120만 원"),
        TwoHop("임박한 예약을 승인하는 사람의 출근일은 언제인가요?", ("임박한 예약", "송가온"), "월요일과 금요일"),
        TwoHop("현무 프로젝트를 시험하는 사업장의 안내 창구는 몇 시에 여나요?", ("현무", "제천"), "7시"),
        TwoHop("프레스 PR-60을 정비하는 사람의 자리는 어디인가요?", ("프레스 PR-60", "문태오"), "A031"),
        TwoHop("서고 열쇠를 보관하는 사람의 대리는 누구인가요?", ("서고", "백도현"), "서지안"),
        TwoHop("2공장 화재 담당의 내선은 몇 번인가요?", ("화재 담당", "하예준"), "4409"),
        TwoHop("등대 프로젝트를 시험하는 사업장의 소장은 누구인가요?", ("등대", "포항"), "송가온"),
        TwoHop("개인정보 보호 책임자는 무슨 요일에 출근하나요?", ("개인정보", "곽이든"), "목요일"),
        TwoHop("용접용 아르곤을 주문하는 거래처의 대금은 며칠 안에 내야 하나요?", ("아르곤", "성산가스"), "21일"),
        TwoHop("세척기 소리에 항의한 사람의 자리는 어디인가요?", ("소음", "한유림"), "B208"),
        TwoHop("물총새와 동토 프로젝트 중 어느 쪽의 예산이 더 큰가요?", ("물총새", "동토"), "4억 2000만 원", True),
        TwoHop("여수와 목포의 안내 창구는 같은 시간에 여나요?", ("여수", "목포"), "8시 15분", True),
        TwoHop("북성공구와 해미유지의 납품 기간을 비교해 주세요", ("북성공구", "해미유지"), "1주", True),
        TwoHop("선반 DR-14와 프레스 PR-60 중 무엇을 더 자주 정비하나요?", ("선반 DR-14", "프레스 PR-60"), "4주", True),
        TwoHop("하예준과 전민결의 내선을 알려 주세요", ("하예준", "전민결"), "4426", True),
        TwoHop("노림요업과 백천필터의 최소 주문은 어떻게 다른가요?", ("노림요업", "백천필터"), "12개", True),
    ),
}  # fmt: skip


def passages(language: str) -> dict[str, dict[str, str]]:
    """Return the texts of a language by title and heading."""
    return {kind.title: {row[0]: kind.template.format(*row) for row in kind.rows} for kind in KINDS[language]}
