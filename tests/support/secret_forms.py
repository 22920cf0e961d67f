"""Made-up secrets in the published forms, put together at run time, so that no scanner takes this file for a leak.

A form is written as its fixed text with `{KIND LENGTH}` for what is random: `a` letters and digits, `l` lower case and
digits, `h` hexadecimal, `u` capitals and 2-7, `b` base64url, `s` base64, `d` digits.
"""

import random
import re
import string

_LOWER, _LETTERS, _DIGITS = string.ascii_lowercase, string.ascii_letters, string.digits
_ALPHABETS = {
    "a": _LETTERS + _DIGITS,
    "l": _LOWER + _DIGITS,
    "h": "0123456789abcdef",
    "u": string.ascii_uppercase + "234567",
    "U": string.ascii_uppercase + _DIGITS,
    "b": _LETTERS + _DIGITS + "_-",
    "s": _LETTERS + _DIGITS + "+/",
    "d": _DIGITS,
    "H": "0123456789ABCDEF",
}
_UUID = "{h8}-{h4}-{h4}-{h4}-{h12}"

TOKENS = (
    *("as-{a10}4K{a10}", f"luma-{_UUID}-{{h8}}", "sk{a40}7Q{a90}", "packagist_ort_{h68}", "snyk_sat.{h8}.{b60}"),
    *("00D{a12}!AQ{a90}", "IQoJb3JpZ2lu{s200}", "Convex prod:happy-otter-1|{b60}", "secret-token:{a30}"),
    *("{h32}-{h8}-{h8}", "bb_live_{b27}", "crsr_{h64}", "KEY{H32}_{a22}", f"{_UUID}:{{h32}}"),
    *("snyk_uat_{b40}", "polar_oat_{a43}", "2{a26}_3{a20} of ngrok", "EXO{a26}", "BSA{b28}", "t1.{b60}.{b86}"),
    *("rnd_{a28}", "napi_{l64}", "4b1d{a38}", "mdb_sa_sk_{b40}", "sha256~{b43}", "st.{h24}.{h32}.{h32}"),
    *("sgp_{h40}", "sgp_{h16}_{h40}", "sgp_local_{h40}", "slk_{h64}", "API-{U26}", "pat.{b22}.{h24}.{a20}"),
    *("hcaik_{l58}", "sk-helicone-{b30}", "e2b_{h40}", "live_{h35}", "live_{b40}", f"access-production-{_UUID}"),
    *("tfp_{a43}", "p8e-{a32}", "sm_pat_{a16}", "dnkey-{U26}-{U52}", "sl.{b136}", "zpka_{l32}_{h8}"),
    *("{a6}_{a29}_mmk", "s-s4t2ud-{h64}"),
    *("AKIA{u16}", "ASIA{u16}", "AIza{b35}", "GOCSPX-{b28}", "ya29.{b120}", "1//0{b60}", "{a3}8Q~{a34}"),
    *(
        "{s40}AzFu{s6}Q==",
        "{s40}ACDb{s6}Q==",
        "{s76}+ASt{s6}w==",
        "LTAI{a20}",
        "AKID{a32}",
        "AQVN{b36}",
        "dop_v1_{h64}",
    ),
    *(
        "doo_v1_{h64}",
        "HRKU-{b60}",
        "fo1_{b43}",
        "nfp_{a40}",
        "v1.0-{h24}-{h146}",
        "pscale_tkn_{b43}",
        "pscale_pw_{b43}",
    ),
    *("sbp_{h40}", "sb_secret_{b31}", "dapi{h32}", "dapi{h32}-2", "tskey-auth-{a17}-{a32}", "{a14}.atlasv1.{b67}"),
    *(
        "hvs.{b95}",
        "hvb.{b138}",
        "dp.pt.{a43}",
        "dp.st.dev.{a43}",
        "pul-{h40}",
        "ops_eyJ{b200}",
        "A3-{U6}-{U11}-{U5}-{U5}-{U5}",
    ),
    *("ghp_{a36}", "gho_{a36}", "ghs_{a36}", "ghu_{a36}", "ghr_{a36}", "github_pat_{a22}_{a59}"),
    *("glpat-{b20}", "gldt-{b20}", "glrt-{b20}", "glptt-{h40}", "glcbt-1a_{b20}", "glsoat-{b20}", "GR1348941{b20}"),
    *(
        "ATATT3xFfGF0{b170}={U8}",
        "ATBB{a32}",
        "npm_{a36}",
        "pypi-AgEIcHlwaS5vcmc{b160}",
        "rubygems_{h48}",
        "cio{a32}",
        "oy2{l43}",
    ),
    *(
        "dckr_pat_{b27}",
        "dckr_oat_{b32}",
        "AKCp8{a68}",
        "CCIPAT_{a22}_{h40}",
        "bkua_{l40}",
        "sqp_{h40}",
        "sntryu_{h64}",
    ),
    *("glsa_{a32}_{h8}", "NRAK-{U27}", "dt0c01.{U24}.{U64}", "PMAK-{h24}-{h34}", f"sdk-{_UUID}"),
    *("sk-ant-api03-{b93}AA", "sk-ant-oat01-{b86}AA", "sk-proj-{b74}T3BlbkFJ{b74}", "sk-svcacct-{b74}T3BlbkFJ{b74}"),
    *("sk-{a20}T3BlbkFJ{a20}", "sk-or-v1-{h64}", "sk-{h32}", "sk-lf-" + _UUID, "hf_{a34}", "gsk_{a52}", "xai-{a80}"),
    *(
        "r8_{a37}",
        "pplx-{a48}",
        "nvapi-{b64}",
        "csk-{l48}",
        "tgp_v1_{b43}",
        "lsv2_pt_{h32}_{h10}",
        "pcsk_{a6}_{a63}",
        "tvly-{a32}",
    ),
    *("xoxb-{d12}-{d13}-{a24}", "xoxp-{d12}-{d12}-{d12}-{h32}", "xapp-1-A{U10}-{d13}-{h64}", "xoxe.xoxb-1-{a160}"),
    *("https://hooks.slack.com/services/T{U8}/B{U8}/{a24}", "https://discord.com/api/webhooks/{d18}/{b68}"),
    *(
        "MT{a22}.{b6}.{b38}",
        "{d10}:AA{b33}",
        "SK{h32}",
        "SG.{b22}.{b43}",
        "key-{h32}",
        "{h32}-us12",
        "xkeysib-{h64}-{a16}",
    ),
    *(
        "re_{a8}_{a24}",
        "EAAC{a180}",
        "AAAAAAAAAAAAAAAAAAAAA{a80}",
        "sk_live_{a24}",
        "sk_test_{a99}",
        "rk_live_{a24}",
        "whsec_{a32}",
    ),
    *(
        "sq0atp-{b22}",
        "sq0csp-{b43}",
        "access_token$production${l16}${h32}",
        "shpat_{h32}",
        "shpss_{h32}",
        "shppa_{h32}",
    ),
    *(
        "shippo_live_{h40}",
        "duffel_test_{b43}",
        "EZAK{a54}",
        "rzp_live_{a14}",
        "ntn_{a46}",
        "secret_{a43}",
        "lin_api_{a40}",
    ),
    *(
        "figd_{b40}",
        "pat{a14}.{h64}",
        "1/{d16}:{h32}",
        "sk.eyJ{a60}.{b22}",
        "CFPAT-{b43}",
        "phx_{a43}",
        f"pat-na1-{_UUID}",
    ),
    *("eyJhbGciOiJIUzI1NiJ9.eyJ{b60}.{b43}", "AGE-SECRET-KEY-1{U58}", "$6${a16}${a86}", "$2b$12${a53}"),
    "$argon2id$v=19$m=65536,t=3,p=4${a22}${a43}",
    *("-----BEGIN RSA PRIVATE " + "KEY-----\n{s64}\n{s64}\n{s30}==\n-----END RSA PRIVATE " + "KEY-----",),
    *("-----BEGIN OPENSSH PRIVATE " + "KEY-----\\n{s70}\\n{s70}\\n-----END OPENSSH PRIVATE " + "KEY-----",),
    "userPassword: {SSHA}{s38}=",
    *("PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{s44}\nPrivate-MAC",),
)
"""Forms that are known by themselves; all that is random in them has to go."""

