// Printing: the turns that are ticked, else the one in sight, whole and unfolded but for what is folded on the screen.

const MOST_PRINTED_ROWS = 20_000;

function printedTurns() {
  const chosen = [...state.selected].sort((one, other) => one - other);
  return chosen.length ? chosen : [state.history.turnOf[state.current] || 0];
}

/** What a sheet is of: the title, the session and its turns on paper, and the figures of all of it. */
function printHead(printed) {
  const { turns } = state.history;
  const numbers = runsOf(printed.map((at) => turns[at].number)).join(", ");
  const part = printed.length < turns.length ? `turn${printed.length === 1 ? "" : "s"} ${numbers} of ${count(turns.length)}` : "";
  const said = [...byId("facts").children].map((fact) => fact.textContent);
  const head = make("header", "print-head", make("h1", "", document.title));
  head.append(make("p", "", [`Session ${notes.id}`, part].filter(Boolean).join(" · ")), make("p", "", `In all: ${said.join(" · ")}`));
  return head;
}

/** Numbers in order as `1`, `3-5`. */
function runsOf(numbers) {
  const runs = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
}

function fillPrint() {
  if (!state.history || byId("printed")) return;
  const sheet = make("div", "printed");
  sheet.id = "printed";
  const turns = printedTurns();
  sheet.append(printHead(turns));
  let left = MOST_PRINTED_ROWS;
  for (const number of turns) {
    const { start, stop } = state.history.turns[number];
    sheet.append(turnHead(number));
    for (let place = start; place < stop && left > 0; place += 1) {
      const owner = place - state.history.owners[place];
      if (owner !== place || !isShown(place)) continue;
      messageRows(place).forEach((row, at) => {
        left -= 1;
        if (left > 0) sheet.append(streamRow(row.make(), units.ofMessage[place], at, row));
      });
    }
  }
  if (left <= 0) sheet.append(make("p", "end", "The rest is left out: print fewer turns at a time."));
  document.body.append(sheet);
}

function clearPrint() {
  const sheet = byId("printed");
  if (sheet) sheet.remove();
}

function beginPrinting() {
  window.addEventListener("beforeprint", fillPrint);
  window.addEventListener("afterprint", clearPrint);
  byId("print-button").addEventListener("click", () => window.print());
}
