// What the model saw at a request: every message before it is kept, elided, dropped or summarised, and the view is
// proved by its receipt or not. The stream marks each message; or it shows what the model saw, and nothing else.

const FATES = { k: "kept", e: "elided", d: "dropped", s: "summarised" };

/** How each message fared in the view of a request: a letter each, empty for those that came later. */
function fatesAt(request) {
  const { history, requests } = state;
  const fates = new Array(history.length).fill("");
  const epoch = requests.epochs[requests.epoch[request]];
  if (!epoch) return null;
  let place = 0;
  for (const [letter, length] of epoch.runs) {
    fates.fill(letter, place, place + length);
    place += length;
  }
  return fates.fill("k", place, Math.max(place, requests.place[request]));
}

/** How the view at hand cuts a message's parts; the last epoch that tells of it counts. */
function cutOf(place) {
  const { epochs, epoch } = state.requests;
  for (let at = epoch[state.request]; at >= 0; at -= 1) if (epochs[at].cuts[place]) return epochs[at].cuts[place];
  return null;
}

const insertedIn = (request) => (state.requests.epochs[state.requests.epoch[request]] || { inserted: [] }).inserted;

function showRequest(request, { go = true } = {}) {
  const { requests } = state;
  if (!requests.length) return;
  state.request = request;
  state.fates = request >= 0 ? fatesAt(request) : null;
  if (!state.fates) state.onlySeen = false;
  drawSeen();
  rebuild();
  if (request >= 0) {
    if (go) goToRequest();
    setHash(`#request-${requests.number[request]}`);
    say(timeline.describe(request));
  }
  timeline.draw();
}

/** Show the end of what the request saw, and the line at which it was made. */
function goToRequest() {
  const place = Math.max(0, state.requests.place[state.request] - 1);
  stream.go(units.ofRequest, 0, stream.scroller.clientHeight - 140);
  holdCurrent(Math.min(place, state.history.length - 1));
}

function setOnlySeen(onlySeen) {
  state.onlySeen = onlySeen && state.fates !== null;
  rebuild();
  drawSeen();
  goToRequest();
}

/** Make the stream's units anew and stay near the message in sight. */
function rebuild() {
  let place = state.current;
  buildUnits();
  while (place > 0 && units.ofMessage[place] < 0) place -= 1;
  stream.reset(units.kinds.length, { unit: Math.max(0, units.ofMessage[place] ?? 0), offset: 40 });
}

function proofOf(request) {
  const { requests } = state;
  const reason = requests.reasons[requests.reason[request]] || "";
  switch (requests.proved[request]) {
    case "y":
      return ["proved", "Proved", "The view was made again from the log, and its hash is that of the receipt."];
    case "n":
      return ["not-proved", "Not proved", reason];
    default:
      return ["unknown", "Not checked", "This view was not made again for the report: what came since the last one that was is taken for kept. `context-persistent view` proves it; so does a report with --views all."];
  }
}

function drawSeen() {
  const panel = byId("seen");
  const { requests, request } = state;
  panel.hidden = request < 0;
  if (request < 0) return panel.replaceChildren();
  const head = make("div", "seen-head");
  const step = (by, label, sign) => {
    const element = button("step", () => showRequest(Math.max(0, Math.min(requests.length - 1, request + by))), sign);
    element.setAttribute("aria-label", label);
    return element;
  };
  head.append(make("h2", "", make("span", "wide", "What the model saw at "), `request ${count(requests.number[request])}`), step(-1, "The request before", "‹"), step(1, "The next request", "›"));
  if (requests.receipts) {
    const [className, label, why] = proofOf(request);
    const badge = make("span", `badge ${className}`, label);
    if (className === "proved") badge.append(make("span", "wide", " by its receipt"));
    badge.title = why;
    head.append(badge);
    if (className === "not-proved" && why) head.append(make("span", "why", why));
  }
  const [budget, unbound] = [requests.budget[request], requests.unbound[request]];
  if (requests.tokens[request] >= 0) {
    const left = unbound > 0 ? ` · ${count(unbound)} without reasoning` : "";
    const tokens = make("span", "tokens", `${count(requests.tokens[request])}${budget ? ` of ${count(budget)}` : ""} tokens${left}`);
    if (left) tokens.title = withoutReasoning(unbound);
    head.append(tokens);
  }
  const close = button("quiet close", () => showRequest(-1), "Close");
  close.setAttribute("aria-label", "Close: what the model saw");
  head.append(close);
  panel.replaceChildren(head, ...(state.fates ? seenBody() : [make("p", "why", whyUnknown())]));
  drawStrip();
  return undefined;
}

