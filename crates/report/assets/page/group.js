// Charts that belong together: they share zoom, cursor and hidden lines.

const HEIGHT_PX = 230;
const AXIS_PX = 54;
const DIGIT_PX = 7.5;
const TICK_PX = 18;
const X_AXIS_PX = 34;
const X_AXIS_TITLED_PX = 50;
const ZOOM_STEP = 0.6;
const PAN_STEP = 0.25;

const groups = [];

// `full` is the range of x, `least` the smallest span of x that can be zoomed to.
function newGroup(full, least, whole) {
  const group = { key: `group${groups.length}`, plots: [], hidden: new Set(), full, least, whole, range: null, busy: false };
  groups.push(group);
  return group;
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text != null) made.textContent = text;
  return made;
}

// A heading, a place for a chart, and words for those who do not see it.
function figure(root, title, note, description) {
  const place = element("figure", "chart");
  const plot = element("div", "plot");
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", description);
  place.append(element("h3", "", title), element("span", "note", note), plot);
  root.append(place);
  return { place, plot };
}

// more: { height, scales, x: { title, values }, y: { … axis }, hooks, legend, flows }
function add(group, { plot }, data, series, more) {
  const height = more.height ?? HEIGHT_PX;
  const grid = { stroke: () => variable("--line"), width: 1 };
  const axis = { stroke: () => variable("--soft"), grid, ticks: grid, font: `12px ${FONT}` };
  const titled = more.x.title ? { label: more.x.title, labelFont: `12px ${FONT}`, labelSize: 18, size: X_AXIS_PX } : { size: X_AXIS_PX };
  const options = {
    width: Math.max(plot.clientWidth, 200),
    height,
    padding: [8, 24, 0, 0],
    scales: { x: { time: false, range: (_, min, max) => [min, max], ...more.scales?.x }, y: more.scales?.y ?? {} },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map((t) => (t == null ? "" : more.x.tick(t))), space: 70, ...titled, ...more.x.axis },
      { ...axis, size: yAxisSize, ...more.y },
    ],
    series: [{ label: more.x.name, value: (_, v) => (v == null ? "–" : more.x.value(v)) }, ...series],
    bands: more.bands ?? [],
    legend: { show: more.legend ?? true, markers: { show: false } },
    cursor: {
      sync: { key: group.key, setSeries: false },
      drag: { x: true, y: false, setScale: true },
      points: { size: 6 },
      dataIdx: nearest,
      bind: { dblclick: () => () => zoom(group, ...group.full) },
    },
    hooks: {
      setScale: [(u, key) => key === "x" && follow(group, u)],
      setSeries: [(u, i, change) => i != null && change.show != null && more.flows && hide(group, u, i, change.show)],
      ...more.hooks,
      draw: [...(more.hooks?.draw ?? []), colorLegend],
    },
  };
  const u = new uPlot(options, data, plot);
  u.heightPx = height;
  u.ofFlows = !!more.flows;
  group.plots.push(u);
  pointer(group, u);
  touch(group, u);
  keys(group, plot);
  legendKeys(u);
  new ResizeObserver(() => !printing && u.setSize({ width: plot.clientWidth, height })).observe(plot);
  return u;
}

// Wide enough for the longest of its numbers; the same for most charts, so that their times stand below each other.
function yAxisSize(_, labels) {
  const longest = Math.max(0, ...(labels ?? []).map((label) => String(label ?? "").length));
  return Math.max(AXIS_PX, longest * DIGIT_PX + TICK_PX);
}

// The value of a line at the cursor: lines have their points at different times, so each has its own nearest one.
function nearest(u, series, at, x) {
  const [xs, ys] = [u.data[0], u.data[series]];
  if (series === 0 || ys[at] != null) return at;
  let [before, after] = [at, at];
  while (before >= 0 && ys[before] === undefined) before--;
  while (after < ys.length && ys[after] === undefined) after++;
  const far = (i) => (i < 0 || i >= ys.length ? Infinity : Math.abs(xs[i] - x));
  const found = far(before) <= far(after) ? before : after;
  // Beyond the ends of a line there is no value.
  return before < 0 || after >= ys.length || ys[found] == null ? at : found;
}

function zoom(group, min, max) {
  const [first, last] = group.full;
  const span = Math.min(Math.max(max - min, group.least), last - first);
  const start = Math.min(Math.max(min, first), last - span);
  group.busy = true;
  for (const u of group.plots) u.setScale("x", { min: start, max: start + span });
  group.busy = false;
  group.range = [start, start + span];
}

// A selection in one chart: uPlot has already scaled that one.
function follow(group, u) {
  const { min, max } = u.scales.x;
  if (group.busy || !group.range || (min === group.range[0] && max === group.range[1])) return;
  zoom(group, min, max);
}

function scaleAround(group, center, factor) {
  const [min, max] = group.range;
  zoom(group, center - (center - min) * factor, center + (max - center) * factor);
}

function pan(group, share) {
  const [min, max] = group.range;
  zoom(group, min + (max - min) * share, max + (max - min) * share);
}

// A flow is hidden in every chart of its group that has it.
function hide(group, source, series, show) {
  if (group.busy) return;
  group.busy = true;
  if (show) group.hidden.delete(series - 1);
  else group.hidden.add(series - 1);
  for (const u of group.plots) {
    if (u.ofFlows && u !== source && u.series[series].show !== show) u.setSeries(series, { show });
    tellPressed(u);
    u.redraw();
  }
  group.busy = false;
}

