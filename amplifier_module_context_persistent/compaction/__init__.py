"""From a view that is too large to a plan, pure.

Rules of this package:
- A plan is a decision about records; nothing here changes a message or knows a file.
- Whole tool groups only; each step of the ladder goes only as far as needed.
- A strategy is one function in `strategies`; they share protections, plan and renderer.
"""
