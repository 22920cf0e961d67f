"""The table of names of secrets, and checks of names and values.

A name is split into words: `dbPassword`, `DB_PASSWORD` and `db-password` are `db password`. A name is sensitive if it
ends with an entry of the table. Words at its end that tell several secrets apart are ignored (`API_KEY_PROD`,
`password2`).
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache, lru_cache
from hashlib import sha256

STRONG = (
    *("password", "passwd", "passwort", "passphrase", "pwd", "pw", "pass", "secret", "secrets", "passcode"),
    *(
        "apikey",
        "api key",
        "privkey",
        "authtok",
        "fernet key",
        "session key",
        "cipher key",
        "crypto key",
        "access key",
        "secret key",
        "private key",
        "privatekey",
        "encryption key",
        "signing key",
    ),
    *("master key", "account key", "shared access key", "storage key", "auth key", "app key", "application key"),
    *("consumer key", "subscription key", "functions key", "service key", "service role key", "client key"),
    *(
        "hmac key",
        "jwt key",
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
    *(
        "accesstoken",
        "refreshtoken",
        "apitoken",
        "sas token",
        "storepass",
        "keypass",
        "sshpass",
        "pgpassword",
        "mysql pwd",
    ),
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
    *(
        "setup key",
        "secret string",
        "secret value",
        "manual key",
        "psk",
        "pre shared secret",
        "wifi key",
        "network key",
    ),
    *("unseal key", "recovery key", "tacacs key", "radius key", "device key", "function key", "endpoint key"),
    *("requirepass", "masterauth", "masterpass"),
    *("oauth token", "user token", "app token", "admin token", "root token", "service token", "signature key"),
)
"""Names that only secrets have."""

WEAK = ("token", "auth", "authorization", "credential", "credentials", "cred", "creds", "cookie", "jwt", "pat")
"""Names that other values have too, so that the value has to look like a secret."""

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
    " zendesk zoom apify exa fal railway runpod modal anthropic cosmos cosmosdb artifactory jfrog browserstack saucelabs"
    " chromatic honeybadger opsgenie pingdom logtail papertrail loggly dynatrace instana rabbitmq mongodb adyen mollie"
    " revolut xero docusign intacct salesforce marketo onesignal pushover vonage nexmo plivo infobip sinch telnyx tomtom"
    " openweather weatherapi ipinfo ipstack newsapi tmdb unsplash pexels giphy spotify cerebras xai tavily serper serpapi"
    " jina ably binance assemblyai langsmith langfuse helicone portkey pulumi doppler infisical".split()
)
"""Services whose keys have no fixed form: a random value or a UUID beside `SERVICE… key` or `token` is a key.

