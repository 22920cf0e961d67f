// Keys, and what they do.

const KEYS = [
  ["j  k", "next, previous message"],
  ["]  [", "next, previous turn"],
  ["c  C", "next, previous compaction"],
  ["e  E", "next, previous call that failed or has no answer"],
  ["o", "unfold or fold the message; O: all calls of its turn"],
  ["v", "what the model saw at the request in sight, or no longer"],
  [",  .", "the request before, the next request"],
  ["/", "find (also Ctrl F); Enter: next hit; Shift Enter: the one before"],
  ["y", "copy the message"],
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
  holdCurrent(Math.min(compactions[number].place, state.history.length - 1));
  state.currentCompaction = number;
}

function stepFailure(by) {
  const { calls } = state.history;
  const here = by > 0 ? lastAtMost(calls.message, state.current) + 1 : lastAtMost(calls.message, state.current - 1);
  const known = state.failure && state.failure.place === state.current ? state.failure.call + by : here;
  for (let call = known; call >= 0 && call < calls.length; call += by) {
    if (calls.state[call] === ".") continue;
    goToMessage(calls.message[call], { focus: true, call });
    state.failure = { call, place: calls.message[call] };
    return undefined;
  }
  return say("no more");
}

/** The call that `e` went to is unfolded alone, its result whole; a second time it is folded again. */
function unfoldFailure({ place, call }) {
  const number = partOfCall(place, call);
  if (number < 0) return false;
  const key = `${place}:${number}`;
  if (state.open.has(key)) state.open.delete(key);
  else state.open.add(key);
  stream.refresh(units.ofMessage[place]);
  goToMessage(place, { focus: true, call });
  return true;
}

function unfold(place, all) {
  if (!all && state.failure && state.failure.place === place && unfoldFailure(state.failure)) return;
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
  y: () => copyMessage(state.current),
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
  if (event.key === "Escape" && page.classList.contains("turns")) {
    showTurns(false);
    byId("turns-button").focus();
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
