// Reading the data. Blocks stand after the script, so they arrive while the page is already there. Each one is decoded
// as soon as it is whole, and its element is removed.

const bodies = []; // by message: its parts, once its block is read
const search = []; // by block: its text in small letters, and where in it each message begins

async function decode(text) {
  const bytes = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** The text of the next block that is whole; null after the last one. */
async function nextBlock() {
  for (;;) {
    const element = document.querySelector("script.block");
    const isComplete = document.readyState !== "loading";
    if (element && (element.nextSibling || isComplete)) {
      const text = element.textContent;
      if (element.nextSibling && element.nextSibling.nodeType === Node.TEXT_NODE) element.nextSibling.remove();
      element.remove();
      return text;
    }
    if (!element && isComplete) return null;
    await pause(5);
  }
}

/** Read all blocks; `onHead` is called when the columns are there, `onMore` with the part of the bodies that is. */
async function load(onHead, onMore) {
  const first = await nextBlock();
  if (first === null) throw new Error("the file ends before its data");
  const head = await decode(first);
  state.history = columnsOf(head.history);
  state.requests = requestsOf(head.requests);
  state.redacted = new Map(head.redacted);
  state.starts = head.starts;
  state.files = head.files || [];
  state.subAgents = head.sub_agents || [];
  for (const one of state.subAgents) one.place -= state.history.owners[one.place]; // a result stands with its call
  onHead();
  for (let number = 0; number < head.starts.length; number += 1) {
    const text = await nextBlock();
    if (text === null) throw new Error(`the file ends after ${number} of ${head.starts.length} blocks`);
    takeBodies(head.starts[number], await decode(text));
    onMore((number + 1) / head.starts.length, head.starts[number]);
  }
}

function takeBodies(start, block) {
  const texts = [];
  const starts = new Int32Array(block.length);
  let length = 0;
  for (let at = 0; at < block.length; at += 1) {
    bodies[start + at] = block[at];
    const text = searchedText(block[at]).toLowerCase();
    starts[at] = length;
    texts.push(text);
    length += text.length + 1;
  }
  search.push({ text: texts.join("\u0000"), starts, start });
}

/** What of a message is searched: all its text, tools and arguments; no images. */
function searchedText(parts) {
  let text = "";
  for (const part of parts) {
    if (part[0] === "c") text += `${part[2]} ${part[3]}\n`;
    else if (part[0] !== "i") text += `${part[1]}\n`;
  }
  return text;
}

function summed(differences) {
  const values = new Float64Array(differences.length);
  let sum = 0;
  for (let at = 0; at < differences.length; at += 1) values[at] = sum += differences[at];
  return values;
}

function columnsOf(given) {
  const columns = { ...given, times: summed(given.times), length: given.roles.length };
  const calls = { ...given.calls, message: summed(given.calls.message) };
  calls.length = calls.message.length;
  columns.calls = calls;
  columns.firstCall = new Int32Array(columns.length + 1); // of each message, in `calls`
  for (let call = 0, place = 0; place <= columns.length; place += 1) {
    while (call < calls.length && calls.message[call] < place) call += 1;
    columns.firstCall[place] = call;
  }
  columns.turnOf = new Int32Array(columns.length);
  columns.turns.forEach((turn, number) => columns.turnOf.fill(number, turn.start, turn.stop));
  columns.places = new Map(columns.ids.map((id, place) => [id, place]));
  return columns;
}

function requestsOf(given) {
  const columns = given.columns;
  const places = columns.place || [];
  for (const compaction of given.compactions) {
    // One of the source's has no request of its own: it stands before the next one.
    if (compaction.request) compaction.at = columns.number.indexOf(compaction.request);
    else compaction.at = Math.min(lastAtMost(places, compaction.place - 1) + 1, places.length - 1);
  }
  return { ...given, ...columns, length: places.length };
}
