"""How likely a text is in a language, by its letters alone: in bits, so that one decoding weighs against another.

The commonest letters of a language cost few bits and those that hardly anybody writes cost many, for each that is not
ASCII. What is read in the wrong encoding is full of the latter, however short it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

_KANJI = frozenset(
    "画像選色定択方用図表出合上作変大示年一使囲国的形範本部数分動度化成設党値日明線法描現中行呼見同能場共入最加生前性"
    "素目開位間新置効対後下地自可人産内体業会元力例機時活関名果点実面指式主理保回全在要者小第建発転透物更多高以不適存"
    "結期民初員立月調付利覧向記平連直基域有家学単移反語文取通切起解外築事長状操界水除他手込制政代背子領側報正半和無説"
    "追当応強書左規区集雨際近特量角複右次拡景持境意情様各重印所消観項議種節字進別気象計引権補世換油必言義構塗何限工概"
    "挙容組相続放終標過縮常押並得白社原写公製整梅検等命視道影戦処質編類再空番幅源黒石率品始交列比端完由東決認筆索確心"
    "北替務統赤曲管市来受都委異問格態倍読支算央離号経労落両円参準非条海述真細割個約既光団教働刷削枠増題住少判県配治辺"
    "詳独照感考府属島資含返径任張矩先論修欄録送順称去扱歴般三求程音接職降係争技輪流与簡金座天今暗施青郭軍残改派縁知造"
    "術圧及導段型万断抜二路周版減楽維王採縦系炭南安低違速提響良電登差協収乱紀織則介候味識垂模総染諸広層運件絡止破脈土"
    "逆太緑西革山従測帯思済横閉試繰履打身川戻験伝役院布灰均途復供仕料彩勢易田想然野居積育固難隔車寸風球器令費覚州章散"
    "互便占距飾貼波具演精仮装失階深似憲雑底局環推輸隣紙寄了十習港傾絵好価君映告遠探継密席伸口備助繋辿姿科極査足微乗古"
    "頭隊闘沿展案族紹丸御億障刻較為略士農材着察武滑早話純策達帝鎖企京況予軸混埋植満営町担片朝信籍望首史批注許熱洋濃越"
    "触衛浮酸負援専歳承彫律矢念覆普帰揃省害女楕門校衆欧病核退盟英粒暦焼升拠伴載護四短群証警徴抽票台棄米星街陸税木塩被"
    "留松序宮歌依皇即投著防鉛余獲清母神林未廃食欠因毎葉揮超師宗盤兵尖頃温激根百聞併輝豊千絶鉄待賞壊歪隠河彼監創拍渉優"
    "渡黄芸針延宣研究死悪敗飛級航官柔遅振親撃売析媒裁侵禁巻昭春夏盛弱秋吸末私急評掘財軽徐客射突給栄遣撮括弧貨江停岸礎"
    "郎福岡撤該責幹厳勝綱志刊枚軌淡隅鮮旧句声室司掲滅徳抵窓商顕鉱露走幾旬庁富昇柄聖魚網守慮訳薦伏衝五典戸脱唱否紋練村"
    "斜干庫閣湾晴症夫婚菌卵捕危困園審致擁携肢薄掛討男講若折養排献損燃邦殊丁迷狭九圏美草緒興催避仏臣漁裏梱季華岩翌暴奏"
    "歩繁申善答荷誤功焦穴渦魔災抗雲崎頼至頻筋館紛貿蔵顧炎械隙雇剪偏沖陰医哲勧誕鏡己樹船永阪希尽柱僅幕姓冷崩迎弟額宅遡"
    "健将敵措膨抑唯寺沢践板六裕蘭匠瞭飽桁脳錐到縄熟躍徹踏攻詰聴罪訴奇妙抱遊遺双届惑談課執屋谷亭稼鋭添佐藤鈴橋伊吉井斎"
    "阿森池坂竹柴酒菊杉久塚児玉桜堀尾篠荒服滝浅津栗菅馬恵智佳翔陽愛菜葵蓮悠花奈香輔翼亮拓哉誠浩雄隆彦俊幸博之弘茂勇秀"
    "仁淳聡剛署氏請納株購買副契却休暇旅鑑捺銀店預倉棚弁険薬剤火訓鍵帳簿夜勤"
)
"""Of Japanese: of general texts, names of people, and what stands in forms."""
_SYLLABLES = (
    "다이니는에그지을의로기하림은를도습가있한사서스어수미리자상대용시입으선고구인합해일라만정드모면할화프들택절나보아"
    "경레우트색제과되부장크게적러전메위여마것터작명김소파동와성원조표분오세비됩요공각년설더통유형무뉴필디내치반키버거"
    "바단채영창주본않저된음른었중운션포진값특변방체실래능두데때붓르타양문집없새했계개간물행확법려옵목식따록역관안점며"
    "예업생국열플투브등취든발징언많추야현교태연릭신당같재종배직최편알히클번말움픽임축속함불복결질셀페널쪽피회토카글력"
    "출립학후처항강약노린월금코환독호누활폴텍차또튼늬산까령달름줄존외매향즈램루람좋격뒤꼴테검참초콘티킹근눈탭워였칠커"
    "볼증잘류퍼런머올템접건감블베너및캐란돌높슬남효길받살십막쉬율째완므량렌큰케링될았료찾져평민심망좌애듭쉽먼놓판혼랑"
    "밝맷술벨졌손왕박온네릴킬늘균범족맞빨잡찍던왼품충곡럼쓰얼준악줍련슷급앨랜날닫황눌느웨백츠병염순흐꾸끌렉울납윈험총"
    "켜컴엘압론슨억닌써석겨릿빛렇왑빠북팔턴별맥패얻몇캔웹굉쇄럽싱콜벌읽골털갖꿀견났군뿐겁허윌곱쟁샷덱첫넣갈먹엄침낮밀"
    "롤녀슈팅녹붙흰숫천락께럴솔떠찬떨킨책곳난규맨빈랍떤념숨퓨섹암빌씨윤권송홍곽옥육맹탁철희숙훈혜담팀청짜액퇴휴승"
)
"""Of Korean, the commonest first."""
_COMMONEST_SYLLABLES, _USUAL_SYLLABLES = frozenset(_SYLLABLES[:100]), frozenset(_SYLLABLES)
_SIMPLIFIED = frozenset(
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定"
    "行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其"
    "些然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建"
    "月公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接"
    "知较将组见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处队南给色光门即保治北造百规热领七海口东导器"
    "压志世金增争济阶油思术极交受联什认六共权收证改清己美再采转更单风切打白教速花带安场身车例真务具万每目至达走积示议"
    "声报斗完类八离华名确才科张信马节话米整空元况今集温传土许步群广石记需段研界拉林律叫且究观越织装影算低持音众书布复"
    "容儿须际商非验连断深难近矿千周委素技备半办青省列习响约支般史感劳便团往酸历市克何除消构府称太准精值号率族维划选标"
    "写存候毛亲快效斯院查江型眼王按格养易置派层片始却专状育厂京识适属圆包火住调满县局照参红细引听该铁价严李刘陈杨赵黄"
    "吴徐孙朱胡郭罗梁宋郑谢韩唐冯邓曹彭曾萧蔡潘董袁余苏叶吕魏蒋杜丁沈姚卢傅钟崔谭廖范汪陆司账户款项税额址邮编注客订货"
    "退换库"
)
_TRADITIONAL = frozenset(
    "的一是了人我在有他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得于著下自之年過發後作裡用道行所然家種"
    "事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民"
    "第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月"
    "話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變"
    "四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼"
    "書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切"
    "院讓識候帶導爭運陳林黃吳劉蔡楊鄭謝郭洪邱曾廖賴徐周葉蘇莊呂江蕭羅彭簡朱鍾游詹胡施沈余趙盧顏柯翁魏孫戴姓址備註號碼"
    "編訂單貨款稅額客戶"
)
_KANA = frozenset(map(chr, (*range(0x3041, 0x3094), *range(0x30A1, 0x30F7)))) | frozenset("ー")
_EAST_ASIAN_MARKS = frozenset(
    "“”‘’、。「」『』・，．：；！？（）〈〉《》【】〔〕［］～〜＝－―…‥／％＋＊＆＠＃￥　〒※→←↑↓○●◎△▲□■◇◆☆★①②③④⑤⑥⑦⑧⑨⑩"
    "㈱№℡㎡㎏℃"
) | frozenset(map(chr, (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))))
_LATIN_MARKS = frozenset("“”‘’‚„–—…•·«»°§©®€£\xa0")
_BROKEN_BITS = 40.0
_UNKNOWN_BITS = 26.0
_CONTROL_BITS = 30.0
ASCII_BITS = 5.0
"""Of a letter or digit of ASCII: in some encodings it may be the second byte of another character."""
LEAST_BITS = 4.0
"""Fewest bits of a character that is not ASCII, in any language: a text with too many of them needs no closer look."""
_LETTER_BITS, _OTHER_LETTER_BITS, _MARK_BITS, _STRANGE_BITS = 4.5, 7.0, 6.5, 13.0
_ADJACENT_BITS, _MISPLACED_BITS = 1.5, 8.0
"""More for a letter with a mark beside another one; and for a capital after a small letter, or a sign in a word."""
_CAPITAL_BITS = 1.5


LEAST_GARBLED, MOST_GARBLED = 8, 0.2
"""Fewest words by which a text can be told to be garbled, and the share of odd ones from which it is."""
_ODD_WORD = re.compile(r"[^\W\d_][’'\"]*|[’'\":#./]+", re.ASCII)


class LanguageCost(NamedTuple):
    """Bits that a text costs in the language that it is likeliest in."""

    bits: float
    foreign: int
    """Characters that are not ASCII."""
    foreign_bits: float
    """Bits of those alone."""


class Alphabet(NamedTuple):
    """Letters that are not of ASCII: those of a language, or of some that are written in the same."""

    frequent: str
    others: str = ""


def _japanese(letter: str) -> float:
    if letter in _KANA:
        return 7.0
    if letter in _EAST_ASIAN_MARKS:
        return 8.0
    if letter in _KANJI:
        return 10.5
    if "\uff61" <= letter <= "\uff9f":  # a byte, where others have two
        return 9.0
    return _in_rows(letter, "shift_jis", b"\x88\x9f", b"\x98\x72")


def _korean(letter: str) -> float:
    if letter in _USUAL_SYLLABLES:
        return 7.2 if letter in _COMMONEST_SYLLABLES else 9.5
    if letter in _EAST_ASIAN_MARKS or "\u3131" <= letter <= "\u318e":
        return 8.0
    if "가" <= letter <= "힣":
        return 15.0 if _encoded(letter, "euc_kr") else 23.0
    if letter in _KANA:
        return 20.0
    return 17.0 if _encoded(letter, "euc_kr") else _UNKNOWN_BITS


def _simplified(letter: str) -> float:
    if letter in _EAST_ASIAN_MARKS:
        return 8.0
    return 10.0 if letter in _SIMPLIFIED else _in_rows(letter, "gb2312", b"\xb0\xa1", b"\xd7\xf9")


def _traditional(letter: str) -> float:
    if letter in _EAST_ASIAN_MARKS:
        return 8.0
    return 10.0 if letter in _TRADITIONAL else _in_rows(letter, "big5", b"\xa4\x40", b"\xc6\x7e")


def _in_rows(letter: str, encoding: str, first: bytes, last: bytes) -> float:
    """Return the bits of a character by its place: national sets have the usual ones in their first rows."""
    if encoded := _encoded(letter, encoding):
        return 13.5 if first <= encoded <= last else 17.0
    return 20.0 if "\u4e00" <= letter <= "\u9fff" else _UNKNOWN_BITS


def _encoded(letter: str, encoding: str) -> bytes:
    """Return the two bytes of a character; none where it has no place of its own."""
    encoded = letter.encode(encoding, "ignore")
    return encoded if len(encoded) == 2 else b""


EAST_ASIAN: Mapping[str, Callable[[str], float]] = {
    "ja": _japanese,
    "ko": _korean,
    "zh-Hans": _simplified,
    "zh-Hant": _traditional,
}
_ALPHABETS: Mapping[str, str] = {
    **{"fr": "éèêàçâîôùûëïœæÿü", "de": "äöüß", "es": "áéíóúñü¿¡ªº", "pt": "áâãàçéêíóôõúªº", "it": "àèéìòùí"},
    **{"nordic": "åäöæøé", "is": "áéíóúæöþðý", "nl": "ëïéüö", "ca": "àçèéíïòóúü·"},
    **{"pl": "ąćęłńóśźż", "cs": "áčďéěíňóřšťúůýž", "sk": "áäčďéíĺľňóôŕšťúýž", "hu": "áéíóöőúüű"},
    **{"mt": "ċġħżàèìòù", "eo": "ĉĝĥĵŝŭ", "vi": "ăâđêôơưàáãèéìíòóùúý\u0300\u0301\u0303\u0309\u0323"},
    **{"ro": "ăâîşţșț", "hr": "čćđšž", "tr": "çğıöşüâîİ", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž", "et": "äõöüšž"},
}
"""Letters of languages that are written in Latin ones, beside those of ASCII; capitals as well."""
WESTERN = ("fr", "de", "es", "pt", "it", "nordic", "is", "nl", "ca")
CENTRAL = ("pl", "cs", "sk", "hu", "ro", "hr")
TURKISH, BALTIC, SOUTHERN, VIETNAMESE = ("tr",), ("lt", "lv", "et"), ("mt", "eo"), ("vi",)
_WESTERN_LETTERS = frozenset("".join(_ALPHABETS[language] for language in WESTERN))
CYRILLIC = (
    Alphabet("оеаинтсрвл", "кмдпуяыьгзбчйхжшюцщэфъё"),
    Alphabet("оаинівтерс", "кулдмпьязбгйчхїжюцшщєфґ"),
    Alphabet("аоиетнрсвл", "кдпмзъуягбчйжцщхюшфь"),
    Alphabet("аоиенрсјту", "вкдпмлзгбчшцжњљђћхфџ"),
)
"""Of Russian, Ukrainian, Bulgarian and Serbian."""
GREEK = (Alphabet("αοιετσνηυρ", "πκμλςωγδχθφβξζψάέίόύήώϊΐϋΰ"),)
HEBREW = (Alphabet("יוהלאתרבשמ", "נכדפחקעטגצזסםןךףץ"),)
ARABIC = (Alphabet("اليمنتروبع", "دسفهكقحجشطصخضثغذظزءةىأإآئؤ،؛؟ـ"),)
THAI = (Alphabet("ารนกเงอมยล", "วดทสตะปบคหแจพชขใไโผซถภศธณษฐญฉฟฝฬฮฏฎฆฌ่้็ัิีึืุูํ์ๆฯๅ๊๋ำ"),)
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_NOT_PLAIN = bytes(code for code in range(0x80) if not chr(code).isalnum())
_BESIDE_LATIN = re.compile(r"[^\x00-\x7f](?:(?<=[A-Za-z].)|(?=[A-Za-z]))")
_WITHOUT_LETTER = re.compile("(?<![ก-ฮัิีึืุู่้])[ัิีึืฺุู็่้๊๋์ํ]|[เแโใไ](?![ก-ฮ])")
"""In Thai, a mark without a letter below or above it, and a vowel without the letter that it is written before."""
_ADJACENT = re.compile(r"[^\x00-\x7f](?<=[^\x00-\x7f].)")
_CAPITAL_WITHIN = re.compile(r"[^\x00-\x7f](?<=[a-zß-öø-ÿа-џα-ώ].)")
_WITHIN = re.compile(r"[^\x00-\x7f](?<=[A-Za-z].)(?=[A-Za-z])")


def east_asian(text: str, language: str) -> LanguageCost:
    """Return what a text costs in one of `EAST_ASIAN`."""
    bits_of = EAST_ASIAN[language]
    counts = Counter(_FOREIGN.findall(text))
    foreign = sum(count * (_odd(letter) or bits_of(letter)) for letter, count in counts.items())
    return LanguageCost(foreign + _ascii_bits(text), counts.total(), foreign)


def latin(text: str, languages: tuple[str, ...]) -> LanguageCost:
    """Return what a text costs in the likeliest of these languages, which are written in Latin letters."""
    counts = Counter(_FOREIGN.findall(text))
    others = _WESTERN_LETTERS if languages is WESTERN else frozenset[str]()
    foreign = min(
        sum(count * (_odd(letter) or _latin_bits(letter, language, others)) for letter, count in counts.items())
        for language in languages
    )
    foreign += _ADJACENT_BITS * len(_ADJACENT.findall(text))
    foreign += _MISPLACED_BITS * sum(each.isupper() for each in _CAPITAL_WITHIN.findall(text))
    foreign += _MISPLACED_BITS * sum(
        (not each.isalpha() and each not in "’·") or each in "ªº" for each in _WITHIN.findall(text)
    )
    return LanguageCost(foreign + _ascii_bits(text), counts.total(), foreign)


def alphabetic(text: str, alphabets: tuple[Alphabet, ...]) -> LanguageCost:
    """Return what a text costs in the likeliest of languages that have their own letters, and no word of Latin ones."""
    counts = Counter(_FOREIGN.findall(text))
    foreign = min(
        sum(count * (_odd(letter) or _alphabet_bits(letter, alphabet)) for letter, count in counts.items())
        for alphabet in alphabets
    )
    foreign += _MISPLACED_BITS * sum(each.isalpha() for each in _BESIDE_LATIN.findall(text))
    foreign += _MISPLACED_BITS * len(_WITHOUT_LETTER.findall(text))
    foreign += _MISPLACED_BITS * sum(map(str.isupper, _CAPITAL_WITHIN.findall(text)))
    return LanguageCost(foreign + _ascii_bits(text), counts.total(), foreign)


def odd_share(text: str) -> float:
    """Return the share of the words that are one letter or marks, as a file without its font's characters gives them;
    0.0 of few words.

    >>> odd_share("l i s t l i n e w i l l")
    1.0
    """
    words = text.split()
    odd = sum(_ODD_WORD.fullmatch(word) is not None for word in words)
    return odd / len(words) if len(words) >= LEAST_GARBLED else 0.0


def is_garbled(text: str, file_type: str) -> bool:
    """Return whether a passage is of letters without meaning, as a PDF without its fonts' characters gives them."""
    return file_type == "pdf" and odd_share(text) >= MOST_GARBLED


