"""Names that say by themselves that their value is a secret."""

import pytest

from amplifier_module_context_persistent.messages.secrets.redact import redact_text

NAMES = """
password passwd passwort passphrase passcode pwd pw pass secret secrets api_key apikey access_key secret_key private_key
encryption_key signing_key master_key account_key shared_access_key storage_key auth_key app_key application_key
consumer_key subscription_key functions_key service_key service_role_key client_key hmac_key deploy_key license_key
cookie_secret access_token auth_token authtoken refresh_token bearer_token session_token security_token id_token
api_token bot_token deploy_token private_token personal_access_token vault_token sas_token storepass keypass pgpassword
mysql_pwd admin_key write_key server_key integration_key shared_key webhook_key app_token access_secret oauth_token
user_token admin_token root_token service_token signature_key
"""
"""Written down once more: a name that is lost from the package's table is noticed."""

VALUE = "Tr4vel-8Lantern-92qx"


@pytest.mark.parametrize("name", NAMES.split())
def test_the_value_beside_a_name_goes(name: str) -> None:
    """As a setting, in JSON, as a variable, and in camel case."""
    first, *rest = name.split("_")
    written = (f"{name} = {VALUE}", f'{{"{name}": "{VALUE}"}}', f"export {name.upper()}={VALUE}")
    for text in (*written, f'"{first}{"".join(map(str.capitalize, rest))}": "{VALUE}"'):
        assert VALUE not in redact_text(text), text


@pytest.mark.parametrize(
    "name", ["passage", "passenger", "compass", "pwned", "secretary", "tokenizer", "key", "keyboard"]
)
def test_a_word_that_only_begins_like_one_hides_nothing(name: str) -> None:
    assert VALUE in redact_text(f"{name} = {VALUE}")
