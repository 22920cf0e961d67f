"""The table of token formats: what a secret looks like that is known by itself, and who publishes that.

A row is a kind, the texts of which one stands in every such secret, and a regular expression. To add a format, add a
row, and a sample in `tests/support/secret_forms.py`. Rules:
- An expression begins with something fixed, so that hashes, ids and encoded data are no matches.
- It takes the whole secret, so that no part of it stays.
- `source` is where the form is documented: the issuer's own pages, or the public rules of a scanner where the issuer
  documents none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """A published form of secrets."""

    kind: str
    hints: tuple[str, ...]
    """One of these stands in each; to look for them takes a small part of the time."""
    expression: re.Pattern[str]
    source: str
    has_spaces: bool = False
    """Whether spaces or ends of lines may stand in it; else it is looked for in long words only."""


LEAST_CHARS = 20
"""No form without spaces is shorter."""
MOST_CHARS = 4_000
"""How much of a run of letters is taken for one secret; without an end, the time would grow with the square of a text."""
_BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""Where a token may begin: not within a word; after an escape, as in the text of JSON, too."""
_END = r"(?![A-Za-z0-9])"


def _token(kind: str, hints: str, expression: str, source: str) -> Format:
    bounded = expression.replace(",}", f",{MOST_CHARS}}}")
    return Format(kind, tuple(hints.split()), re.compile(_BEGIN + bounded, re.ASCII), source)


_LETTER = "[A-Za-z0-9]"
_URL64 = "[A-Za-z0-9_-]"
_KEY_LINE = r"(?:[A-Z0-9]+\ )*PRIVATE\ KEY(?:\ BLOCK)?-----"

