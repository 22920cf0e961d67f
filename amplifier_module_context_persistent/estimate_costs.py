"""The costs of the token estimate. Written by `benchmarks/fit_tokens.py`; do not edit."""

from typing import Final

_STEPS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _unpack(letters: str, packed: str) -> dict[str, int]:
    """Return the costs of all pairs of letters, row by row; a character is one of 64 steps."""
    pairs = [first + second for first in letters for second in letters]
    return {pair: 30 * _STEPS.index(step) - 600 for pair, step in zip(pairs, packed, strict=True)}


_LOWER_PAIRS: Final = (
    "leabpXYfcfgWcZlbrWbXafneZlehrlauzjgYqUnuiv1cefaxkkcnarapTrrZViWdloWofYjRWlopmgbvrdXqpveYjevpeowgcoepmkhc"
    "dtgYgfboikrefanlbZZhlijajmcrsmZafvY1jbkhYoucpfczknirltvvXukeerofpjiq2dkjgsszjYgjtmZvishywjhTZrxYhQhnmjce"
    "dcYcZZSjtqkadVOZbaXSjcqhjWastkXz0nptomykaqr1i1brqtjzhiteZkdXfxLqlioq1tdYh3f0otahpYXYircqrdfqcg1rceZjlyLw"
    "ZMlpRolnfirkYeYYltbjhzlttsfoaWchUckcgnoYfqzjWVkfrsjeYdefefWmdkjbcVZcuVcdaldbfoelmeVwpbkupbcpdWrVhZjnxqku"
    "vwqv56it00xgwvo0ncnjW02trucqffWecXf4arccZoucecklglWuhqbrUdiYesnmmgedfpYXhiU2hldhlkYnkRc5wqeodl0ZYdgqkhXf"
    "cZdbVeb0cqkWbZiXyVcVpdtPhnbxwvQxYvfplmmngstkp2svowqegwumZrnXfsnnkRcovYYtswbhqmeoYser/mjx1mo03cv1rZt23ldv"
    "lyn9j2qvorrijgln4fZdw9kykklwyud4rrq0s0vojqt4voetj3lf"
)
_UPPER_PAIRS: Final = (
    "fbcdilOtlioTWaobkRdRiomWfoghnhiosknhmankktpdqlfqmtijbhieNihkivSbfjasidkUfrollrisoaUunkdlkjrpeihphkzfrmim"
    "dugffegx0wuckahogcae0lkdepYkinfebrbvklihdnuekbgmkmgumjrmXngnv0wkphlmxfngqjplkqgjjecmnoijjnhedhjvnMublgkn"
    "hieZikZrZepTbPUUkXeQphmZwThjxfbnno0geZmngousbrmlitqpqflkYnjhlsgloYplylnorhhuioclngciiqZqljshcj1ngafjkskx"
    "cdpkRnmojgnbdidZkrkftoohnqsnjgfjgsqnmlpmipwrfaojhrcidajbiYZushhdeMdawWmbemWgkxnfkhcllkkoigooYcagkladjrds"
    "phoioygulyzXmlytpfgjhu/quvjshpaognZnppedehqaihqleqYsilhcUmifghmoikhcYmWXfgjkcplmkqblqSgmtniolayepfmojlfs"
    "okkhVdcjZpkVbYuYtUYWgdkikijilhZpdod1mnkooorspqmliomoklrhokogm2jgmhcmihlknefdjqvokohpymkussbfrmrosetbwbZj"
    "plseovrqq0lcqiegthehqygibdoqvhllmpn0ttwlywynqrrqmjok"
)
_CYRILLIC_PAIRS: Final = (
    "0fUedTeWIZRYYZqVhYRtNdNQWcggfhigegYohhknizdevjfSPzhWpeg2biAuldYWGihlWgmfggdkeJ+Y1mfgiSobgwOYWggigm0sgaff"
    "iYglgfgjqv7MWfgXgfRohZfccelgjfqeggYfgigh3gggatkcAXx6XgcXAXaPRXXcgmqYtggQIeoQ4vgfgwXfUUVjTiZZXabcmfRY61Zk"
    "hYhgggkkmsfnpxcaffPTggZgkbjNvofnfdgggogggggfghuqgggfkczahVkigcNOlPwerScfgeemggU/gkil5gfghjkieXUVPiWcchVi"
    "dePsodYYYvggggWQjgZZgfjqjnpmjlgeJtbTixZgejgeVSgghggkogffggfqaijoQaafjh2cWrdjVeivRgpDgVjvlhgigggc4lirYgeZ"
    "genjYepYpicjgf/fggqQjgSlughgdwckiUgeYggOVdaWgmjahefkkggdIfhbqzgfgXgUqVdhsSgjmiTXhjcSlDvTaVYgXegkhpogrjzW"
    "UPWfWYMTaRYbLfaOK7bcYbKBgggInPegkzfdfgggSggdgnggYaMXs7egmpogggSZfyvgngggVeLToZReSfXfGWXtgWKYuJpmaegQTfxA"
    "xpggfc2MlTd/fVgZNgbYRVILehZVYDgfdUggFpxgfgenSlnYhlcgnkstavkftmennrgggeZjjTfogfggHeVQPgRoXQaVfneeacu6KiPo"
    "Yggg2UfgfpkguggifTggXfexgglgkvrTqgggggggqgffgzgggsfpfd1ggpgfiqdYgoXn1geggdggefkfhg0ggglhWhgcggagogghjigf"
    "1WggfggggaagxwgggggdgfghRogbgmfghyhhikvgghfdggghggfmsgggpffggcggdghskbqhpgqwgfgfeggeYggllwgggiggggYggWgg"
    "ggfegggfiggggggggYgggbnggggggggUgggggggggggggggggggggggggjfgggggXfqkXlwdcnlckgTkbbggSfjkhgggfgjgggggg5gr"
    "sjgMdiYgcRrmgkQgkghnDiggggaxhgingfehqggghgokMnqgju4HkcifgvggggggggggggfXh1Uf3Mgfekocjl4qNgggcLfWgggffggg"
    "fwgffX8/YfafsgpsslqfwVmjlxodcggfmsrggfugggoghglfgghzzigg0xoggtggggggggggggggguiczefRXfowoslrptdjkogUnhpg"
    "gggfcggYvgffbghfffgkiipAgfiikgfngffggggggggglfggeri/gffgf9hikgfsmKfgfgfggggggjggghgggfffghgggggeggfgeffj"
    "ggggggggggfggiggg"
)
_ARABIC_PAIRS: Final = (
    "hhhhhhZhKchhhhhhhhhhhhhhhhhhhhihjhhhhhhhhhhhhhhhhwhgWhhTy2uXdhhhhhhAphhoAYhwhxejhiiuhhhhhhhgUcGVnXozdzXk"
    "k8ZkliikakQTTnjphhhhhlhhhhhhihhThhhfyhshMohhhhhhhghfghwbhihhhhhhhhhhhhh/huzSr8rgilS2kYmklbdmvStUhhhvhhhh"
    "hhhhhhhhnbelhOhhehZohhcjfhhhmainRsn/hPhhhhhoRhhwhRjWNRWScVTiUYVYWZQcPuUXrHPOQihYjgjwlahhcsbhdbTb05TpbeTE"
    "MTrlgheQycpXgjlhhVhhhomihhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhonhgli/lqhaVnjgoeZQcaUdYMbfccrdjOihh"
    "h2knhhhhhhjfShhhhhhhphhhhhhhhhhjhVomhvhthhhhhlhhhhhhlwZbhhohYnsrschhhhzpghreXUgjsnihhhhshhhhhhkXSciwhhPz"
    "frY/gld/hhkfDVNeZchVhhhLhShhhhhhcRKahhhhIlguaUjuuhhhxhhYhhhUhehhhhhWkhYhhyflRyn/hsmhXke2hhhhwshhXegbXqRX"
    "ihhuKchhhhhhYhXfhehvhhyhhUhhhhhhShgShqZvhohhhhhxhKpehYdcSgoqdgchnvcovmrhhsgilgpNekWZe0k8jgWhihhlqhdehlth"
    "zhrhohhhhhphhhhraab3hfhhheffhhhdhhrhZbhW/zkhqhchhhThQ6t2fijjjukglhh3hehhlhh1kbWVhquWhhYhdhhhuhlTyjZvlXHZ"
    "hxhhheCthhhhhhuTWhhhghjhkhhhsh5hfUn6hfXUqbwfhhhhhihhhhhhnqqihhehfhghhhhhhhTc9hhajhZehghhhhhrhhrhhmljUohh"
    "uhhhohghhhhhmhmKhZ2WwkschhhhhqhhhhhhlhAfhhhhhhohhhhhhhhhhhhvchmhhNhhhhhZhhhhhhjgWaMwhhWiVKBiYW0bhhfhrQaL"
    "arbfhhhihphhhhhh3hVohhhhbfjngshfhhhhhhhtNmi/kdhhhhhehhmoegjVWXhhQh/9ftgviiegkaccpdAbtvchhhhhhjhhhhhhmlVl"
    "hhjhahlrYzknhhfh5khjshhuljhhhhhrhhchhhkaPTAhihdTrLrdhhhhohlphdcQgmhchhhhhhlrZhTtkmchYagggYgtdaihihdchhgj"
    "ZiliZelhlsijhhhghihjZjkhkTYnbdcaWdmvZXzshaidoijhiBhhkXhhhhhhhlYahjiUfl3WcmtpdW9vTln2cPclsguihivdhhhMhhXm"
    "pehfhhfNgPNghhhhhhchjpXJ3k/Whhhhi0asrhdzfXMlsOnkYWWcglktIWHVdSZQXTVqKfdQlq0ehhhhhhhhhhhhhhhhhhhhhhhhhhhh"
    "hhhhhhhhhhhhhhWhashdciZkkVhMiEahhlzAhNT8pPbeZdYjqmhhhhhhhhhhhhkihmhhhioudhjkhhhhhhhhhrfmp5hhhhhhhlhhhhhi"
    "mhhhhhhhhhhhxehhhhhhhhhhkafxhh8khkhhhhhhhhshhhhhhhhhhhhhhhhhhhhhhhhhcphhhhhhZphhhhhhoghLuhhh2hXAjfhhhhhh"
    "hhhlhVSmhhsihhhZhhhhhhemhvhfhhhjYZl/hhhhhhZhhiirgqhhhhhhhjlhhhhhkihdhadWYhbfYX5hdhMb/HhckdtnhhsXSkWh"
)