From the rules of gitleaks, betterleaks and trufflehog that look for a service's name, as of November 2026.
"""
_CODE = re.compile("[0-9]{4,10}")
_LEAST_LONG_NUMBER = 9
"""The least number of digits of a number that is a secret beside any name that is usually that of a secret."""
_CODE_WORDS = frozenset("pin otp totp passcode tan".split())
_CODE_NAMES = frozenset(
    f"{kind} code" for kind in "pin otp totp mfa 2fa sms verification security access auth authentication login".split()
) | {"pin number", "time code"}
_PASSWORD_WORDS = frozenset("password passwd passwort passphrase pwd pw pass passcode psk authtok".split())
_CHOSEN_KEYS = frozenset({"wifi key", "network key", "shared secret"})
"""Names of keys that a person may have chosen."""
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
_NO_SECRETS = frozenset("public publishable no is has use show hide enter your bypass".split())
_NO_NAME = "1password"
"""A program that keeps passwords."""
_NO_TOKENS = frozenset(
    "next page continuation pad eos bos unk sep cls mask start end stop special sync cancel cancellation first last csrf xsrf".split()
)
"""Words that tell of a token of a text, a list or a page; before `password` or `secret` they tell nothing."""
_TOKEN_WORDS = frozenset("token auth cookie key".split())
_ASKS = frozenset("forgot reset require required confirm confirmation repeat retype again verify hashed".split())
"""Words that make a name a button, a check or a function more often than a password."""
_NO_KEYS = frozenset(
    "public publishable pub s cache idempotency primary foreign unique sort partition range hash object query react item"
    " row group dedupe dedup dedupe routing lookup map dict index node prop list translation i18n message locale host"
    " peer remote verification verify site measurement issue project event order record document doc entity file s3"
    " blob image asset registry reg hot shortcut arrow enter escape tab shift ctrl alt meta the a this that each same"
    " composite natural surrogate candidate join lock bucket storage state transition fingerprint thumbprint"
    " recipient sender distribution store entry block chunk content etag checksum digest config setting".split()
)
"""Words before `key` that tell of something else than a secret."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_GLUED = re.compile(
    r"(?P<first>[a-z]{1,30})(?P<last>password|passwd|passphrase|pwd|secret|token|apikey)"
    r"|(?P<owner>db|sql|mysql|pg|redis|user|admin|root|my|ftp|sftp|smtp|imap|pop|mail|email|ldap|bind|master|proxy|auth|login"
    r"|host|server|remote|wifi|wlan|vnc|rdp|web|app|svc|service|jdbc|sa|ssl|cert|store)(?P<short>pass|pw)"
)
"""Names of two words written as one: `dbpassword`, `clientsecret`. Only some words may be before `pass` (`bypass`)."""

