"""The table of forms: secrets that can be recognised without a name or a place, by how they look.

`TOKENS` are forms of services, in a small notation: fixed text, and in braces an alphabet and a length. `{a36}` is 36
letters and digits, `{b20,}` at least 20 of base64url, `{h8,12}` 8 to 12 of hexadecimal. Spaces separate forms.
docs/secret_forms.md says how to add a row; a test generates samples and near misses of each form.

Rules:
- A form has fixed text, so that hashes, ids and encoded data do not match. It matches the whole secret.
- `source` says where the form is documented (the issuer's pages, or the rules of a scanner where the issuer documents
  none) and `seen` when that source was read. Only facts are taken from a source, no expressions.
- Every part of an expression has a greatest length, so that the time never grows with the square of a text's length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ALPHABETS = {
    "a": "A-Za-z0-9",
    "l": "a-z0-9",
    "h": "a-f0-9",
    "H": "A-Fa-f0-9",
    "U": "A-Z0-9",
    "u": "A-Z2-7",
    "d": "0-9",
    "b": "A-Za-z0-9_-",
    "s": "A-Za-z0-9+/",
    "e": "A-Za-z0-9+/=_-",
    "t": "A-Za-z0-9_.=-",
}
"""The characters in the random parts of a form, by the letter of the notation that stands for these characters."""

LEAST_CHARS = 20
"""The length of the shortest form without spaces."""
HINT_CHARS = 3
"""The number of characters of fixed text that is enough to search for a form by its beginning."""
MOST_CHARS = 4_000
"""The longest run of letters taken for one secret; without this limit, the time could grow with a text's square."""

_BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""The place where a token may begin: not within a word, but after an escape as in the text of JSON."""
_FIELD = re.compile(r"\{([A-Za-z])([0-9]+)(,?)([0-9]*)\}")
_HEX_UUID = "[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}"
_UUID = "{h8}-{h4}-{h4}-{h4}-{h12}"
_BREAK = r"(?:[ \t]{0,20}\r?\n[ \t]{0,20})"
_WRAPPED = rf"[\w-]{{4,2000}}+(?:{_BREAK}[\w-]{{4,2000}}+){{0,9}}+"
_SIGNATURE = (
    rf"(?:[\w-]{{60,400}}+{_BREAK}(?=[\w-]{{20}})){{0,9}}+"
    rf"(?:[\w-]{{43,700}}|[\w-]{{1,42}}+{_BREAK}(?=[\w-]{{0,85}}[0-9_-])[\w-]{{6,86}}+(?![\w.-])|[\w-]{{6,}})"
)
"""The signature of a JWT: 43 characters, or 86 or more; fewer at the end of a line, if the next line continues it."""
_SEEN = "2026-11"


@dataclass(frozen=True, slots=True)
class Format:
    """The form of a service's secrets, as its documents describe it: for example, `ghp_` and 36 letters and digits."""

    kind: str
    hints: tuple[str, ...]
    """Texts for a fast search: every secret of this form contains one of the texts."""
    expression: re.Pattern[str]
    source: str
    seen: str = _SEEN
    """The month in which the source was read."""
    has_spaces: bool = False
    """Whether the form may have spaces or line ends, or be apart from its hint; else only long words are searched."""
    forms: tuple[str, ...] = ()
    """The forms in the notation; empty if the row is an expression."""
    leads: bool = False
    """Whether every secret of the row begins with a hint, so that the search looks only where a hint is."""


def _expression_of(form: str) -> str:
    """Return the expression for a form.

    After a part of exact length no further letter may follow; other parts take all letters that follow.
    """
    parts = list[str]()
    done = 0
    for field in _FIELD.finditer(form):
        letters, least, comma, most = field.groups()
        has_exact_length = not comma
        count = f"{{{least}}}" if has_exact_length else f"{{{least},{most or MOST_CHARS}}}"
        parts.append(re.escape(form[done : field.start()]))
        parts.append(f"[{ALPHABETS[letters]}]{count}")
        done = field.end()
        if done == len(form) and (has_exact_length or most):
            following = "A-Za-z0-9_-" if letters == "b" else "A-Za-z0-9"
            parts.append(f"(?![{following}])")
    parts.append(re.escape(form[done:]))
    return "".join(parts)


def _hint_of(form: str) -> str:
    """Return the fixed text at the beginning of a form or, if that is short, the longest fixed text within it."""
    fixed_texts = _FIELD.split(form)[::5]
    beginning = fixed_texts[0]
    if len(beginning) >= HINT_CHARS:
        return beginning
    return max(fixed_texts, key=len)


