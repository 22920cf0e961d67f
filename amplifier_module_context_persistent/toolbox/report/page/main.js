// The page comes to life: the list, what moves in it, and the data as they arrive.

let stream = null;

function streamRow(content, unit, number, row) {
  const { place } = row;
  const isMessage = place !== undefined;
  const element = make("div", `row${isMessage ? ` role-${row.role}` : ""}`);
  const fate = isMessage && state.fates ? row.fate || state.fates[place] : "";
  if (fate) element.classList.add("marked", `fate-${fate}`);
  if (isMessage && place === state.current) element.classList.add("current");
  if (isMessage && number === 0) {
    element.append(idLink(place), copyButton(place));
    if (FATES[fate] && fate !== "k") element.dataset.fate = FATES[fate];
  } else if (row.fate && FATES[row.fate] && row.fate !== "k") element.dataset.fate = FATES[row.fate];
  element.append(content);
  return element;
}

/** The message that the keys are about, and that the contents and the timeline follow. */
function setCurrent(place) {
  state.current = place;
  for (const element of stream.shown.values()) {
    const { unit } = element.at;
    element.classList.toggle("current", units.kinds[unit] === MESSAGE && unit === units.ofMessage[place]);
  }
  followContents();
}

/** Keep a message the current one, though it may not be the first in sight, until somebody scrolls. */
function holdCurrent(place) {
  setCurrent(place);
  state.heldTop = stream.top;
  timeline.draw();
}

function onRender() {
  if (state.query) markHits();
  if (Math.abs(stream.top - (state.heldTop ?? -1)) < 2) return setCurrent(state.current);
  state.heldTop = undefined;
  state.currentCompaction = undefined;
  const place = messageAt(stream.rowAt(stream.top + 60).unit);
  if (place < 0) return undefined;
  const hasMoved = place !== state.current;
  setCurrent(place);
  if (hasMoved && state.request < 0) timeline.draw();
  return undefined;
}

/** The number of a call's part in its message; -1 while the message is not loaded. */
function partOfCall(place, call) {
  const numbers = (bodies[place] || []).map((part, number) => (part[0] === "c" ? number : -1)).filter((number) => number >= 0);
  return numbers[call - state.history.firstCall[place]] ?? -1;
}

function goToMessage(place, { focus = false, call = -1 } = {}) {
  if (!isShown(place)) showAll();
  const unit = units.ofMessage[place];
  if (unit < 0) return;
  const rows = stream.rowsAt(unit);
  const key = call < 0 ? "" : `${place}:${partOfCall(place, call)}`;
  const row = Math.max(0, rows.findIndex((one) => (call < 0 ? one.place === place : one.key === key)));
  const isFirst = !row && state.history.turns[state.history.turnOf[place]].start === place;
  stream.go(isFirst && unit > 0 && units.kinds[unit - 1] === TURN ? unit - 1 : unit, isFirst ? 0 : row, isFirst ? 8 : 64);
  holdCurrent(place);
  if (focus) stream.focusRow(`${unit}.${row}`);
}

function goToTurn(number) {
  const { start } = state.history.turns[number];
  if (!anyShown(start, state.history.turns[number].stop)) showAll();
  stream.go(units.ofTurn[number], 0, 8);
  holdCurrent(start);
}

function setHash(hash) {
  if (location.hash !== hash) history.replaceState(null, "", hash);
}

/** A part of an address as it was before it was put there; itself where it is none. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Go where the address says: #m-ID, #turn-N, #request-N. */
function goToHash() {
  const hash = location.hash.slice(1);
  let number;
  if (hash.startsWith("m-")) {
    const name = decoded(hash.slice(2));
    const place = state.history.places.get(name) ?? (/^n\d+$/.test(name) ? Number(name.slice(1)) - 1 - notes.first : -1);
    const owner = place - (state.history.owners[place] || 0);
    if (place < 0 || place >= state.history.length) return say("there is no such message");
    if (owner !== place && bodies[owner]) {
      bodies[owner].forEach((part, at) => part[0] === "c" && resultOf(owner, at) === place && state.open.add(`${owner}:${at}`));
      stream.refresh(units.ofMessage[owner]);
    }
    goToMessage(place);
  } else if (hash.startsWith("turn-")) {
    number = state.history.turns.findIndex((turn) => turn.number === Number(hash.slice(5)));
    if (number >= 0) goToTurn(number);
  } else if (hash.startsWith("request-") && state.requests.length) {
    number = state.requests.number.indexOf(Number(hash.slice(8)));
    if (number >= 0 && number !== state.request) showRequest(number);
  }
  return undefined;
}

function begin() {
  buildUnits();
  stream = new List(byId("stream"), "stream", { rowsOf, guess: guessedHeight, finish: streamRow, onRender });
  beginContents();
  stream.reset(units.kinds.length);
  timeline.begin();
  beginFind();
  beginPrinting();
  beginKinds();
  byId("figures-button").addEventListener("click", showFigures);
  byId("help-button").addEventListener("click", showHelp);
  byId("theme-button").addEventListener("click", switchTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => timeline.draw());
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", goToHash);
  window.addEventListener("resize", () => drawStrip());
  page.dataset.state = "reading";
}

function onMore(part) {
  byId("progress").value = part;
  if (stream.host.querySelector(".waiting")) stream.refresh();
}

async function start() {
  try {
    await load(begin, onMore);
  } catch (error) {
    page.dataset.state = "failed";
    byId("progress").remove();
    byId("stream").prepend(make("p", "failed", `The data of this file cannot be read: ${error.message}. It may have been cut short on its way.`));
    return;
  }
  state.loaded = true;
  byId("progress").remove();
  page.dataset.state = "loaded";
  stream.refresh();
  if (location.hash.length > 1) goToHash();
  if (byId("find").value) find(byId("find").value);
  say(`${counted(state.history.length, "message")} loaded`);
}

start();
