"use strict";
// The rows around the lanes of a panel: the axis, what repeats, the names of the lanes; and what is under the pointer.

Object.assign(Panel.prototype, {
  paintRuler() {
    const { context, colors, width } = this;
    context.fillStyle = colors.ground;
    context.fillRect(0, 0, width, RULER);
    context.textAlign = "left";
    const end = this.x(this.track.total), shown = end >= this.gutter && end <= width;
    const ending = `ends ${timeText(this.track.total)}`, room = ending.length * 5.8 + 8;
    const from = shown ? (end + room < width ? end : end - room) : width, until = from + room;
    for (const tick of this.ticks()) {
      const x = this.x(tick);
      context.fillStyle = colors.quiet;
      context.fillRect(Math.round(x), RULER - 6, 1, 6);
      const text = tickText(tick, this.step, this.view.to);
      const right = x + 8 + text.length * 5.8;
      if (right <= width && (right < from || x > until)) this.paintText(text, x + 4, RULER / 2, 90, colors.quiet);
    }
    if (end < this.gutter) this.paintText(`ended at ${timeText(this.track.total)}`, this.gutter + 8, this.top + LANE / 2, 200, colors.mark);
    if (shown) this.paintText(ending, from + 3, RULER / 2, until - from, colors.mark);
  },

  // Passes of blocks first, then repeats, the outermost on top.
  paintBands(bands) {
    if (!this.bands) return;
    const { context, colors, width } = this, cycle = this.track.scale;
    context.fillStyle = colors.ground;
    context.fillRect(0, RULER, width, this.top - RULER);
    const row = this.track.passes.length ? 1 : 0;
    for (const { begin, end, text, facts } of this.folded()) this.paintBand(0, this.x(begin), this.x(end), text, facts);
    for (const [body, begin, passes, number, depth] of bands) {
      const text = number ? `${count(number)} of ${count(body.passes)}` : `\u00d7 ${count(passes)}`;
      const facts = [["each takes", `${timeText(body.cycles * cycle)} (${count(body.cycles)} ${this.track.clock})`],
        ["all take", timeText(body.cycles * body.passes * cycle)], ["spans in each", count(body.last - body.first)],
        ["", number ? "" : "zoom in to see them one by one"]];
      const until = begin + passes * body.cycles;
      this.paintBand(row + depth, this.x(begin * cycle), this.x(until * cycle), text, facts, number ? "repeated, pass " : "repeated ");
    }
  },

  // Passes of a block, together as long as they are narrow.
  folded() {
    const found = [];
    for (const group of this.track.passes) {
      const [first] = group.passes, last = group.passes[group.passes.length - 1], times = group.passes.length;
      const facts = [["calls in each", count(group.calls)], ["all take", timeText(last[1] - first[0])]];
      if ((last[1] - first[0]) * this.scale / times < PASS_PIXELS * 2 && times > 1) {
        found.push({ begin: first[0], end: last[1], text: `${group.name} \u00d7 ${count(times)}`, facts });
        continue;
      }
      group.passes.forEach(([begin, end], number) => {
        const text = times > 1 ? `${group.name} ${number + 1} of ${times}` : group.name;
        found.push({ begin, end, text, facts: [["takes", timeText(end - begin)], ...facts] });
      });
    }
    return found;
  },

  paintBand(row, x0, x1, text, facts, prefix = "") {
    const left = Math.max(x0, this.gutter), right = Math.min(x1, this.width);
    if (right - left < 1) return;
    const { context, colors } = this, y = RULER + row * BAND;
    context.fillStyle = colors.stripe;
    context.strokeStyle = colors.quiet;
    context.lineWidth = 1;
    context.fillRect(left, y + 1, right - left, BAND - 3);
    context.strokeRect(left + 0.5, y + 1.5, Math.max(right - left - 1, 1), BAND - 4);
    // As much as fits; a piece of a number would be another number.
    const words = [text, text.split(" of ")[0]].find((one) => one.length * 5.6 + 6 <= right - left);
    if (words) this.paintText(words, left + 4, y + BAND / 2, right - left - 4, colors.ink);
    this.bandHits.push([left, right, y, y + BAND, [prefix + text, facts.filter(([, value]) => value)]]);
  },

  paintNames() {
    const { context, colors, gutter } = this;
    context.fillStyle = colors.ground;
    context.fillRect(0, RULER, gutter - 4, this.height);
    const names = [...(this.track.passes.length ? ["blocks"] : []), ...Array(this.track.timeline.depth).fill("repeats")];
    names.forEach((name, row) => this.paintText(name, 4, RULER + row * BAND + BAND / 2, gutter - 10, colors.quiet));
    context.save();
    context.beginPath();
    context.rect(0, this.top, gutter - 4, this.height);
    context.clip();
    this.lanes.forEach((lane, place) => {
      if (!this.visible(place)) return;
      const y = this.y(place) + LANE / 2;
      context.fillStyle = colors[lane.unitClass];
      context.fillRect(4, y - 5, 6, 10);
      this.paintText(lane.name, 15, y, gutter - 24, colors.ink);
    });
    context.restore();
  },

  // What is at a place of the canvas: [title, facts], or null.
  at(x, y) {
    for (let n = this.bandHits.length - 1; n >= 0 && y < this.top; n--) {
      const [left, right, above, below, told] = this.bandHits[n];
      if (x >= left && x < right && y >= above && y < below) return told;
    }
    if (y < this.top || x < this.gutter) return null;
    const lane = Math.floor((y - this.top + this.offset) / LANE);
    const hits = this.hits[lane] || [];
    for (let n = hits.length - 1; n >= 0; n--) {
      const [left, right, i, shift, body, share] = hits[n];
      if (x >= left - 1 && x <= right + 1) return i < 0 ? this.aboutRepeat(lane, body, share) : this.aboutSpan(i, shift);
    }
    const hidden = this.bandHits.find(([left, right, above]) => above === this.top && x >= left && x < right);
    return hidden ? hidden[4] : null;
  },

  spanAt(x, y) {
    const hits = (y >= this.top && this.hits[Math.floor((y - this.top + this.offset) / LANE)]) || [];
    const found = hits.findLast(([left, right, i]) => i >= 0 && x >= left - 1 && x <= right + 1);
    return found ? found[2] : -1;
  },

  aboutRepeat(lane, body, share) {
    const cycle = this.track.scale;
    const facts = [["unit", this.lanes[lane].name], ["busy", `${(100 * share).toFixed(1)} % of the time`],
      ["each pass", `${timeText(body.cycles * cycle)} (${count(body.cycles)} ${this.track.clock})`]];
    return [`a period that is repeated \u00d7 ${count(body.passes)}`, [...facts, ["", "zoom in to see it"]]];
  },

  aboutSpan(i, shift) {
    const { timeline, scale, clock } = this.track;
    const both = (cycles) => (clock === "ps" ? timeText(cycles) : `${timeText(cycles * scale)} (${count(cycles)} ${clock})`);
    const [, , , cycles, flight = 0, waited = 0] = timeline.kind(i);
    const [unit, unitClass] = timeline.unit(i);
    const facts = [["role", timeline.role(i)], ["unit", unit === unitClass ? unit : `${unit} (${unitClass})`],
      ["start", both(timeline.start[i] + shift)], ["takes", both(cycles)]];
    if (flight) facts.push(["then in flight", both(flight)]);
    if (waited) facts.push(["waited for its unit", both(waited)]);
    facts.push(["waited last for", this.causeText(i, shift)]);
    const call = this.track.call ? null : this.track.run.calls.find((one) => one.name === timeline.label(i));
    if (call) {
      if (call.nodes.length) facts.push(["nodes", call.nodes.join(", ")]);
      if (call.finishes) facts.push(["finishes", call.finishes]);
      if (call.reason) facts.push(["why one call", call.reason]);
      facts.push(["", "double click to look inside"]);
    }
    return [timeline.label(i), facts];
  },

  causeText(i, shift) {
    const { timeline, scale } = this.track, cause = timeline.cause[i];
    if (cause < 0) return "nothing: it starts at once";
    const late = timeline.kind(i)[7];
    const when = timeText(((late ? timeline.usable : timeline.end)[cause] + shift) * scale);
    return `${timeline.label(cause)} of ${timeline.role(cause)} on ${timeline.unit(cause)[0]}, ${late ? "which arrived" : "which ended"} at ${when}`;
  },
});