def _row(kind: str, forms: str, source: str, seen: str = _SEEN) -> Format:
    several = tuple(forms.split())
    joined = "|".join(map(_expression_of, several))
    hints = tuple(dict.fromkeys(map(_hint_of, several)))
    expression = re.compile(f"{_BEGIN}(?:{joined})", re.ASCII)
    leads = all(map(str.startswith, several, map(_hint_of, several)))
    return Format(kind, hints, expression, source, seen, forms=several, leads=leads and _are_long(hints))


def _are_long(hints: tuple[str, ...]) -> bool:
    return min(map(len, hints)) >= HINT_CHARS


def _raw(kind: str, hints: str, expression: str, source: str, *, apart: bool = False, within: bool = False) -> Format:
    """Return a row with an expression.

    Args:
        kind: the kind of the secrets.
        hints: texts of which every secret contains one, separated by spaces.
        expression: matches a secret.
        source: where the form is documented.
        apart: the secret may contain spaces or be apart from its hint.
        within: the hints are not at the beginning.
    """
    bounded = expression.replace(",}", f",{MOST_CHARS}}}")
    compiled = re.compile(_BEGIN + bounded, re.ASCII)
    several = tuple(hints.split())
    leads = _are_long(several) and not (within or apart)
    return Format(kind, several, compiled, source, has_spaces=apart, leads=leads)


_PREFIX = "|".join(
    rf"(?<=[^A-Za-z0-9_+/=-][a-z][a-z0-9_]{{{length}}}_)|(?<=\A[a-z][a-z0-9_]{{{length}}}_)" for length in range(1, 20)
)
"""The text before a `_`: one or more words in small letters. The expression is checked backwards from the `_`, which is
rare."""

_GITLEAKS = "rules of gitleaks and betterleaks"
_SCANNERS = "rules of several public scanners"
_GITHUB = "GitHub: supported secret scanning patterns"
_HOG = "detectors of trufflehog"
_LABEL = r"(?:[A-Za-z0-9.\ ]|-(?!-)){0,60}?"
_KEY_LINE = rf"{_LABEL}\b(?:KEY|[Kk]ey)(?:\ BLOCK|\ V[0-9]+)?\ ?-{{4,5}}"
"""The end of a key's first and last line: PEM, OpenPGP, `OpenVPN Static key V1`, `SSH2 ENCRYPTED PRIVATE KEY`."""
_BODY_LINE = r"(?=[A-Za-z+/]{0,60}[0-9])[A-Za-z0-9+/]{16}"
_HAS_BODY = (
    rf"(?=(?:(?<=\\)[nrt]|[^A-Za-z0-9]|(?:Proc-Type|DEK-Info|Version|Comment|Subject|MessageID|Hash|Charset)\s?:[^\n]{{0,200}}\n){{0,200}}{_BODY_LINE}"
    rf"|(?:(?!-{{4,5}}\ ?(?:BEGIN|END)\ )[\s\S]){{0,2000}}?{_BODY_LINE}(?:(?!-{{4,5}}\ ?(?:BEGIN|END)\ )[\s\S]){{0,40000}}-{{4,5}}\ ?END\ "
    r"|(?:\\+n|\r?\n)[A-Za-z0-9+/]{1,76}\Z|[\t\n\r\x20-\x7e]{0,40}[\x00-\x08\ufffd])"
)
"""The text that must follow the first line of a key: a line of base64. Programs contain the first line alone.

The line of base64 follows at once, or before the last line of the key; if the text is cut off, a part of the line is
enough. Bytes that are no text count too: decoded base64 has such bytes.
"""

