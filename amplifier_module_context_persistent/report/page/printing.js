// Printing: the turns that are ticked, else the one in sight, whole and unfolded but for what is folded on the screen.

const MOST_PRINTED_ROWS = 20_000;

function printedTurns() {
  const chosen = [...state.selected].sort((one, other) => one - other);
  return chosen.length ? chosen : [state.history.turnOf[state.current] || 0];
}

function fillPrint() {
  if (!state.history || byId("printed")) return;
  const sheet = make("div", "printed");
  sheet.id = "printed";
  sheet.append(make("h1", "", document.title), make("p", "facts", byId("facts").innerText));
  let left = MOST_PRINTED_ROWS;
  for (const number of printedTurns()) {
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
