"use strict";
// Numbers for people, and elements.

const UNITS = [[1e12, "s"], [1e9, "ms"], [1e6, "us"], [1e3, "ns"], [1, "ps"]];

function count(number) { return Number(number).toLocaleString("en-US"); }

function timeText(ps) {
  const [step, unit] = UNITS.find(([size]) => Math.abs(ps) >= size) || UNITS[UNITS.length - 1];
  const value = ps / step;
  const places = step === 1 ? 0 : value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
  return `${value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places })} ${unit}`;
}

// Times of an axis: one unit for all of them, and as many places as parts them.
function tickText(ps, step, most) {
  const [size, unit] = UNITS.find(([one]) => most >= one) || UNITS[UNITS.length - 1];
  const places = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(ps / size).toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places })} ${unit}`;
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((one) => one * power >= rough) || 10);
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function option(value, text, selected) {
  const made = element("option", { value }, text);
  made.selected = selected;
  return made;
}

// A box beside the pointer with a title and lines of (what, value); values are texts, never HTML.
class Tip {
  constructor() {
    this.box = element("div", { class: "tip", role: "tooltip", hidden: "" });
    document.body.append(this.box);
  }

  show(x, y, title, facts) {
    this.box.replaceChildren(element("strong", {}, title));
    const list = element("dl");
    for (const [what, value] of facts) list.append(element("dt", {}, what), element("dd", {}, String(value)));
    this.box.append(list);
    this.box.hidden = false;
    const { width, height } = this.box.getBoundingClientRect();
    const right = document.documentElement.clientWidth, bottom = window.innerHeight;
    this.box.style.left = `${Math.max(4, Math.min(x + 14, right - width - 8))}px`;
    this.box.style.top = `${y + 16 + height > bottom ? Math.max(4, y - height - 12) : y + 16}px`;
  }

  hide() { this.box.hidden = true; }
}
