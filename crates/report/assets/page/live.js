// The live page: groups and flows as they come, policies, canaries, and results to browse. It asks and never tells.

let printing = false;
const KEPT_POINTS = 600;
const CLOCK = {
  name: "time",
  value: (t) => clock(t),
  tick: (t) => clock(t),
  axis: { space: 80 },
};
const clock = (t) => new Date(t * 1000).toLocaleTimeString("en-GB");
const BARE = "#7f7f7f";
const byId = (id) => document.getElementById(id);

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => groups.forEach((group) => group.plots.forEach((u) => u.redraw(false, true))));

// ---- figures over time ---------------------------------------------------------------------------------------------

const known = new Map();
let drawn = null;

function learn(told) {
  for (const { name, color, flows, points } of told) {
    const of = known.get(name) ?? { name, points: [] };
    Object.assign(of, { color: color ?? BARE, flows });
    const last = of.points.at(-1)?.t_s ?? 0;
    of.points.push(...points.filter((point) => point.t_s > last));
    of.points.splice(0, of.points.length - KEPT_POINTS);
    known.set(name, of);
  }
  const names = new Set(told.map((of) => of.name));
  for (const name of known.keys()) if (!names.has(name)) known.delete(name);
}

function series(points, figure) {
  const at = (i) => points.map((point) => point[figure]?.[i] ?? null);
  return { t: points.map((point) => point.t_s), p10: at(0), p50: at(1), p90: at(2) };
}

function chartsNow(interval) {
  const all = [...known.values()].filter((of) => of.points.length > 0);
  const times = all.flatMap((of) => [of.points[0].t_s, of.points.at(-1).t_s]);
  const end = Math.max(...times);
  return {
    clock: CLOCK,
    whole: "All of it",
    window_s: [Math.min(...times, end - 10), end],
    group_bucket_s: interval,
    drop_spans: [],
    groups: all.map((of) => ({
      name: of.name, color: of.color, flows: of.flows,
      rate: series(of.points, "rate"), rtt: series(of.points, "rtt"), cwnd: series(of.points, "cwnd"),
    })),
  };
}

function draw(interval) {
  const charts = chartsNow(interval);
  const root = byId("charts");
  if (charts.groups.length === 0) return;
  const lines = charts.groups.map((of) => `${of.name}\n${of.color}`).join("\n");
  if (drawn?.lines !== lines) {
    drawn?.group.plots.forEach((u) => u.destroy());
    groups.length = 0;
    root.replaceChildren();
    drawn = { lines, group: drawGroups(root, charts) };
    return;
  }
  const { group } = drawn;
  const isWhole = group.range[0] <= group.full[0] && group.range[1] >= group.full[1];
  group.full = charts.window_s;
  group.busy = true;
  for (const { u, bandOf } of group.bands) {
    u.setData(bandData(charts, bandOf), false);
    u.root.querySelectorAll(".u-legend .u-series").forEach((row, i) => {
      const of = charts.groups[(i - 1) / 3];
      if (of) row.querySelector(".u-label").textContent = `${of.name} (${of.flows})`;
    });
  }
  group.busy = false;
  // Whoever looks at one moment keeps it.
  zoom(group, ...(isWhole ? group.full : group.range));
}

// ---- tables ----------------------------------------------------------------------------------------------------------

const wish = { sort: null, reversed: false, find: "" };

function table(place, told, sortable) {
  const head = element("tr");
  told.columns.forEach(([title, unit, isText], i) => {
    const cell = element("th", isText ? "name" : "");
    if (sortable) {
      const button = element("button", "", title);
      button.type = "button";
      button.addEventListener("click", () => {
        wish.reversed = wish.sort === i ? !wish.reversed : false;
        wish.sort = i;
        connect();
      });
      cell.append(button);
      if (wish.sort === i) cell.setAttribute("aria-sort", wish.reversed ? "ascending" : "descending");
    } else {
      cell.append(title);
    }
    if (unit) cell.append(element("small", "", unit));
    head.append(cell);
  });
  const body = element("tbody");
  for (const [color, cells] of told.rows) {
    const row = element("tr");
    cells.forEach((text, i) => {
      const [title, unit, isText] = told.columns[i];
      const cell = element("td", isText ? "name" : "");
      cell.dataset.label = unit ? `${title} [${unit}]` : title;
      if (i === 0) {
        const square = element("i", "key");
        square.style.background = color ?? "transparent";
        cell.append(square);
      }
      cell.append(text);
      row.append(cell);
    });
    body.append(row);
  }
  // A button that has the focus keeps it: the head is made anew only when it is another.
  const shape = JSON.stringify([told.columns, wish.sort, wish.reversed]);
  if (place.shape !== shape) {
    const made = element("thead");
    made.append(head);
    place.querySelector("thead")?.remove();
    place.prepend(made);
    place.shape = shape;
  }
  place.querySelector("tbody")?.remove();
  place.append(body);
}

