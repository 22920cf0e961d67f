"""Over 400 ordinary lines of code, configuration and logs, in which nothing is a secret.

Written by hand, with what changes from one to the next filled in: `{a20}` and the like are random letters, as in
`secret_forms`, `{n}` is a number. They are what redaction meets all day: hashes, ids, addresses, lock files, names of
secrets that are references, placeholders, cookies that say nothing, encoded pictures.
"""

import random
import re

from tests.support.secret_forms import sample

UUID = "{h8}-{h4}-{h4}-{h4}-{h12}"

AGAIN = (
    # hashes, ids, revisions
    "commit {h40}",
    "    --- PASS: TestTotals/offset_{n}_-_skips_first (0.0{n}s)",
    "index {h7}..{h7} 100644",
    "HEAD is now at {h7} Fix the rounding of totals",
    "Merge: {h7} {h7}",
    "sha256:{h64}  dist/app-1.{n}.0.tar.gz",
    "{h32}  ./backup/db.sql.gz",
    f"request_id={UUID} status=200 duration_ms={{n}}",
    f'"id": "{UUID}",',
    f"trace {UUID} span {{h16}}",
    '"tool_use_id": "toolu_01{a22}"',
    '{"id": "call_{a24}", "type": "function"}',
    '"message_id": "msg_01{a22}", "model": "claude-opus-4-5"',
    '"id": "chatcmpl-{a29}", "object": "chat.completion"',
    "resp_{h50} completed in {n} ms",
    'etag: W/"{h32}"',
    "traceparent: 00-{h32}-{h16}-01",
    "X-Request-Id: {h32}",
    "x-amz-request-id: {U16}",
    'uploaded part {n}, ETag "{h32}"',
    "docker.io/library/redis@sha256:{h64}",
    "digest: sha256:{h64} size: {n}",
    "layer {h12}: Pull complete",
    "container {h64} exited with code {n}",
    # lock files and manifests
    '      "integrity": "sha512-{s86}==",',
    "golang.org/x/sys v0.{n}.0 h1:{s43}=",
    'checksum = "{h64}"',
    '    {file = "x-1.{n}-py3-none-any.whl", hash = "sha256:{h64}"},',
    "    --hash=sha256:{h64} \\",
    '  resolved "https://registry.yarnpkg.com/ms/-/ms-2.1.{n}.tgz#{h40}"',
    "    rev: {h40}",
    '  source = "git+https://github.com/acme/lib?rev={h7}#{h40}"',
    "uses: actions/checkout@{h40} # v4.{n}",
    'narHash = "sha256-{s43}=";',
    # clouds and clusters
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/app/db-{a6}",
    "arn:aws:iam::123456789012:role/deploy-{l8}",
    "arn:aws:kms:eu-west-1:123456789012:key/" + UUID,
    "arn:aws:lambda:us-east-2:123456789012:function:resize:{n}",
    "projects/acme-{n}/secrets/db-password/versions/latest",
    "https://acme-{l6}.vault.azure.net/secrets/db-password/{h32}",
    "i-0{h16}  t3.medium  running  10.0.{n}.12",
    "vpc-0{h16}, subnet-0{h16}",
    "pod/api-{l9}-{l5}   1/1   Running   0   {n}m",
    "secretName: app-tls-{l5}",
    "imagePullSecrets: [{name: registry-{l6}}]",
    # pictures and encoded data
    "![chart](data:image/png;base64,iVBORw0KGgo{s180})",
    'src="data:image/svg+xml;base64,PHN2Zy{s120}"',
    '"data": "/9j/4AAQSkZJRg{s200}"',
    "//# sourceMappingURL=data:application/json;charset=utf-8;base64,{s160}",
    "@font-face src: url(data:font/woff2;base64,d09GMg{s140})",
    # cookies and headers that say nothing
    "Cookie: theme=dark; lang=en-US; width={n}",
    "Set-Cookie: locale=de; Path=/; Max-Age={n}",
    "curl -b 'theme=light' https://example.com/?page={n}",
    "Cookie: _ga=GA1.2.{d9}.{d10}; cookieconsent=yes",
    "Content-Type: multipart/form-data; boundary=----WebKitFormBoundary{a16}",
    'If-None-Match: "{h40}"',
)
"""Lines of which each stands five times in the list, filled in anew."""

