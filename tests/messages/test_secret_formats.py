"""The table of forms: every row is known by itself, and what only looks like it is left alone."""

import random
import re

import pytest

from amplifier_module_context_persistent.messages.secrets.formats import ALPHABETS, TOKENS, Format
from amplifier_module_context_persistent.messages.secrets.redact import redact_text
from tests.support.ordinary_lines import ordinary_lines
from tests.support.secret_forms import FORMS, line_with_secrets, sample
from tests.support.secret_forms import TOKENS as WRITTEN
from tests.support.sweeps import proof

LETTERS = {
    name: [c for c in map(chr, range(33, 127)) if re.fullmatch(f"[{letters}]", c) and c not in "=.-_"]
    for name, letters in ALPHABETS.items()
}
FIELD = re.compile(r"\{([A-Za-z])([0-9]+)(,?)([0-9]*)\}")
NOTED = [(known, form) for known in TOKENS for form in known.forms]
EXPRESSIONS = [known for known in TOKENS if not known.forms]
NEAR_MISSES = {
    "private key": "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "PuTTY private key": "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines:\n",
    "password hash": "$6$ more than $5 a head, and $2a for each of the others",
    "password hash of a directory": "{SSHA} and {SHA256}short and {MD5}",
    "JWT": "eyJust a word, and eyJhbGciOiJIUzI1NiJ9 alone",
    "JWT on several lines": "eyJhbGciOiJIUzI1NiJ9\nand eyJ.\n of another kind",
    "Modal token": "as-soon-as-possible-for-all-24 and ak-abcdefghijklmnopqrstuv",
    "Luma key": "luma-ai-plugin-of-the-last-version-24",
    "Sanity token": "sk" + "abcdefgh" * 20,
    "Packagist token": "packagist_org_mirror_of_this_year",
    "Snyk service token": "snyk_cli.results.of_the_last_run_of_all_projects",
    "Salesforce session": "00D000000000001AAA and 00D5g00000ABCDE!",
    "AWS session token": "IQoJb3JpZ2luX2Vj and FwoGZXIvYXdzE",
    "Convex key": "prod:happy-otter-1|short",
    "secret token": "secret-token:short",
    "AWS key": "AKIDENTITYPROVIDERS and AKIA0000111122223333 and ASIAN",
    "Azure client secret": "FAQ~ and 8Q~short",
    "Azure key": "ACDbAEhARmACR and a word that ends with APIM",
    "Yandex Cloud key": "AQVNshort and YC2026-11-22",
    "Yandex IAM token": "t1.micro.large and t1.example.com",
    "Exoscale key": "EXO and EXOSKELETON",
    "Tailscale key": "tskey-auth- and tskey-auth-short",
    "Vault token": "hvs.ts and s.abcdefghijklmnopqrstuvwx",
    "Doppler token": "dp.pt.example and dp.st.dev",
    "ngrok token": "ngrok http 8080 --region eu --label edge=2a_b",
    "Snyk token": "snyk_scan_results_of_the_last_run_of_all_projects",
    "Dynatrace token": "dt0c01.ABC.DEF",
    "Honeycomb key": "hcaik_short",
    "Authress key": "sc_client.acc-1.example",
    "Anthropic key": "sk-ant-api03-short and sk-ant-eater",
    "OpenAI key": "sk-something-long-and-more-words-than-that",
    "Brave Search key": "BSA 2026 and BSAshort",
    "Slack token": "xoxb-short and xapp-1-x",
    "Discord token": "Module.Class_.method_of_the_class and My.dotted.name",
    "Facebook token": "EAAC and EAACshort",
    "Twitter bearer token": "AAAAAAAAAAAAAAAAAAAAAA",
    "Flutterwave key": "FLWSECK-short",
    "Lob or GoCardless key": "live_update_of_every_row_in_the_table_below_this_one",
    "Figma token": "figd_short and fig_caption",
    "Dropbox token": "sl.u.short and sl.wikipedia.org",
    "token with a prefix": "read_theWholeFileAndSplitItIntoLinesOfText2 and sha_{h64}",
}
"""What only looks like a secret of a kind."""
SAMPLES = [sample(form, seed) for form in WRITTEN for seed in range(3)]
SAMPLES += [sample("eyJ{a20}.eyJ{a40}.\n{b43}", seed) for seed in range(3)]
SAMPLES += [line_with_secrets(form, seed)[0] for _, form in FORMS for seed in range(3)]


