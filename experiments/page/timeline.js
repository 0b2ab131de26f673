"use strict";
// What happened when, from packed data (see spans.py). Times are cycles of the run; repeats stay folded until they are
// wide enough to be seen.

// Pixels that one pass of a repeat needs to be drawn by itself, and spans that are drawn at most for passes.
const PASS_PIXELS = 26;
const PASS_SPANS = 30000;

function firstAfter(values, limit, low, high) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > limit) high = middle; else low = middle + 1;
  }
  return low;
}

// Numbers of which a piece that stood before is (-distance, length).
function unfolded(numbers, count) {
  const found = new Int32Array(count);
  let at = 0;
  for (let n = 0; n < numbers.length; n++) {
    if (numbers[n] >= 0) { found[at++] = numbers[n]; continue; }
    const distance = -numbers[n], length = numbers[++n];
    for (let k = 0; k < length; k++, at++) found[at] = found[at - distance];
  }
  return found;
}

class Timeline {
  constructor(data, words) {
    this.data = data;
    this.words = words;
    this.units = data.units.map(([name, unitClass, lanes]) => [words[name], words[unitClass], lanes]);
    const count = data.shown;
    this.kinds = unfolded(data.spans, count);
    this.start = new Float64Array(count);
    this.end = new Float64Array(count);
    this.usable = new Float64Array(count);
    this.cause = new Int32Array(count);
    this.longest = 0;
    for (let i = 0; i < count; i++) {
      const [, , , cycles, flight = 0, , back = 0, late = 0] = data.kinds[this.kinds[i]];
      const cause = back ? i - back : -1;
      this.cause[i] = cause;
      this.start[i] = cause < 0 ? 0 : late ? this.usable[cause] : this.end[cause];
      this.end[i] = this.start[i] + cycles;
      this.usable[i] = this.end[i] + flight;
      this.longest = Math.max(this.longest, cycles + flight);
    }
    this.hiddenFrom = data.hidden_from === null ? Infinity : data.hidden_from;
    const windows = [...data.windows].sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    this.makeLanes();
    this.root = this.body([-1, data.stepped, 0], windows);
    this.depth = depthOf(this.root);
  }

  kind(i) { return this.data.kinds[this.kinds[i]]; }
  role(i) { return this.words[this.kind(i)[0]]; }
  label(i) { return this.words[this.kind(i)[1]]; }
  unit(i) { return this.units[this.kind(i)[2]]; }

  // A lane for each unit, in the order of the program. Where a unit serves several at once, one for each role on it,
  // and more where one role has several things there at a time: nothing in a lane overlaps.
  makeLanes() {
    const rows = new Map();
    this.laneOf = new Int32Array(this.start.length);
    for (let i = 0; i < this.start.length; i++) {
      const kind = this.kind(i);
      const shared = this.units[kind[2]][2] > 1;
      let row = 0, key, found;
      for (;; row++) {
        key = shared ? `${kind[2]} ${kind[0]} ${row}` : `${kind[2]}`;
        found = rows.get(key);
        if (!found || !shared || found.free <= this.start[i]) break;
      }
      if (!found) {
        const [unit, unitClass] = this.units[kind[2]];
        const role = shared ? `: ${this.words[kind[0]]}${row ? ` ${row + 1}` : ""}` : "";
        found = { order: kind[2], name: unit + role, unitClass, members: [] };
        rows.set(key, found);
      }
      found.free = this.end[i];
      found.members.push(i);
    }
    this.lanes = [...rows.values()].sort((a, b) => a.order - b.order);
    this.lanes.forEach((lane, place) => { for (const i of lane.members) this.laneOf[i] = place; delete lane.members; });
  }

  // One pass of a window: its spans [first, last), the windows in it, its cycles with their repeats, and how long each
  // lane is busy in it.
  body([start, end, extra], stack) {
    const inner = [];
    while (stack.length && stack[stack.length - 1][1] <= end) inner.push(this.body(stack.pop(), stack));
    const count = this.start.length;
    const first = firstAfter(this.start, start, 0, count), last = firstAfter(this.start, end, 0, count);
    const body = { start, end, extra, first, last, inner, passes: extra + 1 };
    body.cycles = end - start + inner.reduce((sum, one) => sum + one.skipped, 0);
    body.skipped = body.passes * body.cycles - (end - start);
    body.busy = new Float64Array(this.lanes.length);
    let at = first;
    for (const one of [...inner, { first: last, last, passes: 0, busy: null }]) {
      for (let i = at; i < one.first; i++) body.busy[this.laneOf[i]] += this.end[i] - this.start[i];
      for (let lane = 0; one.busy && lane < one.busy.length; lane++) body.busy[lane] += one.passes * one.busy[lane];
      at = one.last;
    }
    return body;
  }

  // Calls out.span(i, shift), out.repeat(body, begin, depth), out.pass(body, begin, number, depth) and
  // out.hidden(from, to) for what is seen of the cycles from `from` to `to` at so many pixels a cycle.
  walk(out, from, to, pixels) { this.walkBody(out, this.root, 0, from, to, pixels, 0); }

  walkBody(out, body, shift, from, to, pixels, depth) {
    let at = Math.max(body.start, 0), first = body.first;
    for (const inner of [...body.inner, null]) {
      const last = inner ? inner.first : body.last, until = inner ? inner.start : body.end;
      this.walkStraight(out, first, last, shift, from, to);
      if (until > this.hiddenFrom && until > at) out.hidden(Math.max(at, this.hiddenFrom) + shift, until + shift);
      if (!inner) return;
      this.walkRepeat(out, inner, shift, from, to, pixels, depth);
      shift += inner.skipped;
      at = inner.end;
      first = inner.last;
    }
  }

  walkStraight(out, first, last, shift, from, to) {
    const begin = firstAfter(this.start, from - shift - this.longest - 1, first, last);
    for (let i = begin; i < last && this.start[i] + shift <= to; i++) out.span(i, shift);
  }

  walkRepeat(out, body, shift, from, to, pixels, depth) {
    const begin = body.start + shift, { cycles, passes } = body;
    if (begin > to || begin + passes * cycles + this.longest < from) return;
    const low = Math.min(Math.max(Math.floor((from - begin - this.longest) / cycles), 0), passes - 1);
    const high = Math.max(Math.min(Math.floor((to - begin) / cycles), passes - 1), low);
    const folded = cycles * pixels < PASS_PIXELS || (high - low + 1) * (body.last - body.first) > PASS_SPANS;
    if (folded && passes > 1) {
      out.repeat(body, begin, depth);
      return;
    }
    for (let pass = low; pass <= high; pass++) {
      out.pass(body, begin + pass * cycles, pass + 1, depth);
      this.walkBody(out, body, shift + pass * cycles, from, to, pixels, depth + 1);
    }
  }

  // The cycle in which a span starts when it happens first, and how often it happens.
  place(i) {
    let body = this.root, shift = 0, times = 1;
    for (;;) {
      let within = null;
      for (const inner of body.inner) {
        if (inner.last <= i) shift += inner.skipped;
        else if (inner.first <= i) within = inner;
      }
      if (!within) return { start: this.start[i] + shift, times };
      times *= within.passes;
      body = within;
    }
  }
}

function depthOf(body) { return body.inner.reduce((most, inner) => Math.max(most, 1 + depthOf(inner)), 0); }
