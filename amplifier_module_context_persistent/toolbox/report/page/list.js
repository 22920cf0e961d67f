// A list that holds only the rows in sight. Heights are guessed until a row was there to be measured; what lies above
// the first row in sight is corrected without moving it.

const MOST_PX = 8_000_000; // browsers lose precision beyond; a taller list scrolls faster than it moves
const AHEAD_PX = 160;
const MOST_NODES = 330; // of rows; beyond it nothing is added that is not in sight

/** Sums of heights, and the unit at a height, in a Fenwick tree. */
class Heights {
  constructor(values) {
    this.values = values;
    this.tree = new Float64Array(values.length + 1);
    for (let at = 1; at <= values.length; at += 1) {
      this.tree[at] += values[at - 1];
      const above = at + (at & -at);
      if (above <= values.length) this.tree[above] += this.tree[at];
    }
  }

  set(at, value) {
    const change = value - this.values[at];
    if (!change) return;
    this.values[at] = value;
    for (let node = at + 1; node < this.tree.length; node += node & -node) this.tree[node] += change;
  }

  before(at) {
    let sum = 0;
    for (let node = at; node > 0; node -= node & -node) sum += this.tree[node];
    return sum;
  }

  get total() {
    return this.before(this.values.length);
  }

  /** The unit in which a height falls. */
  find(height) {
    let at = 0;
    let left = height;
    for (let step = 1 << Math.floor(Math.log2(this.tree.length)); step; step >>= 1) {
      if (at + step < this.tree.length && this.tree[at + step] <= left) {
        at += step;
        left -= this.tree[at];
      }
    }
    return Math.min(at, this.values.length - 1);
  }
}

class List {
  /** `rowsOf(unit)` gives a unit's rows, `guess(unit)` its height, `finish(element, unit, number, row)` wraps a row. */
  constructor(scroller, name, { rowsOf: make_, guess, finish, onRender, mostNodes }) {
    Object.assign(this, { scroller, name, makeRows: make_, guess, finish, onRender, mostNodes: mostNodes || MOST_NODES });
    this.above = make("div", `${name}-above`);
    this.below = make("div", `${name}-below`);
    this.host = make("div", `${name}-rows`);
    scroller.append(this.above, this.host, this.below);
    this.top = 0; // in list pixels
    this.rows = new Map(); // by unit: its rows, with their heights
    this.heights = new Heights(new Float64Array(0));
    this.shown = new Map(); // by name: the elements in the page
    scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    new ResizeObserver(() => this.resized()).observe(scroller);
  }

  /** Show so many units from now on; `anchor` stays where it is on the screen. */
  reset(length, { unit = 0, offset = 0 } = {}) {
    this.rows.clear();
    this.heights = new Heights(Float64Array.from({ length }, (_, at) => this.guess(at)));
    this.drop();
    this.top = this.heights.before(Math.max(0, unit)) - offset;
    this.render(true);
  }

  resized() {
    const { clientWidth } = this.scroller;
    if (this.width && this.width !== clientWidth) this.rows.clear();
    this.width = clientWidth;
    this.render();
  }

  drop() {
    this.host.replaceChildren();
    this.shown.clear();
  }

  /** Make a unit's rows anew, or all rows. */
  refresh(unit = -1) {
    if (unit < 0) this.rows.clear();
    else this.rows.delete(unit);
    this.drop();
    this.render();
  }

  rowsAt(unit) {
    let rows = this.rows.get(unit);
    if (!rows) {
      rows = this.makeRows(unit);
      if (this.rows.size > 4000) this.rows.clear();
      this.rows.set(unit, rows);
      this.heights.set(unit, rows.reduce((sum, row) => sum + row.height, 0));
    }
    return rows;
  }

  get factor() {
    const { total } = this.heights;
    const height = this.scroller.clientHeight;
    return total <= MOST_PX ? 1 : (total - height) / (MOST_PX - height);
  }

  scrolled() {
    const at = this.scroller.scrollTop;
    if (Math.abs(at - this.setTop) < 1.5) return; // it was we
    const change = at - this.setTop;
    const isNear = Math.abs(change) < 3 * this.scroller.clientHeight;
    this.top = this.factor === 1 ? at : isNear && at > 0 ? this.top + change : at * this.factor;
    this.setTop = at;
    this.render();
  }

