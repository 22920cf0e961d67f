"""The costs of the token estimate. Written by `benchmarks/fit_tokens.py`; do not edit."""

from typing import Final

_STEPS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _unpack(letters: str, packed: str) -> dict[str, int]:
    """Return the costs of all pairs of letters, row by row; a character is one of 64 steps."""
    pairs = [first + second for first in letters for second in letters]
    return {pair: 30 * _STEPS.index(step) - 600 for pair, step in zip(pairs, packed, strict=True)}


_LOWER_PAIRS: Final = (
    "keYbodXjdgiVcYmbsUbUbemdZighpoZuxiiZrUnufx0defbzjkcoaqcpSrrYVkWdkmWonXlRXmnplietpcYpnwdVicwoemwfbofnnkdX"
    "dreXgecplnoegZnjbZZfpgdZkndqsmYZetZ1hchgYptfofazkmgqnsuvYujefqnhgjhp4clkgsqyjZijtmZwiqizumlUZryakNgmokbh"
    "dcXbZZSmrnkZbTPYaaXSjcqgoXdprmUw0mssmozodntygzeurtj7hgthXlgVgzmtohqp1teegwe0oqaipaWZiqborejqcgysddYipzLx"
    "ZUkpQrmkgitlafXXlubnixlsssgrbZciUakcfmragqyiXVjgqsjhYbeeefWoegibbUZasUecZlbaerekldVvpZltnbcncVrXiaknxqlu"
    "syqt2+irw0ygxvoylaliX0ysswdpgjXgcXg5brcbZosdfdlkgjWuhucqTdjWdqnmpffeeoYXhmS0gqfjllYnlRc3yrfocl2YaefpdgUi"
    "cXddVcZwcqiWaahWzTcVogtRgncxtvQwUtgpkqkofrtopzrupvpifvwmaroYfunplSYowXWurwbhp2emZxfr8lkyzmn00bx0qZt04mdv"
    "ozn4l2ttqvokigho4mZdvzkyklluwvc4woruy0tlnor0tZfol1ne"
)
_UPPER_PAIRS: Final = (
    "eabdijNskioSVZndjQdQjokVeofgmhilrknhlZnkktocplfqmsijagieOhgjiwSaeiZshdkVfqnjjqhsnbVtmkdmkirqdigohixfrlim"
    "bsfeeeewzxubjafohaYezlkddpblkngZaqbulljjbntflfglklgtmkqmamgnvzvknhliwengqjpljqgijdclnniiimidcihulNtckgik"
    "hheZigZradoSbPVVkWeRphlbwThiwdbkmm0geZmmfntqapmjgronpemkZnihmsgknYolykmorghuhodknhdijrZqljrgbj2mgcekkqjy"
    "cdplRmjojgmdcieajpjgsnphmrrnigffespnmkpmiovqfaoihrcjdajbidausggdeNdawUnbfmYfjynfkgbkmkimignnXcZgkgacipbr"
    "ogohowfvlyxWkjwtnefkhr/qswksgpaojnZnppfdchpVjhqlepYrklidUlhefhmojjhcZlVWfhjjcplmjoclpSensmgnkbydoamnrmgs"
    "mjkgUebiYpjUaYuYsSYWgbjhjgjikgZndnd0lnjnmorqopmlhomnlkqgqjofl0ifmhdmigkjmeeeirtoknhoxmlvssfermrpqdtdvbZj"
    "olrenxqrq2lcqhdgtgdgqyfhbeopvhlkmpnzttwkwwxmprrplink"
)
_CYRILLIC_PAIRS: Final = (
    "xdTfdRdWLXSXXYqUgYRsNbNOUZffdgjebfcohfloh3bdzheSOzfUrde5aiArmbVUFigkTfkeffbmbL7X0kdfhQpafsOXUffefkzufZde"
    "hVfjfefitu8PYdfWfdSnfXecZcjfjerdffTeghffzfffYtkYAWw9WfbVAVYOTYUcegtUuffPJcoM1vfefvXeVTThSgZZWaZaneQX61Zi"
    "gXffffjmlqemr3cbeeQSgfYfmXiKvreneefffpffffgefgxrfffdjdwXfSlgfaTNkNvesOcdfbblfgV/flfm2fdfgijheWZUOhVcbfTh"
    "cdPukcWWWsffffVOjfYYfejrkmqlkmfcHtaTizYfcifbRQfffffmqfdeffctbiklVXYehg1cVteiTdiwOfpAfPjtkgfgfffb4lgsYgdY"
    "fcmjXdsZogdkfe/dffrQjfRnsfgfbtakiTfcXfiNTdaUfkjagcejkffdHegZrxfdfWeToVchqRfglhSXhkbRkCwRYSYfWffifnnfujxV"
    "TOVdUYMSZQXaKdZOJ8ZYWbIAfffInNbdiwebegffRffcfmffXZKWu4egmoqfffTUe1wfnfffTaLWjXNbReVbGUWuiWKXrGnlXcfPRexA"
    "unffdc0MkTa/eUfYLeaWQTIKfbWUXFfecRfcEnvfdfcpRlnXgnbfljpqZujeslaonoeffdWjiQdofefdFbSOLfOnUPZSdldcZbr2KhOi"
    "WfffzScfdrifsffheTffWecufgienuqVofffffffsfedf0fffpeodbzffofehrdZfnUn1fdffbffcekegf2fffkgUhgbffYfrgfggife"
    "0UffdffffXefvvfgfffcfdfhQqfbfkdfgwghikwfffebfffjffemrfffoddffbffcfhulaqgofpxfdfedffcYffmlvfffiffffYffWff"
    "ffeefffdiffffffffXfffcmffffffffSfffffffffffffffffffffffffiefffffVdqiWmvbakjbifQkcYffRejghfffdfiffffff5gs"
    "ulfMdhZfaQolelRfjffoEgffffZthfiofedgseffgfogJmofku3FkZiefsffffffffffffeUezSe3Mfealoejm3sKfffcKdRfffdcfff"
    "eyfefX76XhceufoqrmqexXojkwpbfffemupffdvfffqfhfmdfehxwfff32nffqfffffffffffffffsebyceSWdnvlpkoqsdilqeTkfrf"
    "fffdbfeXtfdebfhddefiiinAfdiilfdkfddfffffffffjeffdri/fddfe/ggjfdvoLefdfdffffffgfffefffedefhfffffdffefddek"
    "ffffffffffeffhfff"
)
_ARABIC_PAIRS: Final = (
    "ggggggWgIaggggggggggggggggggggigkggggggggggggggggxgfUggOy3uVeggggggArggmAYgzgybjgiirgggggggiRcCWmYlwbzWh"
    "i9YilikhckSSSmhmgggggmggggggjggScggdzgugKmgggggggcggfgxYgiggggggggggggg/guzOp6pidgTzlYnkjWbnxRsTgggugggg"
    "ggggggggkaelgLggdgVoggajcgignWhmQon/gOgggggoQggxgPjVPQTSaUTiSWUWVZOcOrSZqGONQigXffiqhYggcuYgdXTc28SrZdSE"
    "NTtlegdN0anWgikggTgggplgggggggggggggggggggggggggggggggggggggggggggggmlgejg+ksgYSlieocYPZZTbWMZebbpbiOggg"
    "g4kmggggggjaRgggggggrgggggggggglhXmmgwgsgggggmggggggkuZhggqgVnrrragggguqggtfWTgipmiggggqggggggiTRcgvhgP0"
    "esV+emc/ggfgFTKbXbgTgggLgQggggggbRGZggggHletbQfusgggvggWhgfSgbgggggUkgWgg0ejPxm/grkgVlc0gggguuhgZdgaVrQV"
    "hgguJbggggggUgRdgdgvgguggTggggggNggRgqWsgmgggggxgKpcgYdcSglqdfbglucpumtgfrfikfnMfjTYcwk4hgVgiggkqiabgmwg"
    "5gpgoiggggrggggqZZX0gdgggcbfgggbggrhZagU/ykgogagggTgQ/u3diiihugfkgg8gdggkgg7iaVUgovXdgXgbgggrglQskVujVHY"
    "gvgggfFpgggggguRXgggfghgigggsg7gcSm/geYUqb1egggggbgggggglppiggdgdgdgggggggTa8ggaigWefggggggsggqggnkhSqgg"
    "ugggogggggggjgkHgX6ZumtfgggggsggggggigAdggggggoggggggggggggvcgkggMgggggVggggggifVaGyggViSIAgVWuaggeetQZJ"
    "Zsaeggghgpgggggg1cUpggggbdhngugdgggggggqKli/ldgggggfggnqdfhVWVggPg/+ezetifciiUaaocAZsvaggggggiggggggkjTl"
    "ggkgXgisX0gmhgdg3fghqghvjigggggpggagggjXPSAgjgYRqInbggggpgjrgdbOjmgaggggggmnXgSvjkbgXaeeeYescXfdikcaggeh"
    "YhlgXcmglshjgggggdglXiggiTYoabbZWckqYXysfYidmijgiAgflVgggggggkXZggiSek0WbkqpdV7tUll0bOalrdyightcgggGggXm"
    "mdgcggcNhNMiggggggaginWK4k/ZggggixYukgbudWHktMmlWSUcfjjpGREVcQXPVRTqIceKlkzcgggggggggggggggggggggggggggg"
    "ggggggggggggggXgYrgcbjZjiVfMhAYghl0AgJR3oObcZdXknkggggggggggggligjggghmsbgjggggggggggsemq4gggggggigggggi"
    "oggggggggghgtcggggggggggkddygg/lgngfggggggsgggggggggggggggggggggggggboggggggVpggggggmfgPvggg7gUAgggggggg"
    "gggifUQmgguigggYggggggcogxgeggglYUm/ggggggYggjjvfpgggggggkmgggggiigbgYbYXgZdWX8gbgJY/EgdkcomggtWPkUg"
)

