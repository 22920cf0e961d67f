// What the stream shows, one unit after the other: turns, messages, compactions, messages that only a view has.
// A result stands with its call. Units are made anew when what is shown changes; their rows only when they are in sight.

const TURN = 0;
const MESSAGE = 1;
const COMPACTION = 2;
const INSERTED = 3;
const END = 4;
const REQUEST = 5;

const units = { kinds: [], refs: [], ofMessage: null, ofTurn: null, ofCompaction: null, ofRequest: -1, inserted: [] };

/** Whether a message is in sight at all: with "as the model saw it", only what its view held; and only of one kind. */
function isShown(place) {
  const isSeen = !state.onlySeen || state.fates[place] === "k" || state.fates[place] === "e";
  return isSeen && (!state.kind || isOfKind(place - state.history.owners[place]));
}

/** Whether a message is of the kind that is shown; a result is of that of its call. */
function isOfKind(place) {
  const { roles, chars, firstCall, calls } = state.history;
  const stop = firstCall[place + 1];
  switch (state.kind) {
    case "people":
      return roles[place] === "h";
    case "said":
      return roles[place] === "h" || (roles[place] === "a" && chars[place] > 0);
    case "calls":
      return stop > firstCall[place];
    default:
      for (let call = firstCall[place]; call < stop; call += 1) if (calls.state[call] !== ".") return true;
      return false;
  }
}

/** Show all messages again, so that one can be gone to that is not in sight. */
function showAll() {
  byId("kind").value = state.kind = "";
  state.onlySeen = false;
  rebuild();
  drawSeen();
}

function buildUnits() {
  const { history, requests } = state;
  const kinds = [];
  const refs = [];
  const add = (kind, ref) => kinds.push(kind) && refs.push(ref) - 1;
  units.ofMessage = new Int32Array(history.length).fill(-1);
  units.ofTurn = new Int32Array(history.turns.length);
  units.ofCompaction = new Int32Array(requests.compactions.length);
  units.inserted = state.onlySeen ? insertedIn(state.request) : [];
  units.ofRequest = -1;
  let compaction = 0;
  let inserted = 0;
  const between = (place) => {
    if (state.request >= 0 && units.ofRequest < 0 && requests.place[state.request] <= place) units.ofRequest = add(REQUEST, state.request);
    for (; compaction < requests.compactions.length && requests.compactions[compaction].place <= place; compaction += 1) {
      if (!state.onlySeen) units.ofCompaction[compaction] = add(COMPACTION, compaction);
    }
    for (; inserted < units.inserted.length && units.inserted[inserted][0] <= place; inserted += 1) add(INSERTED, inserted);
  };
  history.turns.forEach((turn, number) => {
    const hasAny = (!state.onlySeen && !state.kind) || anyShown(turn.start, turn.stop);
    if (hasAny) units.ofTurn[number] = add(TURN, number);
    for (let place = turn.start; place < turn.stop; place += 1) {
      between(place);
      const owner = place - history.owners[place];
      if (owner !== place && isShown(owner)) units.ofMessage[place] = units.ofMessage[owner];
      else if (isShown(place)) units.ofMessage[place] = add(MESSAGE, place);
    }
  });
  between(history.length);
  add(END, 0);
  units.kinds = Uint8Array.from(kinds);
  units.refs = Int32Array.from(refs);
}

/** The message that a unit is or comes after, in its turn; the next one where the turn has none before it; or -1. */
function messageAt(unit) {
  let at = unit;
  while (at > 0 && units.kinds[at] !== MESSAGE && units.kinds[at] !== TURN) at -= 1;
  if (units.kinds[at] !== MESSAGE) at = units.kinds.indexOf(MESSAGE, unit);
  return at < 0 ? -1 : units.refs[at];
}

function anyShown(start, stop) {
  for (let place = start; place < stop; place += 1) if (isShown(place)) return true;
  return false;
}

/** How tall a unit will be, as long as nobody has measured it. */
function guessedHeight(unit) {
  const ref = units.refs[unit];
  switch (units.kinds[unit]) {
    case TURN:
      return 76;
    case COMPACTION:
      return 64;
    case INSERTED:
      return 60;
    case REQUEST:
      return 44;
    case END:
      return 120;
    default: {
      const role = state.history.roles[ref];
      if (role === "t" || role === "u" || role === "s") return 34;
      return (state.history.folds[ref] + subAgentsAt(ref).length) * 34 + Math.ceil(state.history.chars[ref] / 80) * 25 + (state.history.chars[ref] ? 12 : 0);
    }
  }
}

/** The rows of a unit: `{height, make, text, place}`. */
function rowsOf(unit) {
  const ref = units.refs[unit];
  switch (units.kinds[unit]) {
    case TURN:
      return [{ height: 76, make: () => turnHead(ref) }];
    case COMPACTION:
      return compactionRows(ref);
    case INSERTED:
      return insertedRows(ref);
    case REQUEST:
      return [{ height: 44, make: () => make("div", "request", `Request ${count(state.requests.number[ref])} was made here`) }];
    case END:
      return [{ height: 120, make: () => make("p", "end", endText()) }];
    default:
      return [...messageRows(ref), ...subAgentRows(ref)];
  }
}

function endText() {
  if (state.onlySeen) return "The end of what this request was handed.";
  if (state.kind) return "The end. Other messages are not shown: the choice is above the turns.";
  return `The end: ${counted(state.history.length, "message")}.`;
}

