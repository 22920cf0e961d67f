"""The language of a question: it decides which words are function words and which words name times.

*Function words* ("the", "of") only connect the other words. English is always read. One of German, French and Spanish
is read too if the question has more function words of this language than of the other two. All of them are read if the
question has none. A word that is also an English word, or a name of programs, does not show a language.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

_ENGLISH = """
a about again all also am an and any are as at be because been before being but by can could did do does doing
done down during each for from had has have having he her here hers him his how i if in into is it its itself
just let me more most my myself no nor not of off on once only or other our ours out over own please s same
shall she should so some such t than that the their theirs them then there these they this those to too under
until up us very was we were what when where whether which while who whom whose why will with would you your
yours
"""
_GERMAN = """
aber alle als also am an auch auf aus bei bin bis da dabei damit dann das dass dazu dein dem den denn der des dich die
dir doch du durch ein eine einem einen einer eines er es etwas euch für gab gegen gemacht gibt habe haben hat hatte
hatten hier hinter ich ihm ihn ihnen ihr ihre im in ist ja jede jeder jedes jetzt kann kein keine können machen macht
mein meine mich mir mit muss müssen nach nicht nichts noch nun nur ob oder ohne schon sein seine sich sie sind so soll
sollte sollten um und uns unser unsere unter vom von vor war waren warum was weil welche welcher welches wenn wer
werden wie wieder wieso wir wird wo woher wohin wurde wurden zu zum zur zwischen über
"""
_FRENCH = """
ai alors après au aussi aux avait avant avec avez avons c ce ces cet cette comme comment d dans de des donc du elle
elles en est et eu faire faisait fait faut il ils j je l la le les leur lui m ma mais me mes moi mon n ne nos notre
nous on ont ou où par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si son sont
sous sur t ta te tes toi ton tu un une vos votre vous y été être
"""
_SPANISH = """
a al algo antes aquí como con cual cuando cuál cuáles cuándo cómo de del desde donde dónde el ella ellos en entre era
es esa ese eso esta estas este esto estos está están fue fueron ha había hace hacer han hasta hay he hecho hemos hice
hicimos hizo la las le les lo los me mi mis muy más nada ni no nos nosotros o para pero por porque que quien quién qué
se sea ser si sin sobre son su sus sí también te tiene tu un una uno y ya yo él
"""
_AMBIGUOUS = """
a al alle als also am an as au aux bin bis c ce con d da de dein del dem den des die dir donc du el en entre er era es
est et fait fue ha hat he hier il im in in j ja l la las le les lo los m ma man me mes mi mir mit mon n ne ni no nos nun
o on os ou par pas per plus pour qu que qui s sa se ses si sie sin so son su sur t ta te tes ton tu um un uno us war was
wo y zu
"""
"""Words that are also English, or names and abbreviations of other things."""
_WORDS = MappingProxyType({"de": frozenset(_GERMAN.split()), "fr": frozenset(_FRENCH.split()),
    "es": frozenset(_SPANISH.split())})  # fmt: skip
_UNAMBIGUOUS = MappingProxyType({name: words - set(_AMBIGUOUS.split()) for name, words in _WORDS.items()})
_ENGLISH_WORDS = frozenset(_ENGLISH.split())


def languages_of(words: Iterable[str]) -> tuple[str, ...]:
    """Return the languages in which a question may name a time.

    Args:
        words: the question's words in small letters.
    """
    languages = _shown(words)
    return ("en", *(languages or _WORDS))


def function_words(words: Iterable[str]) -> frozenset[str]:
    """Return the function words of English and of the other languages that the question shows."""
    return _ENGLISH_WORDS.union(*(_WORDS[name] for name in _shown(words)))


def _shown(words: Iterable[str]) -> list[str]:
    """Return the languages, other than English, of which a question has the most words; [] if no language qualifies.

    Unambiguous words are compared first, then all words. A language qualifies if the question has one of its
    unambiguous words, or more than `_SURE` of its words.
    """
    question_words = set(words)
    counts: dict[str, tuple[int, int]] = {}
    for language, known in _WORDS.items():
        unambiguous_words = len(question_words & _UNAMBIGUOUS[language])
        known_words = len(question_words & known)
        if unambiguous_words or known_words > _SURE:
            counts[language] = (unambiguous_words, known_words)
    most = max(counts.values(), default=None)
    return [language for language, count in counts.items() if count == most]


_SURE = 2
"""A language is recognised by more than this number of its words, even if each may belong to another language."""
