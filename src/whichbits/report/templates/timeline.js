// The request timeline: draws the chosen cell, zooms, tells of the request under the pointer, and fills the table.
"use strict";
const figure = document.querySelector("#timeline");
const field = figure.querySelector(".rows");
const picture = figure.querySelector("svg");
const told = figure.querySelector(".told");
const brush = figure.querySelector(".brush");
const names = [...figure.querySelectorAll(".names li")].map((name) => name.textContent);
const cells = [...figure.querySelectorAll(".cells-data li")];
const choices = [...figure.querySelectorAll("select")];
const labels = [...figure.querySelectorAll("thead th")].map((heading) => heading.textContent);
const ACROSS = 1000;
const TICKS_A_MS = 10;
const NARROWEST = 10; // a millisecond
let requests = [], whole = [0, 1], view = [0, 1], seen = [], picked = null;

function requestOf(line) {
  const [index, replica, planned, sent, first, last, ended, tokens, gapFrom, gap, error] =
    line.split(",").map((field) => (field === "" ? null : Number(field)));
  return { index, replica, planned, sent, first, last, ended, tokens, gapFrom, gap, error };
}

function phases(request) {
  const times = [request.planned, request.sent, request.first, request.last];
  const spans = { wait: [times[0], times[1]], prefill: [times[1], times[2]], decode: [times[2], times[3]] };
  if (request.error !== null) spans.lost = [Math.max(...times), request.ended];
  if (request.gap !== null) spans.gap = [request.gapFrom, request.gapFrom + request.gap];
  return spans;
}

function draw() {
  const [from, to] = view;
  const x = (time) => (ACROSS * (Math.min(Math.max(time, from), to) - from)) / (to - from);
  seen = requests.filter((request) => request.ended >= from && request.planned <= to);
  const drawn = { wait: "", prefill: "", decode: "", lost: "", gap: "", failed: "" };
  seen.forEach((request, row) => {
    for (const [name, [start, end]] of Object.entries(phases(request))) {
      if (start === null || end === null || end < from || start > to) continue;
      const width = (x(end) - x(start)).toFixed(1);
      drawn[name] += `M${x(start).toFixed(1)} ${row}.1h${width}v.8h-${width}z`;
    }
    if (request.error !== null && request.ended <= to) drawn.failed += `M${x(request.ended).toFixed(1)} ${row}.5h0`;
  });
  for (const [name, outline] of Object.entries(drawn)) picture.querySelector(`.${name}`).setAttribute("d", outline);
  picture.setAttribute("viewBox", `0 0 ${ACROSS} ${Math.max(1, seen.length)}`);
  drawTicks(from / (1000 * TICKS_A_MS), to / (1000 * TICKS_A_MS));
  sayView();
  pick(null);
}

function drawTicks(low, high) {
  const most = Math.max(2, Math.floor(field.clientWidth / 90));
  const decade = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = [1, 2, 5, 10].map((times) => times * decade).find((size) => (high - low) / size <= most);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high; at += 1) {
    const tick = document.createElement("span");
    tick.style.left = `${(100 * (at * step - low)) / (high - low)}%`;
    tick.textContent = (at * step).toFixed(digits);
    ticks.push(tick);
  }
  figure.querySelector(".ticks").replaceChildren(...ticks);
}

