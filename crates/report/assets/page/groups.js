// Many flows: the median of each group as a line, the middle four fifths of its flows as a band.

const BAND_OPACITY = 0.16;

function drawGroups(root, charts) {
  const group = newGroup(charts.window_s, SMALLEST_SPAN_S, charts.whole ?? "Whole run");
  const look = looks(charts.groups);
  root.append(toolbar(group, true));
  const every = milliseconds(charts.group_bucket_s);
  group.bands = [];
  const plot = (title, unit, digits, bandOf) => {
    const words = `${title} [${unit}] over time, median and middle four fifths of the flows of ${names(charts.groups)}. The table above has the figures.`;
    const note = `line: median of the flows; band: from the 10th to the 90th percentile; every ${every}`;
    const place = figure(root, `${title} [${unit}]`, note, words);
    const data = bandData(charts, bandOf);
    const text = (v) => (v == null ? "–" : v.toFixed(digits));
    const edge = (i) => ({ label: "", class: "edge", stroke: look[i].stroke, width: 0, points: { show: false } });
    const series = charts.groups.flatMap((of, i) => [
      {
        label: `${of.name} (${of.flows})`, stroke: look[i].stroke, dash: look[i].dash, width: 2, points: { show: false },
        value: (u, v, s, at) =>
          at == null || u.data[s][at] == null ? "–" : `${text(u.data[s][at])} (${text(u.data[s + 1][at])} … ${text(u.data[s + 2][at])}) ${unit}`,
      },
      edge(i),
      edge(i),
    ]);
    const bands = charts.groups.map((_, i) => ({ series: [3 * i + 3, 3 * i + 2], fill: () => translucent(look[i].stroke()) }));
    const x = charts.clock ?? TIME_AXIS;
    const u = add(group, place, data, series, {
      x,
      bands,
      scales: { y: { range: fromZero } },
      hooks: {
        draw: [(u) => clipped(u, (ctx, bbox) => missing(u, ctx, bbox, charts))],
        setSeries: [(u, i, change) => i != null && change.show != null && hideBand(group, i, change.show)],
      },
    });
    group.bands.push({ u, bandOf });
  };
  plot("Goodput", "Mbit/s", 2, (of) => of.rate);
  plot("RTT", "ms", 2, (of) => of.rtt);
  plot("Congestion window", "packets", 0, (of) => of.cwnd);
  zoom(group, ...group.full);
  const goodputs = charts.groups.filter((of) => of.goodputs?.length > 0);
  const ecdfs = goodputs.map((of) => ({ name: of.name, color: of.color, samples: of.flows, points: of.goodputs }));
  if (ecdfs.length > 0) drawEcdf(root, ecdfs, "goodput", "Mbit/s", "flows");
  return group;
}

const bandData = (charts, bandOf) => uPlot.join(charts.groups.map(bandOf).map((band) => [band.t, band.p50, band.p10, band.p90]));

function translucent(color) {
  return color + Math.round(BAND_OPACITY * 255).toString(16).padStart(2, "0");
}

// A line goes with its band, in all charts of the groups.
function hideBand(group, i, show) {
  if (group.busy || (i - 1) % 3 !== 0) return;
  group.busy = true;
  for (const u of group.plots) {
    for (const k of [i, i + 1, i + 2]) if (u.series[k].show !== show) u.setSeries(k, { show });
    tellPressed(u);
    u.redraw();
  }
  group.busy = false;
}