function turnHead(number) {
  const turn = state.history.turns[number];
  const head = make("div", "turn");
  const title = make("h2", "", `Turn ${turn.number}`);
  const link = make("a", "here", "#");
  link.href = `#turn-${turn.number}`;
  link.setAttribute("aria-label", `Link to turn ${turn.number}`);
  const facts = [timeOf(turn.time), duration(turn.ms || -1), turn.calls ? counted(turn.calls, "call") : "", `${count(turn.tokens)} tokens`];
  const bill = billOf(turn.start, turn.stop);
  if (bill.input) facts.push(`${short(bill.input)} read${bill.cached > 0 ? `, ${percent(bill.cached, bill.input)} cached` : ""}`);
  if (bill.cost) facts.push(mark(bill.guess) + money(bill.cost));
  head.append(title, link, make("span", "turn-facts", facts.filter(Boolean).join(" · ")));
  if (turn.failed) head.append(make("span", "badge bad", `${turn.failed} went wrong`));
  return head;
}

/** What the requests of some messages were billed. */
function billOf(start, stop) {
  const { requests } = state;
  const bill = { requests: 0, input: 0, cached: 0, output: 0, cost: 0, guess: 0 };
  if (!requests.length) return bill;
  for (let at = lastAtMost(requests.place, start - 1) + 1; at < requests.length && requests.place[at] < stop; at += 1) {
    bill.requests += 1;
    bill.input += Math.max(0, requests.actual[at]);
    bill.cached += Math.max(0, requests.cached[at]);
    bill.output += Math.max(0, requests.output[at]);
    bill.cost += Math.max(0, requests.cost[at]);
    bill.guess += requests.guess[at];
  }
  return bill;
}

/** The numbers of the sub-agents that began after a message, in order. */
function subAgentsAt(place) {
  return state.subAgents.flatMap((one, number) => (one.place === place ? [number] : []));
}

/** Sub-agents' sessions, folded, where they began. */
function subAgentRows(place) {
  return subAgentsAt(place).flatMap((number) => {
    const one = state.subAgents[number];
    const key = `subagent:${number}`;
    const facts = [one.calls ? counted(one.calls, "call") : "", one.failed ? `${count(one.failed)} failed` : ""];
    if (one.cost > 0) facts.push(mark(one.guess) + money(one.cost));
    const said = facts.filter(Boolean).join(" · ");
    const rows = [{ height: 34, key, text: one.text, make: () => foldButton(key, "Sub-agent", "subagent", one.title || one.id, said) }];
    if (state.open.has(key)) rows.push(...codeRows(one.text));
    return rows.map((row) => ({ ...row, place }));
  });
}

function compactionRows(number) {
  const { summary } = state.requests.compactions[number];
  const row = { height: 64, make: () => compactionRow(number) };
  return summary ? [row, ...foldRows(`compaction:${number}`, "", "Its summary", summary, (said) => codeRows(said))] : [row];
}

function compactionRow(number) {
  const compaction = state.requests.compactions[number];
  const row = make("div", "compaction");
  row.append(make("strong", "", `Compaction ${number + 1}`));
  const facts = [];
  if (compaction.tokens_before) facts.push(`${count(compaction.tokens_before)} → ${count(compaction.tokens_after ?? 0)} tokens`);
  const taken = ["elided", "dropped", "summarised"]
    .filter((name) => compaction[`newly_${name}`] > 0)
    .map((name) => `${count(compaction[`newly_${name}`])} ${name}`);
  if (taken.length) facts.push(taken.join(", "));
  if (compaction.newly_dropped) facts.push(`${count(compaction.newly_lacking)} of those dropped name what the view lacks`);
  else if (!compaction.request) facts.push(`${counted(compaction.dropped, "message")} left out, ${count(compaction.kept)} kept`);
  else if (compaction.dropped || compaction.cuts) facts.push(`${count(compaction.dropped || 0)} dropped and ${count(compaction.cuts)} cut by its plan`);
  if (!compaction.request) facts.push("made by the agent from which the session was imported");
  else if (compaction.strategy) facts.push(compaction.strategy);
  const { item } = compaction;
  if (item) facts.push(`the provider made ${counted(item.covers ?? 0, "message")} an item of ${counted(item.tokens ?? 0, "token")}`);
  if (item?.input_tokens) facts.push(`for that it read ${count(item.input_tokens)} and wrote ${count(item.output_tokens ?? 0)}`);
  row.append(make("span", "", facts.join(" · ")));
  if (compaction.request) row.append(button("quiet", () => showRequest(compaction.at), `What request ${compaction.request} saw`));
  return row;
}

function insertedRows(number) {
  const [, role, text] = units.inserted[number];
  const said = state.requests.texts[text] ?? "";
  const label = { height: 30, make: () => make("div", "inserted-label", role === "system" ? "System text at the head of the view" : "Put in by the view; the history does not hold it") };
  const key = `inserted:${text}`;
  const isLong = said.length > 1200 && !state.open.has(key);
  const rows = [label, ...codeRows(isLong ? said.slice(0, 600) : said, { className: "inserted" })];
  if (isLong) rows.push({ height: 30, make: () => foldButton(key, `all ${count(said.length)} characters`) });
  return rows;
}
