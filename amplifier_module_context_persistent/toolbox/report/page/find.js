// Find over everything: the text, thinking, calls and results of all messages. Hits in sight are marked by ranges, which
// add nothing to the page.

const finder = { hits: new Int32Array(0), at: -1, total: 0, run: 0, took: 0 };

/** The messages that hold a text, in order; the last time it took, in milliseconds, stands in `finder.took`. */
async function findAll(query) {
  const run = (finder.run += 1);
  const began = performance.now();
  const wanted = query.toLowerCase();
  const hits = [];
  let sliceBegan = began;
  for (const block of search) {
    let at = block.text.indexOf(wanted);
    while (at >= 0) {
      const number = lastAtMost(block.starts, at);
      hits.push(block.start + number);
      at = number + 1 < block.starts.length ? block.text.indexOf(wanted, block.starts[number + 1]) : -1;
    }
    if (performance.now() - sliceBegan > 40) {
      await pause();
      if (run !== finder.run) return null;
      sliceBegan = performance.now();
    }
  }
  for (const one of state.subAgents) if (one.text.toLowerCase().includes(wanted) && !hits.includes(one.place)) hits.push(one.place);
  finder.took = performance.now() - began;
  return Int32Array.from(hits).sort();
}

async function find(query) {
  state.query = query;
  finder.at = -1;
  if (!query) {
    finder.run += 1;
    finder.hits = new Int32Array(0);
    return showFound();
  }
  const hits = await findAll(query);
  if (hits === null) return undefined;
  finder.hits = hits;
  return showFound();
}

function showFound() {
  const out = byId("found");
  out.dataset.ms = String(Math.round(finder.took));
  const { hits, at } = finder;
  if (!state.query) out.textContent = "";
  else if (!hits.length) out.textContent = state.loaded ? "nothing" : "nothing yet";
  else out.textContent = at < 0 ? counted(hits.length, "message") : `${count(at + 1)} of ${count(hits.length)}`;
  markHits();
}

/** Go to the next hit, or the one before; the first time to the one nearest after what is in sight. */
function nextHit(step) {
  const { hits } = finder;
  if (!hits.length) return;
  if (finder.at < 0) finder.at = step > 0 ? (lastAtMost(hits, state.current - 1) + 1) % hits.length : Math.max(0, lastAtMost(hits, state.current));
  else finder.at = (finder.at + step + hits.length) % hits.length;
  revealHit(hits[finder.at]);
  showFound();
}

/** Unfold what holds the hit in a message, and go there. */
function revealHit(place) {
  if (!isShown(place)) showAll();
  const wanted = state.query.toLowerCase();
  const owner = place - state.history.owners[place];
  const holds = (part) => searchedText([part]).toLowerCase().includes(wanted);
  bodies[owner].forEach((part, number) => {
    const key = `${owner}:${number}`;
    if (owner !== place) {
      if (part[0] === "c" && resultOf(owner, number) === place) state.open.add(key).add(`${key}:all`);
    } else if (part[0] !== "t" && holds(part)) state.open.add(key);
    else if (part[0] === "t" && holds(part)) state.open.add(`${key}:all`);
  });
  for (const number of subAgentsAt(place)) if (state.subAgents[number].text.toLowerCase().includes(wanted)) state.open.add(`subagent:${number}`);
  if ("tus".includes(state.history.roles[place]) && owner === place) state.open.add(`${place}:m`);
  const unit = units.ofMessage[place];
  stream.refresh(unit);
  const rows = stream.rowsAt(unit);
  const row = rows.findIndex((one) => one.place === place && one.text && one.text.toLowerCase().includes(wanted) && !(one.key && state.open.has(one.key) && rows.some((other) => other !== one && !other.key && other.text && other.text.toLowerCase().includes(wanted))));
  stream.go(unit, Math.max(0, row), 90);
  holdCurrent(place);
}

/** The message that answers the call that stands in a part. */
function resultOf(place, number) {
  const before = bodies[place].slice(0, number).filter((part) => part[0] === "c").length;
  const call = state.history.firstCall[place] + before;
  const { result } = state.history.calls;
  return result[call] ? place + result[call] : -1;
}

function markHits() {
  if (!window.CSS || !CSS.highlights) return;
  CSS.highlights.clear();
  if (!state.query || !finder.hits.length) return;
  const wanted = state.query.toLowerCase();
  const ranges = [];
  const walker = document.createTreeWalker(stream.host, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && ranges.length < 2000) {
    const text = walker.currentNode.data.toLowerCase();
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      if (at + wanted.length > walker.currentNode.length) break;
      const range = new Range();
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, at + wanted.length);
      ranges.push(range);
    }
  }
  CSS.highlights.set("hit", new Highlight(...ranges));
}

function beginFind() {
  const field = byId("find");
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => find(field.value), 120);
  });
  field.addEventListener("keydown", async (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(timer);
    if (state.query !== field.value) await find(field.value);
    nextHit(event.shiftKey ? -1 : 1);
  });
}