TOKENS = (
    Format(
        "private key",
        ("--BEGIN ", "-- BEGIN "),
        re.compile(rf"-{{4,5}}\ ?BEGIN\ (?!{_LABEL}PUBLIC){_KEY_LINE}{_HAS_BODY}[\s\S]*?(?:-{{4,5}}\ ?END\ {_KEY_LINE}|\Z)", re.ASCII),
        "RFC 7468; OpenSSH PROTOCOL.key; RFC 9580; RFC 4716; OpenVPN: --genkey",
        has_spaces=True,
    ),
    Format(
        "PuTTY private key",
        ("Private-Lines:",),
        re.compile(r"(?<=Private-Lines:)(?:[^A-Za-z0-9+/=]{1,4}|\\[nr])[0-9]+(?:\s+|\\[nr])[A-Za-z0-9+/=\s\\]+"),
        "PuTTY manual, appendix C",
        has_spaces=True,
    ),
    _row("age key", "AGE-SECRET-KEY-1{U58} AGE-SECRET-KEY-PQ-1{U58,}", "age specification"),
    _raw("password hash", "$", r"\$(?:[1567y]|2[abxy]|apr1|argon2(?:id|i|d))\$[./A-Za-z0-9$=,+-]{20,}", "crypt(5)"),
    _raw("password hash of a directory", "{SSHA} {SHA} {SMD5} {SSHA256} {SSHA512} {SHA256} {SHA512}", r"\{S?(?:SHA(?:256|512)?|MD5)\}[A-Za-z0-9+/]{22,}={0,2}",
         "RFC 2307; OpenLDAP: password storage", within=True),
    _row("password hash of PostgreSQL", "md5{h32} SCRAM-SHA-256$4096:{s20,}", "PostgreSQL: password authentication; PgBouncer: userlist"),
    _row("PASETO", "v1.local.{b40,} v2.local.{b40,} v3.local.{b40,} v4.local.{b40,} v1.public.{b60,} v2.public.{b60,} v3.public.{b60,} v4.public.{b60,}",
         "PASETO: protocol versions"),
    _raw("JWT", "eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ)?[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)+", "RFC 7519, section 3; RFC 7516"),
    _raw("JWT on several lines", "eyJ", rf"(?=[\w.-]{{12,4000}}+{_BREAK})eyJ{_WRAPPED}{_BREAK}?\.{_BREAK}?eyJ{_WRAPPED}{_BREAK}?\.{_BREAK}?{_SIGNATURE}",
         "RFC 7519, as terminals and mail break it", apart=True),
    _row("JWT in base64", "ZXlKaGJHY2lPaU{e40,} ZXlKMGVYQWlPaUp{e40,} ZXlKcmFXUWlP{e40,} ZXlKbGJtTWlPaU{e40,}", f"RFC 7519 in RFC 4648; {_GITLEAKS}"),
    # Clouds and hosting
    _raw("AWS key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])(?:[\s,:;|\"']{1,4}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=]))?",
         "AWS IAM: identifiers; with the secret of 40 characters that stands right after an id"),
    _row("AWS Bedrock key", "ABSK{s100,} bedrock-api-key-{e40,}", f"AWS Bedrock: API keys; {_GITLEAKS}"),
    _row("Google API key", "AIza{b35} AQ.Ab8RN6{b44}", f"Google Cloud: API keys; {_GITLEAKS}"),
    _row("Google HMAC key", "GOOG1E{U50,60} GOOG{U20}", "Google Cloud Storage: HMAC keys"),
    _row("Google OAuth", "GOCSPX-{b28} ya29.{b20,} 1//0{b40,}", "Google identity: OAuth 2.0"),
    _raw("Azure client secret", "Q~", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9])", _GITHUB, within=True),
    _raw("Azure key", "AzFu AzSe ASt ACDb AEh ARm ACR APIM AIoT ABa AMC JQQJ99 AZDO",
         r"(?:[A-Za-z0-9_-]{30,80}AzFu[A-Za-z0-9_-]{4,40}|[A-Za-z0-9/+]{30,80}(?:AzFu|AzSe|\+ASt|\+ABa|\+AMC|ACDb|\+AEh|\+ARm|\+ACR|APIM|AIoT|JQQJ99|AZDO)[A-Za-z0-9/+]{4,40})={0,2}",
         "Microsoft Security Utilities: identifiable keys", within=True),
    _row("Alibaba Cloud key", "LTAI{a16,26} STS.{a16,64}", f"Alibaba Cloud: AccessKey pairs; {_GITLEAKS}"),
    _row("Tencent Cloud key id", "AKID{a32}", "Tencent Cloud: API keys"),
    _raw("Yandex Cloud key", "AQVN YC", r"(?<![+/])(?:AQVN[A-Za-z0-9_-]{35,38}|YC[A-Za-z0-9_-]{38})(?![A-Za-z0-9_+/=-])", "Yandex Cloud: secrets"),
    _raw("Yandex IAM token", "t1.", r"t1\.[A-Za-z0-9_-]{20,}={0,2}\.[A-Za-z0-9_-]{80,90}={0,2}", f"Yandex Cloud: IAM tokens; {_GITLEAKS}"),
    _row("DigitalOcean token", "dop_v1_{h64} doo_v1_{h64} dor_v1_{h64}", "DigitalOcean API: tokens"),
    _row("Heroku key", "HRKU-{b36,}", "Heroku: OAuth tokens"),
    _row("Fly.io token", "fo1_{b30,} fm1_{e60,} fm1a_{e60,} fm1r_{e60,} fm2_{e60,}", "Fly.io: macaroons"),
    _row("Netlify token", "nfp_{a36,} nfc_{a36,} nfo_{a36,} nfu_{a36,} nff_{a36,}", "Netlify: access tokens"),
    _row("Vercel token", "vca_{b20,} vci_{b20,} vck_{b20,} vcp_{b20,} vcr_{b20,} vercel_blob_rw_{a16}_{a24,}", f"Vercel: token formats, Blob; {_GITLEAKS}"),
    _row("Cloudflare key", "v1.0-{h24}-{h146} cfk_{b36,} cfut_{b36,} cfat_{b36,}", "Cloudflare API: tokens and Origin CA keys"),
    _row("Deno Deploy token", "ddp_{a36} ddo_{a36} ddw_{a36}", f"Deno Deploy: tokens; {_GITLEAKS}"),
    _row("dbt Cloud token", "dbtc_{b30,} dbtu_{b30,}", "dbt Cloud: service and personal tokens"),
    _raw("ngrok token", "ngrok NGROK", r"2[A-Za-z0-9]{26}_[0-9][A-Za-z0-9]{20}(?![A-Za-z0-9])", _HOG, apart=True),
    _row("UpCloud token", "ucat_{a24,32}", _GITLEAKS),
    _raw("Exoscale key", "EXO", r"(?<![+/])EXO[A-Za-z0-9]{24,30}(?![A-Za-z0-9+/=])", _GITLEAKS),
    _row("CockroachDB key", "CCDB1_{a22}_{a40}", f"CockroachDB Cloud: service accounts; {_GITLEAKS}"),
    _row("Elastic key", "essu_{b60,}", _GITLEAKS),
    _row("PlanetScale token", "pscale_tkn_{t32,} pscale_pw_{t32,} pscale_oauth_{t32,}", "PlanetScale: service tokens"),
    _row("Supabase key", "sbp_{h40,} sbp_v0_{h40} sb_secret_{b22,}", "Supabase: API keys"),
    _row("Databricks token", "dapi{h32}-{d1} dapi{h32}", "Databricks: personal access tokens"),
    _row("Scaleway or Upstash key", "SCW{U17}", "Scaleway: API keys"),
    _raw("Tailscale key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9]+-?[A-Za-z0-9]{10,}", "Tailscale: key prefixes"),
    _row("Terraform token", "{a14}.atlasv1.{b60,70}", "HCP Terraform: API tokens"),
    _raw("Vault token", "hvs. hvb. hvr. s. b.", r"(?:hv[sbr]\.[A-Za-z0-9_-]{24,}|[sb]\.(?=[A-Za-z]*[0-9])(?=[a-z0-9]*[A-Z])[A-Za-z0-9]{24}(?![A-Za-z0-9]))", "Vault: tokens"),
    _raw("Doppler token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]+\.)?[A-Za-z0-9]{40,44}", "Doppler: auth token formats"),
    _row("Pulumi token", "pul-{h40}", "Pulumi: access tokens"),
    _row("1Password token", "ops_eyJ{e60,} A3-{U6}-{U11}-{U5}-{U5}-{U5} A3-{U6}-{U6}-{U5}-{U5}-{U5}-{U5}", "1Password: service accounts, secret key"),
    _row("Bitwarden token", f"0.{_UUID}.{{a30}}:{{s22}}==", "Bitwarden: access tokens"),
    _row("Render key", "rnd_{a24,}", "Render: API keys"),
    _row("Neon key", "napi_{l60,}", "Neon: API keys"),
    _row("ClickHouse key", "4b1d{a38}", "ClickHouse Cloud: API keys"),
    _row("Atlas service account", "mdb_sa_sk_{b40,}", "MongoDB Atlas: service accounts"),
    _row("OpenShift token", "sha256~{b43}", "OpenShift: OAuth access tokens"),
    _row("Infisical token", "st.{h24}.{h32}.{h32}", "Infisical: service tokens"),
    # Code, packages, builds
    _row("GitHub token", "gho_{t36,} ghp_{t36,} ghr_{t36,} ghs_{t36,} ghu_{t36,} github_pat_{b22,255}", "GitHub: token formats"),
    _row("GitLab token", "glpat-{t20,} gldt-{t20,} glrt-{t20,} glrtr-{t20,} glcbt-{t20,} glptt-{t20,} glft-{t20,} glimt-{t20,} glagent-{t20,} glsoat-{t20,}"
         " glffct-{t20,} gloas-{t20,} glwt-{t20,} GR1348941{b20} _gitlab_session={l32}", "GitLab: token overview"),
    _row("Bitbucket or Atlassian token", "ATATT3{t50,} ATCTT3{t50,} ATSTT3{t50,} ATBB{a28,}", _GITHUB),
    _row("npm token", "npm_{a36}", "npm: access tokens"),
    _row("PyPI token", "pypi-{b50,}", "PyPI: API tokens"),
    _row("RubyGems key", "rubygems_{h48}", "RubyGems: API keys"),
    _row("crates.io token", "cio{a32}", "crates.io: tokens"),
    _row("NuGet key", "oy2{l43}", _GITHUB),
    _row("Clojars token", "CLOJARS_{h60}", "Clojars: deploy tokens"),
    _row("Docker token", "dckr_pat_{b20,} dckr_oat_{b20,}", "Docker: access tokens"),
    _row("JFrog token", "AKCp{a68,70} cmVmdGtu{a50,} cmVmd{a59}", f"JFrog: API keys, reference tokens; {_GITLEAKS}"),
    _row("CircleCI token", "CCIPAT_{b30,} CCIPRJ_{b30,}", "CircleCI: API tokens"),
    _row("Buildkite token", "bkua_{l40}", "Buildkite: API tokens"),
    _row("Sonar token", "sqp_{h40} squ_{h40} sqa_{h40}", "SonarQube: tokens"),
    _row("Sourcegraph token", "sgp_{h16}_{a40,64} sgp_local_{a40,64} sgp_{a40,64} slk_{h64}", "Sourcegraph: access tokens"),
    _row("Octopus Deploy key", "API-{U25,32}", "Octopus Deploy: API keys"),
    _row("Harness key", "pat.{b22}.{h24}.{a20} sat.{b22}.{h24}.{a20}", "Harness: API keys"),
    _raw("Snyk token", "snyk_", r"snyk_[a-z]+_?(?=[A-Za-z_-]{0,30}[0-9])[A-Za-z0-9_-]{20,}", "Snyk: API tokens"),
    _row("Aikido key", "AIK_CI_{a20,44} AIK_SECRET_{a64}", f"Aikido: API; {_GITLEAKS}"),
    _row("Endor Labs key", "endr+{b16}", _GITLEAKS),
    _row("Sentry token", "sntryu_{h64} sntrys_eyJ{e50,}", "Sentry: auth tokens"),
    _row("Grafana token", "glsa_{a32}_{H8} glc_{s32,} eyJrIjoi{s40,}", f"Grafana: service accounts; {_GITLEAKS}"),
    _row("New Relic key", "NRAK-{b27,} NRII-{b27,} NRJS-{h19} {H36}NRAL", "New Relic: API keys"),
    _raw("Dynatrace token", "dt0", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}", "Dynatrace: token format"),
    _raw("Honeycomb key", "hca hcb hcx", r"hc[abx][a-z]{2}_[a-z0-9]{58}", "Honeycomb: API keys"),
    _row("Postman key", "PMAK-{h24}-{h34}", "Postman: API keys"),
    _row("LaunchDarkly key", f"sdk-{_UUID} api-{_UUID} mob-{_UUID}", "LaunchDarkly: keys"),
    _row("ConfigCat key", "configcat-sdk-1/{b22}/{b22}", f"ConfigCat: SDK keys; {_GITLEAKS}"),
    _raw("Authress key", ".acc- .acc_", r"(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}", f"Authress: service clients; {_GITLEAKS}", within=True),
    _row("Aiven password", "AVNS_{b18,}", _SCANNERS),
    _row("Axiom token", f"xaat-{_UUID} xapt-{_UUID}", _SCANNERS),
    _row("Rootly key", "rootly_{h64}", _HOG),
    _row("Trigger.dev key", "tr_prod_{a20,} tr_stg_{a20,} tr_dev_{a20,} tr_preview_{a20,} tr_pat_{a36,}", "Trigger.dev: API keys"),
    _row("Inngest key", "signkey-prod-{h32,} signkey-test-{h32,}", f"Inngest: signing keys; {_SCANNERS}"),
    # Models and agents
    _raw("Anthropic key", "sk-ant-", r"sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{20,}", "Anthropic: API keys"),
    _raw("OpenAI key", "sk-", r"sk-(?:(?:proj|svcacct|admin|None|or-v1|lf|litellm|helicone|api)-[A-Za-z0-9_-]{20,}|(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9]{20,}(?:T3BlbkFJ[A-Za-z0-9]+)?(?:[_-][A-Za-z0-9]+)*)",
         f"OpenAI, OpenRouter, DeepSeek, Langfuse, MiniMax: API keys; {_GITLEAKS}"),
    _row("Hugging Face token", "hf_{a30,} api_org_{a30,}", "Hugging Face: user access tokens"),
    _row("Groq key", "gsk_{a40,}", "Groq: API keys"),
    _row("xAI key", "xai-{b60,}", "xAI: API keys"),
    _row("Replicate token", "r8_{a37,}", "Replicate: API tokens"),
    _row("Perplexity key", "pplx-{a32,}", "Perplexity: API keys"),
    _row("NVIDIA key", "nvapi-{b60,}", "NVIDIA NIM: API keys"),
    _row("Cerebras key", "csk-{a40,}", "Cerebras: API keys"),
    _row("Together key", "tgp_v1_{b40,}", "Together: API keys"),
    _row("Fireworks key", "fw_{a22,}", "Fireworks: API keys"),
    _row("LangSmith key", "lsv2_pt_{h32}_{h10} lsv2_sk_{h32}_{h10}", "LangSmith: API keys"),
    _row("Pinecone key", "pcsk_{b50,}", "Pinecone: API keys"),
    _row("Tavily key", "tvly-{a28,} tvly-dev-{a28,} tvly-prod-{a28,}", "Tavily: API keys"),
    _row("Voyage key", "pa-{b40,}", "Voyage: API keys"),
    _row("Jina key", "jina_{a50,}", "Jina: API keys"),
    _row("Firecrawl key", "fc-{h32}", "Firecrawl: API keys"),
    _row("Weights & Biases key", "wandb_v1_{b40,}", f"Weights & Biases: API keys; {_GITLEAKS}"),
    _row("RunPod key", "rpa_{a30,} rps_{a30,}", _SCANNERS),
    _row("LlamaCloud key", "llx-{b40,}", _SCANNERS),
    _row("Apify token", "apify_api_{a34,38}", _SCANNERS),
    _row("E2B key", "e2b_{h40}", "E2B: API keys"),
    _row("Cursor key", "key_{h64}", _GITLEAKS),
    _row("Devin key", "apk_user_{s100,} apk_{s80,} cog_{l52}", _GITLEAKS),
    _raw("Brave Search key", "BSA", r"(?<![+/])BSA[A-Za-z0-9_-]{24,40}(?![A-Za-z0-9_+/=-])", _GITLEAKS),
    # Messages and mail
    _raw("Slack token", "xox xapp- xwfp-", r"(?:xox[abcdeoprs](?:\.xox[bp])?-(?=[A-Za-z%/+-]{0,60}[0-9])[A-Za-z0-9%/+-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}|xwfp-[A-Za-z0-9-]{20,})", "Slack: token types"),
    _raw("Discord token", ".", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}", "Discord: authentication"),
    _row("Telegram token", "{d8,10}:AA{b32,33} bot{d8,10}:AA{b32,33}", "Telegram Bot API"),
    _row("Twilio key", "SK{h32}", "Twilio: API keys"),
    _row("SendGrid key", "SG.{b16,32}.{b16,64}", "SendGrid: API keys"),
    _row("Mailgun key", "key-{h32}", "Mailgun: API keys"),
    _row("Mailchimp key", "{h32}-us{d1,2}", "Mailchimp: API keys"),
    _row("Brevo key", "xkeysib-{h64}-{a16} xsmtpsib-{h64}-{a16}", "Brevo: API keys"),
    _row("Resend key", "re_{a8}_{a20,}", "Resend: API keys"),
    _row("Mandrill key", "md-{b22}", "Mandrill: API keys"),
    _raw("Facebook token", "EAA", r"EAA[A-Z][A-Za-z0-9]{60,}", "Meta: access tokens"),
    _row("Facebook app token", "{d15,16}|{b27,40} {d15,16}%7C{b27,40}", f"Meta: app access tokens; {_GITLEAKS}"),
    _raw("Twitter bearer token", "AAAAAAAAAAAAAAAAAAAA", r"A{20,22}[A-Za-z0-9%]{60,}", "X API: bearer tokens"),
    # Money and shops
    _row("Stripe key", "sk_live_{a16,} sk_test_{a16,} sk_org_{a16,} sk_prod_{a16,} rk_live_{a16,} rk_test_{a16,} rk_prod_{a16,} whsec_{e24,}", "Stripe: API keys"),
    _row("Square token", "sq0atp-{b22,43} sq0csp-{b22,43} sq0idp-{b22,43} EAAA{b60}", "Square: access tokens"),
    _row("Braintree token", "access_token$production${l16}${h32} access_token$sandbox${l16}${h32}", "Braintree: SDK"),
    _row("Shopify token", "shpat_{H32} shpss_{H32} shpca_{H32} shppa_{H32} shptka_{H32}", "Shopify: access tokens"),
    _raw("Flutterwave key", "FLWSECK", r"FLWSECK(?:_TEST)?-[a-h0-9]{12,}(?:-X)?", "Flutterwave: API keys"),
    _row("Shippo token", "shippo_live_{h40} shippo_test_{h40}", "Shippo: API tokens"),
    _row("Duffel token", "duffel_live_{b43} duffel_test_{b43}", "Duffel: access tokens"),
    _row("EasyPost key", "EZAK{a54} EZTK{a54}", "EasyPost: API keys"),
    _row("Razorpay key", "rzp_live_{a14,} rzp_test_{a14,}", "Razorpay: API keys"),
    _raw("Lob or GoCardless key", "live_", r"live_(?:[a-f0-9]{35}|(?=[A-Za-z_-]{0,30}[0-9])[A-Za-z0-9_-]{40}|(?=[A-Za-z]{0,28}[0-9])(?=[a-z0-9]{0,28}[A-Z])[A-Za-z0-9]{30})(?![A-Za-z0-9_-])",
         "Lob, GoCardless, Mollie: API keys"),
    _row("Plaid token", f"access-sandbox-{_UUID} access-development-{_UUID} access-production-{_UUID}", "Plaid: access tokens"),
    _row("Polar token", "polar_oat_{b20,} polar_at_{b20,}", _SCANNERS),
    _row("Paddle key", "pdl_live_apikey_{l26}_{a22}_{a3} pdl_sdbx_apikey_{l26}_{a22}_{a3}", _GITLEAKS),
    # Work
    _row("Notion token", "ntn_{a40,} secret_{a43}", "Notion: integrations"),
    _row("Linear key", "lin_api_{a40,} lin_oauth_{a40,}", "Linear: API keys"),
    _raw("Figma token", "figd_ figu_ figo", r"fig(?:[du]|o[rh]?)_[A-Za-z0-9_-]{38,}", "Figma: access tokens"),
    _row("Airtable token", "pat{a14}.{h64}", "Airtable: personal access tokens"),
    _row("Asana token", "0/{d14,18}:{h32} 1/{d14,18}:{h32} 2/{d14,18}:{h32} 2/{d14,18}/{d14,18}:{h32}", "Asana: personal access tokens"),
    _row("ClickUp token", "pk_{d8,9}_{a32}", _GITLEAKS),
    _row("Klaviyo key", "pk_{l34}", f"Klaviyo: API keys; {_GITLEAKS}"),
    _row("Mapbox token", "sk.eyJ{b40,}.{b20,}", "Mapbox: token types"),
    _row("Contentful token", "CFPAT-{b43}", "Contentful: personal access tokens"),
    _row("Canva secret", "cnvca{b51}", f"Canva Connect: authentication; {_GITLEAKS}"),
    _row("ElevenLabs key", "sk_{h48}", "ElevenLabs: API keys"),
    _row("Typeform token", "tfp_{t40,}", "Typeform: personal access tokens"),
    _row("ReadMe key", "rdme_{l70}", "ReadMe: API keys"),
    _row("Adafruit key", "aio_{a28}", "Adafruit IO: keys"),
    _row("Prefect key", "pnu_{a36}", "Prefect: API keys"),
    _row("Infracost key", "ico-{a32}", "Infracost: API keys"),
    _row("Frame.io token", "fio-u-{b64}", "Frame.io: tokens"),
    _row("PostHog key", "phx_{b40,} phs_{b40,}", "PostHog: personal API keys"),
    _row("Scalingo token", "tk-us-{b48}", "Scalingo: tokens"),
    _row("HubSpot token", f"pat-na1-{_UUID} pat-na2-{_UUID} pat-eu1-{_UUID}", "HubSpot: private apps"),
    _row("Adobe secret", "p8e-{a32}", "Adobe: OAuth"),
    _row("SettleMint token", "sm_aat_{a16} sm_pat_{a16} sm_sat_{a16}", "SettleMint: access tokens"),
    _row("Defined Networking key", "dnkey-{U26}-{U52}", "Defined Networking: API keys"),
    _raw("Dropbox token", "sl. AAAAAAAAAA", r"(?:sl\.(?:u\.)?[A-Za-z0-9_-]{60,}|[A-Za-z0-9]{11}AAAAAAAAAA[A-Za-z0-9_-]{43})", f"Dropbox: OAuth guide; {_GITLEAKS}", within=True),
    _row("Cal.com key", "cal_live_{l20,}", _SCANNERS),
    _row("WakaTime key", f"waka_{_UUID}", _SCANNERS),
    _row("Zuplo key", "zpka_{l32}_{h8}", "Zuplo: API keys"),
    _row("MaxMind key", "{a6}_{a29}_mmk", "MaxMind: license keys"),
    _row("42 secret", "s-s4t2ud-{h64} s-s4t2af-{h64}", _GITLEAKS),
    # Services whose forms are of the last year
    _raw("Modal token", "ak- as-", r"a[ks]-(?=[A-Za-z]{0,21}[0-9])(?=[a-z0-9]{0,21}[A-Z])[A-Za-z0-9]{22}(?![A-Za-z0-9_-])", "Modal: modal token set"),
    _row("Browserbase key", "bb_live_{b20,} bb_test_{b20,}", "Browserbase: API keys"),
    _row("Cursor user key", "crsr_{h64}", "Cursor: API keys"),
    _raw("Luma key", "luma-", rf"luma-{_HEX_UUID}(?:-[a-f0-9]{{4,12}}){{0,8}}", "Luma: API keys"),
    _raw("Sanity token", "sk", r"sk(?=[A-Za-z]{0,100}[0-9])(?=[a-z0-9]{0,100}[A-Z])[A-Za-z0-9]{80,}", "Sanity: API tokens"),
    _raw("Packagist token", "packagist_", r"packagist_[a-z]{3}_[a-f0-9]{60,70}", "Packagist: tokens"),
    _raw("Snyk service token", "snyk_", r"snyk_[a-z]{2,4}\.[a-f0-9]{8}\.[A-Za-z0-9_-]{40,}", "Snyk: service accounts"),
    _raw("Salesforce session", "00D", r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}", "Salesforce: session ids"),
    _raw("AWS session token", "IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz", r"(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz)[A-Za-z0-9+/]{100,}={0,2}", "AWS STS: temporary credentials"),
    _row("Telnyx key", "KEY{H32}_{a22}", "Telnyx: API keys"),
    _raw("Convex key", "prod: dev: preview: project:", r"(?:prod|dev|preview|project):[a-z0-9:-]{3,60}\|[A-Za-z0-9+/=_-]{40,}", "Convex: deploy keys"),
    _row("Mailgun or fal key", f"{{h32}}-{{h8}}-{{h8}} {_UUID}:{{h32}}", "Mailgun, fal: API keys"),
    _row("Mem0 key", "m0-{a40}", "Mem0: API keys"),
    _row("Cartesia key", "sk_car_{a20,}", "Cartesia: API keys"),
    _row("Nylas key", "nyk_v0_{a60,}", "Nylas: API keys"),
    _row("Dub key", "dub_{a24}", "Dub: API keys"),
    _row("Unkey key", "unkey_{a20,}", "Unkey: root keys"),
    _row("extended private key", "xprv{a107,111} yprv{a107,111} zprv{a107,111} tprv{a107,111}", "BIP 32, SLIP 132"),
    _row("Context7 key", f"ctx7sk-{_UUID}", "Context7: API keys"),
    _row("Amp token", "sgamp_user_{t40,}", "Amp: access tokens"),
    _row("Stytch secret", "secret-live-{b36} secret-test-{b36}", "Stytch: API keys"),
    _row("Alchemy key", "alcht_{a30}", "Alchemy: auth tokens"),
    _raw("secret token", "secret-token:", r"secret-token:[A-Za-z0-9._~%:/-]{16,}", "RFC 8959"),
    _row("DingTalk secret", "SEC{h64}", "DingTalk: custom robots"),
    _row("WooCommerce key", "ck_{h40} cs_{h40}", "WooCommerce: REST API keys"),
    _row("PubNub secret", "sec-c-{b40,}", "PubNub: keysets"),
    _row("Courier key", "pk_prod_{U28,}", "Courier: API keys"),
    _row("OneSignal key", "os_v2_app_{l80,} os_v2_org_{l80,}", "OneSignal: keys and ids"),
    _row("Firebase key", "AAAA{b7}:APA91b{b120,}", "Firebase Cloud Messaging: legacy server keys"),
    _row("Trello token", "ATTA{h64}{H8}", "Trello: API tokens"),
    _row("Zoho token", "1000.{h32}.{h32}", "Zoho: OAuth tokens"),
    _row("ImageKit key", "private_{s27}=", "ImageKit: API keys"),
    _row("Instagram token", "IGQV{b80,} IGQW{b80,} IGAA{b80,}", "Meta: Instagram access tokens"),
    _row("Intercom token", "dG9rO{e50,}", "Intercom: access tokens"),
    _row("Nostr key", "nsec1{l58}", "NIP-19"),
    _row("encrypted session", "eyJpdiI6{e80,}", "Laravel: encryption of cookies"),
    Format(
        "token with a prefix",
        ("_",),
        re.compile(
            rf"_(?=[A-Za-z0-9]{{32}})(?<!\bpk_test_)(?<!\bpk_live_)(?<!\bphc_)(?:{_PREFIX})"
            r"(?=(?:[A-Za-z]{0,60}[0-9]){3})(?=(?:[a-z0-9]{0,60}[A-Z]){3})(?=(?:[A-Z0-9]{0,60}[a-z]){3})"
            rf"[A-Za-z0-9]{{32,{MOST_CHARS}}}(?![A-Za-z0-9_/+=])",
            re.ASCII,
        ),
        "GitHub: how the format of tokens was chosen (a prefix, `_`, letters and digits); many services follow it",
    ),
)  # fmt: skip
"""All known forms, in the order of the search."""
