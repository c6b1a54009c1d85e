"""Units of numbers in three languages: which dimension each spelling measures, and how much of its base unit."""

from __future__ import annotations

import re
from collections.abc import Mapping

from braid.core.text.normalization import normalize
from braid.core.text.units import UNITS

Unit = tuple[str, float, float]
"""Dimension, factor and offset to the dimension's base unit."""
_COUNTERS = (
    "人 名 個 件 回 台 本 枚 社 校 冊 つ 点 箇所 か所 カ所 ヶ所 種類 種 棟 頭 匹 隻 両 軒 店舗 店 曲 票 部 部屋 室 席 "
    "명 개 건 회 대 권 장 부 실 석 번 곳 가지 마리 척 채 곡 표 살 개국 개교 종 분의 명의 사람 점 가구"
)
_OTHER_UNITS: Mapping[str, tuple[str, float, str]] = {
    # name: dimension, factor, spellings
    "kcal": ("energy", 4_184.0, "calories kilocalories カロリー キロカロリー 칼로리 킬로칼로리"),  # of food
    "week": ("time", 604_800.0, "week weeks 週間 週 주간 주"),
    "month": (
        "time",
        2_629_800.0,
        "month months か月 ヶ月 カ月 ヵ月 ケ月 箇月 か月間 ヶ月間 カ月間 ヵ月間 箇月間 개월 개월간 달",
    ),
    "year": ("time", 31_557_600.0, "year years yr yrs 年間 年 년간 년"),
    "day": ("time", 86_400.0, "日 日間 泊 일 일간 business-days working-days 営業日 영업일"),
    "hour": ("time", 3_600.0, "時間 시간"),
    "age": ("age", 1.0, "歳 才 세 살 years-old year-old year-olds years-olds"),
    "century": ("century", 1.0, "century centuries 世紀 세기"),
    "decade": ("decade", 1.0, "年代 년대"),
    "EUR": ("EUR", 1.0, "€ eur euro euros ユーロ 유로"),
    "USD": ("USD", 1.0, "$ usd dollar dollars us$ ドル 달러"),
    "GBP": ("GBP", 1.0, "£ gbp pounds-sterling ポンド 파운드"),
    "JPY": ("JPY", 1.0, "¥ jpy yen 円 엔"),
    "KRW": ("KRW", 1.0, "₩ krw won 원 ウォン"),
    "CHF": ("CHF", 1.0, "chf francs swiss-francs スイスフラン 스위스프랑"),
    "CNY": ("CNY", 1.0, "cny rmb yuan renminbi 人民元 위안"),
    "cent": ("cent", 1.0, "cents"),
    "byte": ("bytes", 1.0, "byte bytes バイト 바이트"),
    "kB": ("bytes", 1e3, "kb KB kib kilobyte kilobytes"),
    "MB": ("bytes", 1e6, "mb MB mib megabyte megabytes メガバイト 메가바이트"),
    "GB": ("bytes", 1e9, "gb GB gib gigabyte gigabytes ギガバイト 기가바이트"),
    "TB": ("bytes", 1e12, "tb TB tib terabyte terabytes テラバイト 테라바이트"),
    "bit": ("bits", 1.0, "bit bits ビット 비트"),
    "gallon": ("volume", 3.785e-3, "gallon gallons gal ガロン 갤런"),
    "mile": ("length", 1_609.344, "mile miles マイル 마일"),
    "foot": ("length", 0.3048, "foot feet ft フィート 피트"),
    "inch": ("length", 0.0254, "inch inches インチ 인치"),
    "yard": ("length", 0.9144, "yard yards ヤード 야드"),
    "lb": ("mass", 0.45359, "lb lbs"),
    "pound": ("pound", 1.0, "pounds"),
    "kilo": ("kilo", 1.0, "kilos キロ 킬로"),
    "tonne": ("mass", 1e3, "tonne tonnes t トン 톤"),
    "km2": ("area", 1e6, "km2 square-kilometers square-kilometres 平方キロメートル 제곱킬로미터"),
    "m2": ("area", 1.0, "m2 square-meters square-metres 平方メートル 제곱미터"),
    "ha": ("area", 1e4, "ha hectare hectares ヘクタール 헥타르"),
    "acre": ("area", 4_046.86, "acre acres エーカー 에이커"),
    "dB": ("level", 1.0, "dB デシベル 데시벨"),
    "px": ("pixels", 1.0, "px pixel pixels ピクセル 픽셀"),
    "dpi": ("resolution", 1.0, "dpi ppi"),
    "km/h": ("speed", 1 / 3.6, "km/h kmh kph"),
    "mph": ("speed", 0.44704, "mph"),
    "m/s": ("speed", 1.0, "m/s"),
    "°": ("degree", 1.0, "° degree degrees 度 도"),
    "page": ("page", 1.0, "ページ 頁 쪽 페이지"),
    "times": ("ratio", 1.0, "times 倍 배 fold -fold"),
    "割": ("share", 10.0, "割 할"),
    "point": ("points", 1.0, "percentage-points ポイント 포인트"),
    "階": ("floor", 1.0, "階 층"),
    "位": ("rank", 1.0, "位 위"),
    "count": ("count", 1.0, _COUNTERS),
}
_PREFIXED: Mapping[str, tuple[str, float, str, str, str]] = {
    # symbol: dimension, factor, prefixes, spellings of one, names that follow a prefix's name
    "W": ("power", 1.0, "m k M G T", "W watt watts ワット 와트", "watt watts ワット 와트"),
    "Wh": ("energy", 3_600.0, "m k M G T", "Wh watt-hours ワット時 와트시", "watt-hours ワット時 와트시"),
    "V": ("voltage", 1.0, "µ m k M", "V volt volts ボルト 볼트", "volt volts ボルト 볼트"),
    "VA": ("apparent power", 1.0, "k M", "VA", ""),
    "A": ("current", 1.0, "µ m k", "ampere amperes amp amps アンペア 암페어", "ampere amperes amps アンペア 암페어"),
    "Ah": ("charge", 3_600.0, "m k", "Ah", ""),
    "Hz": ("frequency", 1.0, "k M G T", "Hz hertz ヘルツ 헤르츠", "hertz ヘルツ 헤르츠"),
    "J": ("energy", 1.0, "m k M G", "J joule joules ジュール 줄", "joule joules ジュール 줄"),
    "cal": ("energy", 4.184, "k", "cal", ""),
    "N": ("force", 1.0, "m k M", "newton newtons ニュートン 뉴턴", "newton newtons ニュートン 뉴턴"),
    "bar": ("pressure", 1e5, "m k", "", ""),
    "Pa": ("pressure", 1.0, "h", "", "pascal pascals パスカル 파스칼"),
    "Ω": ("resistance", 1.0, "m k M", "Ω ohm ohms オーム 옴", "ohm ohms オーム 옴"),
    "F": ("capacitance", 1.0, "p n µ m", "farad farads", "farad farads"),
    "lx": ("illuminance", 1.0, "k", "lx lux ルクス 럭스", ""),
    "lm": ("luminous flux", 1.0, "k", "lm lumen lumens ルーメン 루멘", ""),
    "bps": ("data rate", 1.0, "k K M G T", "bps bit/s", ""),
    "bit/s": ("data rate", 1.0, "k M G T", "", ""),
    "b/s": ("data rate", 1.0, "k M G T", "", ""),
    "B/s": ("data rate", 8.0, "k K M G T", "B/s", ""),
    "Sv": ("dose", 1.0, "µ m", "Sv sievert sieverts シーベルト 시버트", "sievert sieverts シーベルト 시버트"),
    "Bq": ("activity", 1.0, "k M G T", "Bq becquerel becquerels ベクレル 베크렐", "becquerels ベクレル 베크렐"),
    "eV": ("energy", 1.602e-19, "k M G", "eV", ""),
    "g": ("mass", 1e-3, "n", "", ""),
    "t": ("mass", 1e3, "M", "", ""),
    "L": ("volume", 1e-3, "d c k", "", ""),
    "l": ("volume", 1e-3, "d c", "", ""),
    "m": ("length", 1.0, "d", "", "meter meters metre metres"),
    "mol": ("amount", 1.0, "n µ m k", "mol mole moles モル 몰", ""),
    "s": ("time", 1.0, "n µ", "", "second seconds 秒 초"),
}
_PREFIXES: Mapping[str, tuple[float, str]] = {
    # symbol: factor, names
    "p": (1e-12, "pico ピコ 피코"),
    "n": (1e-9, "nano ナノ 나노"),
    "µ": (1e-6, "micro マイクロ 마이크로"),
    "m": (1e-3, "milli ミリ 밀리"),
    "c": (1e-2, "centi センチ 센티"),
    "d": (1e-1, "deci デシ 데시"),
    "h": (1e2, "hecto ヘクト 헥토"),
    "k": (1e3, "kilo キロ 킬로"),
    "K": (1e3, ""),
    "M": (1e6, "mega メガ 메가"),
    "G": (1e9, "giga ギガ 기가"),
    "T": (1e12, "tera テラ 테라"),
}


