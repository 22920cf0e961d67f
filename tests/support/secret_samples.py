"""Secrets in the form of real ones, all made up."""

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