_PRICES: Final = (
    "accent=483 arabic+=-253 arabic1=987 arabic10=1719 arabic11=2144 arabic12=2710 arabic2=498 arabic3=622 "
    "arabic4=784 arabic5=895 arabic6=1161 arabic7=1321 arabic8=1476 arabic9=1783 arabic~=707 armenian+=-290 "
    "armenian1=1001 armenian10=3929 armenian11=3705 armenian12=3985 armenian2=1287 armenian3=1415 armenian4=1981 "
    "armenian5=2127 armenian6=2816 armenian7=3175 armenian8=3415 armenian9=3674 arrow=352 box=1393 c+=23 c.10=992 "
    "c.11=853 c.12=1264 c.13=960 c.14=1048 c.2=1577 c.3=1333 c.4=874 c.5=1047 c.6=1246 c.7=1080 c.8=1082 c.9=988 "
    "c10=599 c11=541 c12=596 c13=708 c14=630 c2=737 c3=919 c4=778 c5=753 c6=754 c7=752 c8=797 c9=607 c_10=292 "
    "c_11=285 c_12=377 c_13=136 c_14=208 c_2=660 c_3=589 c_4=558 c_5=486 c_6=427 c_7=463 c_8=400 c_9=340 cjk=260 "
    "cjk-kana=307 cjk-punctuation=822 cyrillic+=181 cyrillic-capital=1019 cyrillic1=-14 cyrillic10=1330 "
    "cyrillic11=1550 cyrillic12=1728 cyrillic2=-81 cyrillic3=354 cyrillic4=740 cyrillic5=821 cyrillic6=907 "
    "cyrillic7=1102 cyrillic8=1218 cyrillic9=1350 cyrillic~=532 digits=398 emoji-1f3=1989 emoji-1f4=2007 "
    "emoji-1f5=2295 emoji-1f6=1717 emoji-more=2609 flag=2034 four-bytes=1606 general=723 georgian+=252 "
    "georgian1=398 georgian10=3767 georgian11=3540 georgian12=4233 georgian2=1024 georgian3=1316 georgian4=1750 "
    "georgian5=2390 georgian6=2600 georgian7=2931 georgian8=3163 georgian9=3678 greek+=166 greek1=548 greek10=4097 "
    "greek11=4258 greek12=4720 greek2=1018 greek3=1063 greek4=1335 greek5=1805 greek6=2580 greek7=3054 greek8=3433 "
    "greek9=3571 han=974 han-common=546 han-common-kana=770 han-kana=993 hangul1=1031 hangul10=2083 hangul11=3478 "
    "hangul12=1642 hangul2=1392 hangul3=2199 hangul4=2592 hangul5=3296 hangul6=3966 hangul7=4397 hangul8=6280 "
    "hangul9=6584 hebrew+=1642 hebrew1=398 hebrew10=5636 hebrew11=5931 hebrew12=7012 hebrew2=1038 hebrew3=1301 "
    "hebrew4=1734 hebrew5=2238 hebrew6=2651 hebrew7=3249 hebrew8=3738 hebrew9=4139 hiragana=525 indic+=128 "
    "indic1=1064 indic10=4373 indic11=4455 indic12=5337 indic2=1046 indic3=1317 indic4=1676 indic5=2297 indic6=2771 "
    "indic7=3151 indic8=3683 indic9=3954 joiner=788 katakana=669 known=1007 l+=-40 l.1=1041 l.10=720 l.11=889 "
    "l.12=1003 l.13=764 l.14=638 l.2=931 l.3=788 l.4=692 l.5=605 l.6=573 l.7=630 l.8=602 l.9=637 l1=916 l10=622 "
    "l11=686 l12=770 l13=926 l14=620 l2=328 l3=645 l4=583 l5=616 l6=560 l7=608 l8=651 l9=610 l_1=962 l_10=-57 "
    "l_11=-132 l_12=-153 l_13=-153 l_14=-167 l_2=549 l_3=328 l_4=267 l_5=243 l_6=169 l_7=159 l_8=124 l_9=-2 m+=-184 "
    "m.10=856 m.11=234 m.12=400 m.13=375 m.14=161 m.3=1709 m.4=1671 m.5=1486 m.6=1961 m.7=1665 m.8=1348 m.9=808 "
    "m10=719 m11=949 m12=1045 m13=1248 m14=1897 m3=1119 m4=991 m5=1124 m6=1160 m7=1267 m8=1260 m9=1156 m_10=249 "
    "m_11=164 m_12=-423 m_13=294 m_14=86 m_3=869 m_4=759 m_5=830 m_6=567 m_7=813 m_8=472 m_9=398 p+=48 p1=398 "
    "p2=560 p3=356 p4=339 p5=676 p6=786 p7=854 p8=1278 p~=444 skin=1154 suffix=327 symbol=1741 thai+=363 thai1=398 "
    "thai10=5251 thai11=5649 thai12=6145 thai2=1671 thai3=1526 thai4=2273 thai5=3090 thai6=3617 thai7=4021 "
    "thai8=4457 thai9=4843 three-bytes=2032 two-bytes=1083 u+=-193 u.1=1299 u.10=1056 u.11=1064 u.12=1056 u.13=1140 "
    "u.14=767 u.2=1307 u.3=1094 u.4=859 u.5=832 u.6=772 u.7=631 u.8=642 u.9=1042 u1=398 u10=998 u11=869 u12=1526 "
    "u13=767 u14=1594 u2=497 u3=914 u4=824 u5=835 u6=708 u7=619 u8=860 u9=907 u_1=398 u_10=308 u_11=359 u_12=203 "
    "u_13=401 u_14=694 u_2=521 u_3=765 u_4=640 u_5=641 u_6=605 u_7=497 u_8=503 u_9=513 variant=661 vietnamese=415 "
    "white=1002 "
)

