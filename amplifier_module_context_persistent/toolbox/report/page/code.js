// Code, results and edits as rows of lines: long ones are many rows, so that only those in sight are in the page.

const CHUNK_LINES = 40;
const CHUNK_CHARS = 4000;
const LINE_HEIGHT = 19;

/** Pieces of a text, each of some lines, or of a part of a very long line. */
function chunksOf(text) {
  const chunks = [];
  let lines = [];
  let chars = 0;
  const close = () => {
    if (lines.length) chunks.push(lines.join("\n"));
    lines = [];
    chars = 0;
  };
  for (const line of text.split("\n")) {
    if (line.length > CHUNK_CHARS) {
      close();
      for (let at = 0; at < line.length; at += CHUNK_CHARS) chunks.push(line.slice(at, at + CHUNK_CHARS));
      continue;
    }
    if (lines.length >= CHUNK_LINES || chars + line.length > CHUNK_CHARS) close();
    lines.push(line);
    chars += line.length + 1;
  }
  close();
  return chunks;
}

const codeHeight = (text) => LINE_HEIGHT * text.split("\n").reduce((lines, line) => lines + Math.max(1, Math.ceil(line.length / 110)), 0);

const looksLikeDiff = (text) => /^@@ .*@@/m.test(text) && /^(?:---|\+\+\+|diff --git) /m.test(text);

/** Rows of a text in the face of code; lines of a diff are coloured. */
function codeRows(text, { className = "", isDiff = looksLikeDiff(text) } = {}) {
  const chunks = chunksOf(text.replace(/\n+$/, ""));
  return chunks.map((chunk, number) => ({
    height: codeHeight(chunk) + 2,
    text: chunk,
    make: () => {
      const edge = `${number === 0 ? " first" : ""}${number === chunks.length - 1 ? " last" : ""}`;
      const element = make("pre", `code ${className}${edge}`);
      element.append(...(isDiff ? diffLines(chunk) : [chunk]));
      return element;
    },
  }));
}

/** Neighbouring lines of one kind are one element. */
function diffLines(text) {
  const pieces = [];
  for (const line of text.split("\n")) {
    const kind = line[0] === "+" ? "added" : line[0] === "-" ? "removed" : line.startsWith("@@") ? "hunk" : "";
    const last = pieces.at(-1);
    if (last && last.kind === kind) last.lines.push(line);
    else pieces.push({ kind, lines: [line] });
  }
  return pieces.map((piece, number) => {
    const said = piece.lines.join("\n") + (number < pieces.length - 1 ? "\n" : "");
    if (!piece.kind) return said;
    return make(piece.kind === "added" ? "ins" : piece.kind === "removed" ? "del" : "span", piece.kind, said);
  });
}

/** Lines removed, added and kept between two texts, as a diff writes them. */
function diffOf(before, after) {
  const from = before === "" ? [] : before.split("\n");
  const to = after === "" ? [] : after.split("\n");
  let head = 0;
  while (head < from.length && head < to.length && from[head] === to[head]) head += 1;
  let tail = 0;
  while (tail < from.length - head && tail < to.length - head && from.at(-1 - tail) === to.at(-1 - tail)) tail += 1;
  const middle = changes(from.slice(head, from.length - tail), to.slice(head, to.length - tail));
  const kept = (lines) => lines.map((line) => ` ${line}`);
  return [...kept(from.slice(0, head)), ...middle, ...kept(tail ? from.slice(-tail) : [])].join("\n");
}

const MOST_COMPARED = 250_000; // pairs of lines; beyond that all are removed and added

function changes(from, to) {
  const wide = to.length + 1;
  if (from.length * to.length > MOST_COMPARED) return [...from.map((line) => `-${line}`), ...to.map((line) => `+${line}`)];
  const longest = new Int32Array((from.length + 1) * wide); // of the rest of both
  for (let i = from.length - 1; i >= 0; i -= 1) {
    for (let j = to.length - 1; j >= 0; j -= 1) {
      longest[i * wide + j] =
        from[i] === to[j] ? longest[(i + 1) * wide + j + 1] + 1 : Math.max(longest[(i + 1) * wide + j], longest[i * wide + j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < from.length || j < to.length) {
    if (i < from.length && j < to.length && from[i] === to[j]) {
      lines.push(` ${from[i]}`);
      i += 1;
      j += 1;
    } else if (j >= to.length || (i < from.length && longest[(i + 1) * wide + j] >= longest[i * wide + j + 1])) {
      lines.push(`-${from[i]}`);
      i += 1;
    } else {
      lines.push(`+${to[j]}`);
      j += 1;
    }
  }
  return lines;
}

/** The edits that a call's arguments ask for, as a diff; empty where they ask for none. */
function editsOf(given) {
  const pairs = [given, ...(Array.isArray(given.edits) ? given.edits : [])];
  const diffs = [];
  for (const pair of pairs) {
    if (!pair || typeof pair !== "object") continue;
    const before = pair.old_string ?? pair.old_str ?? pair.oldText ?? pair.old_text ?? pair.old;
    const after = pair.new_string ?? pair.new_str ?? pair.newText ?? pair.new_text ?? pair.new;
    if (typeof before === "string" && typeof after === "string") diffs.push(diffOf(before, after));
  }
  return diffs.join("\n@@\n");
}

const PATHS = ["file_path", "path", "filename", "notebook_path"];
const SUMMARIES = [...PATHS, "command", "pattern", "query", "url", "description", "prompt", "task", "name", "id"];

const pathOf = (given) => PATHS.map((key) => given[key]).find((value) => typeof value === "string");

const MOST_PATH = 78;

/** A path, without its beginning where it is long. */
function shortPath(path) {
  if (path.length <= MOST_PATH) return path;
  const tail = path.slice(-MOST_PATH);
  return `…${tail.slice(Math.max(0, tail.indexOf("/")))}`;
}

/** What a call asks for, in a line. */
function summaryOf(given, raw) {
  if (!given) return raw.slice(0, 160);
  const key = SUMMARIES.find((name) => typeof given[name] === "string" && given[name].trim());
  const value = key ? given[key] : Object.values(given).find((item) => typeof item === "string" && item.trim());
  if (PATHS.includes(key)) return shortPath(value.trim());
  const rest = key === "pattern" && pathOf(given) ? `  in ${pathOf(given)}` : "";
  return `${(value ?? (raw === "{}" ? "" : raw)).trim().split("\n")[0].slice(0, 160)}${rest}`;
}

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]/gu;
const HARMLESS = "\n\t\u200c\u200d";

/** A text in which what does not print is written as JSON escapes it; an object with such names. */
function escaped(value) {
  const escape = (text) => text.replace(HIDDEN, (one) => (HARMLESS.includes(one) ? one : unitsOf(one)));
  if (typeof value === "string") return escape(value);
  if (!value || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [escape(name), inner]));
}

const unitsOf = (text) => text.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

/** The arguments of a call as an object; null where they are none. */
function argumentsOf(raw) {
  try {
    const given = JSON.parse(raw, (_, value) => escaped(value));
    return given && typeof given === "object" && !Array.isArray(given) ? given : null;
  } catch {
    return null;
  }
}