  /** The row at a height: `{unit, number, start}`. */
  rowAt(height) {
    const unit = this.heights.find(Math.max(0, height));
    const rows = this.rowsAt(unit);
    let start = this.heights.before(unit);
    for (let number = 0; number < rows.length; number += 1) {
      if (start + rows[number].height > height || number === rows.length - 1) return { unit, number, start };
      start += rows[number].height;
    }
    return { unit, number: 0, start };
  }

  render(force = false) {
    if (!this.heights.values.length || !this.scroller.clientHeight) return;
    for (let round = 0; round < 4; round += 1) if (!this.renderOnce(force)) break;
    this.place();
    if (this.onRender) this.onRender();
  }

  /** Put the rows in sight into the page and measure them; tells whether something was of another height. */
  renderOnce() {
    const height = this.scroller.clientHeight;
    this.top = Math.max(0, Math.min(this.top, this.heights.total - height));
    const anchor = this.rowAt(this.top);
    const into = this.top - anchor.start;
    let { unit, number, start } = this.rowAt(this.top - AHEAD_PX);
    const first = start;
    const wanted = new Map();
    let nodes = 0;
    for (let bottom = start; unit < this.heights.values.length; unit += 1, number = 0) {
      const rows = this.rowsAt(unit);
      for (; number < rows.length; number += 1) {
        if (bottom > this.top + height + AHEAD_PX || (nodes > this.mostNodes && bottom > this.top + height)) {
          unit = this.heights.values.length;
          break;
        }
        const name = `${unit}.${number}`;
        const element = this.shown.get(name) || this.element(unit, number, rows[number], name);
        nodes += element.nodes;
        wanted.set(name, element);
        element.at = { unit, number };
        bottom += rows[number].height;
      }
    }
    this.first = first;
    this.place();
    this.swap(wanted);
    const changed = this.measure();
    if (changed) {
      let top = this.heights.before(anchor.unit);
      this.rowsAt(anchor.unit).slice(0, anchor.number).forEach((row) => (top += row.height));
      this.top = top + into;
    }
    return changed;
  }

  element(unit, number, row, name) {
    const element = this.finish(row.make(), unit, number, row);
    element.dataset.name = name;
    element.nodes = nodesIn(element);
    return element;
  }

  swap(wanted) {
    for (const [name, element] of this.shown) if (wanted.get(name) !== element) element.remove();
    let next = this.host.firstChild;
    for (const element of wanted.values()) {
      if (element === next) next = next.nextSibling;
      else this.host.insertBefore(element, next);
    }
    this.shown = wanted;
  }

  measure() {
    let changed = false;
    const elements = [...this.shown.values()];
    const tops = elements.map((element) => element.getBoundingClientRect().top);
    const end = this.host.getBoundingClientRect().bottom;
    elements.forEach((element, at) => {
      const { unit, number } = element.at;
      const row = this.rowsAt(unit)[number];
      const height = (at + 1 < tops.length ? tops[at + 1] : end) - tops[at];
      if (!row || Math.abs(height - row.height) < 0.5) return;
      this.heights.set(unit, this.heights.values[unit] + height - row.height);
      row.height = height;
      changed = true;
    });
    return changed;
  }

  /** Make the room above and below, and scroll to where the list is. */
  place() {
    const { total } = this.heights;
    const height = this.scroller.clientHeight;
    const tall = Math.min(total, MOST_PX);
    const at = this.factor === 1 ? this.top : this.top / this.factor;
    const above = Math.max(0, at - (this.top - (this.first || 0)));
    setRule(`.${this.name}-above`, "height", `${above}px`);
    setRule(`.${this.name}-below`, "height", `${Math.max(0, tall - above - this.host.offsetHeight)}px`);
    if (Math.abs(this.scroller.scrollTop - at) >= 1) this.scroller.scrollTop = Math.min(at, Math.max(0, tall - height));
    this.setTop = this.scroller.scrollTop;
  }

  /** Bring a row into sight, `offset` pixels below the top. */
  go(unit, number = 0, offset = 8) {
    for (let round = 0; round < 3; round += 1) {
      const rows = this.rowsAt(unit);
      this.top = this.heights.before(unit) - offset;
      for (let at = 0; at < number && at < rows.length; at += 1) this.top += rows[at].height;
      this.render();
    }
  }

  focusRow(name) {
    const element = this.shown.get(name);
    const target = element && element.querySelector("button, a");
    if (target) target.focus({ preventScroll: true });
  }
}
