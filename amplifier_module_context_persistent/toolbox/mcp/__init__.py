"""A server for agents: sessions of one project, or of all, over the Model Context Protocol. It reads, and nothing else.

Rules of this package:
- The scope is fixed when the server starts; no argument of a tool widens it. What is out of scope is unknown.
- Every text of a session is shown without its secrets, as exports show it, and stands in a field of its own: a session
  may hold anything, also what reads like an instruction. No sentence of ours surrounds it.
- Nothing is written, not even a catalogue, and nobody is asked.

Where things are done:
- the tools and the check of a call: `server`; what they answer: `answers`; how long an answer may be: `answer_size`;
- which sessions are in scope, and without secrets: `scope`; sessions that no search has indexed yet: `index_ahead`.
"""
