"""Secrets beside their names: the table of names, and what stands beside one in code, settings, commands and headers.

A name is read as words: `dbPassword`, `DB_PASSWORD` and `db-password` are `db password`. It is sensitive if it ends
with an entry of the table, after words that say which of several it is (`API_KEY_PROD`, `password2`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache

from .found import Secret

STRONG = (
    *("password", "passwd", "passwort", "passphrase", "pwd", "pass", "secret", "secrets", "passcode"),
    *("apikey", "api key", "access key", "secret key", "private key", "privatekey", "encryption key", "signing key"),
    *("master key", "account key", "shared access key", "storage key", "auth key", "app key", "application key"),
    *("consumer key", "subscription key", "functions key", "service key", "service role key", "client key"),
    *(
        "hmac key",
        "deploy key",
        "license key",
        "cookie secret",
        "sharedaccesskey",
        "accountkey",
        "accesskey",
        "secretkey",
    ),
    *("access token", "auth token", "authtoken", "refresh token", "bearer token", "session token", "security token"),
    *("id token", "api token", "bot token", "deploy token", "private token", "personal access token", "vault token"),
    *("accesstoken", "refreshtoken", "apitoken", "sas token", "storepass", "keypass", "pgpassword", "mysql pwd"),
    *(
        "admin key",
        "write key",
        "server key",
        "integration key",
        "shared key",
        "webhook key",
        "app token",
        "access secret",
    ),
    *("oauth token", "user token", "app token", "admin token", "root token", "service token", "signature key"),
)
"""Names that nothing but a secret has."""

WEAK = ("token", "auth", "authorization", "credential", "credentials", "cookie", "jwt", "pat")
"""Names that other things have too: the value has to look like a secret."""

SERVICES = frozenset(
    "adafruit airtable algolia alibaba aliyun amplitude asana assemblyai atlassian auth0 beamer bitbucket bitly bittrex"
    " box bugsnag buildkite circleci civo clerk clickup cloudflare cloudinary codacy codecov cohere coinbase configcat"
    " confluent contentful couchbase coveralls cursor datadog dd deepgram deepseek digitalocean discord disqus docker"
    " dockerhub drone droneci dropbox elevenlabs etsy exoscale facebook fastly figma finicity finnhub flickr freshbooks"
    " gemini gitea github gitlab gitter gocardless grafana greptile groq gumroad heroku honeycomb hubspot huggingface ibm"
    " infomaniak influx influxdb intercom jira jumpcloud kagi kimi klaviyo kraken kucoin launchdarkly lighton linear"
    " linkedin lob logdna looker mailchimp mailgun mapbox mattermost messagebird minimax mistral mixpanel moonshot"
    " netlify newrelic relic ngrok npm nytimes okta ollama openai openrouter ovh paddle pagerduty paypal pinecone plaid"
    " planetscale posthog postmark privateai pusher pypi rapidapi replicate rollbar scaleway sendbird sendgrid sentry"
    " shodan shopify slack snyk sonar sonarcloud sonarqube sourcegraph splunk squarespace stability stripe sumo sumologic"
    " supabase telegram travis trello twilio twitch twitter typeform upstage upstash vercel virustotal wandb yandex zai"
    " zendesk zoom apify exa fal railway runpod modal".split()
)
"""Services whose keys have no form of their own: beside `SERVICE… key` or `token`, what looks random is one, a UUID too.

