"""Passwords that calls of clients have at a fixed position: `connect(host, user, password)`, `login(user, password)`.

The table says which argument of a call is the password. An argument counts if it is a quoted text without spaces that
has a digit or a sign, or small and capital letters that do not form words. So names of databases and of users stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .evident_values import is_evident, is_made
from .found import Secret
from .names import SERVICES, is_code_or_path, is_example, is_mixed, is_placeholder, is_template, looks_random
from .searched_text import Beginnings, SearchedText
from .secret_values import is_chosen_word, names_technique

_POSITIONS = {
    1: "CommunityData unsafePlainText fromPlainText setPassword set_password setPasswd withPassword with_password auth authenticate pyotp.TOTP pyotp.HOTP Fernet login_with_password",
    2: (
        "login Login log_in signIn sign_in signInWithEmailAndPassword authenticate simple_bind_s simple_bind PlainCredentials"
        " BasicAuth HTTPBasicAuth HTTPDigestAuth SetBasicAuth basicAuth basic_auth setBasicAuth basic PasswordAuthentication"
        " UsernamePasswordCredentials UsernamePasswordAuthenticationToken NetworkCredential BasicAWSCredentials PasswordCredentials"
        " PasswordAuthenticator PlainTextAuthProvider begin beginEnterprise oracledb.connect cx_Oracle.connect JaasAuth NTLMAuth UserPass"
        " credentials Credentials withCredentials httpBasic ValidateCredentials validateCredentials usernameAndPassword"
        " HttpAuth auth http_basic httpAuth authorization_basic wlan.connect sta.connect nic.connect db.auth"
        " StorageSharedKeyCredential AzureNamedKeyCredential CosmosClient AwsBasicCredentials.create NewStaticCredentials OAuthHandler"
        " OAuth1Session StreamChat MailjetRest Mailjet.apiConnect connect_s3 algoliasearch SearchClient.create plivo.RestClient"
        " Credentials::new BasicAuth::new UsernamePassword::new PasswordAuth::new Auth::basic withAuth bind_s set_credentials setCredentials add_password username_pw_set usernamePassword ConnectWithPassword"
    ),
    3: (
        "connect Connection FTP FTP_TLS FTP.open ftp_login ldap_bind mysqli mysqli_connect mysql_connect pg_connect PDO Sequelize getConnection"
        " PDO->__construct DBI->connect dbConnect database PlainAuth forURL createConnection create_connection set_password_auth set_password"
        " create_user create_superuser createUser Minio ClientSecretCredential smtp.start SMTP.start"
    ),
    5: "SMTP.start smtp.start",
    4: "POP3.start mysql_real_connect real_connect connect PlainAuth oci_pconnect add_password SSHClient.connect transport.connect Credentials",
}  # fmt: skip
"""The calls, by the position of the password among their arguments."""
_BY_NAME: dict[str, list[int]] = {}
for _position, _names in _POSITIONS.items():
    for _name in _names.split():
        _BY_NAME.setdefault(_name, []).append(_position)
_BEGINNINGS = Beginnings([f"{name}(" for name in _BY_NAME])
_ARGUMENT = re.compile(
    r"""
    \s{0,40} (?:
        (?P<wrapped> (?: (?:Some|Just|Ok|[Oo]ption(?:al)?(?:\.of(?:Nullable)?)?|(?:Secret)?(?:String|Str)(?:::(?:from|new))?|new[ ]String|Secret(?:::new)?|std::string) \( ){1,3} )?
        [bruBRU@$]{0,2} (?P<quote>\\*["'`]) (?P<text>[^"'`\n\\]{0,400}) (?P=quote)
        (?: \.[A-Za-z_]{2,20} \( (?:["'][\w-]{1,10}["'])? \) )?  (?(wrapped) \){1,3}? )
      | [\w.$:>&*-]{1,80} (?: \( [^()"'\n]{0,80} \) )? (?! [ ]? = )
      | \[ [^\[\]"'\n]{0,80} \] ) \s{0,40} (?P<after>[,)\}] )
    """,
    re.VERBOSE,
)
_OF_ADDRESS = re.compile(r"[a-z+]+://|jdbc:|dbi:|mysql:|pgsql:|\S+/\S+|[\w-]+(?:\.[\w-]+){2,}", re.IGNORECASE)
_KEY_IN_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,}={1,2}")
_LEAST_CHARS = 5
_LONG_CHARS = 20
_BEHIND_PORT = 4
_IN_WORD = re.compile(r"[\w$]")
_ENCODERS = Beginnings(
    (
        *("btoa(", "Buffer.from(", "b64encode(", "base64_encode(", "EncodeToString("),
        *(
            "encodeToString(",
            "utf8.encode(",
            "GetBytes(",
            "base64Encode(",
            "Base64.encode",
            "Base64.strict_encode",
            "Base64.urlsafe_encode",
        ),
    )
)
_PAIRS = Beginnings(("auth=", "auth =", "auth:", "auth'", 'auth"', "http_auth", "httpauth"))
_GENERIC = frozenset(
    f"{name}(" for name in "connect Connection auth authenticate database begin login basic getConnection".split()
)
_CLIENT = re.compile(
    r"(?:sql|pg|ora|maria|db|ftp|ssh|ldap|imap|smtp|mail|redis|mqtt|client|conn|server|session|wifi|odbc|jdbc|vertica|snowflake|cassandra|transport"
    r"|telnet|mongo|credentials|manager|mgr|auth)\w{0,20}(?:\.|->|::)\Z",
    re.IGNORECASE,
)


_ENCODED = re.compile(
    r"(?:btoa|Buffer\.from|b64encode|base64_encode|[eE]ncodeToString|Base64\.\w{0,20}encode\w{0,20}|utf8\.encode|GetBytes|base64Encode)\((?:\[\]byte\()?"
    r"b?[\"'`][\w.@+-]{1,60}:(?P<secret>[^\"'`\s{]{4,80})[\"'`]"
)
"""A user and a password that a program encodes for a header."""
_PAIR = re.compile(
    r"(?:http_?)?auth[\"']?\s{0,4}(?:=>?|:)\s{0,4}[\[(]\s{0,20}[\"'][^\"'\n]{1,80}[\"'],\s{0,20}"
    r"[\"'](?P<secret>[^\"'\s]{4,80})[\"']"
)
"""A client's setting: `'auth' => ['robin', 'x']`."""
_PAIR_OF_LISP = re.compile(r"basic-auth\s{1,20}\[[\"'][^\"'\n]{1,80}[\"']\s{1,20}[\"'](?P<secret>[^\"'\s]{4,80})[\"']")
_TUPLE = re.compile(r"\bauth:\s{0,4}\{:basic,\s{0,4}\"[^\":\n]{1,80}:(?P<secret>[^\"\s]{4,80})\"")
"""A client's setting in Elixir: `auth: {:basic, "robin:x"}`."""
_WITHOUT_BRACKETS = re.compile(
    r"\b(?:http_)?basic_auth(?:enticate)?[ ][\"'][^\"'\n]{1,80}[\"'],[ ]?[\"'](?P<secret>[^\"'\s]{4,80})[\"']"
)
_PROVIDER = re.compile(
    r"\bprovider[ ](?::[a-z_0-9]{2,40}|[\"'][\w-]{2,40}[\"']),[ ]{1,4}[\"'][^\"'\n]{4,100}[\"'],[ ]{1,4}[\"'](?P<secret>[^\"'\s]{8,200})[\"']"
)
"""A provider of logins in Ruby, with its id and its secret: `provider :github, "…", "…"`."""
_CLIENT_CALL = re.compile(
    r"[\w.]{1,40}\(\s{0,20}\\*[\"'`](?:(?:AC|SK)[0-9a-f]{32}|MA[A-Z0-9]{18}|AKIA[A-Z0-9]{16}|(?P<id>(?=\w{0,60}[0-9])[A-Za-z0-9]{24,100}))\\*[\"'`]"
    r"\s{0,4},\s{0,20}\\*[\"'`](?P<secret>[A-Za-z0-9/+_-]{24,200}={0,2})\\*[\"'`]"
)
"""The client of a service, given the id of an account and its key: Twilio, Plivo, AWS, exchanges."""
_CLIENTS = Beginnings(("Client", "RestClient", "Twilio", "twilio", "TwilioClient.Init", "Credentials", "AwsClient"))
_SERVICES = Beginnings([f"{name}{end}" for name in SERVICES for end in ("(", ".", ":", "client(", "client.")])
_OF_SERVICE = re.compile(r"[\w.:>$-]{0,50}\(")
_NUMBER = re.compile(r"[0-9a-f]{32,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOST_ARGUMENTS = 6
_OPENED = re.compile(r"\.Open[ ][^,\n]{1,200},[ ]?\"[^\"\n]{1,80}\",[ ]?\"(?P<secret>[^\"\n]{4,80})\"")
"""A call in Visual Basic, without brackets."""


def find_in_calls(searched: SearchedText) -> list[Secret]:
    """Find the passwords among the arguments of calls."""
    text = searched.text
    found = list[Secret]()
    if ".Open " in text:
        found += _passwords_of(_OPENED.finditer(text), text)
    if "provider " in text:
        found += _passwords_of(_PROVIDER.finditer(text), text)
    if "basic_auth" in text:
        found += _passwords_of(_WITHOUT_BRACKETS.finditer(text), text)
    found += _passwords_of(_PAIRS.matches(_PAIR, searched, is_folded=True), text)
    if "basic-auth" in text:
        found += _passwords_of(_PAIR_OF_LISP.finditer(text), text)
    if "{:basic" in text:
        found += _passwords_of(_TUPLE.finditer(text), text)
    if "(" not in text:
        return found
    for call in _CLIENTS.matches(_CLIENT_CALL, searched, is_folded=False):
        if looks_random(call["secret"], least=_LONG_CHARS):
            found.append(Secret(*call.span("secret"), "password of a call"))
            if call["id"] and is_made(call["id"]):
                found.append(Secret(*call.span("id"), "key of a service"))
    found += _keys_of_services(searched)
    found += _passwords_of(_ENCODERS.matches(_ENCODED, searched, is_folded=False), text)
    for beginning in _BEGINNINGS.possible_in(searched):
        found += _arguments_behind(text, beginning)
    return found


def _arguments_behind(text: str, beginning: str) -> Iterator[Secret]:
    """Yield the passwords among the arguments of all calls with one beginning, such as `connect(`."""
    argument = _BY_NAME[beginning[:-1]]
    at = text.find(beginning)
    while at >= 0:
        end = at + len(beginning)
        is_whole = at == 0 or not _IN_WORD.match(text, at - 1, at)
        is_client = _CLIENT.search(text, max(0, at - 40), at) is not None
        is_clear_name = is_client or beginning not in _GENERIC
        secret = _argument_at(text, end, argument, is_client=is_client) if is_whole else None
        if secret is not None and (is_clear_name or _is_certain(text, secret)):
            yield secret
        at = text.find(beginning, end)


def _keys_of_services(searched: SearchedText) -> Iterator[Secret]:
    """Yield the arguments made by a machine, of calls with the name of a service: `cloudinary.config("a", "1", "…")`."""
    for call in _SERVICES.matches(_OF_SERVICE, searched, is_folded=True):
        at = call.end()
        for _ in range(_MOST_ARGUMENTS):
            argument = _ARGUMENT.match(searched.text, at)
            if argument is None:
                break
            if argument["text"] is not None and _is_key_of_service(argument["text"], call[0]):
                yield Secret(*argument.span("text"), "key of a service")
            at = argument.end()
            if argument["after"] != ",":
                break


def _is_key_of_service(text: str, callee: str) -> bool:
    """Return whether an argument is a key: made by a machine, or a number of 32 digits if the call is only a service's name."""
    if is_made(text):
        return True
    is_only_service = callee[:-1] in SERVICES
    return is_only_service and _NUMBER.fullmatch(text) is not None


def _passwords_of(calls: Iterable[re.Match[str]], text: str) -> Iterator[Secret]:
    """Yield the passwords in matched calls; the matches may be from the text or from its lower case."""
    for call in calls:
        start, end = call.span("secret")
        if _is_password(text[start:end]):
            yield Secret(start, end, "password of a call")


def _is_certain(text: str, secret: Secret) -> bool:
    """Return whether an argument is certainly no name of a handler or a table; for calls that many programs have."""
    value = text[secret.start : secret.end]
    return not is_code_or_path(value) or is_chosen_word(value)


def _argument_at(text: str, at: int, positions: list[int], *, is_client: bool) -> Secret | None:
    """Return the first argument at one of the positions that is a password; None if there is none.

    A password in the fourth place counts only if the call is a client's or if a port is before it.
    """
    has_port = is_client
    for position in range(1, max(positions) + 1):
        argument = _ARGUMENT.match(text, at)
        if argument is None:
            return None
        value = argument["text"]
        if position in positions and value is not None:
            needs_port = position >= _BEHIND_PORT and len(positions) > 1
            may_be_here = has_port or not needs_port or is_evident(value, "")
            if may_be_here and _is_password(value):
                return Secret(*argument.span("text"), "password of a call")
        if argument["after"] != ",":
            return None
        has_port = has_port or argument[0].strip(" ,\n").isdigit()
        at = argument.end()
    return None


def _is_password(text: str) -> bool:
    if len(text) < _LEAST_CHARS or " " in text or not is_mixed(text):
        return False
    if names_technique(text) and len(text) < _LONG_CHARS:
        return False
    if is_placeholder(text) or is_template(text) or is_example(text):
        return False
    return _KEY_IN_BASE64.fullmatch(text) is not None or _OF_ADDRESS.match(text) is None
