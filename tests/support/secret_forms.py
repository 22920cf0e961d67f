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
}
_UUID = "{h8}-{h4}-{h4}-{h4}-{h12}"

TOKENS = (
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
