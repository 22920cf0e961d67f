// Markdown as elements, a block at a time, so that a long text is many rows. Addresses and HTML stay text.

const INLINE = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*(?=\S)([\s\S]*?\S)\*\*(?!\*)|__(?=\S)([\s\S]*?\S)__(?!\w)|~~(?=\S)([\s\S]*?\S)~~|\*(?=[^\s*])([\s\S]*?[^\s*])\*(?!\*)|(?<![\w_])_(?=[^\s_])([\s\S]*?[^\s_])_(?!\w)/g;
const MOST_INLINE = 24; // elements in one block; what is beyond stays plain text
const MOST_BLOCK_CHARS = 6000;
const MOST_CELLS = 60;

/** Put text with inline marks into an element. */
function inline(element, text, left = { marks: MOST_INLINE }) {
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    if (left.marks <= 0) break;
    left.marks -= 1;
    if (found.index > at) element.append(text.slice(at, found.index));
    if (found[1]) element.append(make("code", "", found[2].trim() || found[2]));
    else if (found[3] || found[4]) element.append(inline(make("strong"), found[3] || found[4], left));
    else if (found[5]) element.append(inline(make("s"), found[5], left));
    else element.append(inline(make("em"), found[6] || found[7], left));
    at = found.index + found[0].length;
  }
  if (at < text.length) element.append(text.slice(at));
  return element;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const RULE = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** The blocks of a text: `{kind, text, level}`. */
function blocksOf(text) {
  const lines = text.split("\n");
  const blocks = [];
  let paragraph = [];
  const close = () => {
    if (paragraph.length) blocks.push({ kind: "p", text: paragraph.join("\n") });
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    let found;
    if (fence) {
      close();
      const code = [];
      const end = new RegExp(`^ {0,3}${fence[1][0]}{${fence[1].length},}\\s*$`);
      for (at += 1; at < lines.length && !end.test(lines[at]); at += 1) code.push(lines[at]);
      blocks.push({ kind: "code", text: code.join("\n"), level: fence[2].trim().split(/\s/)[0] });
    } else if (!line.trim()) close();
    else if ((found = HEADING.exec(line))) {
      close();
      blocks.push({ kind: "h", text: found[2], level: found[1].length });
    } else if (RULE.test(line)) {
      close();
      blocks.push({ kind: "hr", text: "" });
    } else if ((found = ITEM.exec(line)) && (!paragraph.length || found[1].length < 4)) {
      close();
      const depth = Math.min(4, found[1].replace(/\t/g, "    ").length >> 1);
      blocks.push({ kind: "li", text: found[3], level: depth, mark: /\d/.test(found[2]) ? found[2] : "•" });
    } else if ((found = QUOTE.exec(line))) {
      close();
      const quoted = [found[1]];
      while (at + 1 < lines.length && (found = QUOTE.exec(lines[at + 1]))) {
        quoted.push(found[1]);
        at += 1;
      }
      blocks.push({ kind: "quote", text: quoted.join("\n") });
    } else if (line.includes("|") && at + 1 < lines.length && DIVIDER.test(lines[at + 1]) && lines[at + 1].includes("-")) {
      close();
      const rows = [line];
      for (at += 2; at < lines.length && lines[at].includes("|"); at += 1) rows.push(lines[at]);
      at -= 1;
      blocks.push({ kind: "table", text: rows.join("\n") });
    } else if (!paragraph.length && blocks.length && blocks.at(-1).kind === "li" && /^\s{2,}\S/.test(line) && lines[at - 1].trim()) {
      blocks.at(-1).text += `\n${line.trim()}`;
    } else paragraph.push(line);
  }
  close();
  return blocks;
}

function tableOf(text) {
  const rows = text.split("\n").map((line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim()));
  if (rows.length * rows[0].length > MOST_CELLS) return make("pre", "table-text", text);
  const table = make("table", "");
  rows.forEach((cells, number) => {
    const row = make("tr", "");
    for (const cell of cells) row.append(inline(make(number ? "td" : "th", ""), cell, { marks: 2 }));
    table.append(row);
  });
  return table;
}

/** A text as rows: `{height, make, text}`. */
function markdownRows(text, className = "") {
  const rows = [];
  for (const block of blocksOf(text)) {
    if (block.kind === "code") {
      rows.push(...codeRows(block.text, { className: `fenced ${className}`, isDiff: block.level === "diff" }));
      continue;
    }
    for (let at = 0; at < Math.max(1, block.text.length); at += MOST_BLOCK_CHARS) {
      const piece = block.text.length > MOST_BLOCK_CHARS ? block.text.slice(at, at + MOST_BLOCK_CHARS) : block.text;
      rows.push({ height: blockHeight(piece), text: piece, make: () => blockElement(block, piece, className) });
    }
  }
  return rows;
}

const blockHeight = (text) => 12 + 24 * text.split("\n").reduce((lines, line) => lines + Math.max(1, Math.ceil(line.length / 92)), 0);

function blockElement(block, text, className) {
  if (block.kind === "hr") return make("div", `prose rule ${className}`);
  if (block.kind === "table") return make("div", `prose ${className}`, tableOf(text));
  const element = make("div", `prose ${block.kind}${block.level || 0} ${className}`);
  element.dir = "auto";
  if (block.mark) element.dataset.mark = block.mark;
  return inline(element, text);
}