def _prefixed() -> dict[str, Unit]:
    """Return the units that have prefixes, by symbol and by name: kV, kilovolts, キロボルト."""
    found: dict[str, Unit] = {}
    for symbol, (dimension, factor, prefixes, alone, names) in _PREFIXED.items():
        found.update((name.replace("-", " "), (dimension, factor, 0.0)) for name in alone.split())
        for prefix in prefixes.split():
            times, written = _PREFIXES[prefix]
            unit = (dimension, factor * times, 0.0)
            found[prefix + symbol] = unit
            for before in written.split():
                for name in names.split():
                    if before.isascii() == name.isascii():
                        found[(before + name).replace("-", " ")] = unit
    return {normalize(name): unit for name, unit in found.items()}


BY_NAME: dict[str, Unit] = {
    **_prefixed(),
    **{
        normalize(name).replace("-", " "): (dimension, factor, offset)
        for unit, (dimension, factor, offset, others) in UNITS.items()
        for name in (unit, *others.split())
    },
    **{
        normalize(name).replace("-", " "): (dimension, factor, 0.0)
        for unit, (dimension, factor, others) in _OTHER_UNITS.items()
        for name in (*([unit] if unit in ("kB", "MB", "GB", "TB") else []), *others.split())
    },
}
BY_NAME["프로"] = BY_NAME["%"]
IN_ANY_CASE = {name.lower(): unit for name, unit in BY_NAME.items() if len(name) > 2 and name.isascii()}
"""Units by their spellings of three letters or more in lower case, for texts in capitals."""
_LATIN = sorted((name for name in BY_NAME if name[0].isascii()), key=len, reverse=True)
_LONG = "|".join(re.escape(name).replace(r"\ ", r"[\s-]") for name in _LATIN if name.lower() in IN_ANY_CASE)
_TIME = r"(?:h|hr|min|s|sec|d|day|week|month|year|hour|minute|second)(?![A-Za-z])"
_SHORT = "|".join(map(re.escape, _LATIN))
OTHER_NAMES = "|".join(re.escape(name) for name in sorted(BY_NAME, key=len, reverse=True) if not name[0].isascii())
UNIT = (
    rf"(?:(?:\s{{0,2}}|-)(?P<latin>(?i:{_LONG})|{_SHORT})(?![A-Za-z0-9]|/(?!{_TIME}))"
    rf"|\s{{0,2}}(?P<other>{OTHER_NAMES}))"
)
"""An expression for a unit behind a number: groups ``latin`` and ``other``."""