_PLACEHOLDER = re.compile(
    r"""
      (?! (?-i: [%(&*!@~?\#] (?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=.*[A-Za-z][0-9]+[A-Za-z]) [^\s(){}<>\[\]%/"']{7,60} \Z ) )
        [$%{<\[(&*!`@|\\=,;:~?#].*
    | .*(?:\$\{|\{\{|%\(|<[a-z_ ]+>|\[(?:REDACTED|█*)\]|\.\.\.|…|\*{3}).*
    | (?:x+|X+|\*+|\.+|-+|_+|0+) | [a-z]{2,5}(?:[_-][a-z]{2,4})?[_-](?:x{4,}|X{4,}|\*{4,}) | SecretString(?::.*)?
    | (?:process\.env|import\.meta\.env|os\.environ)\b.* | (?:required|nullable|sometimes|present|filled|bail)\|.*
    | pk_(?:test|live)_.* | ref\+[a-z0-9]+://.* | arn:aws[a-z-]*:.*
    | projects/[\w.-]+/(?:locations/[\w.-]+/)?secrets/[\w./:-]+ | @Microsoft\.KeyVault\(.* | https://[\w-]+\.vault\.azure\.[a-z]{2,3}(?::443)?/.*
    | (?:vault|ssm|secretsmanager|secretmanager|gcp-?sm|aws-?sm|azure-?kv|keyvault|bws|op):[\w-]+[/\#:][\w./\#:@-]+
    | (?:secret|secrets|kv|kv-?v?2)/(?:data/)?[\w./-]+\#[\w.-]+
    | amd64|arm64|armhf|armel|i386|i686|x86_64|aarch64|ppc64el|ppc64le|s390x|riscv64|noarch
    | (?:op|vault|ssm|aws-?sm|secretsmanager|gcp-?sm|gsm|azkv|keyvault|keychain|keyring|secrets?|env|file|doppler|infisical|bws|sops)://.*
    | (?: none|null|nil|true|false|yes|no|on|off|undefined|empty|optional|required|string|str|bytes|bool|int|integer|number
        | object|any|unset|default|basic|bearer|digest|oauth|oauth2|jwt|auto|enabled|disabled|password|passwd|pass|guest|secret|token
        | key|value|input|prompt|text|hidden|env|environ|self|this|super|await|async|new|return|not|lambda|func|function
        | const|let|var|import|from|dict|list|tuple|set|char|varchar|field|file|stdin|keyring|plain|sha1|sha256|sha512|md5
        | change[_-]?(?:me|it|this)(?:[_-]?(?:please|now|in|before).*)? | placeholder | redacted | replace[_-]?me | dummy | example
        | utf8|utf-8|base64|hex|hs256|rs256|es256|http2|ipv4|ipv6|rsa|x509|aes256|aes128|pkcs8|ed25519|oauth1|ntlm )
    | [fFrRbB]{1,2}["'].*
    | (?:[a-z]{2,5}[_-])?(?:your|my|some|the|a|an|example|sample|dummy|fake|insert|enter|replace|change|todo|fixme|put|generate|paste|obtain|provide|to-be|set-(?:me|this|in|by|via))[_-].*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PATH = re.compile(
    r"(?:~|\.{1,2})?/[\w.@~+-]+(?:/[\w.@~+-]*)*|[A-Za-z]:[\\/].*|[\w.-]+(?:/[\w.-]+)+\.[a-z]{1,5}|https?://.*"
)
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_WORDY = re.compile(r"_*(?:[A-Za-z]+[0-9]{0,2}|[0-9]{1,2})(?:[_.-]+(?:[A-Za-z]+[0-9]{0,2}|[0-9]{1,2}))*_*")
_SPLIT = re.compile("[_.-]+")
_NUMBERS = re.compile("[0-9]+")
_SALT = re.compile("(?!Id|V[0-9])(?:[A-Z][a-z]|[a-z][A-Z])[0-9]{1,2}|[A-Za-z]?[a-z][A-Z][A-Za-z]?[0-9]{1,2}")
_HAS_DIGIT = re.compile("[0-9]")
_HAS_LETTER = re.compile("[A-Za-z]")
_LEAST_SCRAMBLED = 12
_MOST_PIECE_CHARS = 3.0
"""The average length of the pieces of letters in a generated value; words of program text have an average of five."""
_SIGN = re.compile(r"[!#$%^&*+?@~=]")
_EXAMPLES = frozenset(
    (
        "2cafc0970149 f2d6ca165150 d8c2efc4c850 7e8de44ea9ec 051d093c4bde cf4d418ed3de e4da07ad2000 7f75367e7881 "
        "0011cc25eb43 ed967197261c aa6547439583 eaa6a9190faf 60a09e435786 bc1a50966c9e 8be5d113c087 549c9390539e "
        "6ed645ef0e1a 2d1f7723aabc 3543c50b0cb9 6c96130f130a 00cf4c781dc3 a35b81a7d792 53f5da0aaa93 e9974c507d2a "
        "b8e148545b13 ca7459e2b267 13d31e961a1a ad71fb416553 d05f6bb1aa2e 959f62e87fa1 bdfeaef44475 aac751a0391b "
        "0e9d220616f0 f5375a463650 ac9265e56c79 e21b597ba6b9 c794fa6d20c6 da816f9f2c16 465d9ad5d552 f7d838701b86 "
        "df1d4787b8ec b21c55e2f7a8 2015791e0c54"
    ).split()
)
"""Starts of the SHA-256 of documentations' example keys; whole keys here would look like leaks.

They are of Stripe, GitHub, Slack, Google, web3, jwt.io, the emulators of Azure, Hardhat, and the RFCs 6238, 6749, 6750, 7617 and 7636.
"""
_FILLED = re.compile(r".*[/_-](?:x{8,}|X{8,}|\*{8,}|0{8,})", re.DOTALL)
"""A form whose random part is a single repeated character."""


class Likelihood(Enum):
    """The likelihood that a value is a secret, judged by its name alone."""

    NONE = 0
    WEAK = 1
    STRONG = 2


@lru_cache(maxsize=4096)
def likelihood_of(name: str) -> Likelihood:
    """Return how likely a name makes its value a secret."""
    words = _words_of(name)
    if not words or name[-len(_NO_NAME) :].lower() == _NO_NAME:
        return Likelihood.NONE
    beside = {words[0], *words[-2:-1]}  # the first word, and the word before the last
    if not beside.isdisjoint(_NO_SECRETS) or not beside.isdisjoint(_ASKS):
        return Likelihood.NONE
    if words[-1] in _TOKEN_WORDS and not beside.isdisjoint(_NO_TOKENS):
        return Likelihood.NONE
    for likelihood, names in ((Likelihood.STRONG, STRONG), (Likelihood.WEAK, WEAK)):
        if any(words[-len(known) :] == known for known in _split(names)):
            return likelihood
    return Likelihood.NONE


def names_code(name: str, value: str) -> bool:
    """Return whether a value of digits is a secret because of its key: a PIN, a one-time code, or a numeric password.

    A key `pass` counts what passed.
    """
    if not _CODE.fullmatch(value):
        return False
    words = _words_of(name)
    if not words or words[-1] in ("pass", "pw"):
        return False
    return words[-1] in _CODE_WORDS or " ".join(words[-2:]) in _CODE_NAMES or words[-1] in _PASSWORD_WORDS


def names_number(name: str, digits: str) -> bool:
    """Return whether a number is a secret because of its key: a code, or a long number beside a name for secrets.

    A key `pass` counts what passed.
    """
    if names_code(name, digits):
        return True
    if len(digits) < _LEAST_LONG_NUMBER or not digits.isdigit() or likelihood_of(name) is not Likelihood.STRONG:
        return False
    return _words_of(name)[-1] not in ("pass", "pw")


def names_password(name: str) -> bool:
    """Return whether a name is a name for passwords, which a person may have chosen."""
    words = _words_of(name)
    if not words:
        return False
    return words[-1] in _PASSWORD_WORDS or " ".join(words[-2:]) in _CHOSEN_KEYS


@lru_cache(maxsize=4096)
def is_faint(name: str) -> bool:
    """Return whether a name is only sometimes the name of a secret, so that the value itself must show that it is one.

    These are keys of anything (`deployer_key`), and passwords that a form asks for (`confirm_password`).
    """
    words = _words_of(name)
    while len(words) > 1 and words[-1] in _ASKS:
        words.pop()
    if not words or not _NO_SECRETS.isdisjoint(words):
        return False
    if words[-1] == "key":
        return _NO_KEYS.isdisjoint(words[:-1]) and _NO_TOKENS.isdisjoint(words)
    last = words[-1:]
    return any(last == known for known in _split(STRONG))


_ENDING_OF_FILE = re.compile(r"\.(?:txt|key|pem|asc|conf|cfg|secret|dat|out)\Z")


def names_secret_file(path: str) -> bool:
    """Return whether a file's name says that the file holds a single secret: `config/master.key`, `~/.vault_pass`."""
    name = path.rpartition("/")[2]
    folder = path.rpartition("/")[0].rpartition("/")[2]
    if folder == "credentials" and name.endswith(".key"):
        return True
    return any(likelihood_of(known) is Likelihood.STRONG for known in (name, _ENDING_OF_FILE.sub("", name))) or (
        _ENDING_OF_FILE.sub("", name).lower().lstrip(".") in WEAK
    )


def names_service(name: str) -> bool:
    """Return whether a name is the name of a service's key or token."""
    words = _words_of(name)
    if not words or words[-1] not in _SERVICE_ENDS or not (_NO_SECRETS | _NO_TOKENS | _ASKS).isdisjoint(words):
        return False
    return not SERVICES.isdisjoint(words)


def _words_of(name: str) -> list[str]:
    """Return the words of a name, without words at its end that distinguish several secrets."""
    words = [word.lower() for word in _WORD.findall(name[-80:])]
    while len(words) > 1 and (words[-1] in _WHICH or words[-1].isdigit()):
        words.pop()
    glued = _GLUED.fullmatch(words[-1]) if words else None
    if glued is not None:
        words[-1:] = [glued["first"] or glued["owner"], glued["last"] or glued["short"]]
    return words


def is_word_of(text: str, name: str) -> bool:
    """Return whether a value is a word of its own name, perhaps with a digit, as in `POSTGRES_PASSWORD: postgres`."""
    words = _words_of(name)
    word = text.lower()
    if word in words:
        return True
    return word[-1:].isdigit() and word[:-1] in words


@cache
def _split(names: tuple[str, ...]) -> tuple[list[str], ...]:
    return tuple(name.split() for name in names)


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder: a variable, a type, a call that gives the value, or a redacted value."""
    return _PLACEHOLDER.fullmatch(value) is not None


def is_example(text: str) -> bool:
    """Return whether a text is an example key from a service's documentation."""
    if "EXAMPLE" in text or _FILLED.fullmatch(text):
        return True
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:12] in _EXAMPLES