const middle = (group) => (group.range[0] + group.range[1]) / 2;
const zoomIn = (group) => scaleAround(group, middle(group), ZOOM_STEP);
const zoomOut = (group) => scaleAround(group, middle(group), 1 / ZOOM_STEP);

function toolbar(group, hinted) {
  const bar = element("div", "toolbar");
  const buttons = [
    ["◀", "to smaller values", () => pan(group, -PAN_STEP)],
    ["▶", "to larger values", () => pan(group, PAN_STEP)],
    ["+", "zoom in", () => zoomIn(group)],
    ["−", "zoom out", () => zoomOut(group)],
    [group.whole, `show ${group.whole.toLowerCase()}`, () => zoom(group, ...group.full)],
  ];
  for (const [text, label, action] of buttons) {
    const button = element("button", "", text);
    button.type = "button";
    button.setAttribute("aria-label", label);
    button.addEventListener("click", action);
    bar.append(button);
  }
  const coarse = matchMedia("(pointer: coarse)").matches;
  if (!hinted) return bar;
  const hint = coarse
    ? "Touch to read values, two fingers to zoom and pan, tap a name below a chart to hide its line."
    : "Drag to zoom, Ctrl + wheel to zoom, Shift + drag to pan, double click for everything; click a name to hide its line. " +
      "Keys in a chart: + − zoom, ← → pan, 0 everything.";
  bar.append(element("span", "hint", hint));
  return bar;
}

// ---- keys --------------------------------------------------------------------------------------------------------

function keys(group, plot) {
  const actions = {
    "+": zoomIn, "=": zoomIn, "-": zoomOut,
    ArrowLeft: (g) => pan(g, -PAN_STEP), ArrowRight: (g) => pan(g, PAN_STEP),
    0: (g) => zoom(g, ...g.full), Escape: (g) => zoom(g, ...g.full),
  };
  plot.addEventListener("keydown", (e) => {
    const action = actions[e.key];
    if (!action || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    action(group);
  });
}

// The names below a chart are buttons that hide their line; each has a piece of its line in front of it.
function legendKeys(u) {
  u.root.querySelectorAll(".u-legend .u-series").forEach((row, i) => {
    if (i === 0) return;
    const name = row.querySelector("th");
    name.prepend(sample(u.series[i].dash ?? []));
    name.tabIndex = 0;
    name.setAttribute("role", "button");
    name.addEventListener("keydown", (e) => {
      if (e.key !== "Enter" && e.key !== " ") return;
      e.preventDefault();
      e.stopPropagation();
      u.setSeries(i, { show: !u.series[i].show });
      tellPressed(u);
    });
    name.addEventListener("click", () => setTimeout(() => tellPressed(u)));
  });
  tellPressed(u);
}

function sample(dash) {
  const svg = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const place = svg("svg", { class: "sample", width: 30, height: 10, "aria-hidden": "true" });
  place.append(svg("line", { x1: 0, y1: 5, x2: 30, y2: 5, "stroke-width": 2.5, "stroke-dasharray": dash.join(" ") }));
  return place;
}

// With every drawing, as the colours change with the paper.
function colorLegend(u) {
  u.root.querySelectorAll(".u-legend .u-series").forEach((row, i) => {
    row.querySelector(".sample line")?.setAttribute("stroke", u.series[i].stroke(u, i));
  });
}

function tellPressed(u) {
  u.root.querySelectorAll(".u-legend .u-series").forEach((row, i) => {
    if (i > 0) row.querySelector("th").setAttribute("aria-pressed", String(u.series[i].show));
  });
}

// ---- mouse and fingers -----------------------------------------------------------------------------------------------

function pointer(group, u) {
  u.over.addEventListener("wheel", (e) => {
    const sideways = e.shiftKey ? e.deltaY || e.deltaX : e.deltaX;
    if (e.ctrlKey || e.metaKey) scaleAround(group, u.posToVal(e.offsetX, "x"), e.deltaY < 0 ? ZOOM_STEP : 1 / ZOOM_STEP);
    else if (sideways) pan(group, Math.sign(sideways) * PAN_STEP * 0.4);
    else return;
    e.preventDefault();
  }, { passive: false });
  u.over.addEventListener("mousedown", (e) => {
    if (!e.shiftKey) return;
    e.stopImmediatePropagation();
    e.preventDefault();
    const [range, x] = [group.range, e.clientX];
    const perPx = (range[1] - range[0]) / u.over.clientWidth;
    const move = (m) => zoom(group, range[0] - (m.clientX - x) * perPx, range[1] - (m.clientX - x) * perPx);
    document.addEventListener("mousemove", move);
    document.addEventListener("mouseup", () => document.removeEventListener("mousemove", move), { once: true });
  }, { capture: true });
}

function touch(group, u) {
  let start = null;
  const places = (e) => [...e.touches].map((t) => t.clientX - u.over.getBoundingClientRect().left);
  u.over.addEventListener("touchstart", (e) => { start = { at: places(e), range: group.range }; }, { passive: true });
  u.over.addEventListener("touchmove", (e) => {
    const at = places(e);
    if (at.length === 1) u.setCursor({ left: at[0], top: u.over.clientHeight / 2 });
    if (at.length !== 2 || start?.at.length !== 2) return;
    e.preventDefault();
    const [min, max] = start.range;
    const value = (x) => min + ((max - min) * x) / u.over.clientWidth;
    const [from, to] = [value(start.at[0]), value(start.at[1])];
    const perPx = (to - from) / (at[1] - at[0] || 1);
    if (perPx > 0) zoom(group, from - at[0] * perPx, from + (u.over.clientWidth - at[0]) * perPx);
  }, { passive: false });
}