ONCE = r"""
SECRET_KEY=changeme
SECRET_KEY = "change-me-in-production"
API_KEY=your-api-key-here
export OPENAI_API_KEY="<your key>"
DB_PASSWORD=${DB_PASSWORD}
PASSWORD=$(cat /run/secrets/db_password)
password: "{{ vault_db_password }}"
token: ${{ secrets.GITHUB_TOKEN }}
"password": "********",
api_key = os.environ["OPENAI_API_KEY"]
password = getpass.getpass("Password: ")
const token = await getToken(session);
token = next(tokens)
self.token_count += len(tokens)
max_tokens: int = 4096
"max_tokens": 8192, "stop": ["\n\n"]
pad_token="<pad>", eos_token="</s>"
def login(user: str, password: str) -> Session:
if not check_password(password, user.password_hash):
user.set_password(form.password.data)
secret = Secret.from_name("db")
client = boto3.client("secretsmanager", region_name="us-east-1")
from secrets import token_hex
key = lambda item: item["created_at"]
cache_key = f"user:{user_id}:profile"
primary_key=True, unique=True, nullable=False
sort_key = (group, -count, name)
sorted(rows, key=itemgetter("name", "age"))
foreign_key("orders.customer_id", ondelete="CASCADE")
public_key = load_pem_public_key(data)
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQDJ user@host
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
PRIVATE KEY FILE: /etc/ssl/private/server.key
ssl_certificate_key /etc/nginx/ssl/site.key;
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
author = "Ada Lovelace <ada@example.com>"
authority: https://login.microsoftonline.com/common
passed=128 failed=0 skipped=3
pass_rate = passed / total
passport.use(new LocalStrategy(verify))
compass_heading=271
keyboard: {layout: us, model: pc105}
keywords = ["memory", "agents"]
monkeypatch.setenv("API_TOKEN", "x")
assert response.headers["Authorization"] == f"Bearer {token}"
headers = {"Authorization": "Bearer " + token}
Authorization: Bearer <token>
curl -H "Authorization: Bearer $TOKEN" https://api.example.com/v1/me
curl -u "$USER:$PASS" https://example.com
git clone https://github.com/acme/app.git
postgres://localhost:5432/app
postgresql://${DB_USER}:${DB_PASSWORD}@db:5432/app
redis://cache:6379/0
mongodb://localhost:27017/test
amqp://mq.internal:5672/%2F
ws://127.0.0.1:9222/devtools/browser
http://localhost:8080/a@b
mailto:team@example.com?subject=hello
ssh git@github.com
scp build.tar.gz deploy@10.0.0.7:/srv/app/
docker run -e POSTGRES_PASSWORD -p 5432:5432 postgres:16
docker run --secret id=npm,src=$HOME/.npmrc .
RUN --mount=type=secret,id=token cat /run/secrets/token
kubectl create secret generic db --from-file=password=./password.txt
kubectl get secret db -o jsonpath='{.data.password}'
valueFrom: {secretKeyRef: {name: db, key: password}}
vault kv get -field=password secret/data/app
aws secretsmanager get-secret-value --secret-id prod/db
op read "op://Private/db/password"
gcloud secrets versions access latest --secret=db
SecretStr = Annotated[str, "never logged"]
class TokenBucket(RateLimiter):
tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokens per second: 143.2
token usage: 12,345 in, 678 out, 88 % cached
WARN secret "db-credentials" not found in namespace default
ERROR password authentication failed for user "app"
INFO  auth: user=ada method=oauth2 provider=github ok
DEBUG cache miss key=orders:2026-11-22:eu
fatal: Authentication failed for 'https://example.com/a.git/'
Permission denied (publickey,password).
Enter passphrase for key '/home/ada/.ssh/id_ed25519':
Password must contain at least 12 characters.
Your password was changed.
The secret of a good test is that it fails first.
The key point: keep the token budget under 100k.
Forgot your password? Reset it here.
Signing key rotated; see docs/keys.md.
session expired, please log in again
csrf_token = generate_csrf()
<input type="password" name="password" autocomplete="current-password">
<label for="api-key">API key</label>
<secret-manager ref="db"/>
<property name="password" value="${db.password}"/>
spring.datasource.password=${DB_PASSWORD:}
jdbc:postgresql://db:5432/app?user=app
Server=localhost;Database=app;Trusted_Connection=True;
connectionTimeout=30;Pooling=true
npm config set registry https://registry.npmjs.org/
//registry.npmjs.org/:_authToken=${NPM_TOKEN}
pip install --no-deps --upgrade keyring==25.6.0
HTTP_PROXY=http://proxy.example.com:3128
NO_PROXY=localhost,127.0.0.1,.internal
SESSION_COOKIE_SECURE=True
SESSION_COOKIE_NAME=sid
JWT_ALGORITHM=HS256
JWT_EXPIRES_IN=3600
OAUTH_CALLBACK_URL=https://app.example.com/auth/callback
TOKEN_URL = "https://auth.example.com/oauth/token"
KEY_ID=alias/app
ENCRYPTION=aes-256-gcm
SSH_AUTH_SOCK=/tmp/ssh-XXXXXXabcdef/agent.1234
GPG_KEY=/etc/apt/keyrings/docker.gpg
PYTHONHASHSEED=0
LC_ALL=en_US.UTF-8
PATH=/usr/local/bin:/usr/bin:/bin
ls -la ~/.ssh/authorized_keys
grep -rn "password" src/ --include=*.py
sed -i 's/password/passphrase/g' README.md
rg 'api[_-]?key' -i
chmod 600 ~/.netrc
openssl rand -hex 32
openssl genrsa -out server.key 4096
sudo -S systemctl restart nginx
mysql -u root -p app < dump.sql
psql -h db -U app -d app -c 'select 1'
redis-cli -h cache ping
ansible-vault edit group_vars/all.yml
terraform apply -var-file=prod.tfvars
variable "db_password" { type = string, sensitive = true }
password = var.db_password
random_password.db.result
resource "aws_secretsmanager_secret" "db" { name = "prod/db" }
data.aws_ssm_parameter.token.value
key_vault_id = azurerm_key_vault.main.id
""".strip().split("\n")
"""Lines that stand once."""


def ordinary_lines() -> list[str]:
    """All of them, filled in; always the same."""
    chosen = random.Random(36)
    again = []
    for number, form in enumerate(AGAIN):
        for time in range(5):
            filled = re.sub(r"\{n\}", lambda _: str(chosen.randrange(2, 60)), form)
            again.append(sample(filled, 100 * number + time))
    return [*again, *ONCE]
