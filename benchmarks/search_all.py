"""Searching all sessions with the catalogue and without it: `python -m benchmarks.search_all`.

Makes a project of generated sessions and searches it for what stands in one of them, what stands in none, and what
stands in most. Printed are the processor time of each search by scanning, of one that may write the catalogue, and of
one that uses it, and the catalogue's size as a share of the text. A promise that is missed is said, and ends it with 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from click.testing import CliRunner

from amplifier_module_context_persistent.catalogue.catalogue_file import NAME
from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.sessions.pattern_in_session import searched_text
from amplifier_module_context_persistent.sessions.session_files import session_files
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.cli import main as command
from fixtures.generate import generate_session

MOST_SHARE = 0.5
SESSIONS, MESSAGES, MEAN_BYTES = 40, 500, 1_000
QUERIES = ("zebra_crossing", "(?i)ZEBRA.cross", "nothing has this text", "the")


def write_sessions(project: Path, sessions: int) -> None:
    """Write the logs; one of them holds the word that is looked for."""
    for number in range(sessions):
        path = project / "sessions" / f"session-{number:04}" / "context-messages.jsonl"
        path.parent.mkdir(parents=True)
        said = [*generate_session(number, MESSAGES, mean_bytes=MEAN_BYTES)]
        if number == sessions // 2:
            said.append({"role": "user", "content": "the zebra_crossing fails"})
        seed, lines = 0, []
        for at, message in enumerate(said):
            body = encode_message(message, message_id=f"m{at}", timestamp="2026-01-05T09:00:00.000Z")
            line, seed = seal(body, seed)
            lines.append(line)
        path.write_bytes(b"".join(lines))
        os.utime(path, (0, 0))  # a log that is still written to is not taken in to its end


def search(*arguments: str) -> tuple[float, str]:
    """The processor time and the output of a search of all sessions."""
    begin = time.process_time()
    done = CliRunner().invoke(command, ["search", "--all", "-c", *arguments])
    return time.process_time() - begin, done.output


def main() -> int:
    """Make the sessions and search them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    chosen = parser.parse_args()
    holds = True
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        project = Path(home) / ".amplifier" / "projects" / "-bench"
        write_sessions(project, chosen.sessions)
        text_bytes = 0
        for session in session_files():
            with Transcript(session.path) as transcript:
                text_bytes += sum(len(searched_text(one).encode("utf-8", "replace")) for one in transcript.messages())
        search("--no-catalogue", "x")  # what is imported first
        for query in QUERIES:
            scanned_s, expected = search("--no-catalogue", query)
            first_s, first = search(query)
            indexed_s, found = search(query)
            holds = holds and expected == first == found
            print(f"{query:24} scanned {scanned_s:6.2f} s  first {first_s:6.2f} s  indexed {indexed_s:6.2f} s")
        share = (project / NAME).stat().st_size / text_bytes
        print(f"{text_bytes / 1e6:.1f} MB of text; the catalogue is {share:.3f} of it (at most {MOST_SHARE})")
    return 0 if holds and share <= MOST_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
