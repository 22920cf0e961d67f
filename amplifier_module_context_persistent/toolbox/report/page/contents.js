// The contents: a row for each turn, with its first line and its figures; turns that are ticked are printed.

let contents = null;

function beginContents() {
  const { turns } = state.history;
  contents = new List(byId("contents"), "contents", {
    guess: () => 64,
    mostNodes: 150,
    rowsOf: (number) => [{ height: 64, make: () => contentsRow(turns[number], number) }],
    finish: (element) => element,
  });
  contents.reset(turns.length);
  byId("turns-button").addEventListener("click", () => showTurns(!page.classList.contains("turns")));
  byId("contents").addEventListener("click", (event) => event.target.closest("a") && showTurns(false));
}

/** The choice of which messages are shown. */
function beginKinds() {
  byId("kind").addEventListener("change", () => {
    state.kind = byId("kind").value;
    rebuild();
  });
}

/** Where the page is narrow, the contents lie over the messages while they are asked for. */
function showTurns(isShown) {
  const isOpen = page.classList.toggle("turns", isShown);
  byId("turns-button").setAttribute("aria-expanded", String(isOpen));
  if (!isOpen) return;
  const number = state.history.turnOf[state.current] || 0;
  contents.go(number, 0, contents.scroller.clientHeight / 3);
  contents.focusRow(`${number}.0`);
}

function contentsRow(turn, number) {
  const row = make("div", "entry");
  row.dataset.turn = String(number);
  if (number === state.history.turnOf[state.current]) row.classList.add("current");
  const tick = make("input", "");
  tick.type = "checkbox";
  tick.checked = state.selected.has(number);
  tick.setAttribute("aria-label", `Print turn ${turn.number}`);
  tick.addEventListener("change", () => {
    if (tick.checked) state.selected.add(number);
    else state.selected.delete(number);
  });
  const facts = [clockOf(turn.time), duration(turn.ms || -1), turn.calls ? counted(turn.calls, "call") : ""].filter(Boolean);
  const line = make("small", "", facts.join(" · "));
  if (turn.failed) line.append(facts.length ? " · " : "", make("em", "bad", `${turn.failed} went wrong`));
  line.append(`${facts.length || turn.failed ? " · " : ""}${short(turn.tokens)} tokens`);
  const link = make("a", "", make("b", "", `${turn.number}`), turn.line || "(no text)");
  link.href = `#turn-${turn.number}`;
  link.dir = "auto";
  row.append(tick, link, line);
  return row;
}

/** Mark the turn in sight, and keep its entry in sight. */
function followContents() {
  const number = state.history.turnOf[state.current];
  if (!contents || number === contents.current) return;
  contents.current = number;
  for (const element of contents.shown.values()) element.classList.toggle("current", element.dataset.turn === String(number));
  const at = contents.heights.before(number);
  const height = contents.scroller.clientHeight;
  if (at < contents.top || at + 64 > contents.top + height) contents.go(number, 0, height / 3);
}