def is_code_or_path(value: str) -> bool:
    """Return whether an unquoted value is a variable, an attribute, a type, a path or a UUID."""
    if _PATH.fullmatch(value):
        last_part = value.rpartition("/")[2]
        return not looks_random(last_part, least=30)
    if UUID.fullmatch(value):
        return True
    return _is_wordy(value) and not _has_scrambled_part(value)


def _is_wordy(value: str) -> bool:
    """Whether a value is words with numbers, as names in program text are."""
    return _WORDY.fullmatch(value) is not None and not has_salt(value)


def has_salt(value: str) -> bool:
    """Return whether a short part of a value mixes small letters, capital letters and a digit, as in `Hq7-tarnFjord2`."""
    parts = _SPLIT.split(value)
    return len(parts) > 1 and len(_NUMBERS.findall(value)) > 1 and any(map(_SALT.fullmatch, parts))


def _has_scrambled_part(value: str) -> bool:
    """Return whether a text in the form of an attribute (`a.b`) has a part that no program would contain."""
    parts = value.split(".")
    if len(parts) == 1:
        return False
    return any(map(is_scrambled, parts)) or (is_scrambled(value) and all(map(_is_short_scrambled, parts)))


def _is_short_scrambled(part: str) -> bool:
    """Return whether the letters of a short part change case at every second letter, or more often."""
    pieces = _WORD.findall(part)
    return len(pieces) > 3 and sum(map(len, pieces)) <= 2 * len(pieces)


