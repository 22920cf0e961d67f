// What the other files share: elements made as text, numbers and times as words, the state of the page.
// Nothing of a session is ever parsed as markup: text goes into text nodes, and nowhere else.

const byId = (id) => document.getElementById(id);
const page = document.documentElement;
const notes = JSON.parse(byId("session").textContent);
byId("session").remove();

/** Where the page stands; `history` and the rest are there once the first block is read. */
const state = {
  history: null, // columns, see load.js
  requests: null,
  request: -1, // the request whose view is shown, as an index
  kind: "", // which messages are shown; all of them if empty
  onlySeen: false, // show what the model saw, and nothing else
  fates: null, // by message: how it fared in the view that is shown
  open: new Set(), // names of what is unfolded
  selected: new Set(), // turns that are printed
  current: 0, // the message that the keys are about
  query: "",
  subAgents: [], // in the order of the messages after which they began
  loaded: false,
};

/** An element with a class and children; a child that is a string becomes text. */
function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

function button(className, action, ...children) {
  const element = make("button", className, ...children);
  element.type = "button";
  element.addEventListener("click", action);
  return element;
}

/** A style of one element, set in the sheet: the page has no style attributes. */
function setRule(selector, property, value) {
  if (!setRule.rules) {
    setRule.rules = new Map();
    setRule.sheet = document.querySelector("style").sheet;
  }
  const { rules, sheet } = setRule;
  if (!rules.has(selector)) {
    rules.set(selector, sheet.cssRules[sheet.insertRule(`${selector} {}`, sheet.cssRules.length)]);
  }
  rules.get(selector).style.setProperty(property, value);
}

/** A colour of the sheet as a canvas takes it: the one for light or dark that holds now. */
function colourOf(name) {
  setRule("#said", "color", `var(${name})`);
  return getComputedStyle(byId("said")).color;
}

const count = (number) => Number(number).toLocaleString("en-US");
const counted = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

function short(number) {
  if (number < 1000) return String(number);
  if (number < 999_500) return `${(number / 1000).toFixed(number < 9_950 ? 1 : 0)}k`;
  return `${(number / 1e6).toFixed(number < 9.95e6 ? 1 : 0)}M`;
}

function duration(ms) {
  if (ms < 0) return "";
  if (ms < 1000) return `${ms} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9_950 ? 1 : 0)} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
}

const money = (dollars) => `$${dollars >= 100 ? Math.round(dollars) : dollars.toFixed(dollars >= 0.095 ? 2 : 4)}`;
/** A tilde before a figure for which outputs were counted here, as nobody reported them. */
const mark = (guesses) => (guesses > 0 ? "~" : "");
const timeOf = (ms) => (ms ? new Date(ms).toISOString().slice(0, 19).replace("T", " ") : "");
const clockOf = (ms) => (ms ? new Date(ms).toISOString().slice(11, 16) : "");
const percent = (part, whole) => (whole > 0 ? `${Math.round((100 * part) / whole)} %` : "");

/** How many nodes an element holds, itself included. */
function nodesIn(element) {
  const walker = document.createTreeWalker(element);
  let nodes = 1;
  while (walker.nextNode()) nodes += 1;
  return nodes;
}

/** Say something to those who listen to the page. */
function say(text) {
  byId("said").textContent = text;
}

/** The last index of a sorted array whose value is at most `wanted`; -1 where there is none. */
function lastAtMost(values, wanted) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const pause = (ms = 0) => new Promise((resume) => setTimeout(resume, ms));
