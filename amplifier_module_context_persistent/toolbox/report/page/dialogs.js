// The dialogs: help, and the figures by model, tool and turn.

function showDialog(title, ...content) {
  const dialog = byId("dialog");
  const head = make("h2", "", title);
  head.id = "dialog-title";
  const close = button("quiet close", () => dialog.close(), "Close");
  dialog.replaceChildren(head, close, ...content);
  dialog.addEventListener("close", () => dialog.replaceChildren(), { once: true });
  dialog.showModal();
}

/** A table that is moved sideways where it is too wide; a column in which no row has anything is left out. */
function tableOfRows(caption, heads, rows) {
  const filled = heads.map((_, at) => at).filter((at) => at === 0 || rows.some((row) => row[at] !== ""));
  const table = make("table", "figures", make("caption", "", caption));
  const cell = (content) => (content instanceof Node ? content : String(content));
  const line = (cells, tag) => make("tr", "", ...filled.map((at) => make(tag, "", cell(cells[at]))));
  table.append(make("thead", "", line(heads, "th")), make("tbody", "", ...rows.map((row) => line(row, "td"))));
  const frame = make("div", "scrolls", table);
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", caption);
  return frame;
}

function showHelp() {
  const keys = make("dl", "keys");
  for (const [key, what] of KEYS) keys.append(make("dt", "", make("kbd", "", key)), make("dd", "", what));
  const facts = [
    "This file is complete in itself: it asks for nothing, and its policy forbids it to. All that comes from the session is shown as text; addresses are not links.",
    "Its data follow the page in script elements of the class \"block\", which no browser runs. Each is JSON, compressed by gzip and written in base64: base64 -d | gunzip decodes what stands in one. The first holds the columns, the others the messages.",
  ];
  if (notes.redacted) {
    const kinds = Object.entries(notes.redacted_kinds).map(([kind, number]) => `${kind} ${count(number)}`).join(", ");
    facts.push(`${counted(notes.redacted, "secret")} in ${counted(notes.redacted_messages, "message")} replaced by [REDACTED] (${kinds}). Find [REDACTED] to see where.`);
  } else if (!notes.redacts) facts.push("Nothing was redacted: secrets in the session are in this file.");
  else facts.push("Nothing was recognised as a secret. What has no known form is not recognised: look through a report before you give it away.");
  if (notes.images_left_out) facts.push(`${counted(notes.images_left_out, "image")} too large, or of another kind than browsers show, ${notes.images_left_out === 1 ? "is" : "are"} left out.`);
  if (notes.hidden) facts.push(`${counted(notes.hidden, "message")} of the log are hidden by a clear or a reset, and are not in this report.`);
  if (notes.damage) facts.push(`The log has ${counted(notes.damage, "finding")} of damage; context-persistent verify tells them.`);
  showDialog("Keys, and this file", keys, ...facts.map((fact) => make("p", "", fact)));
}

/** What each tool was called for: calls, those not answered well, milliseconds, tokens of results. */
function byTool() {
  const { history } = state;
  const { calls } = history;
  const tools = new Map();
  for (let call = 0; call < calls.length; call += 1) {
    const sums = tools.get(calls.tool[call]) || [0, 0, 0, 0];
    tools.set(calls.tool[call], sums);
    sums[0] += 1;
    sums[1] += calls.state[call] === "." ? 0 : 1;
    sums[2] += Math.max(0, calls.ms[call]);
    if (calls.result[call]) sums[3] += history.tokens[calls.message[call] + calls.result[call]];
  }
  return [...tools].sort((one, other) => other[1][3] - one[1][3]).slice(0, 20);
}

/** What each model was asked: requests, tokens read, of these cached, written, dollars (-1 where one has no price), outputs counted here. */
function byModel() {
  const { requests } = state;
  const models = new Map();
  for (let at = 0; at < requests.length; at += 1) {
    if (requests.actual[at] < 0 && requests.output[at] < 0) continue;
    const name = requests.model[at] || requests.provider[at] || "not named";
    const sums = models.get(name) || [0, 0, 0, 0, 0, 0];
    models.set(name, sums);
    sums[0] += 1;
    ["actual", "cached", "output"].forEach((key, number) => (sums[number + 1] += Math.max(0, requests[key][at])));
    sums[4] = sums[4] < 0 || requests.cost[at] < 0 ? -1 : sums[4] + requests.cost[at];
    sums[5] += requests.guess[at];
  }
  return [...models];
}

const priced = (dollars, guesses) => (dollars > 0 ? mark(guesses) + money(dollars) : dollars < 0 ? "no price" : "");

/** Links to turns; the dialog closes as one is followed. */
function turnLinks(numbers) {
  const links = numbers.map((number) => {
    const link = make("a", "", String(number));
    link.href = `#turn-${number}`;
    link.addEventListener("click", () => byId("dialog").close());
    return link;
  });
  return make("span", "", ...links.flatMap((link, at) => (at ? [", ", link] : [link])));
}

function showFigures() {
  const models = byModel();
  const parts = [];
  if (models.length) {
    const rows = models.map(([name, [made, input, cached, output, cost, guess]]) => [name, count(made), count(input), cached ? percent(cached, input) : "", output ? mark(guess) + count(output) : "", priced(cost, guess)]);
    parts.push(tableOfRows("By model", ["model", "requests", "tokens read", "cached", "tokens written", "cost"], rows));
  }
  const tools = byTool().map(([name, [calls, bad, ms, tokens]]) => [name, count(calls), bad || "", duration(ms || -1), count(tokens)]);
  if (tools.length) parts.push(tableOfRows("By tool", ["tool", "calls", "went wrong", "time", "tokens of results"], tools));
  const largest = [...state.history.turns].sort((one, other) => other.tokens - one.tokens).slice(0, 12);
  const turns = largest.map((turn) => {
    const bill = billOf(turn.start, turn.stop);
    const line = turn.line.length > 48 ? `${turn.line.slice(0, 47)}…` : turn.line;
    return [`${turn.number}  ${line}`, duration(turn.ms || -1), count(turn.tokens), bill.input ? count(bill.input) : "", bill.cached ? percent(bill.cached, bill.input) : "", priced(bill.cost, bill.guess)];
  });
  parts.push(tableOfRows("The largest turns", ["turn", "time", "tokens", "tokens read", "cached", "cost"], turns));
  const touched = state.files.map((file) => [file.path, file.read || "", file.changed || "", file.created || "", file.deleted || "", turnLinks(file.turns)]);
  if (touched.length) parts.push(tableOfRows("Files, the last one touched first", ["file", "read", "changed", "created", "deleted", "turns"], touched));
  const why = "Tokens of messages are counted by the package; tokens read, cached and written are what providers reported.";
  const asOf = models.some(([, sums]) => sums[4] > 0) ? ` Costs are by these prices: ${notes.prices}.` : "";
  const guessed = models.some(([, sums]) => sums[5] > 0) ? " Those with ~ have outputs that nobody reported; they were counted here." : "";
  showDialog("Figures", ...parts, make("p", "", why + asOf + guessed));
}
