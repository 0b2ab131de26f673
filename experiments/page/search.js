"use strict";
// Finding spans by name, and the spans of both panels as a table.

const TABLE_ROWS = 40;

class Search {
  constructor(root, view) {
    Object.assign(this, { root, view, found: [], at: -1 });
    this.field = root.querySelector("input[type=search]");
    this.told = root.querySelector("output");
    this.field.addEventListener("input", () => this.find());
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.jump(event.shiftKey ? -1 : 1);
    });
    root.querySelector("button.next").addEventListener("click", () => this.jump(1));
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
      event.preventDefault();
      this.field.focus();
    });
    view.root.addEventListener("tracks", () => this.find());
  }

  find() {
    const wanted = this.field.value.trim().toLowerCase();
    this.found = [];
    this.at = -1;
    let times = 0;
    for (const panel of this.view.panels) {
      const { timeline } = panel.track, { kinds } = timeline.data, { words, units } = timeline;
      const fits = ([role, label, unit]) => [words[role], words[label], units[unit][0]].some((text) => text.toLowerCase().includes(wanted));
      panel.matches = wanted ? new Set(kinds.flatMap((kind, n) => (fits(kind) ? [n] : []))) : null;
      if (!wanted) continue;
      timeline.kinds.forEach((kind, i) => {
        if (!panel.matches.has(kind)) return;
        this.found.push([panel, i]);
        times += timeline.place(i).times;
      });
    }
    const repeats = times > this.found.length ? `, ${count(times)} with repeats` : "";
    this.told.textContent = !wanted ? "" : this.found.length ? `${count(this.found.length)} found${repeats}` : "nothing of that name";
    this.view.redraw();
  }

  jump(step) {
    if (!this.found.length) return;
    this.at = (this.at + step + this.found.length) % this.found.length;
    const [panel, i] = this.found[this.at];
    for (const other of this.view.panels) other.selected = -1;
    this.view.select(panel, i);
    this.told.textContent = `${count(this.at + 1)} of ${count(this.found.length)}`;
  }
}

// Spans that are alike are one row: what takes most time in all stands first.
function spanRows(panel) {
  const { timeline, scale, total } = panel.track, rows = new Map();
  for (let i = 0; i < timeline.start.length; i++) {
    const { start, times } = timeline.place(i), [role, label, unit, cycles] = timeline.kind(i);
    const key = `${role} ${label} ${unit} ${cycles}`;
    if (!rows.has(key)) rows.set(key, { i, first: start * scale, each: cycles * scale, times: 0 });
    rows.get(key).times += times;
  }
  const sorted = [...rows.values()].sort((a, b) => b.each * b.times - a.each * a.times);
  return sorted.map(({ i, first, each, times }) => [timeline.label(i), timeline.role(i), timeline.unit(i)[0], timeText(first),
    timeText(each), count(times), timeText(each * times), `${(100 * each * times / Math.max(total, 1)).toFixed(1)} %`]);
}

function spanTable(panel) {
  const rows = spanRows(panel), { run, call } = panel.track;
  const left = rows.length > TABLE_ROWS ? `; the ${TABLE_ROWS} of ${rows.length} sorts of spans that take most` : "";
  const names = ["what", "role", "unit", "first start", "each takes", "times", "all take", "of the time"];
  const cell = (text, n) => (n ? element("td", n > 2 ? { class: "number" } : {}, text) : element("th", { scope: "row" }, text));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `spans of ${run.label}` }, element("table", {},
    element("caption", {}, `${run.label}${call ? `, inside ${call.name}` : ", all calls"}${left}`),
    element("thead", {}, element("tr", {}, ...names.map((name, n) => element("th", n > 2 ? { scope: "col", class: "number" } : { scope: "col" }, name)))),
    element("tbody", {}, ...rows.slice(0, TABLE_ROWS).map((row) => element("tr", {}, ...row.map(cell))))));
}

function tableOf(details, view) {
  const fill = () => { if (details.open) details.querySelector(".tables").replaceChildren(...view.panels.map(spanTable)); };
  details.addEventListener("toggle", fill);
  view.root.addEventListener("tracks", fill);
}
