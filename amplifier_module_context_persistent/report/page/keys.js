// Keys, and the dialogs: help, and the figures by model, tool and turn.

const KEYS = [
  ["j  k", "next, previous message"],
  ["]  [", "next, previous turn"],
  ["c  C", "next, previous compaction"],
  ["e  E", "next, previous call that failed or has no answer"],
  ["o", "unfold or fold the message; O: all calls of its turn"],
  ["v", "what the model saw at the request in sight; ‹ and › by , and ."],
  ["/", "find (also Ctrl F); Enter: next hit; Shift Enter: the one before"],
  ["p", "print the turns that are ticked"],
  ["t", "light or dark"],
  ["?", "this help; Esc closes"],
];

function step(by) {
  let place = state.current + by;
  while (place >= 0 && place < state.history.length && (units.ofMessage[place] < 0 || units.ofMessage[place] === units.ofMessage[state.current])) place += by;
  if (place >= 0 && place < state.history.length) goToMessage(place, { focus: true });
}

function stepTurn(by) {
  const { turns, turnOf } = state.history;
  let number = turnOf[state.current] + by;
  if (by < 0 && state.current > turns[turnOf[state.current]].start) number += 1;
  if (number >= 0 && number < turns.length) goToTurn(number);
}

function stepCompaction(by) {
  const { compactions } = state.requests;
  const here = state.currentCompaction ?? lastAtMost(compactions.map((compaction) => compaction.place), state.current);
  const number = Math.max(0, Math.min(compactions.length - 1, here + by));
  if (!compactions.length || state.onlySeen) return;
  stream.go(units.ofCompaction[number], 0, 60);
  state.currentCompaction = number;
}

function stepFailure(by) {
  const { calls } = state.history;
  for (let call = lastAtMost(calls.message, by > 0 ? state.current : state.current - 1) + (by > 0 ? 1 : 0); call >= 0 && call < calls.length; call += by) {
    if (calls.state[call] !== ".") return goToMessage(calls.message[call], { focus: true });
  }
  return say("no more");
}

function unfold(place, all) {
  const { turnOf, turns } = state.history;
  const [start, stop] = all ? [turns[turnOf[place]].start, turns[turnOf[place]].stop] : [place, place + 1];
  const keys = [];
  for (let at = start; at < stop; at += 1) {
    (bodies[at] || []).forEach((part, number) => part[0] === "c" || (!all && part[0] === "k") ? keys.push(`${at}:${number}`) : 0);
    if (!all && "tus".includes(state.history.roles[at])) keys.push(`${at}:m`);
  }
  const isOpen = keys.some((key) => state.open.has(key));
  for (const key of keys) if (isOpen) state.open.delete(key);
  else state.open.add(key);
  stream.refresh(all ? -1 : units.ofMessage[place]);
}

const ACTIONS = {
  j: () => step(1),
  k: () => step(-1),
  "]": () => stepTurn(1),
  "[": () => stepTurn(-1),
  c: () => stepCompaction(1),
  C: () => stepCompaction(-1),
  e: () => stepFailure(1),
  E: () => stepFailure(-1),
  o: () => unfold(state.current, false),
  O: () => unfold(state.current, true),
  v: () => showRequest(state.request < 0 ? timeline.here : -1),
  ",": () => showRequest(Math.max(0, timeline.here - 1)),
  ".": () => showRequest(Math.min(state.requests.length - 1, timeline.here + 1)),
  "/": () => byId("find").select(),
  p: () => window.print(),
  t: () => switchTheme(),
  "?": () => showHelp(),
};