From the rules of gitleaks, betterleaks and trufflehog that look for a service's name, as of November 2026.
"""
_SERVICE_ENDS = frozenset(
    {"key", "token", "login", "pat", "auth", "secret", "password", "credential", "authtoken", "apikey"}
)

_WHICH = frozenset(
    [
        "base",
        "value",
        "prod",
        "production",
        "dev",
        "development",
        "test",
        "testing",
        "staging",
        "stage",
        "live",
        "old",
        "new",
        "data",
        "raw",
        "b64",
        "base64",
        "ro",
        "rw",
        "readonly",
        "default",
        "primary",
        "secondary",
        "main",
        "backup",
        "local",
        "plain",
        "text",
        "current",
    ]
)
_NO_SECRETS = frozenset(
    "next page continuation pad eos bos unk sep cls mask start end stop special sync cancel cancellation first last public"
    " csrf xsrf forgot reset no is has use show hide require required confirm enter your bypass".split()
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_PLACEHOLDER = re.compile(
    r"""
      [$%{<\[(&*!`@|\\=,;:~?#].* | .*(?:\$\{|\{\{|%\(|<[a-z_ ]+>|\[(?:REDACTED|█*)\]|\.\.\.|…).*
    | (?:x+|X+|\*+|\.+|-+|_+|0+)
    | (?: none|null|nil|true|false|yes|no|on|off|undefined|empty|optional|required|string|str|bytes|bool|int|integer|number
        | object|any|unset|default|basic|bearer|digest|oauth|oauth2|jwt|auto|enabled|disabled|password|passwd|secret|token
        | key|value|input|prompt|text|hidden|env|environ|self|this|super|await|async|new|return|not|lambda|func|function
        | const|let|var|import|from|dict|list|tuple|set|char|varchar|field|file|stdin|keyring|plain|sha1|sha256|sha512|md5
        | change[_-]?(?:me|it|this)(?:[_-]?(?:please|now|in|before).*)? | placeholder | redacted | replace[_-]?me | dummy | example
        | utf8|utf-8|base64|hex|hs256|rs256|es256|http2|ipv4|ipv6|rsa|x509|aes256|aes128|pkcs8|ed25519|oauth1|ntlm )
    | [fFrRbB]{1,2}["'].*
    | (?:your|my|some|the|a|an|example|sample|dummy|fake|insert|enter|replace|change|todo|fixme|put)[_-].*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PATH = re.compile(
    r"(?:~|\.{1,2})?/[\w.@~+-]+(?:/[\w.@~+-]*)*|[A-Za-z]:[\\/].*|[\w.-]+(?:/[\w.-]+)+\.[a-z]{1,5}|https?://.*"
)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_WORDY = re.compile(r"_*(?:[A-Za-z]+[0-9]{0,2}|[0-9]{1,2})(?:[_.-]+(?:[A-Za-z]+[0-9]{0,2}|[0-9]{1,2}))*_*")
_HAS_DIGIT = re.compile("[0-9]")
_HAS_LETTER = re.compile("[A-Za-z]")


class Likelihood(Enum):
    """How far a name alone says that its value is a secret."""

    NONE = 0
    WEAK = 1
    STRONG = 2


@lru_cache(maxsize=4096)
def likelihood_of(name: str) -> Likelihood:
    """Judge a name."""
    words = _words_of(name)
    if not words or words[0] in _NO_SECRETS or (len(words) > 1 and words[-2] in _NO_SECRETS):
        return Likelihood.NONE
    for likelihood, names in ((Likelihood.STRONG, STRONG), (Likelihood.WEAK, WEAK)):
        if any(words[-len(known) :] == known for known in _split(names)):
            return likelihood
    return Likelihood.NONE


def names_service(name: str) -> bool:
    """Whether a name is that of a service's key or token."""
    words = _words_of(name)
    if not words or words[-1] not in _SERVICE_ENDS or not _NO_SECRETS.isdisjoint(words):
        return False
    return not SERVICES.isdisjoint(words)


def _words_of(name: str) -> list[str]:
    """The words of a name, without those at its end that say which of several it is."""
    words = [word.lower() for word in _WORD.findall(name[-80:])]
    while len(words) > 1 and (words[-1] in _WHICH or words[-1].isdigit()):
        words.pop()
    return words


@cache
def _split(names: tuple[str, ...]) -> tuple[list[str], ...]:
    return tuple(name.split() for name in names)


def is_placeholder(value: str) -> bool:
    """Whether a value stands for one: a variable, a type, a call to fill it in, something replaced already."""
    return _PLACEHOLDER.fullmatch(value) is not None


def is_code_or_path(value: str) -> bool:
    """Whether an unquoted value is a variable, an attribute, a type, a path or a UUID."""
    if _PATH.fullmatch(value):
        return not looks_random(value.rpartition("/")[2], least=30)
    return bool(_UUID.fullmatch(value)) or bool(_WORDY.fullmatch(value))


def looks_random(value: str, *, least: int = 16) -> bool:
    """Whether a value has letters and digits mixed, and is long enough to be made by a machine."""
    return (
        len(value) >= least
        and not _WORDY.fullmatch(value)
        and not _UUID.fullmatch(value)
        and _HAS_DIGIT.search(value) is not None
        and _HAS_LETTER.search(value) is not None
    )


_NAMED = re.compile(
    r"""
    (?: pass(?:w(?:or)?d|wort|phrase|code)? | pwd | secret | token | credential | auth | cookie | jwt | key
      | (?<=[_-])pat | (?<=sonar[._-])login )
    [a-z0-9_-]{0,40}
    (?P<separator>
        \\*["'`]? \]? [ \t]* (?: => | :?= (?!=) | : (?![:=]) ) [ \t]* (?: \\?[>|]-? [ \t]* )?
      | [ \t]+ (?: is:? [ \t]+ )? (?=[^\s=:])
      | \\*["'] [ \t]* (?: , | [ ]value= ) [ \t]* (?=\\*["'])    # define('DB_PASSWORD', 'x'), key="password" value="x"
      | > | \( (?=\\*["'])                                        # <password>x</password>, set_password("x")
    )
    """,
    re.VERBOSE,
)
"""Where a name may end and its value begin; matched in lower case, which is many times as fast as in any case."""
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_MOST_NAME_CHARS = 60
_MOST_VALUE_CHARS = 8_192
_QUOTE = re.compile(r"[fFrRbBuU]{0,2}(?P<quote>\\*(?:\"\"\"|'''|[\"'`]))")
_BARE = re.compile(r"[^\s\"'`<>,;(){}\[\]&|\\=]{1,2000}={0,2}")
_LITERAL = re.compile(r"[^\s\"'`\\;,&|<>]+|(?<=[A-Za-z0-9])[,&]")
_STARTS_LINE = re.compile(r"(?:^|[\n;]|\\n)[ \t]*(?:-[ ]+|export[ ]+|set[ ]+|ENV[ ]+|//\S*:)?\Z")
_IN_ARN = re.compile(r":[0-9]{12}:\Z")
_SENTENCE = re.compile(r"(?:[A-Za-z][A-Za-z'-]{0,40}[.,:;!?)]{0,5}\s+){2,}|\s[a-z]+\s")


@dataclass(frozen=True, slots=True)
class _Value:
    """A value beside a name, and where it stands."""

    text: str
    name: str
    start: int
    end: int
    is_quoted: bool
    before: str
    """What stands before the name, up to a few characters."""
    separator: str
    after: str
    """The character after it."""
    ends_line: bool

    @property
    def is_literal(self) -> bool:
        """Whether the place takes no variables: a quoted key, a shell, a query, a flag, a header, an element."""
        if self.separator.lstrip("\\")[:1] in ('"', "'"):
            return self.is_quoted
        if self.is_set_as_it_is or self.before.endswith("--"):
            return True
        return ":" in self.separator and "-" in self.name and not (self.is_quoted or self.name.endswith("-pass"))

    @property
    def is_set_as_it_is(self) -> bool:
        """Whether it is set for a shell (`NAME=value`), by a query of a URL, or in an element of XML."""
        if self.separator == ">":
            return self.after == "<"
        if self.separator != "=":
            return False
        return (
            self.before[-1:] in ("?", "&", "=")
            or self.after == "&"
            or (self.name.isupper() and self.before[-1:] in ("", *" \n\t\"'n"))
        )

    @property
    def is_setting(self) -> bool:
        """Whether the line is a setting of a configuration file: a name, `:` or `=`, a value, and no more."""
        is_first = _STARTS_LINE.search(self.before) is not None
        return is_first and self.ends_line and not self.is_quoted and self.separator in (":", ": ", "=", " = ")


def find_named(text: str) -> list[Secret]:
    """Find secrets that are beside their names."""
    folded = text.lower() if text.isascii() else text.replace("\u0130", "i").replace("\u017f", "s").lower()
    found: list[Secret] = []
    done = at = 0
    while (match := _NAMED.search(folded, at)) is not None:
        at = match.end()
        start = first = match.start()
        while first > max(done, start - _MOST_NAME_CHARS) and text[first - 1] in _NAME_CHARS:
            first -= 1
        first += len(text[first:start]) - len(text[first:start].lstrip("-."))
        name = text[first : match.start("separator")]
        likelihood = likelihood_of(folded[first : match.start("separator")] if not name.isascii() else name)
        if likelihood is Likelihood.NONE:
            if not names_service(name):
                continue
            likelihood = Likelihood.WEAK
        if _IN_ARN.search(text, max(0, first - 14), first):
            continue  # arn:aws:secretsmanager:…:123456789012:secret:NAME
        value = _value_at(text, at, name, text[max(0, first - 40) : first], match["separator"])
        if value is not None and _is_secret(value, likelihood):
            found.append(Secret(value.start, value.end, _kind(name)))
            done = at = value.end
    return found


def _value_at(text: str, at: int, name: str, before: str, separator: str) -> _Value | None:
    if separator.isspace() and not before.endswith("--"):
        return None
    if separator == ">" and not before.endswith("<"):
        return None
    opening = _QUOTE.match(text, at)
    if opening is not None:
        start = opening.end()
        end = text.find(opening["quote"], start, start + _MOST_VALUE_CHARS)
        line_end = text.find("\n", start, end if end >= 0 else start + _MOST_VALUE_CHARS)
        if end < 0 or line_end >= 0:
            return None
        is_template = "f" in opening[0].lower()[: opening.start("quote") - opening.start()]
        if is_template and "{" in text[start:end]:
            return None
    else:
        bare = _BARE.match(text, at)
        if bare is None:
            return None
        start, end = bare.span()
        if separator == "=" and (name.isupper() or before[-1:] in ("?", "&")):
            while (more := _LITERAL.match(text, end)) and text[end] not in "([{" and end - start < _MOST_VALUE_CHARS:
                end = more.end()
        while end > start and text[end - 1] in ".:,)":
            end -= 1
        if text.startswith("..", end) or text.startswith("\u2026", end):
            return None
    following = text[end : end + 1]
    if separator.isspace() and text[end - 1 : end] == "=" and following.isalnum():
        return None  # --secret id=x: a setting of the flag
    rest = text[end : end + 3]
    ends_line = not rest or rest[0] in "\r\n" or rest.startswith(("\\n", " #"))
    return _Value(text[start:end], name, start, end, opening is not None, before, separator, following, ends_line)


def _is_secret(value: _Value, likelihood: Likelihood) -> bool:
    text, separator = value.text, value.separator
    if not text.strip() or is_placeholder(text) or is_template(text):
        return False
    if value.is_quoted and _SENTENCE.search(text) and not value.is_set_as_it_is:
        return False
    if not value.is_quoted and value.after in ("(", "[", "{") and not value.is_set_as_it_is:
        return False
    if names_service(value.name) and (_UUID.fullmatch(text) or looks_random(text)) and not _is_path(text):
        return True
    if value.is_set_as_it_is and value.name.endswith(("TOKEN", "PAT")) and _UUID.fullmatch(text):
        return True
    if likelihood is Likelihood.WEAK:
        is_likely = value.is_literal and len(text) >= 8 and _is_mixed(text) and not is_code_or_path(text)
        return (separator not in (">", "(") and looks_random(text)) or is_likely
    if value.name == "PASS" and separator.startswith(":") and ("/" in text or text.startswith("Test")):
        return False  # a test that passed
    if text.replace("_", "").replace("-", "").isalpha() and likelihood_of(text[:60]) is not Likelihood.NONE:
        return False  # it names itself
    if " is" in separator:
        return len(text) >= 6 and _is_mixed(text)
    if "," in separator or separator == "(":
        return (
            _is_mixed(text) and " " not in text and len(text) >= 6 and (value.before[-2:-1] == "(" or separator == "(")
        )
    if value.is_set_as_it_is:
        return not _is_path(text)
    if separator == ">":
        return False
    if value.is_literal:
        return value.is_quoted or _is_mixed(text) or not is_code_or_path(text) or _is_lower_word(text)
    if value.is_quoted:
        is_word = (
            not _is_mixed(text) and text.replace("_", "").replace("-", "").replace(".", "").replace(":", "").isalpha()
        )
        return len(text) >= 4 and " " not in text and not text.isdigit() and (not is_word or _is_password(value))
    if not is_code_or_path(text):
        return _is_mixed(text) or (len(text) >= 8 and not text.replace(".", "").isidentifier())
    return value.is_setting and "_" not in text and (_is_mixed(text) or separator != " = ") and _is_password(value)


def _is_password(value: _Value) -> bool:
    """Whether a word may be a password that a person chose."""
    return any(word in value.name.lower() for word in ("pass", "pwd")) and _is_lower_word(value.text)


def _is_lower_word(text: str) -> bool:
    return len(text) >= 6 and text.islower() and text.isalnum()


def _is_path(text: str) -> bool:
    return "/" in text and is_code_or_path(text)


def is_template(text: str) -> bool:
    """Whether something is to be filled in."""
    return re.search(r"\{[A-Za-z_][\w.\[\]]*\}|\$\{?[A-Z_]{3,}|%\(?[a-z]*\)?s|<[A-Za-z_ -]+>", text) is not None


def _is_mixed(text: str) -> bool:
    return any(char.isdigit() for char in text) and any(not char.isdigit() for char in text)


_KINDS = {"pass": "password", "pwd": "password", "token": "token", "cookie": "cookie", "key": "key"}


def _kind(name: str) -> str:
    kind = next((kind for part, kind in _KINDS.items() if part in name.lower()), "secret")
    return f"{kind} by its name"