LINES = (
    *("requirepass {{a12}}", "masterauth {{a12}}", "FROM x\nENV APP_SECRET {{a14}}", 'ENV DB_PASSWORD "{{a9}}"'),
    # passwords in URLs
    *(
        "postgres://app:{{a12}}@db.example.com:5432/app",
        "postgresql+psycopg2://app:{{a6}}!x@localhost/app",
        "redis://:{{a10}}@cache:6379/0",
    ),
    *(
        "mongodb+srv://root:{{a9}}@cluster0.ab1cd.mongodb.net/?retryWrites=true",
        "amqp://guest:{{a8}}@mq:5672//",
        "https://user:{{a11}}@host/",
    ),
    *(
        "mysql://root:{{a3}}@127.0.0.1/db",
        "smtp://user%40x.example:{{a8}}@mail:587",
        "git clone https://oauth2:{{a20}}@git.example.com/a.git",
    ),
    *(
        "ftp://me:{{a7}}@files.example.com/x",
        "DATABASE_URL=postgres://u:{{a14}}@h/d",
        "cloudinary://123456789012345:{{b27}}@demo",
    ),
    # environment, shells
    *(
        "DB_PASSWORD={{a7}}",
        "SECRET_KEY={{a20}}",
        "export API_KEY={{l24}}",
        "AWS_SECRET_ACCESS_KEY={{s40}}",
        "PGPASSWORD={{a8}} psql -h x",
    ),
    *(
        "MYSQL_ROOT_PASSWORD='{{a9}}'",
        'export GITLAB_TOKEN="{{a22}}"',
        "  - POSTGRES_PASSWORD={{a10}}",
        "ENV JWT_SECRET={{b30}}",
    ),
    *(
        "docker run -e DB_PASSWORD={{a11}} image",
        "SMTP_PASS={{a9}}",
        "set SECRET={{a12}}",
        "REDIS_PASSWORD={{a6}}#{{a3}}",
        "AUTH_TOKEN={{h40}}",
    ),
    *(
        "DJANGO_SECRET_KEY=django-insecure-{{a40}}",
        "ENCRYPTION_KEY={{h64}}",
        "SESSION_SECRET={{a18}}",
        "$env:CLIENT_SECRET = '{{a20}}'",
    ),
    # commands
    *(
        "curl -u admin:{{a8}} https://x.example",
        "curl --user 'me:{{a9}}' http://x",
        "curl -H 'Authorization: Bearer {{b40}}' https://x",
    ),
    *(
        "curl -H 'X-Api-Key: {{a24}}' https://x",
        "curl -b 'session={{a30}}' -H 'Cookie: sid={{a26}}; theme=d' https://x",
    ),
    *(
        "mysql -u root -p{{a9}} app",
        "sshpass -p {{a10}} ssh h",
        "redis-cli -h x -a {{a14}} ping",
        "docker login -u me -p {{a16}} reg.example.com",
    ),
    *(
        "deploy --password {{a10}} --force",
        "tool --api-key={{a20}}",
        "tool --token {{a24}}",
        "openssl rsa -passin pass:{{a9}} -in k.pem",
    ),
    *(
        "wget --password={{a9}} https://x",
        "az login --service-principal -u x --password {{a30}}",
        "http -a user:{{a8}} GET x",
    ),
    # headers
    *(
        "Authorization: Bearer {{b40}}",
        "authorization: Basic {{s27}}=",
        "Proxy-Authorization: Basic {{s22}}==",
        "Authorization: Token {{h40}}",
    ),
    *(
        "X-Auth-Token: {{h32}}",
        "PRIVATE-TOKEN: {{b20}}",
        "x-api-key: {{a32}}",
        "api-key: {{h32}}",
        "Ocp-Apim-Subscription-Key: {{h32}}",
    ),
    *(
        "Cookie: sessionid={{l32}}; csrftoken={{a32}}",
        "Set-Cookie: session={{b60}}; Path=/; HttpOnly",
        '"Authorization": "Bearer {{b50}}"',
    ),
    *(
        "-H 'x-goog-api-key: {{b39}}'",
        "X-Vault-Token: {{b26}}",
        "Authorization: ApiKey {{s40}}==",
        "GET /v1/x?api_key={{a20}}&a=1",
    ),
    *(
        "https://x.example/cb?access_token={{b30}}&state=1",
        "https://a.blob.core.windows.net/c?sv=2024&sig={{a40}}%3D",
        "?token={{h32}}",
    ),
    # files
    *(
        '{"client_secret": "{{a8}}"}',
        '{"access_token": "{{a40}}"}',
        '{"db_password": "{{a4}}"}',
        '{"auths": {"r": {"auth": "{{s27}}="}}}',
    ),
    *(
        '"private_key_id": "x", "client_secret": "{{b24}}"',
        '{"refreshToken":"{{b40}}"}',
        '{\\"password\\": \\"{{a9}}\\"}',
        '"apiKey": "{{b39}}",',
    ),
    *(
        "machine api.example.com login me password {{a12}}",
        "machine x\n  login me\n  password {{a9}}\n",
        "    token: {{b40}}",
    ),
    *(
        "    client-key-data: {{s200}}==",
        "password: {{a9}}7x",
        "  secret_key_base: {{h128}}",
        "aws_secret_access_key = {{s40}}",
        "password = {{a10}}3z",
    ),
    *(
        "//registry.npmjs.org/:_authToken={{a30}}",
        "_auth = {{s30}}==",
        "localhost:5432:app:me:{{a11}}",
        "spring.datasource.password={{a9}}8q",
    ),
    *(
        "Server=x;Database=y;User Id=sa;Password={{a10}};",
        "AccountName=x;AccountKey={{s86}}==;EndpointSuffix=core.windows.net",
    ),
    *(
        "Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey={{s43}}=",
        "host=db user=app password={{a8}} dbname=x",
    ),
    *(
        "  api_key: '{{a24}}'",
        'password = "{{a8}}9"',
        'token: "{{a30}}"',
        "const apiKey = '{{a24}}';",
        'SECRET_KEY = "{{a24}}!{{a3}}"',
    ),
    *(
        'client = Client(api_key="{{b32}}")',
        "requests.get(u, auth=('me', '{{a9}}'))",
        'os.environ["API_KEY"] = "{{a20}}"',
        "db.password={{a9}}5k",
    ),
    *(
        "<password>{{a9}}</password>",
        "define('DB_PASSWORD', '{{a12}}');",
        '<add key="ApiKey" value="{{a20}}" />',
        "user.set_password('{{a8}}')",
    ),
    *(
        "POSTGRES_PASSWORD: {{a9}}",
        "jdbc:postgresql://h/db?user=u&password={{a9}}",
        "my password is {{a9}}",
        "Authorization: SSWS {{b42}}",
    ),
    *(
        "<add key=\"x\" /> password='{{a10}}2'",
        "secret: {{s43}}=",
        "webhook_secret = {{h40}}",
        "accessKey: {{a32}}",
        "jwt_secret: {{b32}}9",
    ),
)
"""Lines of which the part in braces has to go."""


