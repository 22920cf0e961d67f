"""A session as one page to send round: a file that holds all of it, opens without a network, and runs no foreign code.

    from amplifier_module_context_persistent.toolbox.replay import open_transcript
    from amplifier_module_context_persistent.toolbox.report import report

    with open_transcript("session.jsonl") as transcript:
        report(transcript, "session.html")

Rules of this package:
- Reads only, but for the file that it makes.
- What comes from a session reaches the page as compressed JSON, or through the template's escaping; the script puts it
  there as text, never as markup.
- `page/` holds the template, the styles and the script, as they stand in the file: nothing is minified or built.
"""

from .index_page import check_index, write_index
from .write_report import Made, report

__all__ = ["Made", "check_index", "report", "write_index"]