function number(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

function between(start, end) {
  return start === null || end === null ? figure.dataset.missing : number((end - start) / TICKS_A_MS);
}

function facts(request) {
  return [
    String(request.index),
    request.replica === null ? figure.dataset.missing : names[request.replica - 1],
    (request.planned / (1000 * TICKS_A_MS)).toFixed(3),
    between(request.planned, request.sent),
    between(request.sent, request.first),
    between(request.first, request.last),
    request.tokens === null ? figure.dataset.missing : String(request.tokens),
    request.gap === null ? figure.dataset.missing : number(request.gap / TICKS_A_MS),
    request.error === null ? figure.dataset.ok : names[request.error - 1],
  ];
}

function fillTable() {
  const rows = requests.map((request) => {
    const row = document.createElement("tr");
    facts(request).forEach((text, place) => {
      const cell = document.createElement(place === 0 ? "th" : "td");
      if (place === 0) cell.scope = "row";
      cell.textContent = text;
      row.append(cell);
    });
    return row;
  });
  figure.querySelector("tbody").replaceChildren(...rows);
}

function sayView() {
  const second = (time) => (time / (1000 * TICKS_A_MS)).toFixed(3);
  const { one, several } = figure.dataset;
  const requests = seen.length === 1 ? one : several.replace("{count}", seen.length);
  figure.querySelector("output").textContent = figure.dataset.view
    .replace("{start}", second(view[0])).replace("{end}", second(view[1])).replace("{requests}", requests);
  const isWhole = view[0] === whole[0] && view[1] === whole[1];
  for (const button of figure.querySelectorAll("button:not([data-act=in])")) button.disabled = isWhole;
}

function pick(row, across) {
  picked = row !== null && seen[row] ? row : null;
  told.hidden = picked === null;
  picture.querySelector(".picked").setAttribute("d", picked === null ? "" : `M0 ${picked}.5h${ACROSS}`);
  if (picked === null) return;
  const list = document.createElement("dl");
  facts(seen[picked]).forEach((text, place) => {
    const label = document.createElement("dt"), value = document.createElement("dd");
    label.textContent = labels[place];
    value.textContent = text;
    list.append(label, value);
  });
  told.replaceChildren(list);
  const right = (across ?? 0) > field.clientWidth / 2;
  told.style.left = right ? "auto" : `${(across ?? 0) + 16}px`;
  told.style.right = right ? `${field.clientWidth - across + 16}px` : "auto";
  const below = ((picked + 0.5) / seen.length) * picture.clientHeight;
  told.style.top = `${Math.max(0, Math.min(below, picture.clientHeight - told.offsetHeight))}px`;
}

function show(from, to) {
  const width = Math.min(Math.max(to - from, NARROWEST), whole[1] - whole[0]);
  const start = Math.min(Math.max(from, whole[0]), whole[1] - width);
  view = [start, start + width];
  draw();
}

function zoom(times, around = 0.5) {
  const width = view[1] - view[0], fixed = view[0] + around * width;
  show(fixed - around * width * times, fixed + (1 - around) * width * times);
}

function move(share) {
  const by = share * (view[1] - view[0]);
  show(view[0] + by, view[1] + by);
}

const acts = {
  in: () => zoom(0.5),
  out: () => zoom(2),
  earlier: () => move(-0.25),
  later: () => move(0.25),
  whole: () => show(...whole),
};
const keys = {
  "+": "in", "=": "in", "-": "out", ArrowLeft: "earlier", ArrowRight: "later", "0": "whole", Home: "whole",
  Escape: "whole",
};

function choose(cell) {
  for (const choice of choices) choice.value = cell.dataset[choice.name];
  requests = cell.textContent.split("\n").map(requestOf);
  whole = [0, Math.max(1, ...requests.map((request) => request.ended))];
  figure.querySelector(".shown").textContent = cell.dataset.shown;
  figure.querySelector(".facts-told").textContent = cell.dataset.facts;
  field.setAttribute("aria-label", choices.map((choice) => choice.value).join(", "));
  field.style.setProperty("--count", requests.length);
  show(...whole);
  if (figure.querySelector("details").open) fillTable();
}

function chosen(changed) {
  const fits = (cell) => choices.filter((choice) => cell.dataset[choice.name] === choice.value).length;
  const possible = cells.filter((cell) => cell.dataset[changed.name] === changed.value);
  choose(possible.reduce((best, cell) => (fits(cell) > fits(best) ? cell : best)));
}

const shareOf = (event) => {
  const box = picture.getBoundingClientRect();
  return Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
};
const rowOf = (event) => {
  const box = picture.getBoundingClientRect();
  const row = Math.floor(((event.clientY - box.top) / box.height) * seen.length);
  return row >= 0 && row < seen.length ? row : null;
};
let begun = null;

picture.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  begun = shareOf(event);
  picture.setPointerCapture(event.pointerId);
});
picture.addEventListener("pointermove", (event) => {
  if (begun === null) { pick(rowOf(event), shareOf(event) * field.clientWidth); return; }
  const [left, right] = [begun, shareOf(event)].sort((one, other) => one - other);
  brush.hidden = false;
  brush.style.left = `${100 * left}%`;
  brush.style.width = `${100 * (right - left)}%`;
});
picture.addEventListener("pointerup", (event) => {
  if (begun === null) return;
  const [left, right] = [begun, shareOf(event)].sort((one, other) => one - other);
  const [start, width] = [view[0], view[1] - view[0]];
  begun = null;
  brush.hidden = true;
  if ((right - left) * field.clientWidth > 5) show(start + left * width, start + right * width);
  else pick(rowOf(event), shareOf(event) * field.clientWidth);
});
picture.addEventListener("pointercancel", () => { begun = null; brush.hidden = true; });
picture.addEventListener("pointerleave", () => { if (begun === null) pick(null); });
picture.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the page
  event.preventDefault();
  zoom(event.deltaY < 0 ? 0.8 : 1.25, shareOf(event));
}, { passive: false });
field.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const step = event.key === "ArrowDown" ? 1 : -1;
    pick(picked === null ? 0 : Math.min(Math.max(picked + step, 0), seen.length - 1), 0);
  } else if (keys[event.key]) acts[keys[event.key]]();
  else return;
  event.preventDefault();
});
for (const button of figure.querySelectorAll("button")) button.addEventListener("click", acts[button.dataset.act]);
for (const choice of choices) choice.addEventListener("change", () => chosen(choice));
figure.querySelector("details").addEventListener("toggle", (event) => { if (event.target.open) fillTable(); });
window.addEventListener("resize", draw);
for (const hidden of figure.querySelectorAll(".with-script")) hidden.hidden = false;
field.tabIndex = 0;
choose(cells[Number(figure.dataset.first)]);
