"""The words with which English, German, French and Spanish name times.

Each language has a table with a row for each kind of word. Semicolons divide the meanings of a row, such as its months;
commas divide the forms of a meaning. A form may have several words. Accents and case are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from types import MappingProxyType

from .accents import without_accents


class Kind(Enum):
    """The meaning of a word within an expression of time."""

    MONTH = auto()
    WEEKDAY = auto()
    PART = auto()
    """A part of a day."""
    DAYS_BACK = auto()
    """A word for a day, such as `yesterday`: the number of days since then."""
    UNIT = auto()
    COUNT = auto()
    LAST = auto()
    """The number of units back: 1 for `last`, 2 for `vorletzte`."""
    PAST = auto()
    """`the last` or `past`: the time up to now, not the last whole week or month."""
    THIS = auto()
    AGO = auto()
    """`ago`, after a count and a unit."""
    BACK = auto()
    """`vor`, `il y a`, `hace`: "ago" before a count and a unit."""
    SINCE = auto()
    BEFORE = auto()
    AFTER = auto()
    BETWEEN = auto()
    TO = auto()
    """A word between the two ends of a time, such as `to`."""
    IN = auto()
    """A preposition before a time. Without a preposition, a month or weekday is too often another word."""
    ARTICLE = auto()
    EDGE = auto()
    """`early`, `mid` or `late`: the third of a time."""
    RECENT = auto()


Meanings = Mapping[Kind, float]
_UNITS = ("minute", "hour", "day", "week", "weekend", "month", "year")
MINUTE, HOUR, DAY, WEEK, WEEKEND, MONTH, YEAR = range(len(_UNITS))
NIGHT, MORNING, NOON, AFTERNOON, EVENING = range(5)


@dataclass(frozen=True, slots=True)
class _Table:
    """The words of one language.

    In rows whose meanings are numbers, the first expression of a row has the row's first number.
    """

    months: str
    weekdays: str
    parts: str
    units: str
    days_back: str
    counts: str
    last: str
    before_last: str
    past: str
    this: str
    ago: str
    back: str
    since: str
    before: str
    after: str
    between: str
    to: str
    in_: str
    articles: str
    edges: str
    recent: str
    joins_parts: bool = False
    """Whether a weekday and a part of the day are one word (`Montagabend`)."""


_ENGLISH = _Table(
    months="january, jan; february, feb; march, mar; april, apr; may; june, jun; july, jul; august, aug; september, "
    "sep, sept; october, oct; november, nov; december, dec",
    weekdays="monday; tuesday; wednesday; thursday; friday; saturday; sunday",
    parts="night; morning; noon; afternoon; evening",
    units="minute, minutes; hour, hours; day, days; week, weeks; weekend; month, months; year, years",
    days_back="today; yesterday; day before yesterday",
    counts="a, an, one; two, a couple of, couple of, a couple; three, a few, few; four, several; five; six; seven; "
    "eight; nine; ten; eleven; twelve",
    last="last, previous",
    before_last="before last",
    past="past, the past, the last",
    this="this",
    ago="ago, back",
    back="",
    since="since",
    before="before, until",
    after="after",
    between="between",
    to="and, to, till",
    in_="in, on, during, of, from, within, over, at",
    articles="the, of",
    edges="early, beginning of, start of; mid, middle of; late, end of",
    recent="recently, lately",
)
_GERMAN = _Table(
    months="januar, jänner; februar, feber; märz, maerz; april; mai; juni; juli; august; september; oktober; november; "
    "dezember",
    weekdays="montag; dienstag; mittwoch; donnerstag; freitag; samstag, sonnabend; sonntag",
    parts="nacht; morgen, früh, vormittag, morgens; mittag; nachmittag, nachmittags; abend, abends",
    units="minute, minuten; stunde, stunden; tag, tage, tagen; woche, wochen; wochenende; monat, monate, monaten, "
    "monats; jahr, jahre, jahren, jahres",
    days_back="heute; gestern; vorgestern",
    counts="ein, eine, einem, einer, einen; zwei, ein paar, paar; drei, einigen; vier, mehreren; fünf; sechs; sieben; "
    "acht; neun; zehn; elf; zwölf",
    last="letzte, letzter, letzten, letztes, letztem, vorige, voriger, vorigen, voriges, vergangene, vergangener, "
    "vergangenen, vergangenes",
    before_last="vorletzte, vorletzter, vorletzten, vorletztes",
    past="",
    this="diese, dieser, diesen, dieses, diesem",
    ago="",
    back="vor",
    since="seit, ab",
    before="vor, bis",
    after="nach",
    between="zwischen",
    to="und, bis",
    in_="im, in, am, vom, von, während",
    articles="der, die, das, den, dem, des",
    edges="anfang; mitte; ende",
    recent="neulich, kürzlich, letztens",
    joins_parts=True,
)
_FRENCH = _Table(
    months="janvier; février; mars; avril; mai; juin; juillet; août; septembre; octobre; novembre; décembre",
    weekdays="lundi; mardi; mercredi; jeudi; vendredi; samedi; dimanche",
    parts="nuit; matin; midi; après midi; soir",
    units="minute, minutes; heure, heures; jour, jours; semaine, semaines; week end, weekend; mois; "
    "an, ans, année, années",
    days_back="aujourd hui; hier; avant hier",
    counts="un, une; deux; trois, quelques; quatre, plusieurs; cinq; six; sept; huit; neuf; dix; onze; douze",
    last="dernier, dernière, derniers, dernières, passé, passée, précédent, précédente",
    before_last="",
    past="",
    this="ce, cet, cette",
    ago="",
    back="il y a",
    since="depuis",
    before="avant",
    after="après",
    between="entre",
    to="et, à, au",
    in_="en, au, le, du, de, d, pendant, au cours, dans",
    articles="le, la, les, l, de, du, des, d",
    edges="début; mi; fin",
    recent="récemment, dernièrement",
)
_SPANISH = _Table(
    months="enero; febrero; marzo; abril; mayo; junio; julio; agosto; septiembre, setiembre; octubre; "
    "noviembre; diciembre",
    weekdays="lunes; martes; miércoles; jueves; viernes; sábado; domingo",
    parts="noche; mañana; mediodía; tarde",
    units="minuto, minutos; hora, horas; día, días; semana, semanas; fin de semana; mes, meses; año, años",
    days_back="hoy; ayer, anoche; anteayer, antes de ayer",
    counts="un, una; dos, un par de; tres, unos, unas; cuatro, varios, varias; cinco; seis; siete; "
    "ocho; nueve; diez; once; doce",
    last="último, última, últimos, últimas, pasado, pasada, pasados, pasadas, anterior",
    before_last="",
    past="",
    this="este, esta",
    ago="",
    back="hace",
    since="desde, desde hace",
    before="antes de, antes del, hasta",
    after="después de, después del",
    between="entre",
    to="y, a, al, hasta",
    in_="en, el, durante, de, del, por",
    articles="el, la, los, las, de, del",
    edges="principios de; mediados de; finales de",
    recent="recientemente, últimamente",
)
_TABLES = MappingProxyType({"en": _ENGLISH, "de": _GERMAN, "fr": _FRENCH, "es": _SPANISH})


@lru_cache(maxsize=16)
def vocabulary(languages: tuple[str, ...]) -> Mapping[tuple[str, ...], Meanings]:
    """Return the meanings of words and groups of words in some languages.

    Args:
        languages: some of `en`, `de`, `fr` and `es`.
    """
    meanings: dict[tuple[str, ...], dict[Kind, float]] = {}
    for language in languages:
        for form, kind, value in _meanings(_TABLES[language]):
            meanings.setdefault(form, {}).setdefault(kind, value)
    return meanings


def _meanings(table: _Table) -> Iterator[tuple[tuple[str, ...], Kind, float]]:
    """Yield each expression of a language, as words, with one of its meanings: a kind and a value.

    The value of an expression is its number in the row of its kind. Each line below has a kind, its row, and the
    number of the first expression in the row.
    """
    rows = (
        (Kind.MONTH, table.months, 1),
        (Kind.WEEKDAY, table.weekdays, 0),
        (Kind.PART, table.parts, 0),
        (Kind.UNIT, table.units, 0),
        (Kind.DAYS_BACK, table.days_back, 0),
        (Kind.COUNT, table.counts, 1),
        (Kind.EDGE, table.edges, 0),
        (Kind.LAST, table.last, 1),
        (Kind.LAST, table.before_last, 2),
        (Kind.PAST, table.past, 0),
        (Kind.THIS, table.this, 0),
        (Kind.AGO, table.ago, 0),
        (Kind.BACK, table.back, 0),
        (Kind.SINCE, table.since, 0),
        (Kind.BEFORE, table.before, 0),
        (Kind.AFTER, table.after, 0),
        (Kind.BETWEEN, table.between, 0),
        (Kind.TO, table.to, 0),
        (Kind.IN, table.in_, 0),
        (Kind.ARTICLE, table.articles, 0),
        (Kind.RECENT, table.recent, 0),
    )
    for kind, row, first in rows:
        for value, form in _forms(row, first):
            yield tuple(form.split()), kind, value
    if table.joins_parts:
        yield from _joined_with_parts(table)


def _joined_with_parts(table: _Table) -> Iterator[tuple[tuple[str, ...], Kind, float]]:
    """Yield a weekday and a part of the day as one word, such as `Montagabend`, with both of its meanings."""
    for day, name in _forms(table.weekdays, 0):
        for part, ending in _forms(table.parts, 0):
            yield (name + ending,), Kind.WEEKDAY, day
            yield (name + ending,), Kind.PART, part


def _forms(row: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield the forms of a row without accents, each with the number of its meaning."""
    for value, meaning in enumerate(row.split(";"), first):
        for form in meaning.split(","):
            plain = without_accents(form.strip())
            if plain:
                yield value, plain
