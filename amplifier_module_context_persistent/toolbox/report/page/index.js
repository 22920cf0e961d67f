// The list of reports: words narrow it, and it is sorted by what is chosen. Without a script it is the newest first.
"use strict";

(() => {
  const rows = document.getElementById("rows");
  const filter = document.getElementById("filter");
  const sort = document.getElementById("sort");
  const sums = document.getElementById("sums");
  const items = [...rows.children].map((element) => ({
    element,
    text: element.textContent.normalize("NFC").toLowerCase(),
    title: element.querySelector("a").textContent,
  }));

  const value = (item, name) => Number(item.element.dataset[name]);
  const counted = (number, one) => `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`;
  const sum = (shown, name) => shown.reduce((total, item) => total + value(item, name), 0);

  /** What the sessions that are shown add up to. */
  function total(shown) {
    const read = sum(shown, "read");
    const cost = sum(shown, "cost");
    const mark = sum(shown, "guess") ? "~" : "";
    return [
      counted(shown.length, "report"),
      counted(sum(shown, "messages"), "message"),
      counted(sum(shown, "calls"), "call"),
      read ? `${read.toLocaleString("en")} tokens read` : "",
      cost ? `${mark}$${cost.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}` : "",
    ].filter(Boolean).join(" · ");
  }

  function show() {
    const words = filter.value.normalize("NFC").toLowerCase().split(/\s+/).filter(Boolean);
    const shown = items.filter((item) => words.every((word) => item.text.includes(word)));
    const by = sort.value;
    shown.sort((one, other) =>
      by === "title" ? one.title.localeCompare(other.title) : value(other, by) - value(one, by));
    rows.replaceChildren(...shown.map((item) => item.element));
    document.getElementById("none").hidden = shown.length > 0 || items.length === 0;
    sums.textContent = total(shown);
  }

  const choice = document.getElementById("choice");
  choice.hidden = false;
  choice.addEventListener("submit", (event) => event.preventDefault());
  filter.addEventListener("input", show);
  sort.addEventListener("change", show);
})();
