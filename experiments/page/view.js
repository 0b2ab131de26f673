"use strict";
// Two panels, one above the other, on one time axis: which run, which call, what part of the time.

const LEAST_VIEW = 1000;  // picoseconds
const KEYS = { w: ["zoom", 1.5], s: ["zoom", 1 / 1.5], "+": ["zoom", 1.5], "=": ["zoom", 1.5], "-": ["zoom", 1 / 1.5],
  a: ["pan", -0.15], d: ["pan", 0.15], ArrowLeft: ["pan", -0.15], ArrowRight: ["pan", 0.15], Home: ["whole"], 0: ["whole"],
  ".": ["step", 1], ",": ["step", -1], Enter: ["inside"], Escape: ["outside"] };

class View {
  constructor(root, data, tip) {
    Object.assign(this, { root, data, tip, level: "calls" });
    this.timelines = new Map();
    this.live = root.querySelector(".visually-hidden");
    this.panels = [...root.querySelectorAll(".panel")].map((one) => this.panel(one));
    for (const radio of root.querySelectorAll("input[name=level]")) {
      radio.addEventListener("change", () => { this.level = radio.value; this.reload(); });
    }
    for (const button of root.querySelectorAll("button[data-key]")) {
      button.addEventListener("click", () => this.act(this.panels[0], ...KEYS[button.dataset.key]));
    }
    for (const button of root.querySelectorAll("button[data-fit]")) {
      button.addEventListener("click", () => this.look(0, this.panels[Number(button.dataset.fit)].track.total * 1.05));
    }
    new ResizeObserver(() => this.redraw()).observe(root);
    this.reload();
  }

