// Draws the charts of the page from the JSON in #charts-data. One group of charts per recording: they share zoom,
// cursor and hidden flows.
(() => {
  "use strict";

  const HEIGHT_PX = 230;
  const PHASE_ROW_PX = 40;
  const PHASE_AXIS_PX = 42;
  const AXIS_PX = 54;
  const TIME_AXIS_PX = 34;
  const PRINT_WIDTH_PX = 680;
  const ZOOM_STEP = 0.6;
  const PAN_STEP = 0.25;
  const SMALLEST_SPAN_S = 0.005;
  // Paul Tol's "muted" set: told apart with any colour blindness, and by lightness on grey paper.
  const MODE_COLORS = ["#88ccee", "#332288", "#ddcc77", "#117733", "#cc6677", "#44aa99", "#882255", "#999933", "#aa4499", "#bbbbbb"];
  // Inner state that every algorithm names alike; the rest has the registry's name, with its unit.
  const INNER = {
    bw_bps: { title: "Bandwidth estimate", unit: "Mbit/s", digits: 2 },
    min_rtt_us: { title: "Minimum RTT estimate", unit: "ms", digits: 3 },
  };
  const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];

  const groups = [];

  // ---- colours -----------------------------------------------------------------------------------------------

  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const parse = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const format = (rgb) => "#" + rgb.map((c) => Math.round(c).toString(16).padStart(2, "0")).join("");
  const mix = (a, b, share) => format(parse(a).map((c, i) => c + (parse(b)[i] - c) * share));

  function luminance(hex) {
    const [r, g, b] = parse(hex).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function contrast(a, b) {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  }

  // A line has to stand out from the paper, in the dark as well.
  function legible(color) {
    const paper = variable("--paper");
    const ink = variable("--ink");
    let out = color;
    for (let share = 0.1; contrast(out, paper) < 4 && share <= 1; share += 0.1) out = mix(color, ink, share);
    return out;
  }

  // Flows of one algorithm have its colour; the second, third … are dashed and shifted in lightness.
  function styles(flows) {
    const used = {};
    return flows.map((flow) => {
      const rank = (used[flow.color] = (used[flow.color] ?? -1) + 1);
      return { rank, dash: DASHES[rank % DASHES.length], stroke: () => legible(mix(flow.color, variable("--ink"), Math.min(0.45 * rank, 0.75))) };
    });
  }

  // ---- one recording ------------------------------------------------------------------------------------------

  function draw(root, charts) {
    const group = { plots: [], hidden: new Set(), full: charts.window_s, busy: false };
    const look = styles(charts.flows);
    const mark = marks(group, charts, look, true);
    const ms = (s) => `${+(s * 1000).toPrecision(3)} ms`;
    const extremes = `smallest and largest value of every ${ms(charts.sample_bucket_s)}`;
    const lines = [
      { key: "rate", title: "Goodput", unit: "Mbit/s", digits: 2, note: `mean of every ${ms(charts.rate_bucket_s)}` },
      { key: "rtt", title: "RTT", unit: "ms", digits: 2, note: extremes },
      { key: "cwnd", title: "Congestion window", unit: "packets", digits: 0, note: extremes },
    ];
    root.append(toolbar(group));
    const plot = (title, line, seriesOf, range) => {
      const place = figure(root, title, line.note);
      const data = uPlot.join(charts.flows.map(seriesOf).map((series) => [series.t, series.v]));
      const series = charts.flows.map((flow, i) => ({
        label: flow.name,
        stroke: look[i].stroke,
        dash: look[i].dash,
        width: 1.25,
        points: { show: false },
        value: (_, v) => (v == null ? "–" : `${v.toFixed(line.digits)} ${line.unit}`),
      }));
      add(group, place, HEIGHT_PX, data, series, { hooks: { draw: [mark] } }, { y: { range } });
    };
    const fromZero = (_, min, max) => [Math.min(0, min ?? 0), max > 0 ? max * 1.05 : 1];
    for (const line of lines) plot(`${line.title} [${line.unit}]`, line, (flow) => flow[line.key], fromZero);
    if (charts.flows.some((flow) => flow.phases.length > 0)) phases(root, group, charts, look);
    // The inner state: one chart per name, with the flows whose algorithm has it.
    const names = new Map(charts.flows.flatMap((flow) => flow.inner.map((value) => [value.name, value.doc])));
    for (const [name, doc] of names) {
      const empty = { t: [], v: [] };
      const of = (flow) => flow.inner.find((value) => value.name === name)?.series ?? empty;
      const line = INNER[name] ?? { title: name, digits: 0 };
      const title = line.unit ? `${line.title} [${line.unit}]` : name;
      plot(title, { unit: "", ...line, note: `inner state: ${doc}` }, of, fromZero);
    }
    groups.push(group);
    zoom(group, ...group.full);
  }

  function figure(root, title, note) {
    const place = document.createElement("figure");
    place.className = "chart";
    const heading = document.createElement("h3");
    heading.textContent = title;
    const detail = document.createElement("span");
    detail.className = "note";
    detail.textContent = note;
    const plot = document.createElement("div");
    plot.className = "plot";
    place.append(heading, detail, plot);
    root.append(place);
    return { place, plot };
  }

  function add(group, { plot }, height, data, series, more, scales) {
    const soft = () => variable("--soft");
    const grid = { stroke: () => variable("--line"), width: 1 };
    const axis = { stroke: soft, grid, ticks: grid, font: "12px system-ui, sans-serif" };
    const options = {
      width: Math.max(plot.clientWidth, 200),
      height,
      padding: [8, 12, 0, 0],
      scales: { x: { time: false, range: (_, min, max) => [min, max] }, ...scales },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((t) => `${+t.toFixed(3)} s`), space: 70, size: TIME_AXIS_PX },
        { ...axis, size: AXIS_PX, ...more.yAxis },
      ],
      series: [{ label: "time", value: (_, t) => (t == null ? "–" : `${t.toFixed(3)} s`) }, ...series],
      legend: { show: !more.noLegend, markers: { width: 2, fill: (u, i) => u.series[i].stroke(u, i) } },
      cursor: {
        sync: { key: `group${groups.length}` },
        drag: { x: true, y: false, setScale: true },
        points: { size: 6 },
        bind: { dblclick: () => () => zoom(group, ...group.full) },
      },
      hooks: {
        setScale: [(u, key) => key === "x" && follow(group, u)],
        setSeries: [(u, i, change) => i != null && change.show != null && hide(group, u, i, change.show)],
        ...more.hooks,
      },
    };
    const u = new uPlot(options, data, plot);
    u.heightPx = height;
    touch(group, u);
    wheel(group, u);
    new ResizeObserver(() => !printing && u.setSize({ width: plot.clientWidth, height })).observe(plot);
    group.plots.push(u);
    return u;
  }

  // ---- swaps: a line where a flow was given another algorithm, in the colour and with the name of that one ------------------

  function marks(group, charts, look, named) {
    const several = charts.flows.length > 1;
    return (u) => {
      const { ctx, bbox } = u;
      const ratio = devicePixelRatio || 1;
      const [min, max] = [u.scales.x.min, u.scales.x.max];
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.font = `${11 * ratio}px system-ui, sans-serif`;
      ctx.textBaseline = "bottom";
      ctx.textAlign = "right";
      ctx.lineWidth = ratio;
      charts.flows.forEach((flow, i) => {
        if (group.hidden.has(i)) return;
        let lastLabel = -Infinity;
        for (const swap of flow.swaps) {
          if (swap.at_s < min || swap.at_s > max) continue;
          const x = Math.round(u.valToPos(swap.at_s, "x", true)) + 0.5;
          ctx.strokeStyle = ctx.fillStyle = legible(swap.color);
          ctx.setLineDash(look[i].dash.map((px) => px * ratio));
          ctx.globalAlpha = 0.75;
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
          // Names stand along the lines; where the lines are too close, zooming in shows them.
          if (!named || x - lastLabel < 13 * ratio) continue;
          lastLabel = x;
          ctx.globalAlpha = 1;
          ctx.save();
          ctx.translate(x + 13 * ratio, bbox.top + bbox.height - 3 * ratio);
          ctx.rotate(Math.PI / 2);
          ctx.fillText(several ? `${flow.name}: ${swap.to}` : swap.to, 0, 0);
          ctx.restore();
        }
      });
      ctx.restore();
    };
  }

  // ---- phases -------------------------------------------------------------------------------------------------

  function phases(root, group, charts, look) {
    const parts = figure(root, "Algorithm phase", `the longest phase of every ${+(charts.phase_bucket_s * 1000).toPrecision(3)} ms`);
    const rows = charts.flows.length;
    const color = (mode) => MODE_COLORS[mode % MODE_COLORS.length];
    const paint = (u) => {
      const { ctx, bbox } = u;
      const ratio = devicePixelRatio || 1;
      const [min, max] = [u.scales.x.min, u.scales.x.max];
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      charts.flows.forEach((flow, row) => {
        const top = bbox.top + (bbox.height * row) / rows;
        const band = { top: top + 16 * ratio, height: bbox.height / rows - 20 * ratio };
        ctx.font = `${12 * ratio}px system-ui, sans-serif`;
        ctx.fillStyle = look[row].stroke();
        ctx.globalAlpha = group.hidden.has(row) ? 0.4 : 1;
        ctx.fillText(flow.name, bbox.left + 3 * ratio, top + 8 * ratio);
        if (group.hidden.has(row)) return;
        for (const [start, end, mode] of flow.phases) {
          if (end < min || start > max) continue;
          const left = u.valToPos(Math.max(start, min), "x", true);
          const width = u.valToPos(Math.min(end, max), "x", true) - left;
          ctx.fillStyle = color(mode);
          ctx.fillRect(left, band.top, Math.max(width, ratio * 0.75), band.height);
          const name = charts.modes[mode];
          if (width > 40 * ratio && ctx.measureText(name).width + 8 * ratio < width) {
            ctx.fillStyle = luminance(color(mode)) > 0.35 ? "#000000" : "#ffffff";
            ctx.fillText(name, left + 4 * ratio, band.top + band.height / 2);
          }
        }
      });
      ctx.restore();
    };
    const readout = document.createElement("p");
    readout.className = "readout";
    const tell = (u) => {
      const t = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null;
      const at = (flow) => flow.phases.find(([start, end]) => start <= t && t < end);
      const name = (flow) => (at(flow) ? charts.modes[at(flow)[2]] : "–");
      const shown = charts.flows.filter((_, row) => !group.hidden.has(row));
      readout.textContent = t == null ? "" : `${t.toFixed(3)} s · ` + shown.map((flow) => `${flow.name}: ${name(flow)}`).join(" · ");
    };
    const [start, end] = charts.window_s;
    const data = [[start, end], ...charts.flows.map(() => [null, null])];
    const series = charts.flows.map((flow) => ({ label: flow.name, points: { show: false } }));
    const more = {
      noLegend: true,
      yAxis: { values: () => [], grid: { show: false }, ticks: { show: false } },
      hooks: { draw: [paint, marks(group, charts, look, false)], setCursor: [tell] },
    };
    add(group, parts, PHASE_ROW_PX * rows + PHASE_AXIS_PX, data, series, more, { y: { range: () => [0, rows] } });
    const names = document.createElement("p");
    names.className = "modes";
    charts.modes.forEach((mode, i) => {
      const item = document.createElement("span");
      const key = document.createElement("i");
      key.className = "key";
      key.style.background = color(i);
      item.append(key, mode);
      names.append(item);
    });
    parts.place.append(readout, names);
  }

  // ---- zoom, pan, hide: the same for every chart of a group ------------------------------------------------------

  function zoom(group, min, max) {
    const [first, last] = group.full;
    const span = Math.min(Math.max(max - min, SMALLEST_SPAN_S), last - first);
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

  function hide(group, source, series, show) {
    if (group.busy) return;
    group.busy = true;
    if (show) group.hidden.delete(series - 1);
    else group.hidden.add(series - 1);
    for (const u of group.plots) {
      if (u !== source && u.series[series].show !== show) u.setSeries(series, { show });
      u.redraw();
    }
    group.busy = false;
  }

  function toolbar(group) {
    const bar = document.createElement("div");
    bar.className = "toolbar";
    const middle = () => (group.range[0] + group.range[1]) / 2;
    const buttons = [
      ["◀", "earlier", () => pan(group, -PAN_STEP)],
      ["▶", "later", () => pan(group, PAN_STEP)],
      ["+", "zoom in", () => scaleAround(group, middle(), ZOOM_STEP)],
      ["−", "zoom out", () => scaleAround(group, middle(), 1 / ZOOM_STEP)],
      ["Whole run", "show the whole run", () => zoom(group, ...group.full)],
    ];
    for (const [text, label, action] of buttons) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.setAttribute("aria-label", label);
      button.addEventListener("click", action);
      bar.append(button);
    }
    const hint = document.createElement("span");
    hint.className = "hint";
    hint.textContent = matchMedia("(pointer: coarse)").matches
      ? "Touch to read values, two fingers to zoom and pan, tap a name below a chart to hide the flow."
      : "Drag to zoom, Shift + drag or sideways wheel to pan, double click for the whole run, click a name below a chart to hide the flow.";
    bar.append(hint);
    return bar;
  }

  function wheel(group, u) {
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

  // ---- paper and darkness ---------------------------------------------------------------------------------------

  let printing = false;
  const redraw = () => groups.forEach((group) => group.plots.forEach((u) => u.redraw(false, true)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  const medium = (name, widthOf) => {
    printing = name === "print";
    document.documentElement.dataset.medium = name;
    drawAll();
    for (const group of groups) for (const u of group.plots) u.setSize({ width: widthOf(u), height: u.heightPx });
    redraw();
  };
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((d) => (d.open = true));
    medium("print", () => PRINT_WIDTH_PX);
  });
  addEventListener("afterprint", () => medium("screen", (u) => u.root.parentElement.clientWidth));

  // ---- start: a recording is drawn when it comes near the screen, the first one at once ------------------------------------------------

  const data = JSON.parse(document.getElementById("charts-data").textContent);
  const waiting = new Map();
  const drawNow = (root) => {
    const charts = waiting.get(root);
    if (!charts) return;
    waiting.delete(root);
    draw(root, charts);
  };
  const drawAll = () => [...waiting.keys()].forEach(drawNow);
  const near = new IntersectionObserver((entries) => entries.forEach((e) => e.isIntersecting && drawNow(e.target)), { rootMargin: "600px" });
  document.querySelectorAll("[data-charts]").forEach((root) => {
    waiting.set(root, data[Number(root.dataset.charts)]);
    near.observe(root);
  });
  // The first one at once: a page that is only rendered, never scrolled, is not to be without charts.
  const first = document.querySelector("[data-charts]");
  if (first) drawNow(first);
})();
