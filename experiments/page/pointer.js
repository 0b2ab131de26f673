"use strict";
// Mouse, pen and finger on a panel: drag to pan, wheel or two fingers to zoom, hover or tap to ask.

class Pointer {
  constructor(panel, view) {
    Object.assign(this, { panel, view, down: new Map(), moved: 0 });
    const on = (name, act, how) => panel.scroller.addEventListener(name, act.bind(this), how);
    on("pointerdown", this.press);
    on("pointermove", this.move);
    on("pointerup", this.lift);
    on("pointercancel", this.lift);
    on("pointerleave", () => view.tip.hide());
    on("dblclick", (event) => view.inside(panel, panel.spanAt(...this.place(event))));
    on("wheel", this.wheel, { passive: false });
  }

  place(event) {
    const box = this.panel.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  press(event) {
    if (event.button || event.offsetX > this.panel.width) return;
    if (event.pointerType !== "touch") this.panel.scroller.setPointerCapture(event.pointerId);
    this.down.set(event.pointerId, event.clientX);
    this.moved = 0;
  }

  move(event) {
    if (!this.down.has(event.pointerId)) return this.ask(event);
    const before = [...this.down.values()], change = event.clientX - this.down.get(event.pointerId);
    this.down.set(event.pointerId, event.clientX);
    this.moved += Math.abs(change);
    const room = this.panel.width - this.panel.gutter;
    if (this.down.size === 1) return this.view.pan(-change / room);
    const after = [...this.down.values()], span = (ends) => Math.max(Math.abs(ends[0] - ends[1]), 10);
    const box = this.panel.canvas.getBoundingClientRect();
    return this.view.zoom(span(after) / span(before), ((after[0] + after[1]) / 2 - box.left - this.panel.gutter) / room);
  }

  lift(event) {
    const was = this.down.delete(event.pointerId);
    if (!was || this.moved > 4 || event.type === "pointercancel") return;
    const found = this.panel.spanAt(...this.place(event));
    this.panel.selected = found;
    this.view.redraw();
    this.ask(event);
  }

  ask(event) {
    const told = this.panel.at(...this.place(event));
    if (told) this.view.tip.show(event.clientX, event.clientY, ...told); else this.view.tip.hide();
  }

  // Scrolling down where nothing is left to be zoomed out moves the page on.
  wheel(event) {
    const { panel, view } = this, whole = view.view.to - view.view.from >= view.total;
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (event.shiftKey && !sideways) return;
    if (!sideways && event.deltaY > 0 && whole) return;
    event.preventDefault();
    if (sideways) return void view.pan(event.deltaX / (panel.width - panel.gutter));
    const share = Math.min(Math.max((this.place(event)[0] - panel.gutter) / (panel.width - panel.gutter), 0), 1);
    const steps = event.deltaMode ? event.deltaY * 16 : event.deltaY;
    view.zoom(1.25 ** (-steps / 100), share);
    this.ask(event);
  }
}