def _ascii_bits(text: str) -> float:
    return ASCII_BITS * len(text.encode("ascii", "ignore").translate(None, _NOT_PLAIN))


def _alphabet_bits(letter: str, alphabet: Alphabet) -> float:
    if letter in _LATIN_MARKS or letter == "№":
        return _MARK_BITS
    small = letter.lower()
    capital = 2 * _CAPITAL_BITS if small != letter else 0.0
    if small in alphabet.frequent:
        return 4.0 + capital
    return (5.5 if small in alphabet.others else _STRANGE_BITS) + capital


def _odd(letter: str) -> float:
    """Return the bits of what is in no text; 0 for anything else."""
    if letter == "\ufffd":
        return _BROKEN_BITS
    return _CONTROL_BITS if "\x80" <= letter <= "\x9f" or "\ue000" <= letter <= "\uf8ff" else 0.0


def _latin_bits(letter: str, language: str, others: frozenset[str]) -> float:
    if letter in _LATIN_MARKS:
        return _MARK_BITS
    small = letter.lower()
    capital = _CAPITAL_BITS if small != letter else 0.0
    if letter in _ALPHABETS[language] or small in _ALPHABETS[language]:
        return _LETTER_BITS + capital
    return (_OTHER_LETTER_BITS if small in others else _STRANGE_BITS) + capital
