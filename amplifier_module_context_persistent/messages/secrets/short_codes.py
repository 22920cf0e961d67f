"""Short numeric codes after the words that name them: `Enter PIN: …`, `the door code is …`, `Your verification code is …`.

They count only after words that are used only for such codes. A PIN also needs capital letters or a word that says
whose it is, because the pins of a chip have the same name. A PIN of six digits without a verb is a postal code.
"""

from __future__ import annotations

import re

from .found import Secret
from .searched_text import Beginnings, SearchedText

_IS = r"is|was|lautet|ist|war|est|es|era|è|é|är|er|on|to|jest|este|это"
_OF_IT = "dazu|dafür|hierzu|davon|darauf|associé|correspondant|associata|associato|associada|relativo|corrispondente|asociado|correspondiente|associado|erbij|bijbehorende|do tego|til den|till den|thereto"
_GIVEN = rf"""
    (?: [ ](?:{_OF_IT.replace(" ", "[ ]")}) )?
    (?: [ ](?:for|of|on|to|du|de|der|des|für|fürs|vom|von|del|della|do|da|van|voor|til|till|do|z|от|для|к)[ ][^\n.:;,=?!0-9]{{1,40}}? )?
    (?: [ ]?[:=\uff1a\uff1d\u2013\u2014-]{{1,2}}[ ]? | [ ](?:{_IS})(?:[ ](?:now|still|jetzt|nun|maintenant|ahora|ora|agora|nu))?[ ]?:?[ ] )
    """
_DIGITS = r"""[\"'`*«“„”「『]{0,3}[ ]?(?P<secret> [0-9]{4,8} | [0-9]{3}[ -][0-9]{3} | [0-9](?:[ -][0-9]){3,7} | [0-9]{1,2}(?:-[0-9]{1,2}){2,3} )
    [#]? (?![\w%./:,-]?[\w%]) (?![ ](?:chars?|characters|digits|bytes|bits|px|ms|[ckmg]b|items|times|lines|pins?|ohms?|hz)\b)"""
_CODE = re.compile(
    rf"""
    (?: \b(?: otp | totp
          | (?: one[ -]time | verification | authentication | authenticator | security | login | log-in | sign-?in
              | 2fa | mfa | two-factor | confirmation | sms )
            [ ](?:password|passcode|pass[ ]?code|code|pin) )
        (?:[ ](?:code|token))? (?:[ ]\([^()\n]{{1,30}}\))?
      | \b(?:enter|your|my|card|sim|user|unlock|new|old|account|door|alarm|bank) [ ]
        (?:(?!gpio|input|output|data|reset|clock|led|analog|digital)\w{{1,12}}[ ]){{0,2}}? pin
        (?![ ]?code|\w) )
    (?: [ ]?[:=][ ]? | [ ](?:is|was)(?:[ ]now)?:?[ ] | [ ] (?=[0-9]{{6}}\b) )
    {_DIGITS}
    """,
    re.VERBOSE,
)
_PIN = re.compile(
    rf"""
    (?<![\w.-]) (?: pin | пин | pin-kod(?:en)? | pin-?code ) (?:[ -]?(?:code|number|kod(?:e|en|u|um)?|koodi|nummer|код\w{{0,3}}))? (?: {_GIVEN} | [ ](?=[0-9]{{4}}\b) ) {_DIGITS}
    """,
    re.VERBOSE,
)
_PLACE_CODE = re.compile(
    rf"""
    (?<!\w)(?: (?: door | gate | alarm | safe | voicemail | entry | building | garage | keypad | lobby | locker | lockbox | key[ ]?box | elevator
          | entrance | disarm | screen | phone | iphone | ipad | tablet | unlock )
        [ ](?:(?:access|entry|keypad|key[ ]pad|lock|unlock|screen)[ ])? (?:code|pin|passcode|combination|combo)
      | passcode | geheimzahl | (?:tür|tor|alarm|zugangs|eingangs|safe|sperr)code | digicode | code[ ](?=(?:de[ ]la|du|de[ ]l['’])[ ]?(?:porte|portail|entrée|alarme|immeuble|coffre))
      | (?:código|codigo|codice)[ ](?=(?:de[ ]la|del|de|da|do|della|dell['’])[ ]?(?:puerta|portón|alarma|acceso|accesso|porta|cancello|allarme|alarme|portão))
      | (?:deur|poort|alarm|toegangs)code | kod[ ](?=do[ ](?:drzwi|bramy|domofonu|alarmu|sejfu)) | (?:port|dörr|larm)kod(?:en)?
      | код[ ](?=(?:от|для)[ ](?:домофона|двери|сейфа|сигнализации|подъезда)) )
    {_GIVEN} {_DIGITS}
    """,
    re.VERBOSE,
)
_WITHOUT_SPACES = re.compile(
    r"""
    (?: 暗証番号 | pin(?:コード|番号|码|碼)? | 支付密码 | 取款密码 | 门禁(?:密码|码) | 开门密码 | 锁屏密码 | 비밀번호 | (?:pin|핀)[ ]?(?:번호|코드) | 도어락[ ]비밀번호
      | пин-?код\w{0,3} | pin[ ]kodu\w{0,3} | şifresi | 密码 | 密碼 )
    (?:[ ][^\W\d]{1,20})? (?: [ ]?(?:は|が|是|为|為|는|은|[:：]) [ ]? | [ ] )
    ["'「『“]?(?P<secret>[0-9]{4,8}) (?![\w%./:,-]?[0-9%]) (?!位|桁|文字|자리|个|個|字|年|月)
    """,
    re.VERBOSE,
)
_WORDS = Beginnings(
    (
        *("otp ", "otp:", "otp=", "totp", "one time ", "one-time ", "verification ", "authentic", "security "),
        *("login ", "log-in ", "signin ", "sign-in ", "2fa ", "mfa ", "two-factor ", "confirmation ", "sms "),
        *("enter ", "your ", "my ", "card ", "sim ", "user ", "unlock ", "new ", "old "),
        *("account ", "door ", "alarm ", "bank "),
    )
)
_PINS = Beginnings(("pin ", "pin:", "pin=", "pin-", "pincode"))
_PIN_FLAG = re.compile(r"--(?:so-|new-|user-|card-)?pin[ =][\"']?(?P<secret>[0-9]{4,8})(?![\w.:])")
_PIN_FLAGS = Beginnings(("--pin ", "--pin=", "--so-pin", "--new-pin", "--user-pin", "--card-pin"))
_KEY_OF_JSON = re.compile(
    r"(?:pin|otp|totp|(?:mfa|2fa|sms|verification|security|access|auth|login|one_?time)_?code)(?:_?(?:code|number))?"
    r"(?:\\*[\"'])[ ]?:[ ]?(?:\\*[\"'])?(?P<secret>[0-9]{4,8})(?![\w.])"
)
_KEYS_OF_JSON = Beginnings("pin otp totp mfa 2fa sms verification security access auth login onetime one_time".split())
_PLACES = Beginnings(
    (
        *(
            "door ",
            "gate ",
            "alarm ",
            "safe ",
            "voicemail ",
            "entry ",
            "building ",
            "garage ",
            "keypad ",
            "lobby ",
            "locker ",
            "lockbox ",
        ),
        *(
            "keybox ",
            "key box ",
            "elevator ",
            "entrance ",
            "disarm ",
            "screen ",
            "phone ",
            "iphone ",
            "ipad ",
            "tablet ",
            "unlock ",
        ),
        *(
            "passcode",
            "geheimzahl",
            "türcode",
            "torcode",
            "alarmcode",
            "zugangscode",
            "eingangscode",
            "safecode",
            "sperrcode",
            "digicode",
        ),
        *(
            "code de ",
            "code du ",
            "código ",
            "codigo ",
            "codice ",
            "deurcode",
            "poortcode",
            "toegangscode",
            "kod do ",
            "portkod",
            "dörrkod",
        ),
        *("larmkod", "код от ", "код для "),
    )
)
_OTHERS = Beginnings(
    (
        "暗証番号",
        "pinコード",
        "pin番号",
        "pin码",
        "pin碼",
        "支付密码",
        "取款密码",
        "门禁",
        "开门密码",
        "锁屏密码",
        "비밀번호",
        "pin 번호",
        "pin번호",
        "pin 코드",
        "핀",
        "도어락",
        "пин",
        "pin kodu",
        "密码",
        "密碼",
    )
)
_NOUNS = ("code", "pin", "otp", "pass")
_SAYS_WHOSE = re.compile(
    r"(?:\b(?:the|my|your|our|his|her|its|their|card|sim|phone|alarm|voicemail|bank|debit|credit|tv|app|lock|unlock|device|parental|door|gate|wi-?fi|admin"
    r"|atm|guest|new|old|current|default|le|la|el|il|o|a|de|het|die|der|das|mein|meine|votre|mon|tu|su|mi|code|kod|codice|código|codigo|numero|número|(?:da)?zugehörige|passende|bijbehorende|associated)[ ])\Z"
)
_LONG_OR_SHORT = (4, 5, 7, 8)


