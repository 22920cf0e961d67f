// The rows of one message: its text, its thinking, its calls with their results, its images.

const RESULT_LINES = 60; // of a result that is unfolded; then a button shows the rest
const HUMAN_LINES = 80;
const STATES = { f: "failed", r: "rejected", u: "no answer" };

function messageRows(place) {
  const body = bodies[place];
  if (!body) return [{ height: guessedHeight(units.ofMessage[place]), make: () => make("div", "waiting", "…"), waits: true }];
  const role = state.history.roles[place];
  const parts = shownParts(place, body);
  let rows = [];
  if (role === "t" || role === "u" || role === "s") rows = foldedMessage(place, role, parts);
  else {
    let call = state.history.firstCall[place];
    parts.forEach((part, number) => {
      if (part[0] === "c") rows.push(...callRows(place, number, part, call));
      else rows.push(...partRows(place, number, part, role));
      if (part[0] === "c") call += 1;
    });
    if (!rows.length) rows.push({ height: 30, make: () => make("div", "empty", role === "h" ? "(nothing)" : "(an empty answer)") });
  }
  return rows.map((row) => ({ place, role, ...row }));
}

/** A message's parts; where only what the model saw is shown, as the view has them. */
function shownParts(place, body) {
  const cut = state.onlySeen && state.fates[place] === "e" ? cutOf(place) : null;
  if (!cut) return body;
  const parts = [];
  body.forEach((part, number) => {
    const change = cut[number];
    if (change === null || change === undefined) parts.push(part);
    else if (change.length) {
      const [head, tail, between] = change;
      const text = part.at(-1);
      parts.push([...part.slice(0, -1), text.slice(0, head) + between + (tail ? text.slice(-tail) : "")]);
    } else if (part[0] === "c") parts.push(part);
  });
  return parts;
}

function partRows(place, number, part, role) {
  const key = `${place}:${number}`;
  switch (part[0]) {
    case "t":
      return role === "h" ? humanRows(key, part[1]) : markdownRows(part[1], "said");
    case "k":
      return foldRows(key, "thinking", "Thinking", part[1], (text) => markdownRows(text, "thought"));
    case "i":
      return [{ height: 200, make: () => imageOf(part) }];
    case "s":
      return [];
    default:
      return codeRows(String(part[1]));
  }
}

function humanRows(key, text) {
  const lines = text.split("\n");
  const isLong = (lines.length > HUMAN_LINES || text.length > 12_000) && !state.open.has(`${key}:all`);
  const rows = markdownRows(isLong ? lines.slice(0, 30).join("\n").slice(0, 6000) : text, "human");
  if (isLong) rows.push({ height: 32, make: () => foldButton(`${key}:all`, `all ${counted(lines.length, "line")}`, "human") });
  return rows;
}

/** A part that is folded: its label, and its rows where it is open. */
function foldRows(key, className, label, text, rowsOfText) {
  const meta = text.length < 1000 ? "" : `${short(text.length)} characters`;
  const preview = state.open.has(key) ? "" : text.trim().split("\n")[0].slice(0, 140);
  const rows = [{ height: 34, key, make: () => foldButton(key, label, className, preview, meta) }];
  if (state.open.has(key)) rows.push(...rowsOfText(text));
  return rows;
}

function foldButton(key, label, className = "", preview = "", meta = "") {
  const isOpen = state.open.has(key);
  const element = button(`fold ${className}`, () => toggle(key), make("b", "", label));
  if (preview) element.append(make("span", "", preview));
  if (meta) element.dataset.meta = meta;
  element.setAttribute("aria-expanded", String(isOpen));
  return element;
}

function foldedMessage(place, role, parts) {
  const source = parts.find((part) => part[0] === "s");
  const labels = { t: "Result without its call", s: "System", u: `Inserted${source ? ` by ${source[1]}` : ""}` };
  const text = parts.filter((part) => part[0] === "t").map((part) => part[1]).join("\n");
  const images = parts.filter((part) => part[0] === "i");
  return [
    ...foldRows(`${place}:m`, `message-${role}`, labels[role], text, (said) => codeRows(said)),
    ...images.map((part) => ({ height: 200, make: () => imageOf(part) })),
  ];
}