COSTS: Final[dict[str, int]] = {
    "accent": 456, "arabic+": -179, "arabic1": 1009, "arabic10": 1398, "arabic11": 1766,
    "arabic12": 2254, "arabic2": 440, "arabic3": 525, "arabic4": 641, "arabic5": 715,
    "arabic6": 954, "arabic7": 1075, "arabic8": 1194, "arabic9": 1483, "arabic~": 762,
    "armenian+": -217, "armenian1": 814, "armenian10": 3976, "armenian11": 3458, "armenian12": 3760,
    "armenian2": 1297, "armenian3": 1453, "armenian4": 1946, "armenian5": 2199, "armenian6": 2808,
    "armenian7": 3289, "armenian8": 3406, "armenian9": 3723, "arrow": 372, "box": 1351,
    "c+": 26, "c.10": 966, "c.11": 879, "c.12": 1203, "c.13": 887,
    "c.14": 1084, "c.2": 1553, "c.3": 1293, "c.4": 856, "c.5": 1024,
    "c.6": 1216, "c.7": 1056, "c.8": 1026, "c.9": 958, "c10": 566,
    "c11": 605, "c12": 584, "c13": 700, "c14": 666, "c2": 741,
    "c3": 918, "c4": 766, "c5": 748, "c6": 730, "c7": 743,
    "c8": 775, "c9": 612, "c_10": 151, "c_11": 67, "c_12": 283,
    "c_13": 170, "c_14": 246, "c_2": 650, "c_3": 569, "c_4": 489,
    "c_5": 471, "c_6": 318, "c_7": 351, "c_8": 328, "c_9": 270,
    "cjk": 257, "cjk-kana": 305, "cjk-punctuation": 821, "cyrillic+": 146, "cyrillic-capital": 993,
    "cyrillic1": -112, "cyrillic10": 999, "cyrillic11": 1198, "cyrillic12": 1344, "cyrillic2": -102,
    "cyrillic3": 247, "cyrillic4": 621, "cyrillic5": 658, "cyrillic6": 726, "cyrillic7": 877,
    "cyrillic8": 959, "cyrillic9": 1062, "cyrillic~": 494, "digits": 398, "emoji-1f3": 1992,
    "emoji-1f4": 2013, "emoji-1f5": 2284, "emoji-1f6": 1717, "emoji-more": 2602, "flag": 2036,
    "four-bytes": 1235, "general": 749, "georgian+": 359, "georgian1": 398, "georgian10": 3720,
    "georgian11": 3619, "georgian12": 4030, "georgian2": 1096, "georgian3": 1346, "georgian4": 1789,
    "georgian5": 2376, "georgian6": 2670, "georgian7": 3009, "georgian8": 3277, "georgian9": 3631,
    "greek+": 96, "greek1": 496, "greek10": 3922, "greek11": 4234, "greek12": 4773,
    "greek2": 1012, "greek3": 1056, "greek4": 1299, "greek5": 1704, "greek6": 2480,
    "greek7": 2967, "greek8": 3243, "greek9": 3538, "han": 975, "han-common": 546,
    "han-common-kana": 768, "han-kana": 994, "hangul1": 1025, "hangul10": 1500, "hangul11": 2448,
    "hangul12": 1727, "hangul2": 1352, "hangul3": 2138, "hangul4": 2574, "hangul5": 3274,
    "hangul6": 3899, "hangul7": 4471, "hangul8": 6630, "hangul9": 5126, "hebrew+": 1525,
    "hebrew1": 398, "hebrew10": 5383, "hebrew11": 5061, "hebrew12": 5651, "hebrew2": 1030,
    "hebrew3": 1251, "hebrew4": 1653, "hebrew5": 2162, "hebrew6": 2611, "hebrew7": 3238,
    "hebrew8": 3710, "hebrew9": 4151, "hiragana": 525, "indic+": 100, "indic1": 1180,
    "indic10": 4517, "indic11": 4371, "indic12": 5417, "indic2": 1044, "indic3": 1314,
    "indic4": 1678, "indic5": 2307, "indic6": 2777, "indic7": 3195, "indic8": 3744,
    "indic9": 3888, "joiner": 791, "katakana": 669, "known": 1007, "l+": -57,
    "l.1": 1035, "l.10": 678, "l.11": 853, "l.12": 928, "l.13": 686,
    "l.14": 602, "l.2": 944, "l.3": 773, "l.4": 682, "l.5": 581,
    "l.6": 533, "l.7": 594, "l.8": 548, "l.9": 589, "l1": 733,
    "l10": 560, "l11": 645, "l12": 756, "l13": 829, "l14": 590,
    "l2": 307, "l3": 646, "l4": 568, "l5": 590, "l6": 521,
    "l7": 572, "l8": 613, "l9": 566, "l_1": 955, "l_10": -118,
    "l_11": -188, "l_12": -185, "l_13": -249, "l_14": -185, "l_2": 545,
    "l_3": 303, "l_4": 226, "l_5": 196, "l_6": 118, "l_7": 66,
    "l_8": 65, "l_9": -71, "m+": -198, "m.10": 763, "m.11": 256,
    "m.12": 391, "m.13": 384, "m.14": 214, "m.3": 1717, "m.4": 1597,
    "m.5": 1737, "m.6": 1823, "m.7": 1480, "m.8": 1183, "m.9": 636,
    "m10": 650, "m11": 876, "m12": 931, "m13": 1039, "m14": 1550,
    "m3": 1081, "m4": 947, "m5": 1080, "m6": 1103, "m7": 1180,
    "m8": 1130, "m9": 1014, "m_10": 201, "m_11": 213, "m_12": -298,
    "m_13": 311, "m_14": 110, "m_3": 893, "m_4": 738, "m_5": 770,
    "m_6": 552, "m_7": 683, "m_8": 342, "m_9": 215, "p+": 49,
    "p1": 398, "p2": 564, "p3": 350, "p4": 340, "p5": 678,
    "p6": 786, "p7": 849, "p8": 1269, "p~": 442, "skin": 1161,
    "suffix": 349, "symbol": 1741, "thai+": 362, "thai1": 398, "thai10": 4906,
    "thai11": 5305, "thai12": 6158, "thai2": 1389, "thai3": 1498, "thai4": 2146,
    "thai5": 3158, "thai6": 3549, "thai7": 4029, "thai8": 4476, "thai9": 4921,
    "three-bytes": 2022, "two-bytes": 1096, "u+": -207, "u.1": 1316, "u.10": 1005,
    "u.11": 955, "u.12": 867, "u.13": 898, "u.14": 618, "u.2": 1283,
    "u.3": 1073, "u.4": 835, "u.5": 786, "u.6": 725, "u.7": 585,
    "u.8": 582, "u.9": 950, "u1": 398, "u10": 926, "u11": 765,
    "u12": 1294, "u13": 619, "u14": 1227, "u2": 485, "u3": 878,
    "u4": 779, "u5": 812, "u6": 656, "u7": 538, "u8": 761,
    "u9": 836, "u_1": 398, "u_10": 202, "u_11": 242, "u_12": 101,
    "u_13": 323, "u_14": 532, "u_2": 509, "u_3": 730, "u_4": 669,
    "u_5": 653, "u_6": 561, "u_7": 411, "u_8": 375, "u_9": 462,
    "variant": 664, "vietnamese": 427, "white": 1002,
    **_unpack("abcdefghijklmnopqrstuvwxyz", _LOWER_PAIRS),
    **_unpack("ABCDEFGHIJKLMNOPQRSTUVWXYZ", _UPPER_PAIRS),
    **_unpack("абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґ", _CYRILLIC_PAIRS),
    **_unpack("ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيپچژکگی", _ARABIC_PAIRS),
}
"""Thousandths of a token, by the names that `estimate.features` gives."""

