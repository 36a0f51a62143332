// What happened over time in one recording.

const SMALLEST_SPAN_S = 0.005;
const LANE_PX = 40;
const LANES_AXIS_PX = 42;
// Inner state that every algorithm names alike; the rest has the registry's name, with its unit.
const INNER = {
  bw_bps: { title: "Bandwidth estimate", unit: "Mbit/s", digits: 2 },
  min_rtt_us: { title: "Minimum RTT estimate", unit: "ms", digits: 3 },
};

const milliseconds = (s) => `${+(s * 1000).toPrecision(3)} ms`;
const fromZero = (_, min, max) => [Math.min(0, min ?? 0), max > 0 ? max * 1.05 : 1];
const TIME_AXIS = { name: "time", value: (t) => `${t.toFixed(3)} s`, tick: (t) => `${+t.toFixed(3)} s` };
const names = (flows) => flows.map((flow) => flow.name).join(", ");

function drawOverTime(root, charts) {
  const group = newGroup(charts.window_s, SMALLEST_SPAN_S, "Whole run");
  const look = looks(charts.flows);
  const extremes = `smallest and largest value of every ${milliseconds(charts.sample_bucket_s)}`;
  root.append(toolbar(group, true));
  const plot = (title, line, seriesOf) => {
    const unit = line.unit ? ` [${line.unit}]` : "";
    const words = `${title}${unit} over time of ${names(charts.flows)}. The table above has the figures.`;
    const place = figure(root, title + unit, line.note, words);
    const data = uPlot.join(charts.flows.map(seriesOf).map((series) => [series.t, series.v]));
    const series = charts.flows.map((flow, i) => ({
      label: flow.name,
      stroke: look[i].stroke,
      dash: look[i].dash,
      width: 1.25,
      points: { show: false },
      value: (u, v, s, index) => {
        const at = index == null ? null : u.data[s][index];
        return at == null ? "–" : `${at.toFixed(line.digits)} ${line.unit}`.trimEnd();
      },
    }));
    const more = { flows: true, x: TIME_AXIS, scales: { y: { range: fromZero } }, hooks: { draw: [marks(group, charts, look, true, true)] } };
    add(group, place, data, series, more);
  };
  plot("Goodput", { unit: "Mbit/s", digits: 2, note: `mean of every ${milliseconds(charts.rate_bucket_s)}` }, (flow) => flow.rate);
  plot("RTT", { unit: "ms", digits: 2, note: extremes }, (flow) => flow.rtt);
  plot("Congestion window", { unit: "packets", digits: 0, note: extremes }, (flow) => flow.cwnd);
  lanes(root, group, charts, look, eventLanes(charts));
  if (charts.flows.some((flow) => flow.phases.length > 0)) lanes(root, group, charts, look, phaseLanes(charts));
  if (charts.jain) jain(root, group, charts, look);
  // The inner state: one chart per name, with the flows whose algorithm has it.
  const empty = { t: [], v: [] };
  for (const name of new Set(charts.flows.flatMap((flow) => flow.bounds.map((bound) => bound.name)))) {
    const of = (flow) => flow.bounds.find((bound) => bound.name === name)?.series ?? empty;
    plot(name, { unit: "packets", digits: 0, note: "bound that the algorithm sets to what is in flight" }, of);
  }
  const inner = new Map(charts.flows.flatMap((flow) => flow.inner.map((value) => [value.name, value.doc])));
  for (const [name, doc] of inner) {
    const of = (flow) => flow.inner.find((value) => value.name === name)?.series ?? empty;
    const line = INNER[name] ?? { title: name, unit: "", digits: 0 };
    plot(line.title, { ...line, note: `inner state: ${doc}` }, of);
  }
  sequence(root, group, charts);
  zoom(group, ...group.full);
  return group;
}

// ---- where one flow stands in its stream, as readers of tcptrace know it ------------------------------------------------

// Okabe and Ito's, as in the still figure.
const POSITIONS = [
  { of: "sent", label: "sent", color: null, dash: [] },
  { of: "acked", label: "acknowledged", color: "#009e73", dash: [] },
  { of: "cwnd", label: "end of cwnd", color: "#0072b2", dash: [4, 3] },
  { of: "window", label: "end of receiver's window", color: "#e69f00", dash: [4, 3] },
];
const AGAIN = "#d55e00";
// A receiver's window that ends farther above what was sent than this share of all would press the rest together.
const FAR = 0.5;