function callRows(place, number, part, call) {
  const { calls, history } = { calls: state.history.calls, history: state.history };
  const [, , tool, raw] = part;
  const key = `${place}:${number}`;
  const result = calls.result[call] ? place + calls.result[call] : -1;
  const isCut = state.onlySeen && result >= 0 && !isShown(result);
  const given = argumentsOf(raw);
  const stateName = STATES[calls.state[call]] || "";
  const row = {
    height: 34,
    key,
    text: `${tool} ${raw.slice(0, 400)}`,
    fate: result >= 0 && state.fates && state.fates[place] === "k" ? state.fates[result] : "",
    make: () => {
      const meta = [duration(calls.ms[call]), result >= 0 ? `${short(history.tokens[result])} tokens` : ""];
      const element = foldButton(key, tool, `call ${stateName ? "bad" : ""}`, summaryOf(given, raw), meta.filter(Boolean).join(" · "));
      if (stateName) element.append(make("em", "badge", stateName));
      return element;
    },
  };
  if (!state.open.has(key)) return [row];
  const rows = [row, ...argumentRows(given, raw)];
  if (result >= 0 && !isCut) rows.push(...resultRows(key, result));
  else rows.push({ height: 28, make: () => make("div", "label", result < 0 ? "No result: the call was never answered" : "The view had no result of it") });
  return rows;
}

function argumentRows(given, raw) {
  if (!given) return codeRows(raw, { className: "asked" });
  const rows = [];
  const edits = editsOf(given);
  const path = pathOf(given);
  const isWriting = typeof given.content === "string" && path;
  const long = [];
  const plain = [];
  for (const [name, value] of Object.entries(given)) {
    if (edits && /^(?:old|new)_?(?:string|str|text)?$/i.test(name)) continue;
    if (edits && name === "edits") continue;
    if (isWriting && name === "content") continue;
    if ((edits || isWriting) && (value === path || value === false)) continue; // the line above says it
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
    if (text.length > 300 || text.includes("\n")) long.push([name, text]);
    else plain.push(`${name}: ${text}`);
  }
  if (plain.length) rows.push(...codeRows(plain.join("\n"), { className: "asked", isDiff: false }));
  for (const [name, text] of long) {
    rows.push({ height: 26, make: () => make("div", "label", name) }, ...codeRows(text, { className: "asked" }));
  }
  if (edits) rows.push(...codeRows(edits, { className: "edit", isDiff: true }));
  if (isWriting) rows.push(...codeRows(given.content.split("\n").map((line) => `+${line}`).join("\n"), { className: "edit", isDiff: true }));
  return rows;
}

function resultRows(key, result) {
  const body = bodies[result];
  const { history } = state;
  const at = { place: result, role: "t" };
  if (!body) return [{ ...at, height: 30, make: () => make("div", "waiting", "…") }];
  const parts = shownParts(result, body);
  const text = parts.filter((part) => part[0] !== "i" && part[0] !== "s").map((part) => part.at(-1)).join("\n");
  const lines = text.split("\n");
  const isLong = (lines.length > RESULT_LINES + 10 || text.length > 20_000) && !state.open.has(`${key}:all`);
  const shown = isLong ? lines.slice(0, RESULT_LINES).join("\n").slice(0, 10_000) : text;
  const label = {
    height: 28,
    make: () => {
      const element = make("div", "label", "Result", idLink(result));
      element.dataset.meta = [timeOf(history.times[result]), `${count(history.tokens[result])} tokens`].filter(Boolean).join(" · ");
      return element;
    },
  };
  const rows = [label, ...(text ? codeRows(shown, { className: "result" }) : [{ height: 24, make: () => make("div", "empty", "(nothing)") }])];
  if (isLong) rows.push({ height: 34, make: () => foldButton(`${key}:all`, `all ${counted(lines.length, "line")}, ${short(text.length)} characters`) });
  for (const part of parts) if (part[0] === "i") rows.push({ height: 200, make: () => imageOf(part) });
  return rows.map((row) => ({ ...row, ...at }));
}

function imageOf([, kind, data]) {
  const image = make("img", "image");
  image.alt = `An image (${kind})`;
  image.src = `data:${kind};base64,${data}`;
  image.addEventListener("load", () => stream.render());
  return image;
}

/** A link to a message by its id, or by its number where it has none. */
function idLink(place) {
  const link = make("a", "no", String(notes.first + place + 1));
  link.href = hashOf(place);
  link.title = state.history.ids[place];
  return link;
}

const hashOf = (place) => `#m-${encodeURIComponent(state.history.ids[place] || `n${notes.first + place + 1}`)}`;

function toggle(key) {
  if (state.open.has(key)) state.open.delete(key);
  else state.open.add(key);
  const place = Number(key.split(":")[0]);
  const focused = document.activeElement && document.activeElement.closest(".row");
  stream.refresh(Number.isNaN(place) ? -1 : units.ofMessage[place]);
  if (focused) stream.focusRow(focused.dataset.name);
}