def filled(form: str, seed: int, *, last: int = 0) -> str:
    """A form, filled in by another way than the table reads it; `last`: letters more or less in its last part."""
    chosen, fields = random.Random(seed), list(FIELD.finditer(form))

    def fill(field: re.Match[str]) -> str:
        count = int(field[2]) + (last if field.start() == fields[-1].start() else 0)
        return "".join(chosen.choice(LETTERS[field[1]]) for _ in range(count))

    return FIELD.sub(fill, form)


@proof(quick=25)
@pytest.mark.parametrize(("known", "form"), NOTED, ids=[f"{known.kind}: {form}" for known, form in NOTED])
def test_a_form_of_the_table_is_known_and_near_misses_are_none(known: Format, form: str) -> None:
    """Whole, in any surroundings; not where a letter is missing or too many, nor within a word."""
    for seed in range(2):
        secret = filled(form, seed)
        for around in ("use {} now", '"{}"', "x = '{}'", 'say \\"{}\\"', "({}),"):
            text = around.format(secret)
            found = known.expression.search(text)
            assert found is not None, text
            assert found[0] == secret or form.count("{") == 0
            assert secret not in redact_text(text)
        fields = list(FIELD.finditer(form))
        others = [other for other in known.forms if other != form]
        short = filled(form, seed, last=-1)
        if not others:
            assert known.expression.search(short) is None, short
        if not others and fields[-1].end() == len(form) and not fields[-1][3]:
            long = filled(form, seed, last=1)
            assert known.expression.search(long) is None, long
        if fields[0].start() > 0:
            assert known.expression.search(f"x{secret}") is None


@pytest.mark.parametrize("known", EXPRESSIONS, ids=lambda known: known.kind)
def test_an_expression_of_the_table_has_samples_and_near_misses(known: Format) -> None:
    """Each one matches a sample that was written by hand; its beginning alone is none, nor what only looks like it."""
    assert known.expression.search(NEAR_MISSES[known.kind]) is None
    matching = [(text, found) for text in SAMPLES if (found := known.expression.search(text))]
    assert matching, "write a sample into tests/support/secret_forms.py"
    for text, found in matching:
        assert found[0] not in redact_text(text)
        assert known.expression.search(found[0][: min(len(found[0]) // 3, 10)]) is None


@proof
def test_every_row_says_where_it_is_documented_and_has_hints() -> None:
    """Each sample of a row holds one of the row's hints, else nobody would look."""
    assert [known.kind for known in TOKENS if not known.source or not known.hints] == []
    assert [known.kind for known in TOKENS if not re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", known.seen)] == []
    for known in TOKENS:
        texts = [*SAMPLES, *(filled(form, 1) for form in known.forms)]
        matching = [text for text in texts if known.expression.search(text)]
        assert [text for text in matching if not any(hint in text for hint in known.hints)] == []


@proof(quick=25)
@pytest.mark.parametrize("form", WRITTEN)
def test_every_published_form_is_known_by_itself(form: str) -> None:
    """In prose, quoted, in JSON within JSON: all that is random in it goes."""
    for seed in range(3):
        secret = sample(form, seed)
        runs = [run for run in re.findall(r"[A-Za-z0-9]{8,}", secret) if re.search(r"[0-9]", run)]
        for around in ("use {} now", '"{}"', "x = '{}'", 'say \\"{}\\"', "({}),"):
            text = redact_text(around.format(secret))
            left = [run for run in runs if run in text]
            assert left in ([], ["eyJhbGciOiJIUzI1NiJ9"]), (text, left)


def test_97_of_100_forms_of_services_are_found() -> None:
    """Of a list that was written from the sources, not from the table."""
    assert len(FORMS) == 150
    missed = set()
    for number, (service, form) in enumerate(FORMS):
        for seed in range(5):
            line, secrets = line_with_secrets(form, 31 * number + 1_000 * seed)
            if any(len(secret) >= 8 and secret in redact_text(line) for secret in secrets):
                missed.add(service)
    assert len(missed) <= 0.03 * len(FORMS), sorted(missed)


def test_at_most_one_of_400_ordinary_lines_is_altered() -> None:
    """Hashes, ids, references to secrets, placeholders, lock files, pictures, cookies that say nothing."""
    lines = ordinary_lines()
    altered = [line for line in lines if redact_text(line) != line]
    assert len(lines) >= 400
    assert len(altered) <= len(lines) // 400, altered


@pytest.mark.parametrize("prefix", ["pk_test_", "pk_live_", "phc_"])
def test_publishable_keys_stay(prefix: str) -> None:
    """Their services say that they are public; a secret key of the same length goes."""
    rest = sample("{a20}7aB9{a19}", 3)
    assert redact_text(f"init('{prefix}{rest}')") == f"init('{prefix}{rest}')"
    assert rest not in redact_text(f"init('acme_{rest}')")
