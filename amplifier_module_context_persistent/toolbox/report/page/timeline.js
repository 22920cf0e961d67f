// The timeline: a bar for each request, as tall as its tokens; the cached part lighter; compactions as marks. It can be
// clicked, and moved in with the arrow keys.

const timeline = {
  canvas: byId("timeline"),
  hovered: -1,

  begin() {
    const { requests } = state;
    byId("time").hidden = !requests.length;
    if (!requests.length) return;
    this.canvas.setAttribute("aria-valuemin", "1");
    this.canvas.setAttribute("aria-valuemax", String(requests.length));
    this.canvas.addEventListener("pointermove", (event) => this.hover(this.at(event.offsetX)));
    this.canvas.addEventListener("pointerleave", () => this.hover(-1));
    this.canvas.addEventListener("click", (event) => this.choose(this.at(event.offsetX)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.draw();
  },

  at(x) {
    const { length } = state.requests;
    return Math.max(0, Math.min(length - 1, Math.floor((x / this.canvas.clientWidth) * length)));
  },

  /** The request that is chosen, or the one that the message in sight came before. */
  get here() {
    if (state.request >= 0) return state.request;
    return Math.max(0, lastAtMost(state.requests.place, state.current));
  },

  key(event) {
    const { length } = state.requests;
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 10, PageDown: -10, Home: -length, End: length };
    if (!(event.key in steps)) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(Math.max(0, Math.min(length - 1, this.here + steps[event.key])));
  },

  choose(request) {
    showRequest(request);
    this.canvas.focus({ preventScroll: true });
  },

  hover(request) {
    this.hovered = request;
    this.draw();
  },

  describe(request) {
    const { requests } = state;
    const parts = [`Request ${count(requests.number[request])} of ${count(requests.number[requests.length - 1])}`];
    if (requests.tokens[request] >= 0) {
      const budget = requests.budget[request];
      parts.push(`${count(requests.tokens[request])}${budget ? ` of ${count(budget)}` : ""} tokens${requests.estimated ? " of history before it, estimated; what was sent is not known" : ""}`);
    }
    if (requests.actual[request] > 0 && requests.receipts) parts.push(`${count(requests.actual[request])} billed`);
    if (requests.cached[request] > 0) parts.push(`${percent(requests.cached[request], requests.actual[request])} cached`);
    if (requests.unbound[request] > 0) parts.push(withoutReasoning(requests.unbound[request]));
    if (requests.model[request]) parts.push(requests.model[request]);
    if (requests.time[request]) parts.push(timeOf(requests.time[request]));
    return parts.join(" · ");
  },

  draw() {
    const { canvas } = this;
    const { requests } = state;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width || !requests || !requests.length) return;
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const [bar, cachedBar] = ["--bar", "--bar-cached"].map(colourOf);
    const floor = height - 1;
    const most = Math.max(1, ...maxima(requests));
    const tall = (tokens) => Math.max(1, (tokens / most) * (height - 16));
    const columns = Math.min(requests.length, Math.floor(width));
    const gap = width / columns > 5 ? 1 : 0;
    for (let column = 0; column < columns; column += 1) {
      const [from, to] = [column, column + 1].map((edge) => Math.floor((edge * requests.length) / columns));
      let tokens = 0;
      let cached = 0;
      for (let at = from; at < Math.max(to, from + 1); at += 1) {
        if (requests.tokens[at] >= tokens) [tokens, cached] = [requests.tokens[at], cachedTokens(requests, at)];
      }
      const [x, wide] = [(column * width) / columns, width / columns - gap];
      pen.fillStyle = bar;
      pen.fillRect(x, floor - tall(tokens), Math.max(wide, 0.5), tall(tokens));
      if (cached > 0) {
        pen.fillStyle = cachedBar;
        pen.fillRect(x, floor - tall(cached), Math.max(wide, 0.5), tall(cached));
      }
    }
    this.drawBudget(pen, width, floor, tall);
    this.drawMarks(pen, width, height);
    const here = this.describe(this.hovered >= 0 ? this.hovered : this.here);
    byId("time-note").textContent = here;
    canvas.setAttribute("aria-valuenow", String(this.here + 1));
    canvas.setAttribute("aria-valuetext", this.describe(this.here));
  },

  drawBudget(pen, width, floor, tall) {
    const { requests } = state;
    pen.strokeStyle = colourOf("--budget");
    pen.setLineDash([3, 3]);
    pen.beginPath();
    let before = 0;
    for (let at = 0; at < requests.length; at += 1) {
      const y = Math.round(floor - tall(requests.budget[at])) + 0.5;
      if (!requests.budget[at]) continue;
      if (requests.budget[at] !== before) pen.moveTo((at * width) / requests.length, y);
      if (requests.budget[at + 1] !== requests.budget[at]) pen.lineTo(((at + 1) * width) / requests.length, y);
      before = requests.budget[at];
    }
    pen.stroke();
    pen.setLineDash([]);
  },

  drawMarks(pen, width, height) {
    const { requests } = state;
    const x = (request) => ((request + 0.5) * width) / requests.length;
    pen.fillStyle = colourOf("--compaction");
    const isDense = requests.compactions.length > width / 12; // then ticks at the top, which leave the bars in sight
    for (const compaction of requests.compactions) {
      const at = x(compaction.at);
      pen.fillRect(at - 0.5, isDense ? 0 : 6, isDense ? 0.7 : 1, isDense ? 6 : height - 7);
      if (isDense) continue;
      pen.beginPath();
      pen.moveTo(at - 4, 0);
      pen.lineTo(at + 4, 0);
      pen.lineTo(at, 7);
      pen.fill();
    }
    for (const [request, name] of [[this.hovered, "--muted"], [this.here, "--ink"]]) {
      if (request < 0) continue;
      pen.fillStyle = colourOf(name);
      pen.fillRect(Math.round(x(request)) - 1, 0, 2, height);
    }
  },
};

function maxima(requests) {
  let [tokens, budget] = [0, 0];
  for (let at = 0; at < requests.length; at += 1) {
    tokens = Math.max(tokens, requests.tokens[at]);
    budget = Math.max(budget, requests.budget[at]);
  }
  return budget <= 3 * tokens ? [tokens, budget] : [tokens];
}

/** The cached part of a request, on the scale of our tokens. */
function cachedTokens(requests, at) {
  const actual = requests.actual[at];
  return actual > 0 && requests.cached[at] > 0 ? (requests.tokens[at] * requests.cached[at]) / actual : 0;
}
