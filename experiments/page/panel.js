"use strict";
// One machine's time line on a canvas. A track says what is drawn: {timeline, scale (picoseconds a cycle), total
// (picoseconds), passes (of blocks), run, call}. The view {from, to} is in picoseconds, and the panels share it.

const LANE = 18, BAR = 13, RULER = 22, BAND = 16, LABEL_PIXELS = 34;
// Dots for each pixel on paper, on which time lines are drawn as wide as a page, so that their words stay as large.
const PAPER_RATIO = 3;
const COLORS = ["call", "matrix", "vector", "special", "memory", "network", "issue", "sync", "launch"];

class Panel {
  constructor(root) {
    this.root = root;
    this.scroller = root.querySelector(".lanes");
    this.spacer = root.querySelector(".spacer");
    this.canvas = root.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.matches = null;
    this.selected = -1;
    this.hover = null;
  }

  show(track) {
    this.track = track;
    this.selected = -1;
    this.hover = null;
    this.lanes = track.timeline.lanes;
    this.bands = (track.passes.length ? 1 : 0) + track.timeline.depth;
    this.top = RULER + this.bands * BAND;
    this.spacer.style.height = `${this.top + this.lanes.length * LANE + 6}px`;
  }

  theme() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colors = Object.fromEntries([...COLORS, "ink", "quiet", "ground", "line", "mark", "stripe", "on-bar"].map((n) => [n, value(n)]));
  }

  get gutter() { return Math.min(190, Math.max(84, this.width * 0.2)); }

  draw(view) {
    const began = performance.now();
    const ratio = document.documentElement.dataset.printing ? PAPER_RATIO : window.devicePixelRatio || 1, width = this.scroller.clientWidth, height = this.scroller.clientHeight;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    Object.assign(this, { width, height, view, hits: this.lanes.map(() => []), bandHits: [], drawn: 0 });
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (!this.colors) this.theme();
    this.scale = (width - this.gutter) / (view.to - view.from);
    this.offset = this.scroller.scrollTop;
    this.paint();
    this.milliseconds = performance.now() - began;
  }

  x(ps) { return this.gutter + (ps - this.view.from) * this.scale; }

  // Where the bars of a lane begin, from the top of the canvas.
  y(lane) { return this.top + lane * LANE - this.offset; }

  visible(lane) { const y = this.y(lane); return y + LANE > this.top && y < this.height; }

  paint() {
    const { context, colors, width, height } = this;
    context.fillStyle = colors.ground;
    context.fillRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.save();
    context.beginPath();
    context.rect(this.gutter, this.top, width - this.gutter, height - this.top);
    context.clip();
    this.paintGround();
    this.reached = new Float64Array(this.lanes.length).fill(-1);
    const cycle = this.track.scale;
    const bands = [];
    const out = {
      span: (i, shift) => this.paintSpan(i, shift),
      repeat: (body, begin, depth) => { this.paintRepeat(body, begin); bands.push([body, begin, body.passes, 0, depth]); },
      pass: (body, begin, number, depth) => bands.push([body, begin, 1, number, depth]),
      hidden: (from, to) => this.paintHidden(from * cycle, to * cycle),
    };
    this.track.timeline.walk(out, this.view.from / cycle, this.view.to / cycle, this.scale * cycle);
    context.restore();
    this.paintBands(bands);
    this.paintRuler();
    this.paintNames();
  }

  paintGround() {
    const { context, colors, width } = this;
    this.lanes.forEach((lane, place) => {
      if (!this.visible(place) || place % 2) return;
      context.fillStyle = colors.stripe;
      context.fillRect(this.gutter, this.y(place), width - this.gutter, LANE);
    });
    context.fillStyle = colors.line;
    for (const tick of this.ticks()) context.fillRect(Math.round(this.x(tick)), this.top, 1, this.height);
    const end = this.x(this.track.total);
    context.fillStyle = colors.mark;
    if (end >= this.gutter && end <= width) context.fillRect(Math.round(end) - 1, this.top, 2, this.height);
  }

  ticks() {
    this.step = niceStep((this.view.to - this.view.from) * 90 / (this.width - this.gutter));
    const found = [];
    for (let n = Math.ceil(this.view.from / this.step); n * this.step <= this.view.to; n++) found.push(n * this.step);
    return found;
  }

  paintSpan(i, shift) {
    const timeline = this.track.timeline, lane = timeline.laneOf[i], cycle = this.track.scale;
    if (!this.visible(lane)) return;
    const x0 = this.x((timeline.start[i] + shift) * cycle), x1 = this.x((timeline.end[i] + shift) * cycle);
    const late = this.x((timeline.usable[i] + shift) * cycle);
    const found = this.matches && this.matches.has(timeline.kinds[i]), chosen = i === this.selected;
    // What ends in a pixel that is painted already would not be seen.
    if (late <= this.gutter || x0 >= this.width || (x1 <= this.reached[lane] && !chosen && !found)) return;
    const { context, colors } = this, y = this.y(lane) + (LANE - BAR) / 2;
    const left = Math.max(x0, this.gutter), right = Math.min(Math.max(x1, x0 + 1), this.width);
    const color = colors[this.lanes[lane].unitClass];
    context.globalAlpha = this.matches && !found ? 0.22 : 1;
    context.fillStyle = color;
    if (late > x1 + 1) context.fillRect(x1, y + BAR / 2 - 1, Math.min(late, this.width) - x1, 2);
    context.fillRect(left, y, right - left > 3 ? right - left - 0.6 : right - left, BAR);
    if (right - left > LABEL_PIXELS) this.paintText(timeline.label(i), left + 4, y + BAR / 2 + 0.5, right - left - 8, colors["on-bar"]);
    context.globalAlpha = 1;
    if (found || chosen) {
      context.strokeStyle = chosen ? colors.mark : colors.ink;
      context.lineWidth = chosen ? 2.5 : 1.2;
      context.strokeRect(left - 0.5, y - 1.5, Math.max(right - left, 2), BAR + 3);
    }
    if (right > left) this.hits[lane].push([left, right, i, shift]);
    this.reached[lane] = Math.max(this.reached[lane], Math.floor(x1));
    this.drawn++;
  }

  // A folded repeat: in each lane as high as the share of the time that it is busy.
  paintRepeat(body, begin) {
    const { context, colors } = this, cycle = this.track.scale;
    const left = Math.max(this.x(begin * cycle), this.gutter);
    const right = Math.min(this.x((begin + body.passes * body.cycles) * cycle), this.width);
    if (right <= left) return;
    const found = this.matches ? this.matchedLanes(body) : new Set();
    this.lanes.forEach((lane, place) => {
      if (!body.busy[place] || !this.visible(place)) return;
      const share = Math.min(body.busy[place] / body.cycles, 1), y = this.y(place) + (LANE - BAR) / 2;
      context.fillStyle = colors[lane.unitClass];
      context.globalAlpha = 0.2;
      context.fillRect(left, y, right - left, BAR);
      context.globalAlpha = this.matches && !found.has(place) ? 0.3 : 0.85;
      context.fillRect(left, y + BAR * (1 - share), right - left, Math.max(1, BAR * share));
      context.globalAlpha = 1;
      context.strokeStyle = colors.ink;
      context.lineWidth = 1.2;
      if (found.has(place)) context.strokeRect(left, y - 1.5, right - left, BAR + 3);
      this.hits[place].push([left, right, -1, begin, body, share]);
    });
    if (body.end > this.track.timeline.hiddenFrom) this.paintHidden(begin * cycle, (begin + body.passes * body.cycles) * cycle);
    this.drawn++;
  }

  // Lanes in which a folded repeat holds something that was searched for.
  matchedLanes(body) {
    const { kinds, laneOf } = this.track.timeline, found = new Set();
    for (let i = body.first; i < body.last; i++) if (this.matches.has(kinds[i])) found.add(laneOf[i]);
    return found;
  }

  paintHidden(from, to) {
    const { context, colors } = this;
    const left = Math.max(this.x(from), this.gutter), right = Math.min(this.x(to), this.width);
    if (right <= left) return;
    context.save();
    context.beginPath();
    context.rect(left, this.top, right - left, this.height);
    context.clip();
    context.strokeStyle = colors.quiet;
    context.globalAlpha = 0.4;
    context.lineWidth = 1;
    context.beginPath();
    for (let x = left - this.height; x < right; x += 9) { context.moveTo(x, this.height); context.lineTo(x + this.height, 0); }
    context.stroke();
    context.restore();
    this.bandHits.push([left, right, this.top, this.height, ["spans that this page leaves out", [["from", timeText(from)]]]]);
  }

  paintText(text, x, y, room, color) {
    const { context } = this;
    if (room < 12) return;
    let shown = text;
    const letters = Math.floor(room / 5.6);
    if (shown.length > letters) shown = `${shown.slice(0, Math.max(letters - 1, 1))}\u2026`;
    context.fillStyle = color;
    context.fillText(shown, x, y, room);
  }
}