  panel(root) {
    const panel = new Panel(root), runs = root.querySelector("select.run"), calls = root.querySelector("select.call");
    panel.run = this.data.runs[Number(runs.value)];
    panel.call = panel.run.longest;
    runs.addEventListener("change", () => {
      panel.run = this.data.runs[Number(runs.value)];
      panel.call = panel.run.longest;
      this.reload();
    });
    calls.addEventListener("change", () => { panel.call = Number(calls.value); this.reload(); });
    new Pointer(panel, this);
    panel.scroller.addEventListener("scroll", () => panel.draw(this.view));
    panel.scroller.addEventListener("keydown", (event) => {
      const action = !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!action) return;
      event.preventDefault();
      this.act(panel, ...action);
    });
    return panel;
  }

  timeline(place) {
    if (!this.timelines.has(place)) this.timelines.set(place, new Timeline(this.data.timelines[place], this.data.words));
    return this.timelines.get(place);
  }

  // Another level, run or call: all of it is shown.
  reload() {
    for (const panel of this.panels) {
      const { run, root } = panel, inside = this.level === "inside", calls = root.querySelector("select.call");
      panel.show(inside ? this.insideTrack(run, run.calls[panel.call]) : this.callsTrack(run));
      root.querySelector("label.call").hidden = !inside;
      calls.replaceChildren(...run.calls.map((one, n) => option(n, `${one.name} (${timeText(one.time_ps)}${one.times > 1 ? ` \u00d7 ${count(one.times)}` : ""})`, n === panel.call)));
      root.querySelector(".summary").textContent = this.summary(panel);
    }
    this.total = Math.max(1, ...this.panels.map((panel) => panel.track.total));
    this.whole();
    this.root.dispatchEvent(new CustomEvent("tracks"));
  }

  callsTrack(run) {
    const timeline = this.timeline(run.schedule);
    return { timeline, scale: 1, total: run.time_ps, passes: passesOf(run, timeline), run, call: null, clock: "ps" };
  }

  insideTrack(run, call) {
    const timeline = this.timeline(call.timeline);
    const scale = call.time_ps / Math.max(timeline.data.total, 1);
    return { timeline, scale, total: call.time_ps, passes: [], run, call, clock: "cycles" };
  }

  summary({ track: { timeline, run, call, scale } }) {
    const { data } = timeline, nodes = call ? call.nodes : [];
    const some = nodes.slice(0, 5).join(", ") + (nodes.length > 5 ? ` and ${nodes.length - 5} more` : "");
    const of = call ? `${timeText(call.time_ps)} in one launch${some && `: ${some}`}` : `${run.time}${run.band && ` (${run.band})`}, lower bound ${timeText(run.bound_ps)}`;
    const last = data.hidden_from === null ? 0 : timeline.place(data.shown - 1).start * scale;
    const left = data.hidden_from === null ? "" : `, of which this page leaves out those after ${timeText(last)}`;
    return `${of}; ${count(data.in_all)} ${data.in_all === 1 ? "span" : "spans"}${left}`;
  }

  whole() { this.look(0, this.total * 1.01); }

  look(from, to) {
    const most = this.total * 1.01, width = Math.min(Math.max(to - from, Math.min(LEAST_VIEW, most)), most);
    const left = Math.min(Math.max(from, 0), most - width);
    this.view = { from: left, to: left + width };
    this.redraw();
  }

  redraw() {
    if (!this.view) return;
    for (const panel of this.panels) panel.draw(this.view);
    this.root.dataset.drawn = this.panels.reduce((sum, panel) => sum + panel.drawn, 0);
    this.root.dataset.milliseconds = this.panels.reduce((sum, panel) => sum + panel.milliseconds, 0).toFixed(1);
    this.root.dataset.from = this.view.from;
    this.root.dataset.to = this.view.to;
  }

  // share: where the time stays that is under the pointer, from the left.
  zoom(factor, share = 0.5) {
    const width = this.view.to - this.view.from, at = this.view.from + width * share;
    this.look(at - (width / factor) * share, at + (width / factor) * (1 - share));
  }

  pan(share) {
    const move = (this.view.to - this.view.from) * share;
    this.look(this.view.from + move, this.view.to + move);
  }

  act(panel, what, amount) {
    const selected = panel.selected;
    if (what === "zoom" && selected >= 0) this.zoomAt(panel, amount);
    else if (what === "zoom") this.zoom(amount);
    else if (what === "pan") this.pan(amount);
    else if (what === "whole") this.whole();
    else if (what === "step") this.select(panel, Math.min(Math.max(selected + amount, 0), panel.track.timeline.start.length - 1));
    else if (what === "inside") this.inside(panel, selected);
    else this.outside(panel);
  }

  zoomAt(panel, factor) {
    const start = panel.track.timeline.place(panel.selected).start * panel.track.scale;
    const share = (start - this.view.from) / (this.view.to - this.view.from);
    this.zoom(factor, share >= 0 && share <= 1 ? share : 0.5);
  }

  // Show a span where it happens first, at least so wide that it can be seen, and say what it is.
  select(panel, i) {
    if (i < 0) return;
    panel.selected = i;
    const { timeline, scale } = panel.track, { start } = timeline.place(i), begin = start * scale;
    const length = Math.max((timeline.usable[i] - timeline.start[i]) * scale, scale);
    let width = this.view.to - this.view.from;
    if (length < width / 30) width = length * 12;
    if (begin < this.view.from || begin + length > this.view.to || width !== this.view.to - this.view.from) this.look(begin + length / 2 - width / 2, begin + length / 2 + width / 2);
    const y = timeline.laneOf[i] * LANE, room = panel.height - panel.top;
    if (y < panel.offset || y + LANE > panel.offset + room) panel.scroller.scrollTop = y - room / 2;
    this.redraw();
    const [title, facts] = panel.aboutSpan(i, start - timeline.start[i]);
    this.live.textContent = `${title}; ${facts.map(([what, value]) => `${what} ${value}`).join("; ")}`;
  }

  inside(panel, i) {
    if (this.level !== "calls" || i < 0) return;
    const found = panel.run.calls.findIndex((call) => call.name === panel.track.timeline.label(i));
    if (found < 0) return;
    panel.call = found;
    this.level = "inside";
    this.root.querySelector("input[value=inside]").checked = true;
    this.reload();
  }

  outside(panel) {
    panel.selected = -1;
    this.tip.hide();
    this.redraw();
  }
}

// Every pass of every block in a run's schedule: its first call's start, its last call's end.
function passesOf(run, timeline) {
  const ran = [];
  let folded = false;
  const running = timeline.units.map(([name]) => name === "device" || name === "link");
  const out = { repeat: () => { folded = true; }, pass: () => {}, hidden: () => { folded = true; },
    span: (i, shift) => { if (running[timeline.kind(i)[2]]) ran.push([timeline.start[i] + shift, timeline.end[i] + shift]); } };
  timeline.walk(out, 0, timeline.data.total, Infinity);
  const groups = [];
  let at = 0;
  for (let n = 0; n < run.calls.length && !folded;) {
    const { block, times, name } = run.calls[n];
    let size = 1;
    while (n + size < run.calls.length && run.calls[n + size].block === block && run.calls[n + size].times === times) size++;
    const passes = [];
    for (let pass = 0; pass < times && at + size <= ran.length; pass++, at += size) passes.push([ran[at][0], ran[at + size - 1][1]]);
    if (passes.length) groups.push({ name: block || name, calls: size, passes });
    n += size;
  }
  return groups;
}