function sequence(root, group, charts) {
  const flows = charts.flows.filter((flow) => flow.sequence.t.length > 1);
  if (flows.length === 0) return;
  const note = `position in the stream at the end of every ${milliseconds(charts.place_bucket_s)}; zoom in to see single windows`;
  const place = figure(root, "Time-sequence [MB]", note, `Positions in the stream over time of ${names(flows)}, one at a time.`);
  const data = ({ sequence: at }) => {
    const again = new Map(at.again);
    const isFar = at.window.at(-1) > at.sent.at(-1) * (1 + FAR);
    return [at.t, ...POSITIONS.map(({ of }) => (of === "window" && isFar ? at.t.map(() => null) : at[of])), at.t.map((t) => again.get(t) ?? null)];
  };
  const stepped = uPlot.paths.stepped({ align: 1 });
  const value = (_, v) => (v == null ? "–" : `${v.toFixed(3)} MB`);
  const series = POSITIONS.map(({ label, color, dash }) => ({
    label, dash, value, width: 1.25, points: { show: false }, paths: stepped,
    stroke: () => (color ? legible(color) : variable("--ink")),
  }));
  const crosses = (u) => clipped(u, (ctx, bbox, ratio) => {
    if (!u.series[POSITIONS.length + 1].show) return;
    const [min, max] = [u.scales.x.min, u.scales.x.max];
    u.data[0].forEach((t, i) => {
      const at = u.data[POSITIONS.length + 1][i];
      if (at != null && t >= min && t <= max) marker(ctx, 4, u.valToPos(t, "x", true), u.valToPos(at, "y", true), 4 * ratio, legible(AGAIN));
    });
  });
  series.push({ label: "sent again", value, stroke: () => legible(AGAIN), width: 0, points: { show: false } });
  const u = add(group, place, data(flows[0]), series, { x: TIME_AXIS, hooks: { draw: [crosses, (u) => clipped(u, (ctx, bbox) => missing(u, ctx, bbox, charts))] } });
  if (flows.length === 1) return;
  const choice = element("select");
  choice.setAttribute("aria-label", "Flow of the time-sequence");
  for (const flow of flows) choice.append(element("option", "", flow.name));
  choice.addEventListener("change", () => {
    group.busy = true;
    u.setData(data(flows[choice.selectedIndex]), false);
    group.busy = false;
    zoom(group, ...group.range);
  });
  place.place.insertBefore(choice, place.plot);
}

function jain(root, group, charts, look) {
  const { interval_s, series } = charts.jain;
  const place = figure(root, "Jain index", `per ${interval_s} s, over the flows active from its start to its end; 1 is fair`,
    "Jain index over time. The line above the table has the index of the whole run.");
  const line = {
    label: "Jain index", stroke: () => variable("--ink"), width: 1.5, points: { size: 5 },
    value: (_, v) => (v == null ? "–" : v.toFixed(3)),
  };
  const more = { x: TIME_AXIS, scales: { y: { range: () => [0, 1.02] } }, hooks: { draw: [marks(group, charts, look, false, true)] } };
  add(group, place, [series.t, series.v], [line], more);
}

// ---- marks: a line where a flow was given another algorithm, in the colour and with the name of that one; a cross at a timeout;
// ---- grey where rows are missing -------------------------------------------------------------------------------------------

function clipped(u, paint) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  paint(ctx, bbox, devicePixelRatio || 1);
  ctx.restore();
}

