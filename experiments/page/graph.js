"use strict";
// The graph twice, its boxes coloured by the calls of the runs that the time lines show.

const GROUPS = 10;

class Graph {
  constructor(root, view, tip) {
    Object.assign(this, { root, view, tip });
    const drawing = root.querySelector("svg.graph");
    this.sides = [...root.querySelectorAll(".side")];
    this.sides.forEach((side, n) => { if (n) side.querySelector(".drawing").append(drawing.cloneNode(true)); });
    for (const [n, side] of this.sides.entries()) {
      const boxes = [...side.querySelectorAll("g.box")];
      boxes.slice(1).forEach((box) => box.setAttribute("tabindex", "-1"));
      side.addEventListener("keydown", (event) => this.step(boxes, event));
      for (const box of boxes) {
        const point = (event) => this.show(n, box, event.clientX, event.clientY);
        const stand = () => { const place = box.getBoundingClientRect(); this.show(n, box, place.right - 14, place.top); };
        box.addEventListener("pointermove", point);
        box.addEventListener("pointerdown", point);
        box.addEventListener("focus", stand);
        for (const away of ["pointerleave", "blur"]) box.addEventListener(away, () => { this.tip.hide(); this.light(n, null); });
      }
    }
    this.drawings = this.sides.map((side) => side.querySelector(".drawing"));
    for (const button of root.querySelectorAll("button[data-size]")) {
      button.addEventListener("click", () => this.size(Number(button.dataset.size)));
    }
    for (const drawing of this.drawings) drawing.addEventListener("scroll", () => this.follow(drawing), { passive: true });
    this.size(0);
    view.root.addEventListener("tracks", () => this.color());
    this.color();
  }

  // One stop of the tab key a drawing; arrows go on from box to box.
  step(boxes, event) {
    const at = boxes.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (at < 0 || !step) return;
    event.preventDefault();
    const next = boxes[Math.min(Math.max(at + step, 0), boxes.length - 1)];
    boxes[at].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // By a factor; with 0 as wide as there is room, but not so small that nothing can be read.
  size(factor) {
    const [drawing] = this.drawings, whole = drawing.querySelector("svg").viewBox.baseVal;
    this.scale = factor ? this.scale * factor : Math.max(Math.min((drawing.clientWidth - 2) / whole.width, 1), 0.45);
    for (const one of this.drawings) {
      const svg = one.querySelector("svg");
      svg.setAttribute("width", Math.round(whole.width * this.scale));
      svg.setAttribute("height", Math.round(whole.height * this.scale));
    }
  }

  // Both drawings show the same part.
  follow(drawing) {
    for (const other of this.drawings) {
      if (other === drawing || (other.scrollTop === drawing.scrollTop && other.scrollLeft === drawing.scrollLeft)) continue;
      other.scrollTop = drawing.scrollTop;
      other.scrollLeft = drawing.scrollLeft;
    }
  }

  color() {
    this.sides.forEach((side, n) => {
      const { run } = this.view.panels[n];
      const calls = new Map(), shared = run.calls.filter((call) => call.nodes.length > 1);
      run.calls.forEach((call) => call.nodes.forEach((node) => calls.set(node, call)));
      side.calls = calls;
      side.querySelector("h3").textContent = run.label;
      for (const box of side.querySelectorAll("g.box")) {
        const group = shared.indexOf(calls.get(box.dataset.node));
        box.dataset.group = group < 0 ? "" : group % GROUPS;
      }
      side.querySelector(".groups").replaceChildren(...this.list(run, shared));
    });
  }

  list(run, shared) {
    const alone = run.calls.length - shared.length;
    const items = shared.map((call, n) => element("li", {}, element("span", { class: "swatch", "data-group": n % GROUPS }),
      element("strong", {}, call.name), ` ${count(call.nodes.length)} nodes${call.times > 1 ? `, launched ${count(call.times)} times` : ""}${call.reason ? `: ${call.reason}` : ""}`));
    if (alone) items.push(element("li", {}, element("span", { class: "swatch" }), `${count(alone)} ${alone === 1 ? "call" : "calls"} of one node`));
    return items;
  }

  show(n, box, x, y) {
    const { calls } = this.sides[n], { run } = this.view.panels[n], node = box.dataset.node, call = calls.get(node);
    const facts = [["", box.dataset.about]];
    if (call) {
      facts.push(["call", call.name], ["nodes", call.nodes.join(", ")], ["takes", `${timeText(call.time_ps)}${call.times > 1 ? `, ${count(call.times)} times` : ""}`]);
      if (call.iterations > 1) facts.push(["runs its block", `${count(call.iterations)} times in one launch`]);
      if (call.schedule) facts.push(["schedule", `${call.schedule}${call.schedule_reason ? `: ${call.schedule_reason}` : ""}`]);
      if (call.reason) facts.push(["why one call", call.reason]);
    }
    for (const refusal of run.refused.filter(({ nodes }) => nodes.includes(node)).slice(0, 3)) facts.push(["refused", `${refusal.nodes.join(" + ")}: ${refusal.reason}`]);
    this.tip.show(x, y, node || "given or made", facts);
    this.light(n, call);
  }

  light(n, call) {
    for (const box of this.sides[n].querySelectorAll("g.box")) box.classList.toggle("lit", Boolean(call) && call.nodes.includes(box.dataset.node));
  }
}
