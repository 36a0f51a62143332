// Charts whose x is not time: distributions, and metrics over the size of the buffer.

// Longest tail, in medians, that a linear axis shows.
const LINEAR_TAIL = 12;
// Buffers further apart than this are on a logarithmic axis.
const LINEAR_BUFFERS = 4;
const ECDF_MARKERS = 6;

const plain = (v) => String(+v.toPrecision(3));

function drawEcdf(root, ecdfs, title, unit, what) {
  const all = ecdfs.flatMap((ecdf) => ecdf.points.map(([value]) => value));
  const median = Math.min(...ecdfs.map((ecdf) => ecdf.points.find(([, share]) => share >= 0.5)[0]));
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const logarithmic = least > 0 && most > LINEAR_TAIL * median;
  const margin = logarithmic ? 0 : Math.max((most - least) * 0.02, most * 1e-6);
  const full = [Math.max(least - margin, logarithmic ? least : 0), most + margin];
  const group = newGroup(full, (full[1] - full[0]) / 1000, "Everything");
  const counts = ecdfs.map((ecdf) => `${ecdf.name} ${ecdf.samples.toLocaleString("en")}`).join(", ");
  const place = figure(root, `ECDF of the ${title} [${unit}]`, `${what}: ${counts}`,
    `Empirical distribution of the ${title} of ${ecdfs.map((e) => e.name).join(", ")}. The table above has its percentiles.`);
  place.place.insertBefore(toolbar(group, false), place.plot);
  const look = looks(ecdfs);
  const xs = [...new Set([full[0], ...all, full[1]])].sort((a, b) => a - b);
  const lines = ecdfs.map((ecdf) => {
    let next = 0;
    let share = 0;
    return xs.map((x) => {
      while (next < ecdf.points.length && ecdf.points[next][0] <= x) share = ecdf.points[next++][1];
      return share;
    });
  });
  const series = ecdfs.map((ecdf, i) => ({
    label: ecdf.name, stroke: look[i].stroke, dash: look[i].dash, width: 1.5, points: { show: false },
    paths: uPlot.paths.stepped({ align: 1 }),
    value: (_, share) => (share == null ? "–" : `${(share * 100).toFixed(1)} %`),
  }));
  const markers = (u) => clipped(u, (ctx, bbox, ratio) => {
    ctx.lineWidth = 1.25 * ratio;
    ecdfs.forEach((ecdf, i) => {
      if (!u.series[i + 1].show) return;
      for (let k = 0; k < ECDF_MARKERS; k++) {
        const share = (k + (i + 0.5) / ecdfs.length) / ECDF_MARKERS;
        const point = ecdf.points.find(([, reached]) => reached >= share);
        marker(ctx, look[i].number, u.valToPos(point[0], "x", true), u.valToPos(share, "y", true), 4 * ratio, look[i].stroke());
      }
    });
  });
  add(group, place, [xs, ...lines], series, {
    x: { name: title, value: (v) => `${plain(v)} ${unit}`, tick: (v) => `${plain(v)} ${unit}` },
    scales: { x: { distr: logarithmic ? 3 : 1 }, y: { range: () => [0, 1.02] } },
    hooks: { draw: [markers] },
  });
  zoom(group, ...group.full);
}

function drawSweep(root, sweep) {
  const buffers = [...new Set(sweep.lines.flatMap((line) => line.points.map((p) => p.buffer_bdp)))].sort((a, b) => a - b);
  const [least, most] = [buffers[0], buffers[buffers.length - 1]];
  const logarithmic = least > 0 && most / least > LINEAR_BUFFERS;
  const full = logarithmic ? [least * 0.9, most * 1.1] : [0, most * 1.05];
  const group = newGroup(full, (full[1] - full[0]) / 100, "Everything");
  const unit = sweep.unit ? ` [${sweep.unit}]` : "";
  const place = figure(root, `${sweep.title}${unit}`, "mean and, of repeats, its 95 % interval",
    `${sweep.title} over the size of the buffer. The table below has the same numbers.`);
  const look = looks(sweep.lines);
  const pointAt = (line, buffer) => line.points.find((p) => p.buffer_bdp === buffer);
  const values = sweep.lines.map((line) => buffers.map((buffer) => pointAt(line, buffer)?.mean));
  const series = sweep.lines.map((line, i) => ({
    label: line.name, stroke: look[i].stroke, dash: look[i].dash, width: 1.5, points: { show: false },
    value: (u, v, s, index) => {
      const point = index == null ? null : pointAt(line, u.data[0][index]);
      if (!point) return "–";
      return `${plain(point.mean)}${point.ci95 == null ? "" : ` ± ${plain(point.ci95)}`} ${sweep.unit}`.trimEnd();
    },
  }));
  const bars = (u) => clipped(u, (ctx, bbox, ratio) => {
    ctx.lineWidth = 1.25 * ratio;
    sweep.lines.forEach((line, i) => {
      if (!u.series[i + 1].show) return;
      ctx.strokeStyle = look[i].stroke();
      for (const point of line.points) {
        const [x, half] = [u.valToPos(point.buffer_bdp, "x", true), point.ci95 ?? 0];
        const [low, high] = [point.mean - half, point.mean + half].map((v) => u.valToPos(v, "y", true));
        ctx.beginPath();
        strokes(ctx, [[x, low, x, high], [x - 4 * ratio, low, x + 4 * ratio, low], [x - 4 * ratio, high, x + 4 * ratio, high]]);
        if (half) ctx.stroke();
        marker(ctx, look[i].number, x, u.valToPos(point.mean, "y", true), 4 * ratio, look[i].stroke());
      }
    });
  });
  const top = Math.max(...sweep.lines.flatMap((line) => line.points.map((p) => p.mean + (p.ci95 ?? 0))));
  add(group, place, [buffers, ...values], series, {
    x: {
      name: "buffer", title: "Buffer [BDP]", value: (v) => `${plain(v)} BDP`, tick: plain,
      axis: { splits: () => buffers, filter: (_, splits) => splits },
    },
    scales: { x: { distr: logarithmic ? 3 : 1 }, y: { range: () => [0, top > 0 ? top * 1.05 : 1] } },
    hooks: { draw: [bars] },
  });
  zoom(group, ...group.full);
}