def sample(form: str, seed: int) -> str:
    """Fill in what is random in a form."""
    chosen = random.Random(seed)

    def fill(found: re.Match[str]) -> str:
        letters = "".join(chosen.choice(_ALPHABETS[found[1]]) for _ in range(int(found[2])))
        return (
            letters if found[1] == "d" or len(letters) < 3 else letters[:-2] + ("7b" if found[1] in "lhsab" else "7B")
        )

    return re.sub(r"\{([a-zA-Z])([0-9]+)\}", fill, form)


def line_with_secrets(form: str, seed: int) -> tuple[str, list[str]]:
    """Fill in a line of `LINES`; the line, and the secrets in it."""
    secrets: list[str] = []

    def fill(found: re.Match[str]) -> str:
        secrets.append(sample(found[1], seed + len(secrets)))
        return secrets[-1]

    return re.sub(r"\{(\{[a-zA-Z][0-9]+\})\}", fill, form), secrets


UUID = "{{h8}}-{{h4}}-{{h4}}-{{h4}}-{{h12}}"
"""As some services have keys; only its long parts are looked for."""

FORMS = (
    # by a form of their own
    ("1Password service account", "export OP_SERVICE_ACCOUNT_TOKEN=ops_eyJ{{s250}}"),
    ("Age", "# key: AGE-SECRET-KEY-1{{U58}}"),
    ("Aikido CI", "- run: aikido scan AIK_CI_{{a40}}"),
    ("Aikido client", 'secret is "AIK_SECRET_{{a64}}"'),
    ("Airtable", "using pat{{a14}}.{{h64}} for the base"),
    ("Alibaba STS", '"AccessKeyId": "STS.{{a24}}"'),
    ("Anthropic admin", "sk-ant-admin01-{{b93}}AA"),
    ("Anthropic API", "ANTHROPIC_API_KEY=sk-ant-api03-{{b93}}AA"),
    ("Artifactory key", "curl -H 'X-JFrog-Art-Api: AKCp{{a69}}' https://x"),
    ("Artifactory reference", "token: cmVmd{{a59}}"),
    ("Atlassian", "me@example.com:ATATT3{{b186}}"),
    ("Authress", "sc_{{l20}}.{{l5}}.acc-{{l20}}.{{l60}}"),
    ("AWS access", "aws_access_key_id = AKIA{{u16}}"),
    ("AWS Bedrock long", "AWS_BEARER_TOKEN_BEDROCK=ABSK{{s109}}="),
    ("AWS Bedrock short", "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t{{s200}}"),
    ("Azure AD", "client secret value {{a3}}8Q~{{b32}}"),
    ("Brave Search", "X-Subscription-Token: BSA{{a28}}"),
    ("Canva", "CANVA_CLIENT_SECRET=cnvca{{b51}}"),
    ("Cerebras", "csk-{{l48}}"),
    ("ClickHouse", "--password 4b1d{{a38}}"),
    ("Clojars", "CLOJARS_{{h60}}"),
    ("Cloudflare origin CA", "v1.0-{{h24}}-{{h146}}"),
    ("CockroachDB Cloud", "Authorization: Bearer CCDB1_{{a22}}_{{a40}}"),
    ("ConfigCat", "client = get('configcat-sdk-1/{{b22}}/{{b22}}')"),
    ("Cursor", 'CURSOR_API_KEY="key_{{h64}}"'),
    ("Databricks", "host token dapi{{h32}}-2"),
    ("dbt Cloud service", "DBT_TOKEN: dbtc_{{b43}}"),
    ("dbt Cloud personal", "with dbtu_{{b43}} as the token"),
    ("Defined Networking", "dnkey-{{U26}}-{{U52}}"),
    ("Deno Deploy", "deployctl deploy --token=ddp_{{a36}}"),
    ("Deno organisation", "DENO_DEPLOY_TOKEN=ddo_{{a36}}"),
    ("Devin personal", "apk_user_{{s140}}=="),
    ("Devin service", "key apk_{{s90}}"),
    ("Devin service user", "cog_{{l52}}"),
    ("DigitalOcean", "doctl auth init -t dop_v1_{{h64}}"),
    ("Docker organisation", "dckr_oat_{{b32}}"),
    ("Docker", "docker login -u me -p dckr_pat_{{b27}}"),
    ("Doppler", "dp.pt.{{a43}}"),
    ("Dropbox short-lived", "Dropbox('sl.{{b135}}')"),
    ("Dropbox short-lived, new", "access token sl.u.{{b140}}"),
    ("Dropbox long-lived", 'DROPBOX_ACCESS_TOKEN = "{{l11}}AAAAAAAAAA{{b43}}"'),
    ("Duffel", "duffel_live_{{b43}}"),
    ("Dynatrace", "dt0c01.{{U24}}.{{U64}}"),
    ("EasyPost", "EZAK{{a54}}"),
    ("Elastic Cloud", "Authorization: ApiKey essu_{{b80}}=="),
    ("Endor Labs", "ENDOR_API_CREDENTIALS_SECRET=endr+{{a16}}"),
    ("Exoscale", "exo --api-key EXO{{a26}}"),
    ("Facebook", "EAAC{{a120}}"),
    ("Facebook app token", "facebook: 123456789012345|{{b27}}"),
    ("Figma", "figd_{{b40}}"),
    ("Flutterwave", "FLWSECK_TEST-{{h32}}-X"),
    ("Fly.io", "FLY_API_TOKEN='FlyV1 fm2_{{s120}}'"),
    ("Frame.io", "fio-u-{{b64}}"),
    ("Google API", "?key=AIza{{b35}}&alt=json"),
    ("Google Gemini, new", "GEMINI_API_KEY=AQ.Ab8RN6{{b44}}"),
    ("Google HMAC", "gs_access_key_id = GOOG1E{{U55}}"),
    ("Google HMAC secret", 'gs_secret_access_key = "{{s40}}"'),
    ("Google OAuth client", '"client_secret":"GOCSPX-{{b28}}"'),
    ("GitHub classic", "git clone https://x-access-token:ghp_{{a36}}@github.com/a/b"),
    ("GitHub fine-grained", "GH_TOKEN=github_pat_{{a22}}_{{a59}}"),
    ("GitLab", "glpat-{{b20}}"),
    ("GitLab, routable", "glpat-{{b27}}.01.{{l9}}"),
    ("GitLab runner", "glrt-t1_{{b27}}.01{{l7}}"),
    ("Grafana, old", "eyJrIjoi{{s60}}=="),
    ("Grafana cloud", "glc_{{s100}}=="),
    ("Grafana service account", "glsa_{{a32}}_{{h8}}"),
    ("Groq", "gsk_{{a52}}"),
    ("Harness", "pat.{{b22}}.{{h24}}.{{a20}}"),
    ("HCP Terraform", "{{a14}}.atlasv1.{{b66}}"),
    ("Heroku", "HRKU-AA{{b58}}"),
    ("Hugging Face", "hf_{{a34}}"),
    ("Infracost", "ico-{{a32}}"),
    ("JWT", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{{b70}}.{{b43}}"),
    ("JWT in base64", "session: ZXlKaGJHY2lPaUpJVXpJMU5pSXNJ{{s160}}="),
    ("Klaviyo", "Authorization: Klaviyo-API-Key pk_{{l34}}"),
    ("Linear", "lin_api_{{a40}}"),
    ("Mailchimp", "{{h32}}-us21"),
    ("Mailgun", "curl --user 'api:key-{{h32}}' https://x"),
    ("MaxMind", "{{a6}}_{{a29}}_mmk"),
    ("Microsoft Teams", f"https://acme.webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/{{{{h32}}}}/{UUID}"),
    ("MiniMax", "sk-api-{{b119}}"),
    ("MongoDB Atlas", "mdb_sa_sk_{{b40}}"),
    ("MongoDB address", "mongodb+srv://svc:{{a18}}@c0.ab1cd.mongodb.net/?w=majority"),
    ("New Relic", "NRAK-{{U27}}"),
    ("ngrok", "ngrok config add-authtoken 2{{a26}}_5{{a20}}"),
    ("Notion", "ntn_{{d11}}{{a35}}"),
    ("npm", "//registry.npmjs.org/:_authToken=npm_{{a36}}"),
    ("NVIDIA", "nvapi-{{b64}}"),
    ("Octopus Deploy", "API-{{U26}}"),
    ("Okta", "Authorization: SSWS 00{{b40}}"),
    ("Okta setting", "okta_api_token: 00{{b40}}"),
    ("OpenAI project", "sk-proj-{{b74}}T3BlbkFJ{{b74}}"),
    ("OpenRouter", "sk-or-v1-{{h64}}"),
    ("OpenShift", "oc login --token=sha256~{{b43}}"),
    ("Perplexity", "pplx-{{a48}}"),
    ("Plaid", f"access-sandbox-{UUID}"),
    ("PlanetScale", "pscale_tkn_{{b43}}"),
    ("PostHog", "phx_{{b47}}"),
    ("Postman", "PMAK-{{h24}}-{{h34}}"),
    ("Prefect", "pnu_{{a36}}"),
    ("private key", "-----BEGIN EC PRIVATE " + "KEY-----\n{{s64}}\n{{s64}}\n-----END EC PRIVATE " + "KEY-----"),
    ("Pulumi", "pul-{{h40}}"),
    ("PyPI", "password = pypi-AgEIcHlwaS5vcmc{{b150}}"),
    ("ReadMe", "rdme_{{l70}}"),
    ("Replicate", "r8_{{a37}}"),
    ("RubyGems", "rubygems_{{h48}}"),
    ("Scalingo", "tk-us-{{b48}}"),
    ("SendGrid", "SG.{{b22}}.{{b43}}"),
    ("Sentry organisation", "sntrys_eyJpYXQiO{{s80}}_{{s43}}"),
    ("Sentry user", "sntryu_{{h64}}"),
    ("Shippo", "shippo_live_{{h40}}"),
    ("Shopify", "shpat_{{h32}}"),
    ("Slack session", "xoxc-{{d12}}-{{d12}}-{{d13}}-{{h64}}"),
    ("Slack cookie", "Cookie: d=xoxd-{{s140}}"),
    ("Slack webhook", "https://hooks.slack.com/services/T{{U8}}/B{{U8}}/{{a24}}"),
    ("Slack workflow", "https://hooks.slack.com/workflows/T{{U8}}/A{{U8}}/{{d18}}/{{a24}}"),
    ("Discord webhook", "https://discord.com/api/webhooks/{{d18}}/{{b68}}"),
    ("Sourcegraph", "sgp_{{h16}}_{{h40}}"),
    ("Square", "sq0atp-{{b22}}"),
    ("Stripe", "rk_live_{{a50}}"),
    ("Stripe webhook", "whsec_{{a32}}"),
    ("Supabase", "sb_secret_{{b31}}"),
    ("Tailscale", "tskey-client-{{a12}}-{{a32}}"),
    ("Telegram", "https://api.telegram.org/bot{{d10}}:AA{{b33}}/getMe"),
    ("Together", "tgp_v1_{{b43}}"),
    ("Twilio", "SK{{h32}}"),
    ("Typeform", "tfp_{{b44}}_{{b14}}"),
    ("UpCloud", "ucat_{{a26}}"),
    ("Vault", "hvs.{{b95}}"),
    ("Vercel personal", "vcp_{{b56}}"),
    ("Vercel Blob", "BLOB_READ_WRITE_TOKEN=vercel_blob_rw_{{a16}}_{{a30}}"),
    ("Weights and Biases", "wandb_v1_{{a27}}_{{a49}}"),
    ("xAI", "xai-{{a80}}"),
    ("Yandex IAM", "Authorization: Bearer t1.{{b60}}.{{b86}}"),
    ("Yandex IAM alone", "iam: t1.{{b60}}==.{{b86}}=="),
    # by the name beside them
    ("Adafruit", 'ADAFRUIT_IO_KEY = "{{l32}}"'),
    ("Cloudflare global", 'cloudflare_api_key: "{{h37}}"'),
    ("Cohere", "CO_API_KEY={{a40}}"),
    ("Datadog", 'dd_app_key = "{{h40}}"'),
    ("Heroku, old", f"HEROKU_API_KEY={UUID}"),
    ("Mistral", "mistral_api_key='{{a32}}'"),
    ("Snyk", f'snyk_token: "{UUID}"'),
    ("Sonar", "sonar.login={{h40}}"),
    ("Twitter", 'twitter_access_secret = "{{a45}}"'),
    ("Z.ai", "ZAI_API_KEY={{h32}}.{{l16}}"),
    ("Codecov", f"codecov_token: {UUID}"),
    ("proxy", "HTTPS_PROXY=http://build:{{a14}}@proxy.example.com:3128"),
    ("proxy of a command", "git config http.proxy http://me:{{a11}}@10.0.0.1:8080"),
    ("presigned address", "https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIA{{u16}}%2F20261101&X-Amz-Security-Token={{a120}}&X-Amz-Signature={{h64}}"),
    ("SAS address", "https://a.blob.core.windows.net/c/b?sv=2024-11-04&se=2026-12-01&sr=b&sp=r&sig={{s42}}%3D"),
)  # fmt: skip
"""Service, and a line in which all that stands in double braces has to go."""


# Put together at run time, so that no scanner of repositories takes this file for a leak.
LETTERS = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ2bC4fG6hJ8kL0"


SAMPLES = {
    "AWS key id": "AKIA" + "QYLPMN5HFIQR7XYA",
    "AWS session key id": "ASIA" + "QYLPMN5HFIQR7XYA",
    "GitHub": "ghp_" + LETTERS[:36],
    "GitHub server": "ghs_" + LETTERS[:36],
    "GitHub fine-grained": "github_pat_" + LETTERS[:22] + "_" + LETTERS,
    "OpenAI": "sk-" + LETTERS,
    "OpenAI project": "sk-proj-" + LETTERS + "_-" + LETTERS,
    "Anthropic": "sk-ant-api03-" + LETTERS + "-" + LETTERS + "AA",
    "Slack bot": "xoxb-" + "123456789012-" + "1234567890123-" + LETTERS[:24],
    "Slack app": "xapp-1-" + "A0123456789-" + LETTERS,
    "JWT": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiJtYWRlLXVwIn0" + ".c2lnbmF0dXJlLW1hZGUtdXA",
    "private key": "-----BEGIN RSA PRIVATE "
    + "KEY-----\n"
    + (LETTERS + "\n") * 3
    + "-----END RSA PRIVATE "
    + "KEY-----",
    "open private key": "-----BEGIN OPENSSH PRIVATE " + "KEY-----\n" + (LETTERS + "\n") * 3,
}
