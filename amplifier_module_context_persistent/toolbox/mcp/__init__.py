"""A server that shows agents the sessions of one project, or of all, over the Model Context Protocol. It only reads.

Rules of this package:
- The scope is fixed when the server starts; no argument of a tool widens it. Sessions out of scope are unknown to it.
- Every text of a session is shown without its secrets, as exports show it, in a field of its own. No sentence of ours
  surrounds it, because a session may contain any text, also one that reads like an instruction.
- Nothing is written, not even a catalogue. The server asks no person.

Where things are done:
- the tools and the check of a call: `server`; what they answer: `answers`; how long an answer may be: `answer_size`,
  and what does not fit is told by `answers`;
- which sessions are in scope, and without secrets: `scope`; sessions that no search has indexed yet: `index_ahead`.
"""
