// The flows one by one: sorted by any column, searched by any word. The page has rows without a script; these take their place.

const SHOWN_ROWS = 200;
const CELLS = 5;

function list(fold, charts) {
  const table = fold.querySelector("table");
  if (!charts.listed || !table) return;
  const { all, rows } = charts.listed;
  const state = { word: "", column: null, down: true };
  const finder = element("div", "finder");
  const input = element("input");
  input.type = "search";
  input.placeholder = "Search a flow, an address, an algorithm";
  input.setAttribute("aria-label", "Search the flows");
  const told = element("span", "soft");
  told.setAttribute("aria-live", "polite");
  finder.append(input, told);
  fold.querySelectorAll(":scope > p").forEach((note) => note.remove());
  table.parentElement.before(finder);
  table.querySelectorAll("tbody").forEach((body, i) => i === 0 && body.remove());
  const body = element("tbody");
  table.querySelector("thead").after(body);
  const labels = [...table.querySelectorAll("thead th")].map((head, i) => sortable(head, i, state, show));

  function show() {
    const word = state.word.toLowerCase();
    let found = word ? rows.filter((row) => row[0].toLowerCase().includes(word) || row[1].toLowerCase().includes(word) || (row[3] ?? "").includes(word)) : [...rows];
    if (state.column != null) found = sorted(found, state);
    // Without an order of the reader's, the marked ones come first.
    else found.sort((a, b) => (b[3] != null) - (a[3] != null));
    body.replaceChildren(...found.slice(0, SHOWN_ROWS).map((row) => line(row, labels, fold)));
    const of = rows.length < all ? `${rows.length.toLocaleString("en")} of ${all.toLocaleString("en")} flows are listed; ` : "";
    const more = found.length > SHOWN_ROWS ? `, the first ${SHOWN_ROWS} are shown` : "";
    told.textContent = `${of}${found.length.toLocaleString("en")} found${more}`;
  }
  input.addEventListener("input", () => { state.word = input.value.trim(); show(); });
  show();
}

function sortable(head, i, state, show) {
  const label = [head.firstChild?.textContent, head.querySelector("small")?.textContent].filter(Boolean);
  const button = element("button", "", head.firstChild?.textContent);
  button.type = "button";
  head.firstChild?.replaceWith(button);
  button.addEventListener("click", () => {
    state.down = state.column === i ? !state.down : true;
    state.column = i;
    head.parentElement.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    show();
  });
  return label.length > 1 ? `${label[0]} [${label[1]}]` : label[0];
}

// Texts in the order of the alphabet first, numbers with the largest first; what is not known comes last.
function sorted(rows, { column, down }) {
  const sign = down ? 1 : -1;
  if (column < 2) return rows.sort((a, b) => sign * a[column].localeCompare(b[column], "en", { numeric: true }));
  const value = (row) => parseFloat(row[column - 2 + CELLS].replaceAll(",", ""));
  return rows.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return sign * (y - x);
  });
}

function line(row, labels, fold) {
  const [name, algorithm, color, why, drawn, ...cells] = row;
  const made = element("tr", why ? "different" : "");
  const first = element("td", "name");
  if (drawn == null) {
    first.textContent = name;
  } else {
    const button = element("button", "link", name);
    button.type = "button";
    button.title = "show its charts";
    button.addEventListener("click", () => single(fold, drawn));
    first.append(button);
  }
  if (why) first.append(element("span", "why", why));
  const second = element("td", "name");
  const square = element("i", "key");
  square.style.background = color ?? "transparent";
  second.append(square, algorithm);
  made.append(first, second);
  cells.forEach((cell, i) => {
    const place = element("td", "", cell);
    place.dataset.label = labels[i + 2];
    made.append(place);
  });
  return made;
}

// Opens the charts of single flows with this one alone.
function single(fold, drawn) {
  const lines = document.querySelector(`[data-lines="${fold.dataset.flows}"]`);
  lines.open = true;
  lines.draw();
  const group = lines.lines;
  const charts = group.plots.find((u) => u.ofFlows);
  for (let i = 1; i < charts.series.length; i++) {
    const show = i - 1 === drawn;
    if (charts.series[i].show !== show) charts.setSeries(i, { show });
  }
  const choice = lines.querySelector("figure.chart select");
  const name = charts.series[drawn + 1].label;
  const at = [...(choice?.options ?? [])].findIndex((option) => option.textContent === name);
  if (at >= 0) {
    choice.selectedIndex = at;
    choice.dispatchEvent(new Event("change"));
  }
  lines.scrollIntoView({ block: "start" });
}