COSTS: Final[dict[str, int]] = {
    **{name: int(cost) for name, cost in (price.split("=") for price in _PRICES.split())},
    **_unpack("abcdefghijklmnopqrstuvwxyz", _LOWER_PAIRS),
    **_unpack("ABCDEFGHIJKLMNOPQRSTUVWXYZ", _UPPER_PAIRS),
    **_unpack("абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґ", _CYRILLIC_PAIRS),
    **_unpack("ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيپچژکگی", _ARABIC_PAIRS),
}
"""Thousandths of a token, by the names that `estimate.features` gives."""

_WORDS: Final = (
    "ABI API ASCII BMP BSD COMMAND CPU CSV DEBUG DEFAULT DESCRIPTION DNS FLAGS GCC GET GIF GNU GPL GTK GUI HEAD "
    "INCLUDING ISA ISO JPEG LDAP LICENSE MERCHANTABILITY MODULE NAME NEWS NULL OCR PASSWORD PDF PID PNG README "
    "RETURN RFC RGB RPC RSA SHA SOFTWARE SSL SYSTEM TCP TLS TRUE TYPE URL UTF WARRANTIES XML abc absolute accuracy "
    "acquire added additional address administrators after against algorithm algorithms alias allow allowed alpha "
    "already alternative always angegeben annotations any anzahl apache applications architecture archive archivo "
    "archivos args ascii async attribute attributes ausdruck ausgabe available avoid babel background backup "
    "backwards badge basic because behavior behaviour beispiel benutzer better between bfd binary bir bool branch "
    "break breaking build builtin bytes callable callback cannot canonical capabilities capability caps changed "
    "changes channel characters charset checkout checkpoint chunks class classifier classmethod cleanup cloud cmd "
    "command commands community comparison compatibility compatible compile compiled compiler complete component "
    "confidence configuration configure console constructor containers contributors cookie copyright counter "
    "coverage ctrl czy daniel danych data database dateien datetime david dbname deb debian debug debugging decode "
    "default defaults defs demasiado dependencies dependency deployment deprecated description descriptor designed "
    "desktop details deterministic developers development diagnostic diagnostics die different directly directories "
    "directory disable disabled display displayed distributed distribution doc docs documentation domain done "
    "download downloads dynamic earlier einem emoji enable encode encoding endpoint english enum environment erreur "
    "error etc example examples exception exclude executor existing expected experimental expression external "
    "fallback falls fazla features february fetch fichiers field fields filename first fixed flags follow following "
    "framework free from frozen fullname gcc general generate generated generator generic github global globals "
    "grep gtk gzip handle handler handling hardware hasattr hash header headers hello help hostname however https "
    "hub identifier ignore img implementation import impossible improvements include including individual info "
    "informacji initialization initialize input install internal interpreter introduced invalid item jako japanese "
    "java json keep key keyboard keyword keywords kwargs label lambda language languages legacy libraries library "
    "like limit little locale lock logging lookup machine maintenance major make manager mapping markdown match "
    "matches matching maximum mechanism metadata michael microsoft milliseconds minimal minimum mkdir model models "
    "modified modify module modules mozilla multi multiple namespace nebo negative new newline nick nie node none "
    "noqa normalize not note notebooks notes null number numbers numeric numpy official offset olarak openssl "
    "optimization optimize optimized optional organization otherwise output overflow override overview package "
    "packages paquet paquete paquetes parallel param parameter parameters parser partial passwd password patch "
    "pattern payload performance perl piece pipeline pkg platform platforms plugin plusieurs podczas policy "
    "possible postgre prefix previous previously produce program programming programs project properties property "
    "protocol provide provided provides province przez przy pudo purpose purposes pytest python quiet random raw "
    "readonly reasonable reconnaissance recursive references regardless register registry release remove removed "
    "replace report reports repositories repository republic requests required requirements requires resolver "
    "result results return returned returns run running runtime rust safe schema script scripts see seek "
    "serialization serialize serializer service servidor settings shadow shell shift signal signature significantly "
    "similar simultaneously size skip slave slots small snapshot socket software sorted source specified specify "
    "src stackoverflow standard start staticmethod statistics status stderr stdout stream subclass subclasses "
    "subprocess such suffix summary sun support supported supports symbol symbolic symbols syntax system systems "
    "target targets task tasks terminal thanks this timeout timezone title tmp token tokenizer tokens tools topic "
    "trabajo translation true tylko type typing underlying unicode universal unix unknown unless unsupported update "
    "upgrade url urllib usage username usr utilisateurs utils validate validation validator variable variables "
    "verbose verbosity veuillez vocabulary vulnerability warning warnings web website werden wheels which width "
    "will windows wird workflow wszystkich wszystkie wurde xml yaml yeniden yield you zhang zip "
)
KNOWN_WORDS: Final = frozenset(_WORDS.split())
"""Common words that are one token where their letters would make them dearer."""
