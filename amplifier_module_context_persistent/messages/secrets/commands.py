"""Secrets that a command gets without a name: behind a flag or at a fixed place.

The tables say where each known command has its secret. Flags with a telling name (`--password x`) need no row:
`named_values` finds them for every command.

Rules:
- A variable, a placeholder or the output of another command is not a secret.
- A value that a command stores as a secret under any name (`kubectl create secret`) must have letters and digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .found import Secret
from .names import is_example, is_mixed, is_placeholder, is_template
from .searched_text import Beginnings, SearchedText
from .shell_words import Word, words_behind

_FLAGS = {
    "-p": "twine psexec psexec64 beeline cqlsh sshpass impala-shell evil-winrm winexe kcadm.sh couchbase-cli cbq"
    " security conan signtool hydra cypher-shell netexec nxc crackmapexec cme smbmap racadm ncftp ncftpput ncftpget airflow snowsql"
    " certutil doveadm veracrypt steghide mcrcon openfortivpn",
    "-ap": "swaks",
    "-p*": "mysqlimport mysqlsh mariadb mariadb-dump mycli unrar rar 7za 7zz mysql mysqldump mysqladmin",
    "-P": "p4 ssh-keygen bcp ipmitool osql isql tsql sqlcmd security",
    "-t": "codecov doctl influx flyctl",
    "-T*": "zerotier-cli",
    "-hp*": "rar",
    "-pw": "plink pscp psftp putty klink",
    "-upw": "pdftotext pdftoppm pdftocairo pdfimages pdfinfo pdftohtml",
    "-opw": "pdftotext pdftoppm pdftocairo pdfimages pdfinfo pdftohtml",
    "-W": "pk12util",
    "-K": "pk12util",
    "-P*": "bcp osql unzip zip",
    "-a": "redis-cli valkey-cli keydb-cli",
    "-N": "ssh-keygen",
    "-w": "security ipa-client-install ipa-replica-install kadmin ldapadd ldapmodify ldappasswd ldapwhoami ldapdelete ldapsearch",
    "-s": "ldappasswd slappasswd",
    "-A": "snmpwalk snmpget snmpset snmptrap snmpbulkwalk",
    "-c": "snmpwalk snmpget snmpset snmptrap snmpbulkwalk snmpstatus",
    "-X": "snmpwalk snmpget snmpset snmptrap snmpbulkwalk",
    "--pass": "redis-cli valkey-cli",
    "/p": "xfreerdp wfreerdp signtool",
    "/rp": "schtasks",
    "--value": "keyvault",
}  # fmt: skip
"""The commands, by the flag that is before a secret; with a star, the secret follows the flag without a space."""
_STORES = re.compile(
    r"""
    \b(?: (?:kubectl|oc|k) [ ] create [ ] secret | (?:fly|flyctl|supabase|turso|deno|convex|modal|render) [ ] (?:secrets?|env) [ ] (?:set|create|import)
      | heroku [ ] config:(?:set|add) | firebase [ ] functions:(?:config|secrets):set | vault [ ] (?:kv [ ] )?(?:put|patch|write)
      | railway [ ] variables | doppler [ ] secrets [ ] set | infisical [ ] secrets [ ] set | chamber [ ] write
      | eb [ ] setenv | az [ ] (?:webapp|functionapp) [ ] config [ ] appsettings [ ] set )\b
    """,
    re.VERBOSE,
)
_PLACES = re.compile(
    r"""
      \b(?: (?:cargo|vault|infisical|npm|pulumi|wandb|ngrok|snyk|hf|shodan) [ ] (?:login|auth|token|authtoken|init) [ ]+
        | (?:poetry|composer) [ ] config [ ] (?:-[\w-]+ [ ])* (?:pypi-token\.\S+ | http-basic\.\S+ [ ] \S+ | \S*(?:token|oauth|bearer)\S*) [ ]+
        | vault [ ] operator [ ] unseal [ ]+ | netlify [ ] env:set [ ] \S+ [ ]+ | wpa_passphrase [ ]+ (?:"[^"\n]{1,32}"|'[^'\n]{1,32}'|\S{1,32}) [ ]+
        | net [ ] user [ ] \S{1,64} [ ]+ (?=\S+ (?:[ ]+/|\s*$)) | net1? [ ] use [ ] (?:[A-Za-z]:[ ])?\\\\\S+ [ ]+ (?=\S+ [ ]+/user)
        | lftp \b[^\n|;]{0,200}? [ ] -u [ ]* [^\s,]{1,64}, | useradd \b[^\n|;]{0,200}? [ ] -p [ ]+
        | (?:sqlplus|sqlldr|expdp|impdp|exp|imp|rman|sqlcl) [ ]+ (?:-\w+ [ ])* (?:userid=|target [ ])? [\w$#]{1,30}/ (?=[^\s@]+@)
        | jdbc:oracle:\w+:[\w$#]{1,30}/(?=[^\s@]+@)
        | (?:snmp-server [ ] community|(?:radius|tacacs)-server [ ] (?:host [ ] \S{1,60} [ ] (?:(?:auth-port|acct-port|timeout|retransmit|port) [ ] [0-9]{1,6} [ ]){0,4})? key|key-string) [ ]+ (?:[07] [ ]+)?
        | snmp-server [ ] host [ ] \S{1,60} [ ] (?:(?:traps|informs) [ ])? (?:version [ ] (?:1|2c) [ ])? (?!version|traps|informs)
        | (?:radius|tacplus)-server [ ] \S{1,60} [ ] secret [ ]+ | set-key [ ] ascii [ ] [0-9] [ ]+
        | standby [ ] [0-9]{1,4} [ ] authentication [ ] (?:text [ ])? (?!md5) | synouser [ ] --(?:add|setpw) [ ] \S{1,64} [ ]+
        | server-private [ ] \S{1,60} [ ] (?:(?:auth-port|acct-port|timeout|port) [ ] [0-9]{1,6} [ ]){0,4} key [ ]+ (?:[07] [ ]+)?
        | (?:(?:tacacs|radius) [ ] server [ ] \S{1,60}|aaa-server [ ] [^\n]{1,80} [ ] host [ ] [^\n]{1,80}) [ \t\r]*\n (?:[ ]{1,4}[a-z][^\n]{0,120}\n){0,4}? [ ]{1,4} key [ ]+ (?:[07] [ ]+)?
        | ntp [ ] authentication-key [ ] [0-9]{1,10} [ ] (?:md5|sha1|sha2) [ ]+ | ospf [ ] (?:message-digest-key [ ] [0-9]{1,3} [ ] md5|authentication-key) [ ]+ (?:[07] [ ]+)?
        | snmp-server [ ] user [ ] \S{1,60} [ ] \S{1,60} [ ] v3 [ ] (?:encrypted [ ])? auth [ ] (?:md5|sha)(?:[ ](?:224|256|384|512))? [ ]+ (?=\S)
        | samba-tool [ ] user [ ] (?:create|add) [ ] (?!-)\S{1,64} [ ]+ | radtest [ ] (?:-\S{1,4} [ ] (?:\w{3,9} [ ])?){0,3} \S{1,64} [ ]+
        | radclient [ ] (?:-\S{1,4} [ ] (?:\w{1,20} [ ])?){0,4} \S{1,100} [ ] (?:auth|acct|status|coa|disconnect) [ ]+
        | bw [ ] unlock [ ]+ | bw [ ] login [ ] (?!-)\S{1,100} [ ]+ | openssl [ ] passwd [ ] (?:-(?:[156]|apr1|crypt|aixmd5) [ ]){0,2} (?:-salt [ ] \S{1,40} [ ])?
        | mkpasswd [ ] (?:-{1,2}(?:m|method|S|salt|R|rounds)[ =]\S{2,20}[ ]+){0,4} (?!-)
        | htpasswd [ ] -[a-zA-Z]*n[a-zA-Z]*b[a-zA-Z]* [ ] (?!-)\S{1,64} [ ]+ | htpasswd [ ] -[a-zA-Z]*b[a-zA-Z]*n[a-zA-Z]* [ ] (?!-)\S{1,64} [ ]+
        | qpdf [ ] [^\n|;]{0,200}? --encrypt [ ] | pdftk \b[^\n|;]{0,300}? [ ] (?:user_pw|owner_pw|input_pw) [ ]+
        | username [ ] \S{1,64} (?:[ ] privilege [ ] [0-9]+)? [ ] (?:password|secret) [ ]+ (?:[05789] [ ]+)?
        | (?:HELLO [ ] [23] [ ] )AUTH [ ] \S{1,64} [ ]+ | ACL [ ] SETUSER [ ] \S{1,64} (?:[ ] [^\s>]+){0,10}? [ ] >
        | (?:--?|\b)requirepass [ ]+
        | stats [ ] auth [ ] [\w.-]{1,60}: | user [ ] \S{1,64} [ ]+ (?=\S{4,80};) | set-initial-password [ ]+ | Input[ ]Password [ ]{2,8} \S{1,80} [ ]{2,8} | user [ ] \S{1,64} [ ] (?:on|off) [ ] (?:[^\s>]{1,60}[ ]){0,10}? >
        | rabbitmqctl [ ] (?:add_user|change_password) [ ] \S{1,64} [ ]+ | rclone [ ] obscure [ ]+
        | mc [ ] (?:alias|config[ ]host) [ ] (?:set|add) [ ] \S{1,64} [ ] \S{1,200} [ ] \S{1,64} [ ]+
        | mc [ ] admin [ ] user [ ] add [ ] \S{1,64} [ ] \S{1,64} [ ]+
        | NickServ [ ] :? (?i:identify) [ ]+ (?:[\w-]{1,32} [ ])? | ipmitool \b[^\n|;]{0,200}? [ ] set [ ] password [ ] [0-9]{1,2} [ ]+
        | rootpw [ ]+ (?:--plaintext [ ]+)? | d-i [ ] \S{1,60}password(?:-again)? [ ] password [ ]+ | drush [ ] (?:user:password|upwd) [ ] \S{1,64} [ ]+
        | networksetup [ ] -setairportnetwork [ ] \S{1,10} [ ] (?:"[^"\n]{1,32}"|\S{1,32}) [ ]+
        | ansible-vault [ ] encrypt_string [ ]+ (?:--?[\w-]+[ ]\S+[ ]+){0,3}
        | bundle [ ] config [ ] (?:set [ ])? (?:--\w+ [ ])* [\w.:/-]{3,100} [ ] [^\s:]{1,60}: | BUNDLE_\w{3,80}(?:=|:[ ]\\?["']?)[\w.@-]{1,60}:
        | isql [ ] [\w.-]{1,60} [ ] [\w.-]{1,60} [ ]+ | db2 [ ] connect [ ] to [ ] \S{1,60} [ ] user [ ] \S{1,60} [ ] using [ ]+
        | nmcli [ ] [^\n|;]{0,120}? [ ] password [ ]+ | register [ ] => [ ] [\w.+-]{1,60}: | (?<![\w.])send [ ] (?:-- [ ])? (?="[^\s"\\$]{6,60}\\r") (?!"AT)
        | enable [ ] (?:password|secret) [ ]+ | neighbor [ ] \S{1,64} [ ] password [ ]+ (?:[0-9] [ ])? | isakmp [ ] key [ ]+ (?:[0-9] [ ])?
        | set [ ] (?:psksecret|passwd|password) [ ]+ (?:ENC [ ]+)? | insecure-password [ ]+ | ascii-text [ ]+
        | IDENTIFIED [ ] BY [ ]+ (?!VALUES\b|PASSWORD\b)
        | put-parameter\b (?=[^\n]{0,400}SecureString) [^\n|;]{0,300}? [ ]--value [ ]+ )
      \\?["']?(?P<secret>[^\s"'\\$<{}|;&@-][^\s"'\\|;@]{3,200})
    | \b(?:echo|printf)[ ](?:-n[ ])?["']?[\w.@+-]{1,60}:(?P<joined>[^\s"'$`:]{4,80})["']?[ ]?\|[ ]?(?:base64|openssl[ ](?:base64|enc))\b
    | ::add-mask::(?P<masked>[^\s%]{4,400}) | \#\#vso\[task\.setvariable[ ][^\]\n]{0,200}?issecret=true[^\]\n]{0,60}\](?P<variable>[^\s$]{4,400})
    | \bexpect\b[^\n]{0,100}[Pp]ass[^\n]{0,60}\r?\n[ \t]*send[^\n"]{0,20}"(?P<sent>[^"\\$\n]{4,200})
    | (?:\bbcrypt\.(?:hash|hashSync|hashpw)|\bhashpw|\bmake_password|\bgenerate_password_hash|\b(?:hash|encrypt|verify|check)_?[Pp]assword|\bcrypt)
        \( [ ]* b?\\?["'](?P<hashed>[^\s"'\\]{6,200})(?=\\?["'])
    | (?<![^\n> \t])PASS[ ](?P<ftp>(?=\S*[!@\#$%^&*?])(?=\S*[0-9])(?=\S*[A-Za-z])[^\s/]{6,80})[ \t]*$
    | \bACCESSKEY\t[^\n]{10,80}\t(?P<listed>[A-Za-z0-9/+]{40})(?=\t)
    """,
    re.VERBOSE | re.MULTILINE,
)  # fmt: skip
_PLACE_BEGINNINGS = Beginnings(
    (
        *(
            "cargo ",
            "shodan ",
            "vault ",
            "infisical ",
            "npm ",
            "pulumi ",
            "wandb ",
            "ngrok ",
            "snyk ",
            "hf ",
            "poetry config",
        ),
        *(
            "composer config",
            "netlify env",
            "wpa_passphrase ",
            "net user ",
            "net use ",
            "net1 use",
            "lftp ",
            "useradd ",
        ),
        *(
            "stats auth",
            "set-initial-password",
            "Input Password",
            "user ",
        ),
        "rabbitmqctl ",
        *(
            "rclone obscure",
            "ansible-vault encrypt",
            "bundle config",
            "BUNDLE_",
            "isql ",
            "db2 connect",
            "nmcli ",
            "register =",
            "send ",
            "mc alias",
            "mc config",
            "mc admin",
            "NickServ ",
            "ipmitool ",
            "rootpw ",
            "d-i ",
        ),
        *(
            "drush ",
            "networksetup ",
            "enable ",
            "neighbor ",
            "isakmp key",
            "set psksecret",
            "set passwd",
            "set password",
        ),
        *("insecure-password", "ascii-text", "IDENTIFIED BY", "::add-mask::", "##vso[task", "echo ", "printf "),
        *(
            "ntp authentication-key",
            "tacplus-server ",
            "set-key ascii",
            "standby ",
            "synouser ",
            "ip ospf",
            "ospf message-digest-key",
            "ospf authentication-key",
            "server-private ",
            "tacacs server",
            "radius server",
            "aaa-server ",
        ),
        *(
            "samba-tool user",
            "radtest ",
            "radclient ",
            "bw unlock",
            "bw login",
            "openssl passwd",
            "mkpasswd ",
            "htpasswd ",
            "qpdf ",
            "pdftk ",
        ),
        *("sqlplus ", "sqlldr ", "expdp ", "impdp ", "exp ", "imp ", "rman ", "sqlcl ", "jdbc:oracle:", "snmp-server "),
        *(
            "radius-server ",
            "tacacs-server ",
            "key-string ",
            "username ",
            "HELLO ",
            "AUTH ",
            "ACL SETUSER ",
            "requirepass ",
        ),
        *(
            "--requirepass ",
            "put-parameter ",
            "expect ",
            "bcrypt.",
            "hashpw(",
            "make_password(",
            "generate_password_hash(",
        ),
        *("hash_password(", "hashPassword(", "encrypt_password(", "encryptPassword(", "verify_password(", "crypt("),
        *("verifyPassword(", "check_password(", "checkPassword(", "PASS ", "ACCESSKEY\t"),
    )
)
_STORE_BEGINNINGS = Beginnings(
    (
        *(
            "kubectl create secret",
            "oc create secret",
            "k create secret",
            "fly ",
            "flyctl ",
            "supabase ",
            "turso ",
            "deno ",
        ),
        *(
            "convex env",
            "modal secret",
            "render env",
            "heroku config:",
            "firebase functions:",
            "vault ",
            "railway variables",
        ),
        *("doppler secrets", "infisical secrets", "chamber write", "eb setenv", "az webapp", "az functionapp"),
    )
)
_ENDS_NAME = re.compile(r"[ \t]|\\?[\"'][ ]?,|[\"']?\r?\n[ \t]{0,40}-[ ]")
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


def find_in_commands(searched: SearchedText) -> list[Secret]:
    """Find the secrets that commands get by their own flags or at a fixed place."""
    text = searched.text
    if not any(map(text.__contains__, " \t,(:")):  # the text is a single word or encoded data
        return []
    found = [*_by_flags(searched), *_by_places(searched)]
    for stored in _STORE_BEGINNINGS.matches(_STORES, searched, is_folded=False):
        found += _stored(text, stored.end())
    return [secret for secret in found if not is_no_secret_word(text[secret.start : secret.end])]


def _by_command() -> dict[str, tuple[str, ...]]:
    """Return the flags of each command."""
    flags: dict[str, list[str]] = {}
    for flag, commands in _FLAGS.items():
        for command in commands.split():
            flags.setdefault(command, []).append(flag)
    return {command: tuple(several) for command, several in flags.items()}


_FLAGS_OF = _by_command()
_COMMANDS = Beginnings(_FLAGS_OF)


def _behind_flags(text: str, start: int, flags: tuple[str, ...]) -> Iterator[Secret]:
    """Yield the secrets behind the flags of a command whose name ends at `start`."""
    before = Word("", 0)
    for word in words_behind(text, start):
        secret = _behind_flag(before, word, flags)
        if secret is not None:
            yield secret
        before = word


def _by_flags(searched: SearchedText) -> Iterator[Secret]:
    """Yield the secrets behind the flags of commands, and the secrets that are attached to a flag."""
    text = searched.text
    for name in _COMMANDS.possible_in(searched):
        flags = _FLAGS_OF[name]
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            begins_name = at == 0 or text[at - 1] not in _NAME_CHARS
            if begins_name and _ENDS_NAME.match(text, end):
                yield from _behind_flags(text, end, flags)
            at = text.find(name, end)


def _behind_flag(before: Word, word: Word, flags: tuple[str, ...]) -> Secret | None:
    """Return the secret in a word behind a flag; None if there is none."""
    for flag in flags:
        bare = flag.removesuffix("*")
        if flag != bare:
            if word.text.startswith(bare) and len(word.text) > len(bare) + 3 and not word.flag:
                return Secret(word.start + len(bare), word.start + len(word.text), "password of a command")
        elif before.text == bare or word.flag == f"{bare}=":
            return Secret(word.start, word.start + len(word.text), "password of a command")
        elif word.text.startswith((f"{bare}=", f"{bare}:")) and not word.flag:
            return Secret(word.start + len(bare) + 1, word.start + len(word.text), "password of a command")
    return None


def _by_places(searched: SearchedText) -> Iterator[Secret]:
    for match in _PLACE_BEGINNINGS.matches(_PLACES, searched, is_folded=False):
        yield Secret(*match.span(match.lastgroup or 0), "password of a command")


def _stored(text: str, end: int) -> Iterator[Secret]:
    """Yield the values that a command stores as secrets, whatever their names are."""
    for word in words_behind(text, end):
        name, sign, value = word.text.rpartition("=")
        if not sign and not word.flag:
            continue
        start = word.start + len(name) + len(sign)
        if is_mixed(value) and len(value) >= 8 and "/" not in value[:2] and not name.endswith("file"):
            yield Secret(start, start + len(value), "secret of a command")


def is_no_secret_word(value: str) -> bool:
    """Return whether a value is not a secret: a variable, a placeholder, a number, or a short or ordinary word."""
    if len(value) < 4 or value.startswith(("$", "-", "/", "./", "~")):
        return True
    if is_placeholder(value) or is_template(value) or is_example(value) or "://" in value:
        return True
    return not is_mixed(value) or re.fullmatch(r"[0-9:.,/-]+", value) is not None
