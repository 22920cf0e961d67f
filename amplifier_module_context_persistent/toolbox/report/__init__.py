"""Make a report: one HTML page of a session to send to others, complete, without network, without foreign code.

    from amplifier_module_context_persistent.toolbox.replay import open_transcript
    from amplifier_module_context_persistent.toolbox.report import report

    with open_transcript("session.jsonl") as transcript:
        report(transcript, "session.html")

Rules of this package:
- It only reads, except that it writes the report's file; and in a directory of reports the list and the note.
- Data of a session reach the page as compressed JSON, or through the template's escaping. The script inserts them as
  text, never as markup.
- `page/` has the template, the styles and the script, which are copied into the file: nothing is minified or built.

Where things are done:
- what the page shows is read: `history` (messages, turns), `requests` (tokens, cost, what the model saw),
  `sub_agents_of_page`; one message, without its secrets, and with the images that fit:
  `message_body`; characters that do not print are escaped: `visible_text`;
- it becomes one file: `write_report`, with `page_frame`; a list of reports: `index_page`; the pages that were made
  for it earlier: `made_pages`; how it looks and behaves in a browser: `page/`.
"""

from .index_page import check_index, write_index
from .made_pages import MadePages, place_of
from .write_report import Made, report

__all__ = ["Made", "MadePages", "check_index", "place_of", "report", "write_index"]