function show(told) {
  const { status, tables } = told;
  learn(told.groups);
  draw(status.interval_s);
  const lost = Object.values(status.drops).reduce((sum, count) => sum + count, 0);
  const facts = [
    `${told.open.toLocaleString("en")} open flows`, `every ${status.every}`, `kernel ${status.kernel}`,
    status.filter || "all of this host", `${status.rows.toLocaleString("en")} rows`, clock(told.t_s),
  ];
  if (lost > 0) facts.push(`${lost} rows lost`);
  if (told.flows_without_room > 0) facts.push(`${told.flows_without_room} flows had no room`);
  byId("facts").textContent = facts.join(" · ");
  byId("left-out").textContent = told.groups_left_out > 0 ? `${told.groups_left_out} smaller groups are in the tables and not in the charts` : "";
  table(byId("algorithms"), tables.algorithms, false);
  table(byId("cgroups"), tables.cgroups, false);
  table(byId("flows"), tables.flows, true);
  const { found, rows } = tables.flows;
  byId("found").textContent = `${found.toLocaleString("en")} found` + (found > rows.length ? `, the first ${rows.length} are shown` : "");
}

// ---- policies and canaries ---------------------------------------------------------------------------------------

function plainTable(columns, rows, className) {
  const made = element("table", `figures ${className ?? ""}`);
  const head = element("tr");
  columns.forEach((title) => head.append(element("th", "name", title)));
  made.append(element("thead"));
  made.firstChild.append(head);
  const body = element("tbody");
  for (const cells of rows) {
    const row = element("tr");
    cells.forEach((content, i) => {
      const cell = element("td", "name");
      cell.dataset.label = columns[i];
      cell.append(content ?? "–");
      row.append(cell);
    });
    body.append(row);
  }
  made.append(body);
  return made;
}

function past(history) {
  if (!history || history.length === 0) return "–";
  const fold = element("details");
  fold.append(element("summary", "", `${history.length} before`));
  for (const former of history) fold.append(element("div", "", `${former.kernel_name ?? "no policy"} until ${former.until}`));
  return fold;
}

function around({ policies, problem, canaries }) {
  const place = byId("policies");
  if (problem) {
    place.replaceChildren(element("p", "warning", `the policies cannot be read: ${problem}`));
  } else if (policies.length === 0) {
    place.replaceChildren(element("p", "soft", "no cgroup has a policy"));
  } else {
    const open = new Set([...place.querySelectorAll("tr")].filter((row) => row.querySelector("details")?.open).map((row) => row.firstChild.textContent));
    const rows = policies.map((policy) => [
      policy.cgroup ?? `(id ${policy.cgroup_id})`, policy.algorithm, policy.kernel_name, policy.attached_since, policy.state,
      `${policy.sockets.as_policy} of ${policy.sockets.total}`,
      policy.canary ? `${policy.canary.kernel_name} on ${(policy.canary.share * 100).toFixed(1)} %${policy.canary.watched ? "" : ", watched by nobody"}` : null,
      past(policy.history),
    ]);
    place.replaceChildren(plainTable(["cgroup", "algorithm", "kernel name", "since", "state", "sockets as it says", "canary", "history"], rows));
    for (const row of place.querySelectorAll("tr")) if (open.has(row.firstChild.textContent)) row.querySelector("details").open = true;
  }
  const section = byId("canaries");
  section.hidden = canaries.length === 0;
  section.lastElementChild.replaceChildren(...canaries.flatMap(canary));
}

const value = (x, unit) => (x == null ? "–" : `${+x.toPrecision(4)}${unit ? ` ${unit}` : ""}`);
const READABLE = { us: ["ms", 1e-3], "bit/s": ["Mbit/s", 1e-6], ratio: ["%", 100] };
function shown(x, unit) {
  const [name, factor] = READABLE[unit] ?? [unit, 1];
  return value(x == null ? null : x * factor, name);
}

function canary(told) {
  const title = `${told.canary.kernel_name} beside ${told.baseline.kernel_name} in ${told.cgroup}`;
  const facts = `${(told.share * 100).toFixed(1)} % of the sockets, ${told.elapsed_s.toFixed(0)} of ${told.watch_s} s watched; ${told.canary.flows} flows beside ${told.baseline.flows}`;
  const guards = told.guards.map((guard) => [
    guard.guard, guard.state, shown(guard.canary, guard.unit), shown(guard.baseline, guard.unit), shown(guard.threshold, guard.unit),
    guard.chance == null ? "–" : `${(guard.chance * 100).toPrecision(2)} %`, `${guard.held}`, guard.note ?? "",
  ]);
  const of = (side, name) => shown(side.metrics[name], told.units[name]);
  const metrics = Object.keys(told.canary.metrics).map((name) => [name, of(told.canary, name), of(told.baseline, name)]);
  return [
    element("h3", "", title), element("p", "soft", facts),
    plainTable(["rule", "state", "canary", "baseline", "threshold", "chance alone", "held in a row", "note"], guards, "rules"),
    plainTable(["figure", "canary", "baseline"], metrics),
  ];
}

// ---- results ------------------------------------------------------------------------------------------------------

const chosen = [];

