// Follows a run that is under way: asks for its state every two seconds and fills in what has changed.
const table = document.querySelector("#cells[data-state]");

const words = table ? JSON.parse(table.dataset.words) : {};
const say = (value) => (value === null ? "" : (words[value] ?? String(value)));

function fill(told) {
  document.querySelector("#progress").textContent = say(told.progress);
  document.querySelector("#ended").textContent = told.ended;
  let unknown = false;
  for (const cell of told.cells) {
    const row = table.querySelector(`tr[data-cell="${cell.cell}"]`);
    if (!row) { unknown = true; continue; }
    for (const place of row.querySelectorAll("[data-key]")) {
      const text = say(cell[place.dataset.key]);
      if (place.textContent === text) continue;
      place.textContent = text;
      place.classList.remove("changed");
      void place.offsetWidth;
      place.classList.add("changed");
    }
  }
  return unknown || told.progress !== "running";
}

async function follow() {
  try {
    const answer = await fetch(table.dataset.state, { cache: "no-store" });
    if (answer.ok && fill(await answer.json())) { location.reload(); return; }
  } catch { /* the server has ended, or is restarting: ask again */ }
  setTimeout(follow, 2000);
}

if (table) setTimeout(follow, 2000);