def looks_random(value: str, *, least: int = 16) -> bool:
    """Return whether a value mixes letters and digits and is long enough to be made by a machine."""
    if len(value) < least or _is_wordy(value) or UUID.fullmatch(value):
        return False
    return _HAS_DIGIT.search(value) is not None and _HAS_LETTER.search(value) is not None


def is_template(text: str) -> bool:
    """Return whether a text has a place that is filled in later."""
    return re.search(r"\{[A-Za-z_][\w.\[\]]*\}|\$\{?[A-Z_]{3,}|%\(?[a-z]*\)?s|<[A-Za-z_ -]+>", text) is not None


def is_mixed(text: str) -> bool:
    """Return whether a value has digits and other characters, or small and capital letters that do not form words."""
    if any(map(str.isdigit, text)):
        return not text.isdigit()
    return is_scrambled(text)


def is_scrambled(text: str) -> bool:
    """Return whether small and capital letters change more often than in names of program text."""
    if len(text) < _LEAST_SCRAMBLED or text.islower() or text.isupper():
        return False
    pieces = _WORD.findall(text)
    most_chars = _MOST_PIECE_CHARS if _SIGN.search(text) else _MOST_PIECE_CHARS - 0.5
    return len(pieces) > 2 and sum(map(len, pieces)) <= most_chars * len(pieces)


_KINDS = {"pass": "password", "pwd": "password", "token": "token", "cookie": "cookie", "key": "key"}


def kind_of_name(name: str) -> str:
    """Return the kind of a secret that is beside a name."""
    kind = next((kind for part, kind in _KINDS.items() if part in name.lower()), "secret")
    return f"{kind} by its name"
