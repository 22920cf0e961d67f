"""The table of places: passwords in addresses, headers, commands and files. A named group is the secret."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .searched_text import Beginnings, SearchedText


@dataclass(frozen=True, slots=True)
class Place:
    """An expression for a place of secrets; a group of the expression is the secret."""

    kind: str
    expression: re.Pattern[str]
    parts: tuple[str, ...] = ()
    """Texts of which the searched text must contain one, or else one of `words`."""
    words: tuple[str, ...] = ()
    """Texts like `parts`, but which begin at the start of a word wherever the expression matches (`Beginnings`)."""


PLACES = (
    Place(
        "webhook",
        words=("hook/", "hooks/", "webhook/", "webhooks/", "//hook.", "hooks.slack", "hooks.zapier", "webhookb2", "/with/key/"),
        expression=re.compile(
            r"""
              hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9/_-]{20,200})
            | hooks\.slack\.com/workflows/(?P<workflow>[A-Za-z0-9/_-]{20,200})
            | hooks\.slack\.com/triggers/(?P<trigger>[A-Za-z0-9/_-]{20,200})
            | hooks\.zapier\.com/hooks/catch/(?P<zapier>[0-9]{4,12}/[A-Za-z0-9]{5,12}(?:/[A-Za-z0-9]{5,12})?)
            | /api/webhooks/(?P<discord>[0-9]{17,20}/[A-Za-z0-9_-]{60,100})
            | webhook\.office\.com/(?P<teams>webhookb2/[A-Za-z0-9@/_-]{40,400})
            | /with/key/(?P<ifttt>[A-Za-z0-9_-]{20,100})
            | //hook\.[a-z0-9.]{0,20}make\.com/(?P<make>[A-Za-z0-9]{20,80})
            | //(?!(?:[a-z]{1,10}\.)?discord)[^\s/"'<>]{3,100}/(?:[\w.-]{1,40}/){0,4}(?:incoming-?)?(?:web)?hooks?/(?:[\w-]{1,40}/){0,3}
                (?P<path>(?=[A-Za-z_-]{0,60}[0-9])(?=[0-9_-]{0,60}[A-Za-z])[A-Za-z0-9_-]{20,200})
            """,
            re.VERBOSE,
        ),
    ),
    Place(
        "password in a URL",
        parts=("://",),
        expression=re.compile(r"://[^\s:/@\"'`<>\\]*:(?P<secret>[^\s/@\"'`<>\\]+)(?=@[\w\[$%{-])"),
    ),
    Place(
        "key in a URL",
        parts=("://",),
        expression=re.compile(r"://(?P<secret>(?=[A-Za-z_-]{0,60}[0-9])(?=[0-9_-]{0,60}[A-Za-z])[A-Za-z0-9_-]{24,300})(?=(?::[^\s/@\"'`<>]{0,80})?@(?!\w+\.ingest)[\w\[$%{-])"),
    ),
    Place(
        "key of a query",
        parts=("appid=", "key=", "token=", "ticket=", "code="),
        words=("Honeycomb-", "honeycomb-", "/magic", "/invite", "/reset", "/verify", "/confirm", "/activate", "/join", "code_verifier", "device_code", "codeVerifier", "deviceCode", "SAMLResponse", "define(", "Raw result", "sp_addlogin", "reg add", "REG ADD"),
        expression=re.compile(
            r"[?&#;][a-z_-]{0,20}(?:token|ticket)=(?P<token>(?=[^\s&]{0,80}[0-9])(?=[^\s&]{0,80}[A-Za-z])[A-Za-z0-9_.-]{20,400})(?![\w/.%-])"
            r"|[?&#]code=(?P<code>(?=[^\s&]{0,80}[0-9])(?=[^\s&]{0,80}[A-Z])(?=[^\s&]{0,80}[a-z])[A-Za-z0-9_-]{24,400})(?![\w/.-])"
            r"|\b(?:code_?[vV]erifier|device_?[cC]ode)\\*[\"']?[ ]?[=:][ ]?\\*[\"']?(?P<proof>(?=[\w.~-]{0,80}[0-9])(?=[\w.~-]{0,80}[A-Z])[\w.~-]{32,400})(?![\w(])"
            r"|\bSAMLResponse(?:=|\\*[\"'](?:[ ]value=|[ ]?:[ ]?)\\*[\"'])(?P<saml>[A-Za-z0-9+/%]{100,200000}={0,2})"
            r"|\bdefine\([ ]{0,4}['\"](?:AUTH|SECURE_AUTH|LOGGED_IN|NONCE)_(?:KEY|SALT)['\"],[ \t]{0,20}(?P<wrap>['\"])(?P<salt>(?!put[ ]your)[ -~]{20,200}?)(?P=wrap)(?=[ ]{0,4}\))"
            r"|\bRaw[ ]result:[ ](?P<raw>[!-~]{8,400})(?=\r?\n|\Z)|\bsp_addlogin[ ]N?'[^'\n]{1,60}',[ ]?N?'(?P<login>[^'\n]{4,80})'"
            r"|\b(?i:reg[ ]add)[ ][^\n]{1,200}[ ]/v[ ]\"?\w{0,30}(?i:password|passwd|secret|token)\w{0,10}\"?[ ][^\n]{0,60}?/d[ ]\"?(?P<registry>[^\s\"$%]{4,200})"
            r"|/(?:magic(?:-?link)?|invites?|join|reset(?:-?password)?|verify(?:-?email)?|confirm|activate)/(?P<link>(?=[\w-]{0,80}[0-9])(?=[\w-]{0,80}[A-Z])(?=[\w-]{0,80}[a-z])[A-Za-z0-9_-]{24,400}|[0-9a-f]{32,64})(?![\w/.-])|"
            r"[?&](?:appid|hapikey)=(?P<query>[A-Za-z0-9-]{30,64})(?![\w/.%-])"
            r"|[?&]key=(?P<mixed>(?=[^\s&]{0,80}[A-Z])(?=[^\s&]{0,80}[a-z])(?=[^\s&]{0,80}[0-9])[A-Za-z0-9_-]{32,80})(?![\w/.%-])"
            r"|[Hh]oneycomb-[Tt]eam: ?(?P<team>[A-Za-z0-9]{22,64})"
        ),
    ),
    Place(
        "credentials in a header",
        parts=("Authorization:", "Authorization="),
        words=("authorization", "Authorization", "AUTHORIZATION", "bearer ", "Bearer ", "BEARER "),
        expression=re.compile(
            r"authorization:[ ]basic[ ][\w.@+-]{1,60}[ ](?P<plain>[^\s\"'\\<$]{4,200})(?=[ \t\r]*(?:\n|\Z))|"
            r"(?:authorization(?:\\*[\"']?\s*[:=,]\s*|[ ](?=\"))\\*[\"']?[fb]?[\"']?(?:bearer|basic|token|apikey|negotiate|key|bot|ssws|[a-z][a-z-]{1,20}(?=[ ][^ ]*[0-9][^ ]{12}))\s+|\bbearer[ ]+(?=[\w.~+/-]*[0-9]))"
            r"(?P<secret>[^\s\"'\\,;<>(){}$`]{8,})",
            re.IGNORECASE,
        ),
    ),
    Place(
        "answer to a challenge",
        words=("Digest ",),
        expression=re.compile(r"\bDigest[ ][^\n]{0,600}?\bresponse=\\*[\"']?(?P<secret>[0-9a-f]{32,64})\b"),
    ),
    Place(
        "signature of a request",
        parts=("ignature=", "sig=", "ecurity-Token="),
        expression=re.compile(r"(?:Signature=|[?&;](?:sig|signature|X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature)=)(?P<secret>[A-Za-z0-9%/+_~-]{24,4000}=*)"),
    ),
    Place(
        "password of a command",
        parts=("7z",),
        words=("rpcclient", "smbget", "winexe", "config set", "configure set", "sudo -S", "PASSWORD", "IDENTIFIED", "sshpass", "mysql", "redis-cli", "docker login", "pass:", "ldap", "smbclient", "net use", "wandb", "snyk", "ngrok", "gh secret", "smbcacls", "smbtree", "smbmap", "smbcquotas", "pth-winexe", "wmic", "wbinfo", "samba-tool", "net rpc", "net ads", "net rap", "net dom", "net -U"),
        expression=re.compile(
            r"""
              \b(?: sshpass[ ]+-p[ ]* | mysql(?:dump|admin)?\b[^\n|;]{0,400}?[ ]-p | redis-cli\b[^\n|;]{0,400}?[ ]-a[ ]+
                | docker[ ]login\b[^\n|;]{0,400}?[ ]-p[ ]+ | ldap\w+\b[^\n|;]{0,400}?[ ]-w[ ]+ | -pass(?:in|out)?[ ]pass: )
                \\?["']?(?P<other>[^\s"'\\$<{-][^\s"'\\]{2,})
            | \bconfig(?:ure)?[ ]set[ ](?!-)\S{0,100}(?:token|secret|password|key)\S{0,100}[ ]\\?["']?(?P<set>[^\s"'\\$<{-][^\s"'\\]{5,})
            | \becho[ ]\\?["']?(?P<echoed>[^\s"'|$]+)\\?["']?[ ]*\|[ ]*sudo[ ]-S
            | \b(?:PASSWORD|IDENTIFIED(?:[ ]WITH[ ][\w'"]{1,40})?[ ]BY)[ ]+\\?'(?P<sql>[^'\\\n%$:]+)(?=\\?')
            | \bnet[ ]use\b[^\n|;]{0,200}?[ ]/user:\S{1,100}[ ]+\\?["']?(?P<share>[^\s"'\\$<{/*][^\s"'\\]{3,})
            | \b7z[ar]?\b[^\n|;]{0,400}?[ ]-p\\?["']?(?P<archive>[^\s"'\\$<{-][^\s"'\\]{2,})
            | \b(?:wandb[ ]login|snyk[ ]auth|ngrok[ ](?:config[ ]add-)?authtoken)[ ]+\\?["']?(?P<login>[A-Za-z0-9_-]{30,100})
            | \bgh[ ]secret[ ]set\b[^\n|;]{0,200}?[ ](?:-b|--body)[ =]?\\?["']?(?P<body>[^\s"'\\$<{-][^\s"'\\]{3,})
            | \bconfig[ ]set[ ](?:--[a-z-]{1,20}[ ]){0,2}--secret[ ](?:--[a-z-]{1,20}[ ]){0,2}[\w:.-]{1,80}[ ]\\?["']?(?P<stack>[^\s"'\\$<{-][^\s"'\\]{3,})
            | \b(?:smb(?:client|get|cacls|tree|map|cquotas)|rpcclient|(?:pth-)?winexe|wmic|wbinfo|samba-tool|net(?=[ ](?:rpc|ads|rap|dom|-U)))\b[^\n|;]{0,400}?
                [ ](?:-U|-a|--user(?:name)?|--authenticate)[ =]?[ ]?\\?["']?(?:[^\s%"'\\/]{1,60}(?:\\{1,2}|/))?[^\s%"'\\]{1,100}%(?P<third>[^\s"'\\]+)
            """,
            re.VERBOSE,
        ),
    ),
    Place(
        "password of a file",
        words=("password", "npassword"),
        expression=re.compile(r"\b(?:login|machine|account)(?:\s|\\n){1,20}[^\s\\]{1,200}(?:\s|\\n){1,20}password\s{1,20}(?P<secret>[^\s\"'\\<$]+)"),
    ),
    Place(
        "password of a command",
        words=("-stdin", "chpasswd", "storepass", "srcstorepass", "deststorepass", "keypass", "zip ", "unzip ", "freerdp", "xfreerdp", "-passwd ", "passwd --stdin", "SecureString", "htpasswd", "mongo", "sqlcmd", "az login", "openssl", "mosquitto", "rdesktop"),
        expression=re.compile(
            r"""
              \becho[ ](?:-n[ ])?\\?["']?(?:[\w.-]{1,40}:)?(?P<piped>[^\s"'|$:`]{4,})\\?["']?[ ]*\|[^\n|]{0,200}(?:password-stdin|passwd[ ]--stdin|chpasswd)
            | -(?:storepass|keypass|srcstorepass|deststorepass|passwd)[ ]+\\?["']?(?P<store>[^\s"'\\$<{-][^\s"'\\]{3,})
            | \bConvertTo-SecureString[ ]+(?:-String[ ]+)?\\?["'](?P<secure>[^\s"'\\$<{][^"'\\\n]{3,})(?=\\?["'])
            | \bhtpasswd[ ]+-[a-zA-Z]*b[a-zA-Z]*[ ]+\S+[ ]+\S+[ ]+\\?["']?(?P<basic>[^\s"'\\$<{-][^\s"'\\]{3,})
            | \b(?:mongo(?:sh|dump|restore|export|import)?|az[ ]login)\b[^\n|;]{0,400}?[ ]-p[ ]+\\?["']?(?P<login_p>[^\s"'\\$<{-][^\s"'\\]{3,})
            | \b(?:sqlcmd|(?:un)?zip)\b[^\n|;]{0,400}?[ ]-P[ ]+\\?["']?(?P<big_p>[^\s"'\\$<{-][^\s"'\\]{3,})
            | \bopenssl\b[^\n|;]{0,400}?[ ]-k[ ]+\\?["']?(?P<cipher>[^\s"'\\$<{/-][^\s"'\\]{3,})
            | \bmosquitto_\w+\b[^\n|;]{0,400}?[ ]-P[ ]+\\?["']?(?P<broker>[^\s"'\\$<{-][^\s"'\\]{3,})
            | \b(?:x?freerdp\d?|rdesktop)\b[^\n|;]{0,400}?(?:[ ]/p:|[ ]-p[ ]+)\\?["']?(?P<desktop>[^\s"'\\$<{-][^\s"'\\]{3,})
            """,
            re.VERBOSE,
        ),
    ),
    Place(
        "password of a connection string",
        parts=("@tcp(", "@unix("),
        expression=re.compile(r"[\"'`][\w.-]{1,40}:(?P<secret>[^\s@\"'`{}$%]{3,80})@(?:tcp|unix)\("),
    ),
    Place(
        "password of a protocol",
        words=("PASS ", " LOGIN ", "AUTH ", "password 0 ", "secret 0 ", "secret 5 ", "password 7 "),
        expression=re.compile(
            r"""
              ^[^\n]{0,40}\bUSER[ ]\S+[^\0]{0,200}?^[^\n]{0,40}\bPASS[ ](?P<ftp>\S{4,80})[ \t\r]*$
            | ^[^\n]{0,40}?\b[A-Za-z]?[0-9]{1,4}[ ]LOGIN[ ]"?[\w.@+-]{1,80}"?[ ]"?(?P<imap>[^\s"]{4,80})"?[ \t\r]*$
            | (?:^|>[ ]?)AUTH[ ](?!(?:CRAM|DIGEST|SCRAM)-)(?:[\w.-]{1,40}[ ])?(?P<redis>(?=[^\s]*[0-9])(?=[^\s]*[A-Za-z])[^\s"'<$]{6,200})[ \t\r]*$
            | \b(?:password|secret)[ ](?:0|5|7|8|9)[ ](?P<device>[^\s"']{4,200})
            """,
            re.VERBOSE | re.MULTILINE,
        ),
    ),
    Place(
        "password of a protocol",
        parts=("UGFzc3dvcmQ", "cGFzc3dvcmQ6"),
        words=("AUTH ", "AUTHENTICATE ", "auth plain", "auth xoauth2", "authenticate "),
        expression=re.compile(
            r"""
              (?:UGFzc3dvcmQ[6A]|cGFzc3dvcmQ6)[^\n]{0,40}\n(?:[^\n]{0,20}reply:[^\n]{0,200}\n){0,2}[^\n]{0,100}?
                (?<![A-Za-z0-9+/=])(?P<asked>[A-Za-z0-9+/]{4,400}={0,2})(?:\\r\\n)?["']?[ \t\r]*$
            | \bAUTH(?:ENTICATE)?[ ](?:PLAIN|XOAUTH2|OAUTHBEARER|CRAM-MD5|DIGEST-MD5|NTLM|SCRAM-[\w-]{3,20})(?:[ ]=)?(?:\\r\\n)?["']?[ \t\r]*\n
                [^\n]{0,60}?(?:334|\+)(?:[ ][^\n]{0,600})?\n(?:[^\n]{0,20}reply:[^\n]{0,200}\n){0,2}[^\n]{0,100}?
                (?<![A-Za-z0-9+/=])(?P<answer>[A-Za-z0-9+/]{12,4000}={0,2})(?:\\r\\n)?["']?[ \t\r]*$
            | \bAUTH(?:ENTICATE)?[ ](?:PLAIN|XOAUTH2|OAUTHBEARER|NTLM|SCRAM-[\w-]{3,20})[ ](?P<secret>[A-Za-z0-9+/]{12,4000}={0,2})
            """,
            re.VERBOSE | re.MULTILINE | re.IGNORECASE,
        ),
    ),
    Place(
        "encrypted password of a build",
        words=("password>{", "passphrase>{", "master>{", "secure:"),
        expression=re.compile(
            r"<(?:password|passphrase|master)>\{(?P<maven>[A-Za-z0-9+/]{12,400}={0,2})\}</"
            r"|^[ \t]{0,40}(?:-[ ]{1,4})?secure:[ \t]{1,4}[\"']?(?P<secret>(?=[^\n]{0,40}[0-9+/])[A-Za-z0-9+/]{20,2000}={0,2})(?=[\"']?[ \t\r]*(?:\n|\Z))",
            re.MULTILINE,
        ),
    ),
    Place(
        "private key",
        words=("untrusted comment", "private-key", "Private-key-format", "privateExponent", "priv:"),
        expression=re.compile(
            r"""
              \buntrusted[ ]comment:[^\n]{0,200}\b(?:secret|private)[ ]key[^\n]{0,200}\n(?P<signify>[A-Za-z0-9+/]{40,1000}={0,2})
            | \((?:d|p|q|u|x)\s{1,20}\#(?P<expression>[0-9A-Fa-f\s]{32,8000})\#\)
            | \)\s{0,20}\#(?P<protected>[0-9A-Fa-f\s]{64,8000})\#\s{0,20}\)
            | ^(?:PrivateExponent|PrivateKey|Prime[12]|Exponent[12]|Coefficient|Key):[ ](?P<zone>[A-Za-z0-9+/]{16,4000}={0,2})
            | \b(?:privateExponent|prime[12]|exponent[12]|coefficient|priv):[ \t\r]*\n(?P<digits>(?:[ \t]{1,20}(?:[0-9a-f]{2}:){0,32}(?:[0-9a-f]{2}:?)[ \t\r]*(?:\n|\Z)){1,700})
            """,
            re.VERBOSE | re.MULTILINE,
        ),
    ),
    Place(
        "password of a file",
        parts=(" * \"", "\t*\t\"", "chpasswd:"),
        expression=re.compile(
            r"^\"?[\w.@\\-]{1,60}\"?[ \t]{1,20}\*[ \t]{1,20}\"(?P<dial>[^\"\s]{4,100})\"(?:[ \t]{1,20}\S{1,40})?[ \t\r]*$"
            r"|\bchpasswd:[ \t]*\n(?:[ \t]{1,20}[a-z]{1,12}:[^\n]{0,20}\n){0,3}[ \t]{1,20}(?:-[ ])?[\w.-]{1,40}:(?P<cloud>[^\s:]{4,100})$",
            re.MULTILINE,
        ),
    ),
    Place(
        "answer to a prompt",
        parts=("send(", "sendline(", ".write(b", "New value: ", "ssword for '", "ssphrase for key '", 'ssword for "', "ssword for user "),
        expression=re.compile(
            r"[Pp]ass(?:word|phrase|code)[^\n]{0,20}\n[^\n]{0,60}?\.(?:send|sendline|write)\(b?\\?[\"'](?P<secret>[^\s\"'\\$<{]{4,80})"
            r"|[Pp]ass(?:word|phrase)[ ]for[ ](?:key[ ]|user[ ])?(?P<sign>[\"'])[^\"'\n]{1,200}(?P=sign):[ ](?P<asked>(?=[^\n]{0,80}[0-9])[!-~]{4,80}(?:[ ][a-z0-9]{1,12}){0,8})(?=\r?\n|\Z)"
            r"|reset-password\b[^\n]{0,100}\n(?:[^\n]{0,100}\n){0,3}?New[ ]value:[ ](?P<new>[^\s]{6,80})"
        ),
    ),
    Place(
        "hash of a password",
        parts=(":::",),
        words=("NTLM", "ntlm:", "rc4:", "pth:", "aes256:", "aes128:", "evil-winrm", "netexec", "nxc ", "crackmapexec", "smbmap", "grub.pbkdf2"),
        expression=re.compile(
            r"""
              ^[^\s:]{1,80}:[0-9]{1,10}:[0-9a-fA-F]{32}:(?!31d6cfe0)(?P<secret>[0-9a-fA-F]{32}):::
            | (?<![A-Za-z])(?:ntlm|rc4|pth|aes(?:256|128)):(?:[0-9a-f]{32}:)?(?P<flag>[0-9a-f]{32,64})(?![\w.])
            | \bNTLM(?:[ ]hash)?["']?[ \t]{0,10}[:=][ \t]{0,4}["']?(?P<shown>[0-9a-f]{32})(?![\w.])
            | \b(?:evil-winrm|netexec|nxc|crackmapexec|smbmap)\b[^\n|;]{0,300}?[ ](?:-H|--hash)[ =]["']?(?:[0-9a-f]{32}:|:)?(?P<given>[0-9a-f]{32})(?![\w.])
            | \bgrub\.pbkdf2\.sha512\.[0-9]{1,8}\.(?P<grub>[0-9a-f]{32,512}\.[0-9a-f]{32,512})
            """,
            re.VERBOSE | re.MULTILINE | re.IGNORECASE,
        ),
    ),
    Place(
        "key of a framework",
        words=("validationKey", "decryptionKey", "hash_salt"),
        expression=re.compile(
            r"\b(?:validation|decryption)Key\\*[\"']?\s{0,4}[:=]\s{0,4}\\*[\"'](?P<machine>[0-9A-Fa-f]{32,256})(?=[\"'\\,])"
            r"|\bhash_salt[\"']\]?\s{0,4}=>?\s{0,4}[\"'](?P<secret>[A-Za-z0-9_-]{30,200})[\"']"
        ),
    ),
    Place(
        "answer to a prompt",
        words=("Enter it again", "Enter again", "enter it again", "Confirm:", "Confirmation:", "Verify:", "Verification:", "Repeat:", "Again:", "Retype:", "Re-enter:", "Reenter:", "Enter a secret", "Enter the secret", "Enter your secret", "Enter a value", "the value of", "Wiederholen:", "Confirmer:", "Confirmar:", "Conferma:"),
        expression=re.compile(
            r"""
              (?i:pass(?:word|phrase|code|wort)?|pin|secret|kennwort|mot[ ]de[ ]passe|contraseña|senha|pwd)\b[^\n]{0,200}\r?\n
                [^\n]{0,20}?\b(?:Enter[ ](?:it[ ])?again|enter[ ]it[ ]again|Confirm(?:ation|er|ar)?|Conferma|Verify|Verification|Repeat|Again|Retype|Re-?enter|Wiederholen)[ ]?:[ ]{1,2}
                (?P<secret>[!-~]{4,80})(?=[ \t]*(?:\r?\n|\Z))
            | \bEnter[ ](?:it[ ])?again:[ ](?P<again>(?=[^\s]{0,80}[0-9])(?=[^\s]{0,80}[A-Za-z])[!-~]{6,80})(?=[ \t]*(?:\r?\n|\Z))
            | \bEnter[ ](?:a|the|your)[ ]secret(?:[ ]value)?\b[^\n:\w]{0,6}:?[^\n\w\[(]{1,6}(?P<typed>[!-~]{6,4000})(?=[ \t]*(?:\r?\n|\Z))
            | (?:\bEnter[ ]a[ ]value[ ]for|[ ]the[ ]value[ ]of)[ ]\w{0,60}(?:PASS|PW|SECRET|TOKEN|KEY|CREDENTIAL)\w{0,40}[?:]?(?:[ ]\[[^\]\n]{0,20}\])?:?[ ](?P<asked>[!-~]{4,4000})(?=[ \t]*(?:\r?\n|\Z))
            """,
            re.VERBOSE,
        ),
    ),
    Place(
        "password of an app",
        words=(
            "app password", "app-password", "App password", "App Password", "App-Password", "app specific", "app-specific", "App-specific", "application password",
            "application-specific", "Application password", "application specific", "Application-specific", "App-Passwort", "App-Kennwort", "Anwendungspasswort", "passe d'application",
            "passe d\u2019application", "passe pour l'application", "contraseña de aplicación", "Contraseña de aplicación", "contraseña de la aplicación", "password per l'app", "senha de app", "Senha de app", "アプリ パスワード", "アプリパスワード",
        ),
        expression=re.compile(
            r"(?:[Aa]pp(?:lication)?[ -](?:specific[ ])?[Pp]assword|App-(?:Passwort|Kennwort)|Anwendungspasswort|passe[ ](?:d['\u2019]|pour[ ]l['\u2019])application"
            r"|[Cc]ontraseña[ ]de[ ](?:la[ ])?aplicación|password[ ]per[ ]l['\u2019]app|[Ss]enha[ ]de[ ]app|アプリ[ ]?パスワード)"
            r"(?:[ ](?:for|of|für|pour|para|per)[ ][^\n:]{1,60}(?=:|\r?\n))?\W{1,8}(?:is[ ]|ist[ ]|est[ ]|es[ ])?\W{0,3}"
            r"(?![a-z -]{0,19}\b(?:this|that|with|when|they|will|work|your|from|have|must|make|sure|then|only|here|need|been|into|also|more|used|user|four|them)\b)"
            r"(?P<secret>[a-z]{4}(?:[ -][a-z]{4}){3}|[a-z]{16}(?=[\s\"'`]|\Z))(?![ -]?\w)"
        ),
    ),
    Place(
        "key of a network",
        parts=("_psk", "Psk"),
        words=("psk", "PSK", "wpapsk", "WPAPSK", "saepsk", "pre-shared", "Pre-shared", "Pre-Shared", "pre_shared", "preshared", "Preshared", "PreShared", "preShared", "PRE-SHARED", "wpa_passphrase", "wireless.", "keyMaterial", "EAP ", "XAUTH ", "eap ", "xauth ", "WIFI:", "wifi", "wi-fi", "Wifi", "WiFi", "Wi-Fi", "wlan", "WLAN", "ssid", "SSID", "option key", "option wpakey", "option sae_password", "Key Content", "Schlüsselinhalt", "Contenu de la clé", "Contenido de la clave", "Contenuto chiave", "Contenuto della chiave", "Conteúdo da Chave", "Conteúdo da chave", "Inhoud van sleutel", "Sleutelinhoud", "Zawartość klucza", "Содержимое ключа", "Nyckelinnehåll", "Nøgleindhold", "Anahtar İçeriği", "主要なコンテンツ", "キー コンテンツ", "关键内容", "金鑰內容", "키 콘텐츠"),
        expression=re.compile(
            r"""
              \bWIFI:(?:[A-Z]:[^;\n]{0,100};){0,4}P:(?P<code>(?:[^;\n\\]|\\.){4,100}) ;
            | (?<![A-Za-z0-9])(?:wpa[_-]?|sae[_-]?)?psk[ \t]*[:=][ \t]*\\?["'](?P<quoted>[^"'\\\n$<{}]{8,64})(?=\\?["'])
            | (?:^|\n)[ \t]*(?:wpa_passphrase|psk)=(?P<line>[^\s"'$<{}][^\n"'$<{}]{7,62})(?=\r?\n|\Z)
            | [ :](?:psk|eap|xauth)[ ]+"(?P<ipsec>[^"\n]{6,128})"
            | \b(?:wi-?fi|wlan|ssid)\b[^\n]{0,60}?[ ,]key[ ]?[:=][ ]?["'`]?(?P<wifi>(?=[^\s]{0,60}[0-9])(?=[^\s]{0,60}[A-Za-z])[^\s"'`,;<>{}$][^\s"'`,;<>{}]{5,63})
            | \boption[ ]+(?:key|wpakey|sae_password)[ ]+["']?(?P<option>[^\s"']{8,64})
            | \bwireless\.[\w@\[\].-]{1,60}\.(?:key|sae_password)=["']?(?P<uci>[^\s"']{8,64})
            | (?:\bkey[ ]content|schlüsselinhalt|contenu[ ]de[ ]la[ ]clé|contenido[ ]de[ ]la[ ]clave|contenuto[ ](?:della[ ])?chiave|conteúdo[ ]da[ ]chave
                |inhoud[ ]van[ ]sleutel|sleutelinhoud|zawartość[ ]klucza|содержимое[ ]ключа|nyckelinnehåll|nøgleindhold|anahtar[ ]içeriği
                |主要なコンテンツ|キー[ ]コンテンツ|关键内容|金鑰內容|키[ ]콘텐츠)[ \t\u00a0]{0,40}:[ ](?P<shown>[^\n\r]{8,64}) | <keymaterial>(?P<xml>[^<\n]{8,64})<
            | \b[\w-]{1,20}\.psk[ ]+["']?(?P<nmcli>[^"'\n$<{}]{8,64})(?=["']|\n|\Z)
            | (?<![A-Za-z0-9])(?:wpa[_-]?|sae[_-]?)?psk[ \t]*[:=][ \t]*\\?["']?(?P<psk>[^\s"'\\$<{}]{8,64})
            | \bpre-?shared[ _-]?key[ \t]*(?:[:=]|[ ]is[ ])?[ \t]*\\?["']?(?P<shared>(?=[^\s]*[0-9])[^\s"'\\$<{}]{8,128})
            """,
            re.VERBOSE | re.IGNORECASE,
        ),
    ),
    Place(
        "password of a server",
        words=("requirepass", "masterauth", "masteruser", "passwords", "user default on", "\"user "),
        expression=re.compile(
            r"""
              (?<![\w-])(?P<quote>\\*["']?)(?:requirepass|masterauth)(?P=quote)(?:[ \t]{0,4}[,:][ \t]{0,4}|[ \t]{0,4}\r?\n[ \t]{0,20})(?:[0-9]{1,3}\)[ ])?
                (?P=quote)(?!requirepass|masterauth)(?P<secret>[^\s"'\\]{4,400})(?P=quote)(?=[\s,;)}\]]|\Z)
            | "passwords"\s{1,20}[0-9]{1,2}\)[ ]1\)[ ]"(?P<hash>[0-9a-f]{64})"
            | \buser[ ][\w.-]{1,60}[ ]on[ ](?:[a-z-]{1,30}[ ]){0,4}\#(?P<listed>[0-9a-f]{64})\b
            """,
            re.VERBOSE,
        ),
    ),
    Place(
        "password of a command",
        words=("sqlplus ", "sqlldr ", "expdp ", "impdp ", "sqlcl ", "rman ", "target ", "catalog ", "auxiliary "),
        expression=re.compile(
            r"\b(?:(?:sqlplus|sqlldr|expdp|impdp|sqlcl|rman)(?:[ ]-{1,2}\w{1,12}(?:[ ][0-9.]{1,5})?){0,4}[ ]{1,4}(?:userid=|(?:target|catalog|auxiliary)[ =])?|(?:target|catalog|auxiliary)[ =])"
            r"\\?[\"']?[\w$#]{1,30}/(?!(?:tiger|manager|oracle|change_on_install)@)\\?\"?(?P<secret>[^\s@\"'/\\$&{<][^\s@\"'/\\]{3,80})(?=\\?\"?(?:@|[ ]as[ ]sys(?:dba|oper)))"
        ),
    ),
    Place(
        "key of a storage account",
        words=("keyName", "KeyName", "key1 ", "key2 ", "key1\t", "key2\t", "primaryKey", "secondaryKey", "PrimaryKey", "SecondaryKey"),
        expression=re.compile(
            r"""
              [kK]eyName\\*["']\s{0,4}:[^{}]{0,400}?["'](?:value|Value)\\*["']\s{0,4}:\s{0,4}\\*["'](?P<secret>[A-Za-z0-9+/]{40,200}={0,2})
            | ["'](?:value|Value)\\*["']\s{0,4}:\s{0,4}\\*["'](?P<first>[A-Za-z0-9+/]{40,200}={0,2})\\*["'](?=[^{}]{0,300}[kK]eyName\\*["'])
            | (?:[pP]rimary|[sS]econdary)Key\\*["']\s{0,4}:\s{0,4}\\*["'](?P<named>[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==)(?=\\*["'])
            | \bkey[12][ \t]{1,20}(?:\S{1,40}[ \t]{1,20}){0,2}(?P<listed>[A-Za-z0-9+/]{86}==) | (?<![A-Za-z0-9+/])(?P<table>[A-Za-z0-9+/]{86}==)[ \t]{1,20}(?:key[12]|full)\b
            """,
            re.VERBOSE,
        ),
    ),
    Place(
        "key of a stream",
        words=("rtmp", "rtmps", "rtmpt", "srt", "streamid", "STREAMID", "stream key", "Stream key", "Stream Key", "stream_key", "STREAM_KEY"),
        expression=re.compile(
            r"""
              \brtmp[st]?://[^\s/"'<>]{1,200}/(?:[\w.-]{1,60}/){1,4}
                (?P<secret>(?=[a-z-]{0,24}[0-9])[a-z0-9]{4}(?:-[a-z0-9]{4}){3,5}|live_[0-9]{5,12}_\w{16,60}|FB-[0-9]{5,20}-[\w-]{8,60}
                  |(?=[\w-]{0,60}[0-9])(?=[\w-]{0,60}[A-Z])(?=[\w-]{0,60}[a-z])[\w-]{16,200}|[0-9a-f]{24,64}) (?![\w.-])
            | \b(?i:stream[ _]key)\\*["']?[ ]{0,4}[:=][ ]{0,4}\\*["']?(?P<label>(?=[a-z-]{0,24}[0-9])[a-z0-9]{4}(?:-[a-z0-9]{4}){3,5})(?![\w.-])
            | [?&]streamid=(?:\#|%23)?(?:[^\s"'&<>]{0,100}?[:=/,])?(?P<srt>(?=[\w-]{0,60}[0-9])(?=[\w-]{0,60}[A-Za-z])(?![a-z]+[\w-]*[a-z]{5})[\w-]{12,200})(?![\w./:-])
            """,
            re.VERBOSE | re.ASCII,
        ),
    ),
    Place(
        "private key of a JWK",
        words=('"kty', "'kty", '\\"kty'),
        expression=re.compile(r"(?<![A-Za-z0-9_])(?:d|p|q|dp|dq|qi|k)\\*[\"']\s{0,4}:\s{0,4}\\*[\"'](?P<secret>[A-Za-z0-9_-]{20,4000})(?=\\*[\"'])"),
    ),
    Place(
        "password of a file",
        words=("requirepass ", "masterauth ", "bindpw ", "ENV "),
        expression=re.compile(
            r"(?:^|[\n;]|\\n)[ \t]*(?:(?:requirepass|masterauth|bindpw)|ENV[ ]+[A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|TOKEN|_KEY))[ ]+"
            r"\\?[\"']?(?P<secret>[^\s\"'\\<$={][^\s\"'\\]{3,})"
        ),
    ),
    Place(
        "password of a file",
        parts=("{PLAIN}", "{CLEARTEXT}", "{noop}", "{xor}", ":*:", "5432:", "5433:", "6432:", "]:25 ", "]:465 ", "]:587 "),
        words=("userpassword::",  "userPassword::", "rocommunity", "rwcommunity", "/secure set", "snmp", "SNMP", "createUser ", "PASSWORD FROM", "PVEAPIToken", "auth-user-pass", "secret_id", "SecretID", "Secret ID"),
        expression=re.compile(
            r"^\[[\w.-]{3,100}\]:(?:25|465|587)[ \t]{1,20}[^\s:]{1,100}:(?P<mail>[^\s:]{4,100})$"
            r"|\{(?:PLAIN|CLEARTEXT|noop)\}(?P<plain>[^\s:\"',]{4,100})|\{xor\}(?P<xor>[A-Za-z0-9+/]{8,200}={0,2})"
            r"|^user[Pp]assword::[ ]{0,4}(?P<ldif>[A-Za-z0-9+/]{8,400}={0,2})$"
            r"|^[ \t]{0,20}r[ow]community[ \t]{1,20}(?P<community>(?=[^\s]{0,60}[0-9])[^\s]{6,80})"
            r"|(?i:\bsnmp[\w-]{0,20}community(?:[_-]?string)?\\*[\"']?[ ]?[:=][ ]?\\*[\"']?)(?P<string>(?=[^\s]{0,60}[0-9])[^\s\"'\\,;<>{}$]{6,80})"
            r"|\bcreateUser[ ]\S{1,60}[ ](?:MD5|SHA(?:-?[0-9]{3})?)[ ]\"?(?P<auth>[^\s\"]{8,80})\"?(?=[ ]|$)"
            r"|\b(?:AES|DES)[ ]\"(?P<privacy>[^\s\"]{8,80})\"[ \t]*$"
            r"|\bPASSWORD[ ]FROM[ ]['\"](?P<old>[^'\"\n$]{4,80})['\"](?=[ ]TO)|\bTO[ ]['\"](?P<new>(?=[^'\"\n]{0,60}[0-9])[^'\"\s$]{6,80})['\"][ \t]*;?$"
            r"|\bPVEAPIToken=[\w.-]{1,40}@[\w.-]{1,40}![\w.-]{1,40}=(?P<proxmox>[0-9a-f-]{36})"
            r"|<auth-user-pass>\n[^\s<]{1,100}\n(?P<vpn>[^\s<]{4,100})$"
            r"|\bsecret_id\\*[\"']?[ ]{0,4}[:=][ ]{0,4}\\*[\"']?(?P<role>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])"
            r"|\bSecret[ ]?ID\\*[\"']?[ ]{0,12}[:=][ ]{0,16}\\*[\"']?(?P<acl>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])"
            r"|/secure[ ]set[ ][\w.-]{1,60}[ ](?P<chat>[^\s]{4,200})"
            r"|^[^\s:/]+:(?:\*|[0-9]{0,2}5432|5433|6432):[^\s:]+:[^\s:]+:(?P<secret>[^\s:]+)$",
            re.MULTILINE,
        ),
    ),
    Place(
        "password of a file",
        words=("proxyauth=", "pptpd", "l2tpd", "user=", "priv ", "radtest ", "--encrypt ", "monitorRole", "controlRole", "IPSec secret", "keyMaterial=", "login ", "oper ", "OPER "),
        expression=re.compile(
            r"""
              \bsnmp-server[ ]user[ ][^\n]{1,200}[ ]priv[ ](?:(?:aes|des|3des)[ ])?(?:[0-9]{3}[ ])?(?P<priv>[^\s]{6,100})
            | \bradtest[ ][^\n]{4,300}[ ][0-9]{1,5}[ ](?!testing123|\$)["']?(?P<radius>[^\s"']{4,100})["']?[ \t\r]*$
            | \bqpdf[ ][^\n|;]{0,200}?--encrypt[ ]\S{1,100}[ ]["']?(?P<owner>[^\s"'$-][^\s"']{3,100})["']?[ ](?:40|128|256)[ ]
            | ^"?[\w.@\\-]{1,60}"?[ \t]{1,20}(?:pptpd|l2tpd)[ \t]{1,20}"?(?P<dial>[^\s"]{4,100})"?[ \t]{1,20}(?:\*|[0-9.]{7,15})[ \t\r]*$
            | \bproxyauth=[\w.@-]{1,60}:(?P<proxy>[^\s:,"'$<][^\s:,"'<]{3,100})
            | ^user=[\w.@-]{1,60}:(?P<secret>[^\s:]{4,100})[ \t\r]*$
            | ^(?:monitorRole|controlRole)[ \t]{1,20}(?P<role>(?!read)[^\s]{4,100})[ \t\r]*$
            | \bIPSec[ ]secret[ ](?P<group>[^\s]{4,100})$ | [ ]keyMaterial=["']?(?P<wifi>[^\s"'$<]{8,64})
            | \+login[ ](?!anonymous)[\w.@-]{1,60}[ ](?P<steam>[^\s"'$+<-][^\s"'$<]{3,80})
            | (?:^|[ ]|:)/?(?:oper|OPER)[ ][\w-]{1,30}[ ](?P<irc>(?=[^\s]{0,80}[0-9])(?=[^\s]{0,80}[A-Za-z])[^\s"'$<]{6,80})[ \t\r]*$
            """,
            re.VERBOSE | re.MULTILINE,
        ),
    ),
    Place(
        "password of a call",
        words=("auth=", "auth =", "BasicAuth(", "HTTPBasicAuth(", "NetworkCredential", "PasswordCredential", "PasswordTokenCredential", "login(", "SecretStr(", "SecretBytes(", "SecretString("),
        expression=re.compile(
            r"\bSecret(?:Str|String|Bytes)\(\s*b?\\?[\"'](?P<wrapped>[^\"'\\\n]{4,400})(?=\\?[\"'])|"
            r"(?:\bauth\s*=\s*\(|BasicAuth\(|(?:Network|Password|PasswordToken)Credentials?\(|\blogin\()\s*\\?[\"'][^\"'\\\n]+\\?[\"']\s*,\s*\\?[\"'](?P<secret>[^\"'\\\n]+)(?=\\?[\"'])"
        ),
    ),
    Place(
        "key of a call",
        words=("accounts:", "accounts =", "accounts: ", "account.key", "createHmac(", "CreateHmac(", "jwt.", "SignedString(", "hmac.new("),
        expression=re.compile(
            r"(?:\bjwt\.(?:sign|verify|encode|decode)\([^\n]{1,200}?,\s{0,20}|\bSignedString\(\s{0,20}(?:\[\]byte\(\s{0,20})?|\bhmac\.new\(\s{0,20}(?:key\s{0,2}=\s{0,2})?"
            r"|\b[cC]reateHmac\([^,\n]{1,40},\s{0,20})"
            r"b?\\?[\"'`](?P<secret>(?=[^\s\"'`]*[0-9])(?=[^\s\"'`]*[A-Za-z])[^\s\"'`\\<>{}]{8,400}|(?=[a-z]*[A-Z])[A-Za-z]{24,400})(?=\\?[\"'`]\s{0,20}[,)])"
            r"|\baccounts\s{0,4}[:=]\s{0,4}\[\s{0,20}[\"'`](?P<chain>(?:0x)?[0-9a-f]{64})(?=[\"'`])"
            r"|\baccount\.key\.[\w.]{1,100}[\"']?\s{0,4}[,=:]\s{0,4}[\"']?(?P<storage>[A-Za-z0-9+/]{86}==)"
        ),
    ),
    Place(
        "key of a chain's node",
        words=("infura.io", "alchemy.com", "alchemyapi.io", "quiknode.pro", "chainstack.com", "getblock.io", "ankr.com", "blastapi.io"),
        expression=re.compile(
            r"(?:\binfura\.io/v3|\balchemy(?:\.com|api\.io)/v2|\bquiknode\.pro|\bchainstack\.com|\bgetblock\.io|\bankr\.com/\w{1,20}|\bblastapi\.io)"
            r"/(?P<secret>(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{20,100})(?![\w-])"
        ),
    ),
    Place(
        "private key of a wallet",
        words=("Wallet(", "fromSecretKey", "from_key(", "from_bytes(", "privateKeyToAccount(", "fromPrivateKey(", "keypair", "Keypair", "id.json", "network_key", "encryption_key", "encryptionKey", "aes_key", "aesKey", "master_key"),
        expression=re.compile(
            r"\b(?:Wallet|from_key|privateKeyToAccount|fromPrivateKey)\(\s{0,20}\\*[\"'`](?P<secret>(?:0x)?[0-9a-fA-F]{64})(?=\\*[\"'`])"
            r"|(?:\bfromSecretKey|\bfrom_bytes|[kK]eypair|\bid\.json)[^\[]{0,60}\[(?P<bytes>\s{0,20}(?:[0-9]{1,3},\s{0,20}){63}[0-9]{1,3}\s{0,20})\]"
            r"|\b(?:network|encryption|aes|master)_?[kK]ey\\*[\"']?\s{0,4}[:=]\s{0,4}(?:[\w.\]\[]{1,20}[({]\s{0,4})?[\[{]?(?P<key>\s{0,20}(?:(?:0x)?[0-9a-fA-F]{1,3},\s{0,20}){15,31}(?:0x)?[0-9a-fA-F]{1,3}\s{0,20})[\])}]"
        ),
    ),
    Place(
        "password of a connection string",
        parts=("assword=", "wd=", "wd={", "ccountKey=", "ccessKey="),
        expression=re.compile(
            r"(?:(?<=;)\s{0,20}|\b(?=(?:password|pwd|account|shared)[\w ]{0,60}=[^;\"'\n]{1,400};))"
            r"(?:password|pwd|accountkey|sharedaccesskey)\s{0,20}=\s{0,20}(?P<secret>[^;\"'\\\s<>${}](?:[^;\"'\\\s<>${}]|\$(?![{(]))*)"
            r"|[;\"'](?:password|pwd)=\{(?P<braced>(?=[^{}\n]{0,80}[0-9])(?=[^{}\n]{0,80}[A-Za-z])[^{}\n]{5,80})\}(?=[;\"'\s]|\Z)"
            r"|\b(?:host|hostaddr|user|dbname|port)=[^\s\"',()]{1,400}\s[^\n\"']{0,400}?\bpassword=(?P<other>[^\s\"'\\,;<>${}()]+)"
            r"|\bpassword=(?P<third>[^\s\"'\\,;<>${}()]{1,400})(?=\s{1,20}(?:host|hostaddr|user|dbname|port|sslmode)=)",
            re.IGNORECASE,
        ),
    ),
    Place(
        "key of a function",
        words=("azurewebsites.net",),
        expression=re.compile(r"\.azurewebsites\.net/[^\s\"'<>]{0,200}[?&]code=(?P<secret>[A-Za-z0-9%/+_-]{40,100}={0,2})"),
    ),
    Place(
        "cookie of a file",
        words=("TRUE\t", "FALSE\t"),
        expression=re.compile(
            r"^[^\s]{1,200}\t(?:TRUE|FALSE)\t[^\t\n]{1,200}\t(?:TRUE|FALSE)\t[0-9]{1,14}\t[^\t\n]{1,200}\t(?P<secret>[^\s]{16,4000})",
            re.MULTILINE,
        ),
    ),
)  # fmt: skip


def places_possible_in(searched: SearchedText) -> list[Place]:
    """Return the places of the table whose parts or words are in a text, in order; faster than the expressions."""
    text = searched.text
    numbers = set[int]()
    for sign, parts in _PARTS.items():
        if sign in text:
            numbers.update([number for part, number in parts if part in text])
    for word in _WORDS.possible_in(searched):
        if word in text:
            numbers.update(_BY_WORD[word])
    return [PLACES[number] for number in sorted(numbers)]


_RARE_SIGNS = "*@=("


def _by_sign() -> dict[str, list[tuple[str, int]]]:
    """Return the parts of all places by a sign in the part that many texts lack, or by "" for parts of letters only."""
    parts: dict[str, list[tuple[str, int]]] = {}
    for number, place in enumerate(PLACES):
        for part in place.parts:
            signs = [character for character in part if not character.isalnum()]
            rare_signs = [character for character in part if character in _RARE_SIGNS]
            sign = (rare_signs + signs + [""])[0]
            parts.setdefault(sign, []).append((part, number))
    return parts


_PARTS = _by_sign()
_BY_WORD = {
    word: [number for number, place in enumerate(PLACES) if word in place.words]
    for place in PLACES
    for word in place.words
}
_WORDS = Beginnings(_BY_WORD)