function addedAfterwards(request) {
  const beyond = state.requests.beyond[request];
  const handedOut = "This is the view that was handed out.";
  let said = `${handedOut} The request had more if the host added to it: reminders of hooks, system text, a longer last result.`;
  if (beyond === 0) said = `${handedOut} The request had nothing more.`;
  if (beyond > 0) said = `${handedOut} The request had about ${count(beyond)} tokens more: what the host and the provider's framing added.`;
  return make("p", "why beyond", said);
}

function withoutReasoning(answers) {
  return `${count(answers)} ${answers === 1 ? "answer" : "answers"} without reasoning, as what stood before it had changed`;
}

function whyUnknown() {
  const { requests, request } = state;
  if (!requests.receipts) return "This session left no receipts, so nobody can say what its model was handed.";
  return requests.reasons[requests.reason[request]] || "This view was not made again; make the report with --views all.";
}

function seenBody() {
  const { requests, request } = state;
  const totals = { k: 0, e: 0, d: 0, s: 0 };
  for (const fate of state.fates) if (fate in totals) totals[fate] += 1;
  const legend = make("p", "legend");
  for (const [letter, name] of Object.entries(FATES)) {
    if (totals[letter] || letter !== "s") legend.append(make("span", `key fate-${letter}`, `${count(totals[letter])} ${name}`));
  }
  const inserted = insertedIn(request).length;
  if (inserted) legend.append(make("span", "key fate-i", `${count(inserted)} put in`));
  if (requests.beyond[request] > 0) legend.append(make("span", "key", `${count(requests.beyond[request])} tokens came after it`));
  const only = button("switch", () => setOnlySeen(!state.onlySeen), "As the model saw it");
  only.setAttribute("aria-pressed", String(state.onlySeen));
  legend.append(only);
  const strip = make("canvas", "");
  strip.id = "strip";
  strip.setAttribute("role", "img");
  strip.setAttribute("aria-label", `The messages before the request, the oldest first: ${Object.keys(totals).map((letter) => `${totals[letter]} ${FATES[letter]}`).join(", ")}`);
  strip.addEventListener("click", (event) => {
    const place = Math.floor((event.offsetX / strip.clientWidth) * Math.max(1, requests.place[request]));
    goToMessage(nearestShown(place));
  });
  return requests.receipts ? [strip, legend, addedAfterwards(request)] : [strip, legend];
}

function nearestShown(place) {
  for (let at = place; at < state.history.length; at += 1) if (isShown(at)) return at;
  return place;
}

/** A line for each message, or for each pixel the fate of most of them. */
function drawStrip() {
  const strip = byId("strip");
  if (!strip || !strip.clientWidth) return;
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [strip.clientWidth, strip.clientHeight];
  strip.width = width * scale;
  strip.height = height * scale;
  const pen = strip.getContext("2d");
  pen.scale(scale, scale);
  const colours = Object.fromEntries(["k", "e", "d", "s"].map((letter) => [letter, colourOf(`--fate-${letter}`)]));
  const total = Math.max(1, state.requests.place[state.request]);
  const columns = Math.min(total, Math.floor(width));
  for (let column = 0; column < columns; column += 1) {
    const seen = {};
    const to = Math.max(Math.floor(((column + 1) * total) / columns), Math.floor((column * total) / columns) + 1);
    for (let place = Math.floor((column * total) / columns); place < to; place += 1) {
      const fate = state.fates[place];
      seen[fate] = (seen[fate] || 0) + 1;
    }
    const fate = Object.keys(seen).sort((one, other) => seen[other] - seen[one])[0];
    pen.fillStyle = colours[fate] || "transparent";
    pen.fillRect((column * width) / columns, fate === "d" ? height - 5 : 0, Math.max(0.6, width / columns - (width / columns > 4 ? 1 : 0)), fate === "d" ? 5 : height);
  }
}