def find_short_codes(searched: SearchedText) -> list[Secret]:
    """Find codes of a few digits after words that ask for a code."""
    codes: list[re.Match[str]] = []
    if any(noun in searched.folded for noun in _NOUNS):
        codes += _WORDS.matches(_CODE, searched, is_folded=True)
    codes += [code for code in _PINS.matches(_PIN, searched, is_folded=True) if _is_pin(searched, code)]
    codes += _PIN_FLAGS.matches(_PIN_FLAG, searched, is_folded=True)
    codes += [code for code in _KEYS_OF_JSON.matches(_KEY_OF_JSON, searched, is_folded=True) if not _is_of_chip(code)]
    codes += _PLACES.matches(_PLACE_CODE, searched, is_folded=True)
    if not searched.text.isascii() or "pin kodu" in searched.folded:
        codes += _OTHERS.matches(_WITHOUT_SPACES, searched, is_folded=True)
    return [Secret(*code.span("secret"), "code") for code in codes if not _is_example(code["secret"])]


def _is_of_chip(code: re.Match[str]) -> bool:
    """Return whether a number under a key may be that of a chip's pin: `"pin": 1042`, not in quotes."""
    is_short = len(code["secret"]) == min(_LONG_OR_SHORT)
    is_quoted = code.string[code.start("secret") - 1] in "\"'"
    is_plain_pin = code[0].startswith(('pin"', "pin'", "pin\\")) and code.string[code.start() - 1] != "_"
    return is_plain_pin and is_short and not is_quoted


def _is_pin(searched: SearchedText, code: re.Match[str]) -> bool:
    """Return whether a number is the PIN of an account or a card, and not a chip's pin or a postal code."""
    start = code.start()
    is_owned = _SAYS_WHOSE.search(searched.folded, max(0, start - 20), start) is not None
    is_capital = searched.text[start : start + 3].isupper()
    has_length_of_pin = len(code["secret"]) in _LONG_OR_SHORT
    return is_owned or (is_capital and has_length_of_pin)


def _is_example(code: str) -> bool:
    """Return whether the digits of a code are all equal or in sequence."""
    digits = re.sub("[ -]", "", code)
    return len(set(digits)) == 1 or digits in "0123456789" or digits in "9876543210"
