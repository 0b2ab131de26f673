"use strict";
// The two runs that are chosen as a trace, made of what the page holds, and handed to Perfetto's own page in a new tab.
// Nothing is asked of the network before the button is clicked.

const PERFETTO = "https://ui.perfetto.dev";
const ASK_EVERY = 200, ASK_FOR = 60000;  // milliseconds
// Spans of a run that the trace has at most of its calls, and inside them.
const CALL_SPANS = 40000, INSIDE_SPANS = 20000;

// Slices of one process. A thread is a lane: nothing overlaps there, but for what rounding to nanoseconds would do.
class Process {
  constructor(events, pid, name) {
    Object.assign(this, { events, pid, threads: new Map() });
    this.about("process_name", 1, { name });
    this.about("process_sort_index", 1, { sort_index: pid });
  }

  about(what, tid, args) { this.events.push({ ph: "M", name: what, pid: this.pid, tid, args }); }

  thread(name) {
    if (!this.threads.has(name)) {
      const tid = this.threads.size + 1;
      this.threads.set(name, { tid, free: 0 });
      this.about("thread_name", tid, { name });
      this.about("thread_sort_index", tid, { sort_index: tid });
    }
    return this.threads.get(name);
  }

  // Times are picoseconds. A slice takes a nanosecond at least, and begins where its lane is free.
  slice(lane, name, start, end, args) {
    const thread = this.thread(lane), event = { name, pid: this.pid, tid: thread.tid, args };
    let from = Math.floor(start / 1000), to = Math.floor(end / 1000);
    if (start === end || thread.free > Math.max(to, from + 1)) {
      this.events.push({ ...event, ph: "i", s: "t", ts: from / 1000 });
      return;
    }
    from = Math.max(from, thread.free);
    to = Math.max(to, from + 1);
    thread.free = to;
    this.events.push({ ...event, ph: "X", ts: from / 1000, dur: (to - from) / 1000 });
  }

  // All of a timeline from a time on; repeats that are very many are one slice, and of the rest `most` spans are kept.
  timeline({ timeline, scale }, prefix, begin, most, told) {
    let cut = 0, from = 0;
    const lane = (place) => prefix + timeline.lanes[place].name, at = (cycle) => begin + cycle * scale;
    const total = timeline.data.total;
    timeline.walk({
      span: (i, shift) => {
        const [start, end] = [timeline.start[i] + shift, timeline.end[i] + shift];
        if (most-- <= 0) { if (!cut++) from = start; return; }
        this.slice(lane(timeline.laneOf[i]), timeline.label(i), at(start), at(end), { role: timeline.role(i), ...told(start, end) });
      },
      repeat: (body, start) => timeline.lanes.forEach((_, place) => {
        const end = start + body.passes * body.cycles, share = body.busy[place] / body.cycles;
        if (share) this.slice(lane(place), `\u00d7 ${count(body.passes)}`, at(start), at(end), { repeated: body.passes, busy: share });
      }),
      pass: () => {},
      hidden: (start, end) => this.slice(`${prefix}left out`, "spans that the page leaves out", at(start), at(end), {}),
    }, 0, total, Infinity);
    if (cut) this.slice(`${prefix}left out`, `${count(cut)} spans not shown`, at(from), at(total), {});
  }
}

// Every call of a run, and what happens inside each where it is launched first.
function addRun(events, view, run, pid) {
  const process = new Process(events, pid, run.label), track = view.callsTrack(run), first = new Map();
  const device = track.timeline.units.map(([name]) => name === "device" || name === "link");
  track.timeline.kinds.forEach((kind, i) => {
    const label = track.timeline.label(i);
    if (device[track.timeline.kind(i)[2]] && !first.has(label)) first.set(label, track.timeline.place(i).start);
  });
  process.timeline(track, "", 0, CALL_SPANS, () => ({}));
  const inside = run.calls.filter((call) => first.has(call.name)).sort((a, b) => first.get(a.name) - first.get(b.name));
  for (const call of inside) {
    const begin = first.get(call.name), most = Math.floor(INSIDE_SPANS / inside.length);
    process.slice("inside: first launches", call.name, begin, begin + call.time_ps, { nodes: call.nodes.join(", "), launches: call.times });
    process.timeline(view.insideTrack(run, call), "inside: ", begin, most, (start, end) => ({ cycle: start, cycles: end - start }));
  }
}

function traceOf(view) {
  const traceEvents = [];
  view.panels.forEach((panel, place) => addRun(traceEvents, view, panel.run, 1000 * (place + 1)));
  return { traceEvents, displayTimeUnit: "ns", otherData: { page: document.title } };
}

// Perfetto's page hears nothing before it is there: it is asked until it answers.
function handOver(view, tell) {
  const tab = window.open(PERFETTO);
  if (!tab) { tell("the browser opened no tab: allow this page to"); return; }
  tell("waiting for ui.perfetto.dev \u2026");
  const begun = performance.now(), done = (words) => { clearInterval(timer); removeEventListener("message", heard); tell(words); };
  const timer = setInterval(() => {
    if (tab.closed) done("its tab was closed");
    else if (performance.now() - begun > ASK_FOR) done("no answer: it needs a network; compare --trace writes the same as a file");
    else tab.postMessage("PING", "*");
  }, ASK_EVERY);
  const heard = (event) => {
    if (event.source !== tab || event.origin !== PERFETTO || event.data !== "PONG") return;
    const { buffer } = new TextEncoder().encode(JSON.stringify(traceOf(view)));
    tab.postMessage({ perfetto: { buffer, title: document.title, fileName: "patternloom.json" } }, PERFETTO, [buffer]);
    done("handed over; it may ask first whether to open it");
  };
  addEventListener("message", heard);
}

function perfetto(root, view) {
  const told = root.querySelector("output");
  root.querySelector("button").addEventListener("click", () => handOver(view, (words) => { told.textContent = words; }));
}