function onKey(event) {
  const isFind = (event.ctrlKey || event.metaKey) && event.key === "f";
  if (isFind && document.activeElement !== byId("find")) {
    event.preventDefault(); // a second time the browser's own
    byId("find").select();
    return;
  }
  if (event.key === "Escape" && document.activeElement === byId("find")) {
    byId("find").value = "";
    find("");
    byId("stream").focus({ preventScroll: true });
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select") || byId("dialog").open) return;
  const action = state.history && ACTIONS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function switchTheme() {
  const isDark = page.dataset.theme ? page.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  page.dataset.theme = isDark ? "light" : "dark";
  timeline.draw();
  drawStrip();
}

function showDialog(title, ...content) {
  const dialog = byId("dialog");
  const head = make("h2", "", title);
  head.id = "dialog-title";
  const close = button("quiet close", () => dialog.close(), "Close");
  dialog.replaceChildren(head, close, ...content);
  dialog.addEventListener("close", () => dialog.replaceChildren(), { once: true });
  dialog.showModal();
}

function tableOfRows(caption, heads, rows) {
  const table = make("table", "figures", make("caption", "", caption));
  const line = (cells, tag) => make("tr", "", ...cells.map((cell) => make(tag, "", String(cell))));
  table.append(make("thead", "", line(heads, "th")), make("tbody", "", ...rows.map((row) => line(row, "td"))));
  return table;
}

function showHelp() {
  const keys = make("dl", "keys");
  for (const [key, what] of KEYS) keys.append(make("dt", "", make("kbd", "", key)), make("dd", "", what));
  const facts = [
    "This file is complete in itself: it asks for nothing, and its policy forbids it to. All that comes from the session is shown as text; addresses are not links.",
    "Its data follow the page in script elements of the class \"block\", which no browser runs. Each is JSON, compressed by gzip and written in base64: base64 -d | gunzip decodes what stands in one. The first holds the columns, the others the messages.",
  ];
  if (notes.redacted) facts.push(`${counted(notes.redacted, "value")} that looked like a secret ${notes.redacted === 1 ? "was" : "were"} replaced by [REDACTED], in ${counted(notes.redacted_messages, "message")}: find [REDACTED] to see where.`);
  else if (!notes.redacts) facts.push("Nothing was redacted: secrets in the session are in this file.");
  else facts.push("Nothing was recognised as a secret. What has no known form is not recognised: look through a report before you give it away.");
  if (notes.images_left_out) facts.push(`${counted(notes.images_left_out, "image")} too large, or of another kind than browsers show, ${notes.images_left_out === 1 ? "is" : "are"} left out.`);
  if (notes.hidden) facts.push(`${counted(notes.hidden, "message")} of the log are hidden by a clear or a reset, and are not in this report.`);
  if (notes.damage) facts.push(`The log has ${counted(notes.damage, "finding")} of damage; context-persistent verify tells them.`);
  showDialog("Keys, and this file", keys, ...facts.map((fact) => make("p", "", fact)));
}

function showFigures() {
  const { history, requests } = state;
  const tools = new Map();
  for (let call = 0; call < history.calls.length; call += 1) {
    const tool = tools.get(history.calls.tool[call]) || [0, 0, 0, 0];
    tool[0] += 1;
    tool[1] += history.calls.state[call] === "." ? 0 : 1;
    tool[2] += Math.max(0, history.calls.ms[call]);
    if (history.calls.result[call]) tool[3] += history.tokens[history.calls.message[call] + history.calls.result[call]];
    tools.set(history.calls.tool[call], tool);
  }
  const models = new Map();
  for (let at = 0; at < requests.length; at += 1) {
    if (requests.actual[at] < 0 && requests.output[at] < 0) continue;
    const name = requests.model[at] || requests.provider[at] || "not named";
    const model = models.get(name) || [0, 0, 0, 0, 0];
    model[0] += 1;
    model[1] += Math.max(0, requests.actual[at]);
    model[2] += Math.max(0, requests.cached[at]);
    model[3] += Math.max(0, requests.output[at]);
    models.set(name, model);
  }
  const byTokens = [...history.turns].sort((one, other) => other.tokens - one.tokens).slice(0, 12);
  const parts = [];
  if (models.size) {
    const rows = [...models].map(([name, [made, input, cached, output]]) => [name, count(made), count(input), percent(cached, input), count(output)]);
    parts.push(tableOfRows("By model, as the provider billed", ["model", "requests", "tokens read", "cached", "tokens written"], rows));
  }
  const toolRows = [...tools].sort((one, other) => other[1][3] - one[1][3]).slice(0, 20);
  parts.push(tableOfRows("By tool", ["tool", "calls", "not answered well", "time", "tokens of results"], toolRows.map(([name, [calls, bad, ms, tokens]]) => [name, count(calls), bad || "", duration(ms || -1), count(tokens)])));
  const turnRows = byTokens.map((turn) => {
    const bill = billOf(turn.start, turn.stop);
    return [turn.number, turn.line.slice(0, 60), duration(turn.ms || -1), count(turn.tokens), bill.input ? count(bill.input) : "", bill.input ? percent(bill.cached, bill.input) : ""];
  });
  parts.push(tableOfRows("The largest turns", ["turn", "first line", "time", "tokens", "tokens read", "cached"], turnRows));
  showDialog("Figures", ...parts, make("p", "", "Tokens of messages are counted by the package; tokens read, cached and written are what the provider reported."));
}