// named: with the names of the swaps; crosses: with the timeouts.
function marks(group, charts, look, named, crosses) {
  const several = charts.flows.length > 1;
  return (u) => clipped(u, (ctx, bbox, ratio) => {
    const [min, max] = [u.scales.x.min, u.scales.x.max];
    missing(u, ctx, bbox, charts);
    ctx.font = `${11 * ratio}px ${FONT}`;
    ctx.textBaseline = "bottom";
    ctx.textAlign = "right";
    ctx.lineWidth = ratio;
    charts.flows.forEach((flow, i) => {
      if (group.hidden.has(i)) return;
      for (const event of flow.events) {
        if (crosses && event.rtos && event.at_s >= min && event.at_s <= max)
          marker(ctx, 4, u.valToPos(event.at_s, "x", true), bbox.top + 7 * ratio, 4 * ratio, look[i].stroke());
      }
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
  });
}

function missing(u, ctx, bbox, charts) {
  ctx.fillStyle = variable("--soft");
  ctx.globalAlpha = 0.3;
  for (const span of charts.drop_spans) {
    const left = u.valToPos(span.from_s, "x", true);
    const width = u.valToPos(span.to_s, "x", true) - left;
    ctx.fillRect(left, bbox.top, Math.max(width, devicePixelRatio || 1), bbox.height);
  }
  ctx.globalAlpha = 1;
  if (charts.trigger) triggered(u, ctx, bbox, charts.trigger);
}

// What a black box has kept the recording for: a line and its condition.
function triggered(u, ctx, bbox, { at_s, condition }) {
  const ratio = devicePixelRatio || 1;
  const x = Math.round(u.valToPos(at_s, "x", true)) + 0.5;
  ctx.strokeStyle = ctx.fillStyle = variable("--warn-ink");
  ctx.lineWidth = 1.5 * ratio;
  ctx.setLineDash([5 * ratio, 3 * ratio]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.font = `${11 * ratio}px ${FONT}`;
  ctx.textBaseline = "top";
  const isLeft = x > bbox.left + bbox.width / 2;
  ctx.textAlign = isLeft ? "right" : "left";
  ctx.fillText(condition, x + (isLeft ? -4 : 4) * ratio, bbox.top + 16 * ratio);
}

// ---- lanes: one row per flow -------------------------------------------------------------------------------------------------

function lanes(root, group, charts, look, kind) {
  const parts = figure(root, kind.title, kind.note, `${kind.title} over time of ${names(charts.flows)}.`);
  const drawn = charts.flows.map((flow, i) => ({ flow, i })).filter(({ flow }) => kind.has(flow));
  const rows = drawn.length;
  const paint = (u) => clipped(u, (ctx, bbox, ratio) => {
    drawn.forEach(({ flow, i }, row) => {
      const top = bbox.top + (bbox.height * row) / rows;
      const band = { top: top + 16 * ratio, height: bbox.height / rows - 20 * ratio };
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      ctx.font = `${12 * ratio}px ${FONT}`;
      ctx.fillStyle = look[i].stroke();
      ctx.globalAlpha = group.hidden.has(i) ? 0.4 : 1;
      ctx.fillText(flow.name, bbox.left + 3 * ratio, top + 8 * ratio);
      if (!group.hidden.has(i)) kind.paint(u, ctx, flow, look[i], band, ratio);
      ctx.globalAlpha = 1;
    });
  });
  const readout = element("p", "readout");
  const tell = (u) => {
    const t = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null;
    const shown = drawn.filter(({ i }) => !group.hidden.has(i));
    readout.textContent = t == null ? "" : `${t.toFixed(3)} s · ` + shown.map(({ flow }) => `${flow.name}: ${kind.at(flow, t)}`).join(" · ");
  };
  const [start, end] = charts.window_s;
  const data = [[start, end], ...charts.flows.map(() => [null, null])];
  const more = {
    flows: true,
    legend: false,
    height: LANE_PX * rows + LANES_AXIS_PX,
    x: TIME_AXIS,
    y: { values: () => [], grid: { show: false }, ticks: { show: false } },
    scales: { y: { range: () => [0, rows] } },
    hooks: { draw: [paint, marks(group, charts, look, false, false)], setCursor: [tell] },
  };
  add(group, parts, data, charts.flows.map((flow) => ({ label: flow.name, points: { show: false } })), more);
  parts.place.append(readout, kind.key());
}

function key(items) {
  const place = element("p", "modes");
  for (const [color, text] of items) {
    const item = element("span");
    if (color) {
      const square = element("i", "key");
      square.style.background = color;
      item.append(square);
    }
    item.append(text);
    place.append(item);
  }
  return place;
}

function phaseLanes(charts) {
  const color = (mode) => MODE_COLORS[mode % MODE_COLORS.length];
  const at = (flow, t) => flow.phases.find(([start, end]) => start <= t && t < end);
  return {
    title: "Algorithm phase",
    note: `the longest phase of every ${milliseconds(charts.phase_bucket_s)}`,
    has: (flow) => flow.phases.length > 0,
    key: () => key(charts.modes.map((mode, i) => [color(i), mode])),
    at: (flow, t) => (at(flow, t) ? charts.modes[at(flow, t)[2]] : "–"),
    paint: (u, ctx, flow, line, band, ratio) => {
      const [min, max] = [u.scales.x.min, u.scales.x.max];
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
    },
  };
}

// Losses as bars, higher for more packets; timeouts as crosses.
function eventLanes(charts) {
  const most = Math.max(1, ...charts.flows.flatMap((flow) => flow.events.map((event) => event.lost_pkts)));
  const half = charts.event_bucket_s / 2;
  const items = [[null, "▮ packets marked lost (height: logarithm of their number)"], [null, "✕ retransmission timeout"]];
  if (charts.drop_spans.length > 0) items.push([variable("--soft"), "rows missing: dropped by the recorder"]);
  return {
    title: "Losses and timeouts",
    note: `sum of every ${milliseconds(charts.event_bucket_s)}`,
    has: () => true,
    key: () => key(items),
    at: (flow, t) => {
      const event = flow.events.find((event) => Math.abs(event.at_s - t) <= half);
      return event ? `${event.lost_pkts} lost` + (event.rtos ? `, ${event.rtos} timeouts` : "") : "none";
    },
    paint: (u, ctx, flow, line, band, ratio) => {
      const stroke = line.stroke();
      const bottom = band.top + band.height;
      for (const event of flow.events) {
        const x = u.valToPos(event.at_s, "x", true);
        ctx.fillStyle = stroke;
        const height = (band.height * Math.log1p(event.lost_pkts)) / Math.log1p(most);
        ctx.fillRect(x - ratio / 2, bottom - height, 1.5 * ratio, height);
        if (event.rtos) marker(ctx, 4, x, band.top, 4 * ratio, stroke);
      }
    },
  };
}