async function look() {
  const hint = byId("results-hint");
  let told;
  try {
    const answer = await fetch("results");
    if (!answer.ok) throw new Error(await answer.text());
    told = await answer.json();
  } catch (error) {
    hint.textContent = `the results cannot be listed: ${error.message}`;
    return;
  }
  chosen.length = 0;
  tellChosen();
  hint.textContent = told.folders.length === 0 ? "`ccactl serve --results DIR` has folders to browse" : "";
  byId("results").replaceChildren(...told.folders.map((folder, root) => listing(folder, root, told.files)));
}

const address = (files, root, path) => files + root + "/" + path.split("/").map(encodeURIComponent).join("/");

function listing(folder, root, files) {
  const place = element("div");
  place.append(element("h3", "", folder.folder));
  if (folder.problem) place.append(element("p", "warning", folder.problem));
  if (folder.is_cut) place.append(element("p", "soft", "there is more than is listed: name a folder below it"));
  if (folder.found.length === 0) {
    place.append(element("p", "soft", "no results"));
    return place;
  }
  const rows = folder.found.map((found) => {
    const result = { ...found, root, files };
    const link = found.page ?? found.figures;
    const name = element("a", "", found.name || folder.folder);
    name.href = address(files, root, link);
    name.target = "_blank";
    name.rel = "noopener";
    const box = element("input");
    box.type = "checkbox";
    box.setAttribute("aria-label", `choose ${found.name}`);
    box.addEventListener("change", () => choose(result, box));
    return [box, name, found.kind, new Date(found.written_s * 1000).toLocaleString()];
  });
  const made = plainTable(["", "result", "kind", "written"], rows);
  place.append(made);
  return place;
}

function choose(result, box) {
  if (box.checked) chosen.push({ result, box });
  else chosen.splice(chosen.findIndex((one) => one.box === box), 1);
  if (chosen.length > 2) chosen.shift().box.checked = false;
  tellChosen();
}

function tellChosen() {
  byId("both").disabled = chosen.length !== 2;
}

async function both() {
  const sides = chosen.map(({ result }) => result);
  const figures = await Promise.all(sides.map(figuresOf));
  const place = byId("sides");
  const grid = element("div", "sides");
  for (const side of sides) {
    const half = element("div");
    const frame = element("iframe");
    frame.title = side.name;
    frame.setAttribute("sandbox", "allow-scripts");
    frame.src = address(side.files, side.root, side.page ?? side.figures);
    half.append(element("h3", "", side.name), frame);
    grid.append(half);
  }
  const names = [...new Set(figures.flatMap((of) => [...of.keys()]))];
  const rows = names.map((name) => [name, ...figures.map((of) => of.get(name) ?? "–")]);
  place.replaceChildren(...(rows.length > 0 ? [plainTable(["figure", ...sides.map((side) => side.name)], rows)] : []), grid);
  place.scrollIntoView({ block: "start" });
}

// Of a bench: means over its valid runs. Others have their pages.
async function figuresOf(side) {
  const all = new Map();
  if (side.kind !== "bench") return all;
  const answer = await fetch(`figures/${side.root}/${side.figures.split("/").map(encodeURIComponent).join("/")}`);
  if (!answer.ok) return all;
  const sum = (await answer.json()).aggregate;
  if (!sum) return all.set("valid runs", "0");
  all.set("valid runs", `${sum.valid_runs}`);
  const put = (name, estimate, factor) => estimate && all.set(name, `${+(estimate.mean * factor).toPrecision(4)}`);
  put("Jain index", sum.jain, 1);
  put("utilisation [%]", sum.utilisation, 100);
  for (const flow of sum.flows) {
    put(`${flow.name}: goodput [Mbit/s]`, flow.goodput_bps, 1e-6);
    put(`${flow.name}: mean RTT [ms]`, flow.rtt_mean_us, 1e-3);
    put(`${flow.name}: time in queues [ms]`, flow.queueing_mean_us, 1e-3);
    put(`${flow.name}: retransmitted [packets]`, flow.retrans_pkts, 1);
  }
  return all;
}

byId("look").addEventListener("click", look);
byId("both").addEventListener("click", both);

// ---- the stream ---------------------------------------------------------------------------------------------------

let source = null;
function connect() {
  source?.close();
  const asked = new URLSearchParams({ reversed: wish.reversed, find: wish.find });
  if (wish.sort != null) asked.set("sort", wish.sort);
  source = new EventSource(`events?${asked}`);
  const trouble = byId("trouble");
  const tell = (text) => {
    trouble.hidden = text === "";
    trouble.textContent = text;
  };
  source.addEventListener("open", () => tell(""));
  source.addEventListener("error", () => {
    const isRefused = source.readyState === EventSource.CLOSED;
    tell(isRefused ? "The server refuses this address: open the URL that it prints." : "The server does not answer; these are the last figures. Trying again.");
  });
  source.addEventListener("history", (event) => {
    known.clear();
    learn(JSON.parse(event.data).groups);
  });
  source.addEventListener("tick", (event) => show(JSON.parse(event.data)));
  source.addEventListener("around", (event) => around(JSON.parse(event.data)));
}

let typing = null;
byId("find").addEventListener("input", (event) => {
  wish.find = event.target.value.trim();
  clearTimeout(typing);
  typing = setTimeout(connect, 250);
});
connect();
look();