KNOWN_WORDS: Final = frozenset(
    (
        "ABI API ASCII BMP BSD COMMAND CPU CSV DEBUG DESCRIPTION DNS ERROR FLAGS GCC GIF GNU GPL GPT GTK GUI HEAD "
        "INCLUDING INFO ISA ISO JPEG LDAP LICENSE MERCHANTABILITY MODULE NAME NEWS NULL OCR OPT PASSWORD PDF PID PNG "
        "README RETURN RFC RPC SHA SSL SYSTEM TCP TIFF TLS TRUE TYPE URL UTF WARRANTIES abc absolute accuracy added "
        "additional address administrators algorithm algunos alias allow allowed alpha already alternative always "
        "angegeben any apache applications architecture archivo archivos args ascii async attribute attributes "
        "aufgrund august aunque ausdruck available avoid babel backwards badge basic because behavior behaviour "
        "beispiel beispielsweise bekannt benutzer better between bezeichnet bfd bilgi birlikte body bool boyunca "
        "breaking build builtin bytes callable callback cannot capabilities capability changed changes characters "
        "charset check checkout checkpoint chunks ciudad class classifier classmethod cleanup cloud cmd command "
        "comparison compatibility compatible compile compiled compiler complete component configuration configure "
        "console constructor contributors cookie copyright counter ctrl czasie dabei daniel danych database datetime "
        "dbname deb debian debido debug debugging decode default defaults defs departamento dependencies dependency "
        "deployment deprecated depuis description descriptor desde desktop details deutschen deutschland developers "
        "development diagnostic die different directly directories directory disable disabled display distributed "
        "distribution doc docs documentation domain done download downloads dynamic earlier ebenfalls einem einwohner "
        "elektrik emoji enable encoding endpoint english enum environment error estados etc example examples "
        "exception exclude executor existing expected experimental expression external fallback familia fazla "
        "features februar february fetch fichiers field filename fixed flags follow following framework friedrich "
        "from gcc gdzie general generate generator gesetzt github global globals gobierno grep group grupo gtk gzip "
        "handle handler handling hardware hasattr hash header hello help hijo historia hostname however https hub "
        "ignore img implementation implemented import impossible improvements include including individual info "
        "informacji initialization initialize input install internal interpreter introduced invalid item jahrhundert "
        "jahrhunderts jako jednak jejich jeszcze json keep key keyboard keyword keywords kwargs label language "
        "languages leben legacy letzten libraries library license like limit locale lock logging lookup machine "
        "maintenance make manager manual mapping markdown marzo match matches matching maximum mechanism metadata "
        "michael microsoft miejsce miejscu milliseconds minimal minimum mitglied model modified modify module modules "
        "mozilla multi multiple nachdem najbardziej namespace neben nebo nedeniyle negative network new newline nick "
        "nie node none noqa normalize not note notebooks notes november nueva nuevo num numeric numpy object official "
        "offset oktober olarak openssl operating optimization optimize optimized optional organization otherwise "
        "output overflow override overview package packages paquet paquete paquetes param parameter parameters parser "
        "passwd password patch pattern payload performance perl piece pierwszy pipeline pkg platform platforms plugin "
        "plusieurs podczas policy poprzez possible postgre pouze pragma prefix program programming project properties "
        "property protocol provide provided provides province przez przy przypadku purpose purposes pytest python "
        "quelques quiet raw readonly reconnaissance references registry release remove removed replace report "
        "repositories repository republic required requirements requires resolver result results return returned "
        "returns review roku run running runtime rust schema script see seek september serialization serialize "
        "serializer service servidor set settings shadow shell shift signal signature significantly similar simon "
        "simultaneously size skip slave slots snapshot socket software sonra sorted source specified specify src "
        "stadt standard staticmethod status stdout stream subclass subclasses such suffix summary sun support "
        "supported supports symbol symbolic symbols syntax system systems target task tasks tekrar terminal thanks "
        "this timeout timezone title todos tohoto token tokenizer tokens topic toujours trabajo translation true "
        "tylko type typing unicode universal universidad unix unknown unless update upgrade url urllib usage username "
        "usr utilisateurs utils validate validator variable variables verbose verbosity view vocabulary vulnerability "
        "warning warnings web website wheels width wieku wilhelm will windows workflow wszystkich wszystkie wurde "
        "wurden xml yaml yeni yeniden yield you zahlreiche zhang znajduje zwischen "
    ).split()
)
"""Common words that are one token where their letters would make them dearer."""
