"""Make a plan for a view that is too large: which messages it keeps, shortens or leaves out. Pure.

A tool group is a message with the results of its calls. Each group has shorter forms (`shorter_forms`), a loss gives
the forms prices (`losses`), promises limit which forms are allowed (`always_kept`), and one loop chooses (`choose`).
`planner` calls these parts in turn and writes the plan.

Rules of this package:
- A plan is a decision about records. Nothing here changes a message or knows a file.
- A tool group is kept or left out as a whole. Each stage of the choice goes only as far as needed.
- A strategy is a row in `strategies`: a loss and a list of promises.
- Promises, losses and forms depend on the draft (the view in the making) alone. Only the choice and the functions that
  follow it change a draft.
"""
