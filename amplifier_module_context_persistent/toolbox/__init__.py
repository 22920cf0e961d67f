"""The tools for users: commands, reports, replay, import and export, maintenance, the demonstration.

Nothing outside of this wing imports it, nor click, rich, jinja2, markdown-it or zstd: a mounted session needs none
of them.
"""
