"use strict";
// The page comes to life: light and dark, time lines, graph, printing.

function themed(change) {
  const button = document.querySelector("button.theme");
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const tell = () => { button.setAttribute("aria-pressed", dark()); change(); };
  button.addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; tell(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
  let before = "", closed = [];
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme || "";
    closed = [...document.querySelectorAll("details.numbers:not([open])")];
    for (const details of closed) details.open = true;
    document.documentElement.dataset.theme = "light";
    document.documentElement.dataset.printing = "yes";
    tell();
  });
  addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
    delete document.documentElement.dataset.printing;
    if (before) document.documentElement.dataset.theme = before; else delete document.documentElement.dataset.theme;
    tell();
  });
  button.setAttribute("aria-pressed", dark());
}

let view = null;

async function start() {
  const holder = document.getElementById("runs");
  themed(() => { if (view) { for (const panel of view.panels) panel.theme(); view.redraw(); } });
  if (!holder) return;
  const root = document.getElementById("timelines");
  if (!window.DecompressionStream) {
    root.querySelector(".keys").textContent = "This browser cannot unpack the time lines and the graph's colours: it has no DecompressionStream. One of 2023 or later has it.";
    return;
  }
  const data = await unpacked(holder), tip = new Tip();
  view = new View(root, data, tip);
  new Search(root.querySelector(".search"), view);
  perfetto(root.querySelector(".perfetto"), view);
  tableOf(document.getElementById("span-tables"), view);
  new Graph(document.getElementById("graph"), view, tip);
  addEventListener("scroll", () => tip.hide(), { passive: true });
  document.documentElement.dataset.ready = "yes";
}

start();