FORMATS = (
    Format(
        "private key",
        ("PRIVATE KEY",),
        re.compile(rf"-----BEGIN\ {_KEY_LINE}[\s\S]*?(?:-----END\ {_KEY_LINE}|\Z)", re.ASCII),
        "RFC 7468; OpenSSH PROTOCOL.key; RFC 9580",
        has_spaces=True,
    ),
    Format(
        "PuTTY private key",
        ("Private-Lines:",),
        re.compile(r"(?<=Private-Lines:)(?:[^A-Za-z0-9+/=]{1,4}|\\[nr])[0-9]+(?:\s+|\\[nr])[A-Za-z0-9+/=\s\\]+"),
        "PuTTY manual, appendix C",
        has_spaces=True,
    ),
    _token("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}", "age specification"),
    _token("password hash", "$", r"\$(?:[156y]|2[abxy]|apr1|argon2(?:id|i|d))\$[./A-Za-z0-9$=,+-]{20,}", "crypt(5)"),
    _token(
        "JWT", "eyJ", rf"eyJ{_URL64}{{8,}}\.(?:eyJ)?{_URL64}{{8,}}(?:\.{_URL64}*)+", "RFC 7519, section 3; RFC 7516"
    ),
    # Clouds and hosting
    _token("AWS key id", "AKIA ASIA ABIA ACCA", rf"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{{16}}{_END}", "AWS IAM: identifiers"),
    _token("AWS Bedrock key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,}={0,2}", "AWS Bedrock: API keys"),
    _token("Google API key", "AIza", rf"AIza{_URL64}{{35}}(?!{_URL64})", "Google Cloud: API keys"),
    _token("Google OAuth", "GOCSPX- ya29. 1//0", rf"(?:GOCSPX-{_URL64}{{28}}|ya29\.{_URL64}{{20,}}|1//0{_URL64}{{40,}})",
           "Google identity: OAuth 2.0"),
    _token("Azure client secret", "Q~", rf"[A-Za-z0-9_~.-]{{3}}[78]Q~[A-Za-z0-9_~.-]{{31,34}}{_END}",
           "GitHub: supported secret scanning patterns"),
    _token("Azure key", "AzFu AzSe ASt ACDb AEh ARm ACR APIM AIoT ABa AMC JQQJ99 AZDO",
           r"[A-Za-z0-9/+]{30,80}(?:AzFu|AzSe|\+ASt|\+ABa|\+AMC|ACDb|\+AEh|\+ARm|\+ACR|APIM|AIoT|JQQJ99|AZDO)[A-Za-z0-9/+]{4,40}={0,2}",
           "Microsoft Security Utilities: identifiable keys"),
    _token("Alibaba Cloud key id", "LTAI", rf"LTAI{_LETTER}{{16,26}}{_END}", "Alibaba Cloud: AccessKey pairs"),
    _token("Tencent Cloud key id", "AKID", rf"AKID{_LETTER}{{32}}{_END}", "Tencent Cloud: API keys"),
    _token("Yandex Cloud key", "AQVN YC", rf"(?:AQVN{_URL64}{{35,38}}|YC{_URL64}{{38}}{_END})", "Yandex Cloud: secrets"),
    _token("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64}", "DigitalOcean API: tokens"),
    _token("Heroku key", "HRKU-", rf"HRKU-{_URL64}{{36,}}", "Heroku: OAuth tokens"),
    _token("Fly.io token", "fo1_ fm1 fm2_", r"(?:fo1_[A-Za-z0-9_-]{30,}|fm[12][ar]?_[A-Za-z0-9+/=_-]{60,})", "Fly.io: macaroons"),
    _token("Netlify token", "nfp_ nfc_ nfo_ nfu_", rf"nf[cfopu]_{_LETTER}{{36,}}", "Netlify: access tokens"),
    _token("Vercel token", "vc", rf"vc[aikpr]_{_LETTER}{{20,}}", "Vercel: token formats"),
    _token("Cloudflare key", "v1.0- cfk_ cfut_ cfat_", rf"(?:v1\.0-[a-f0-9]{{24}}-[a-f0-9]{{146}}|cf(?:k|ut|at)_{_URL64}{{36,}})",
           "Cloudflare API: tokens and Origin CA keys"),
    _token("PlanetScale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}", "PlanetScale: service tokens"),
    _token("Supabase key", "sbp_ sb_secret_", rf"(?:sbp_(?:v0_)?[a-f0-9]{{40}}|sb_secret_{_URL64}{{22,}})", "Supabase: API keys"),
    _token("Databricks token", "dapi", rf"dapi[a-f0-9]{{32}}(?:-[0-9])?{_END}", "Databricks: personal access tokens"),
    _token("Scaleway or Upstash key", "SCW", rf"SCW[A-Z0-9]{{17}}{_END}", "Scaleway: API keys"),
    _token("Tailscale key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9]+-?[A-Za-z0-9]{10,}", "Tailscale: key prefixes"),
    _token("Terraform token", ".atlasv1.", rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_URL64}{{60,70}}", "HCP Terraform: API tokens"),
    _token("Vault token", "hvs. hvb. hvr. s. b.", rf"(?:hv[sbr]\.{_URL64}{{24,}}|[sb]\.(?=[A-Za-z]*[0-9])(?=[a-z0-9]*[A-Z])[A-Za-z0-9]{{24}}{_END})",
           "Vault: tokens"),
    _token("Doppler token", "dp.", rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]+\.)?{_LETTER}{{40,44}}", "Doppler: auth token formats"),
    _token("Pulumi token", "pul-", rf"pul-[a-f0-9]{{40}}{_END}", "Pulumi: access tokens"),
    _token("1Password token", "ops_eyJ A3-", rf"(?:ops_eyJ{_URL64}{{60,}}|A3-[A-Z0-9]{{6}}-(?:[A-Z0-9]{{11}}|[A-Z0-9]{{6}}-[A-Z0-9]{{5}})(?:-[A-Z0-9]{{5}}){{3}})",
           "1Password: service accounts, secret key"),
    _token("Bitwarden token", "0.", r"0\.[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}\.[A-Za-z0-9]{30}:[A-Za-z0-9+/]{22}==", "Bitwarden: access tokens"),
    _token("Render or Neon key", "rnd_ napi_", rf"(?:rnd_{_LETTER}{{24,}}|napi_[a-z0-9]{{60,}})", "Render, Neon: API keys"),
    _token("ClickHouse key", "4b1d", rf"4b1d{_LETTER}{{38}}{_END}", "ClickHouse Cloud: API keys"),
    _token("Atlas service account", "mdb_sa_sk_", rf"mdb_sa_sk_{_URL64}{{40,}}", "MongoDB Atlas: service accounts"),
    _token("OpenShift token", "sha256~", rf"sha256~{_URL64}{{43}}", "OpenShift: OAuth access tokens"),
    _token("Infisical token", "st.", r"st\.[a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}", "Infisical: service tokens"),
    # Code, packages, builds
    _token("GitHub token", "gho_ ghp_ ghr_ ghs_ ghu_ github_pat_",
           r"(?:gh[oprsu]_[A-Za-z0-9_.-]{36,}|github_pat_[A-Za-z0-9_]{22,255})", "GitHub: token formats"),
    _token("GitLab token", "glpat- gldt- glrt glcbt- glptt- glft- glimt- glagent- glsoat- glffct- gloas- glwt- GR1348941 _gitlab_session=",
           rf"(?:gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|soat|ffct|oas|wt)-[A-Za-z0-9_.-]{{20,}}|GR1348941{_URL64}{{20}})", "GitLab: token overview"),
    _token("Bitbucket or Atlassian token", "ATATT3 ATCTT3 ATBB ATSTT3", rf"(?:AT[ACS]TT3[A-Za-z0-9_=-]{{50,}}|ATBB{_LETTER}{{28,}})",
           "GitHub: supported secret scanning patterns"),
    _token("npm token", "npm_", rf"npm_{_LETTER}{{36}}{_END}", "npm: access tokens"),
    _token("PyPI token", "pypi-", rf"pypi-{_URL64}{{50,}}", "PyPI: API tokens"),
    _token("RubyGems key", "rubygems_", r"rubygems_[a-f0-9]{48}", "RubyGems: API keys"),
    _token("crates.io token", "cio", rf"cio{_LETTER}{{32}}{_END}", "crates.io: tokens"),
    _token("NuGet key", "oy2", rf"oy2[a-z0-9]{{43}}{_END}", "GitHub: supported secret scanning patterns"),
    _token("Clojars token", "CLOJARS_", r"CLOJARS_[a-f0-9]{60}", "Clojars: deploy tokens"),
    _token("Docker token", "dckr_", rf"dckr_[op]at_{_URL64}{{20,}}", "Docker: access tokens"),
    _token("JFrog token", "AKCp cmVmdGtu", rf"(?:AKCp{_LETTER}{{69}}|cmVmdGtu{_LETTER}{{50,}}){_END}", "JFrog: API keys, reference tokens"),
    _token("CircleCI token", "CCIPAT_ CCIPRJ_", r"CCIP(?:AT|RJ)_[A-Za-z0-9_]{30,}", "CircleCI: API tokens"),
    _token("Buildkite token", "bkua_", r"bkua_[a-z0-9]{40}", "Buildkite: API tokens"),
    _token("Sonar token", "sqp_ squ_ sqa_", r"sq[apu]_[a-f0-9]{40}", "SonarQube: tokens"),
    _token("Sourcegraph token", "sgp_ slk_", r"(?:sgp_(?:[a-f0-9]{16}_|local_)?[A-Za-z0-9]{40,64}|slk_[a-f0-9]{64})", "Sourcegraph: access tokens"),
    _token("Delivery key", "API- pat. sat.", rf"(?:API-[A-Z0-9]{{25,32}}{_END}|[ps]at\.{_URL64}{{22}}\.[a-f0-9]{{24}}\.{_LETTER}{{20}})",
           "Octopus Deploy, Harness: API keys"),
    _token("Snyk token", "snyk_", rf"snyk_[a-z]+_?{_URL64}{{20,}}", "Snyk: API tokens"),
    _token("Sentry token", "sntry", r"sntry(?:u_[a-f0-9]{64}|s_eyJ[A-Za-z0-9+/=_-]{50,})", "Sentry: auth tokens"),
    _token("Grafana token", "glsa_ glc_", r"(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,2})", "Grafana: service accounts"),
    _token("New Relic key", "NRAK- NRJS- NRII- NRAL NRBR", r"(?:NR(?:AK|II)-[A-Za-z0-9_-]{27,}|NRJS-[a-f0-9]{19}|[a-f0-9]{36}NRAL)", "New Relic: API keys"),
    _token("Dynatrace token", "dt0", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}", "Dynatrace: token format"),
    _token("Honeycomb key", "hca hcb hcx", r"hc[abx][a-z]{2}_[a-z0-9]{58}", "Honeycomb: API keys"),
    _token("Postman key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", "Postman: API keys"),
    _token("LaunchDarkly key", "sdk- api- mob-", r"(?:sdk|api|mob)-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}", "LaunchDarkly: keys"),
    # Models
    _token("Anthropic key", "sk-ant-", rf"sk-ant-[a-z0-9]+-{_URL64}{{20,}}", "Anthropic: API keys"),
    _token("OpenAI key", "sk-", rf"sk-(?:(?:proj|svcacct|admin|None|or-v1|lf|litellm|helicone)-{_URL64}{{20,}}|(?=[A-Za-z_-]{{0,40}}[0-9]){_LETTER}{{20,}}(?:T3BlbkFJ{_LETTER}+)?(?:[_-]{_LETTER}+)*)",
           "OpenAI, OpenRouter, DeepSeek, Langfuse: API keys"),
    _token("Hugging Face token", "hf_ api_org_", rf"(?:hf_{_LETTER}{{30,}}|api_org_{_LETTER}{{30,}})", "Hugging Face: user access tokens"),
    _token("Groq key", "gsk_", rf"gsk_{_LETTER}{{40,}}", "Groq: API keys"),
    _token("xAI key", "xai-", rf"xai-{_URL64}{{60,}}", "xAI: API keys"),
    _token("Replicate token", "r8_", rf"r8_{_LETTER}{{37,}}", "Replicate: API tokens"),
    _token("Perplexity key", "pplx-", rf"pplx-{_LETTER}{{32,}}", "Perplexity: API keys"),
    _token("Model provider key", "nvapi- csk- tgp_v1_ fw_ lsv2_ pcsk_ tvly- voyage pa- jina_ fc- wandb_v1_ e2b_",
           rf"(?:nvapi-{_URL64}{{60,}}|csk-{_LETTER}{{40,}}|tgp_v1_{_URL64}{{40,}}|fw_{_LETTER}{{22,}}{_END}|lsv2_(?:pt|sk)_[a-f0-9]{{32}}_[a-f0-9]{{10}}"
           rf"|pcsk_[A-Za-z0-9_]{{50,}}|tvly-(?:dev-|prod-)?{_LETTER}{{28,}}|pa-{_URL64}{{40,}}|jina_{_LETTER}{{50,}}|fc-[a-f0-9]{{32}}{_END}|wandb_v1_{_URL64}{{40,}}|e2b_[a-f0-9]{{40}})",
           "NVIDIA, Cerebras, Together, Fireworks, LangSmith, Pinecone, Tavily, Voyage, Jina, Firecrawl, W&B, E2B: API keys"),
    # Messages and mail
    _token("Slack token", "xox xapp- xwfp-", r"(?:xox[abcdeoprs](?:\.xox[bp])?-[A-Za-z0-9%/+-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}|xwfp-[A-Za-z0-9-]{20,})", "Slack: token types"),
    Format("webhook", ("hooks.slack.com", "discord", "webhook.office.com", "chat.googleapis.com", "logic.azure.com"), re.compile(
        r"(?:(?<=hooks\.slack\.com/services/)|(?<=hooks\.slack\.com/workflows/)|(?<=hooks\.slack\.com/triggers/))[A-Za-z0-9/_-]{20,}"
        r"|(?<=/api/webhooks/)[0-9]{17,20}/[A-Za-z0-9_-]{60,}|(?<=webhook\.office\.com/)webhookb2/[A-Za-z0-9@/_-]{40,}"), "Slack, Discord, Microsoft Teams: incoming webhooks"),
    _token("Discord token", "M N O", rf"[MNO]{_URL64}{{23,27}}\.{_URL64}{{6}}\.{_URL64}{{27,40}}", "Discord: authentication"),
    _token("Telegram token", ":AA", rf"[0-9]{{8,10}}:AA{_URL64}{{32,33}}(?!{_URL64})", "Telegram Bot API"),
    _token("Twilio key", "SK", rf"SK[0-9a-f]{{32}}{_END}", "Twilio: API keys"),
    _token("SendGrid key", "SG.", rf"SG\.{_URL64}{{16,32}}\.{_URL64}{{16,64}}", "SendGrid: API keys"),
    _token("Mail service key", "key- -us xkeysib- xsmtpsib- re_ md-",
           rf"(?:key-[0-9a-f]{{32}}{_END}|[0-9a-f]{{32}}-us[0-9]{{1,2}}{_END}|x(?:key|smtp)sib-[a-f0-9]{{64}}-{_LETTER}{{16}}|re_[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{20,}}|md-{_URL64}{{22}}{_END})",
           "Mailgun, Mailchimp, Brevo, Resend, Mandrill: API keys"),
    _token("Facebook token", "EAA", r"EAA[A-Z][A-Za-z0-9]{60,}", "Meta: access tokens"),
    _token("Twitter bearer token", "AAAAAAAAAAAAAAAAAAAA", r"A{20,22}[A-Za-z0-9%]{60,}", "X API: bearer tokens"),
    # Money and shops
    _token("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_ sk_org_", rf"(?:(?:sk|rk)_(?:live|test|org)_{_LETTER}{{16,}}|whsec_[A-Za-z0-9+/]{{24,}}={{0,2}})", "Stripe: API keys"),
    _token("Square token", "sq0 EAAA", rf"(?:sq0(?:atp|csp|idp)-{_URL64}{{22,43}}|EAAA{_URL64}{{60}}(?!{_URL64}))", "Square: access tokens"),
    _token("Braintree token", "access_token$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", "Braintree: SDK"),
    _token("Shopify token", "shpat_ shpss_ shpca_ shppa_ shptka_", r"shp(?:at|ss|ca|pa|tka)_[a-fA-F0-9]{32}", "Shopify: access tokens"),
    _token("Payment key", "FLWSECK shippo_ duffel_ EZAK EZTK rzp_ live_ access-",
           rf"(?:FLWSECK(?:_TEST)?-[a-h0-9]{{12,}}(?:-X)?|shippo_(?:live|test)_[a-f0-9]{{40}}|duffel_(?:live|test)_{_URL64}{{43}}|EZ[AT]K{_LETTER}{{54}}|rzp_(?:live|test)_{_LETTER}{{14,}}"
           rf"|live_(?:[a-f0-9]{{35}}|(?=[A-Za-z_-]{{0,30}}[0-9]){_URL64}{{40}})(?!{_URL64})|access-(?:sandbox|development|production)-[a-f0-9]{{8}}(?:-[a-f0-9]{{4}}){{3}}-[a-f0-9]{{12}})",
           "Flutterwave, Shippo, Duffel, EasyPost, Razorpay, Lob, GoCardless, Plaid: API keys"),
    # Work
    _token("Notion token", "ntn_ secret_", rf"(?:ntn_{_LETTER}{{40,}}|secret_{_LETTER}{{43}}{_END})", "Notion: integrations"),
    _token("Linear key", "lin_", rf"lin_(?:api|oauth)_{_LETTER}{{40,}}", "Linear: API keys"),
    _token("Figma token", "figd_ figu_ figo", rf"fig(?:[du]|o[rh]?)_{_URL64}{{38,}}", "Figma: access tokens"),
    _token("Airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", "Airtable: personal access tokens"),
    _token("Asana token", "/", r"[012]/[0-9]{14,18}(?:/[0-9]{14,18})?:[a-f0-9]{32}", "Asana: personal access tokens"),
    _token("Mapbox token", "sk.eyJ", rf"sk\.eyJ{_URL64}{{40,}}\.{_URL64}{{20,}}", "Mapbox: token types"),
    _token("Contentful token", "CFPAT-", rf"CFPAT-{_URL64}{{43}}", "Contentful: personal access tokens"),
    _token("Other service key", "sk_ tfp_ rdme_ aio_ pnu_ ico- fio-u- PRIVATE-TOKEN dG9rO phx_ phs_ tk-us- pat- p8e- sm_ dnkey- sl. zpka_ _mmk s-s4t2",
           rf"(?:sk_[a-f0-9]{{48}}|tfp_[A-Za-z0-9_.=-]{{40,}}|rdme_[a-z0-9]{{70}}|aio_{_LETTER}{{28}}{_END}|pnu_{_LETTER}{{36}}|ico-{_LETTER}{{32}}|fio-u-{_URL64}{{64}}"
           rf"|ph[sx]_{_LETTER}{{40,}}|tk-us-{_URL64}{{48}}|p8e-{_LETTER}{{32}}|sm_[aps]at_{_LETTER}{{16}}{_END}|dnkey-[A-Z0-9]{{26}}-[A-Z0-9]{{52}}|sl\.{_URL64}{{120,}}|zpka_[a-z0-9]{{32}}_[a-f0-9]{{8}}|{_LETTER}{{6}}_{_LETTER}{{29}}_mmk|s-s4t2(?:ud|af)-[a-f0-9]{{64}}|pat-(?:na|eu)[0-9]-[a-f0-9]{{8}}(?:-[a-f0-9]{{4}}){{3}}-[a-f0-9]{{12}})",
           "ElevenLabs, Typeform, ReadMe, Adafruit, Prefect, Infracost, Frame.io, PostHog, Scalingo, HubSpot, "
           "Adobe, SettleMint, Defined Networking, Dropbox, Zuplo, MaxMind, Intra42: API keys"),
)  # fmt: skip
"""Every known form, in the order in which they are looked for."""
