"""From a view that is too large to a plan, pure.

Groups offer shorter forms (`shorter_forms`), a loss prices them (`losses`), promises bound them (`always_kept`), one
loop chooses (`choose`); `planner` calls them in turn and writes the plan.

Rules of this package:
- A plan is a decision about records; nothing here changes a message or knows a file.
- Whole tool groups only; each stage of the choice goes only as far as needed.
- A strategy is a row in `strategies`: a loss and a list of promises.
- Promises, losses and forms depend on the draft alone; only the choice and what follows from it change one.
"""
