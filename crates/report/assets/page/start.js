// Paper, darkness, and what is drawn when.

const PRINT_WIDTH_PX = 680;

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
  // Not the flows one by one: whoever wants hundreds of rows on paper has opened them.
  document.querySelectorAll("details:not(.flows)").forEach((d) => (d.open = true));
  medium("print", () => PRINT_WIDTH_PX);
});
addEventListener("afterprint", () => medium("screen", (u) => u.root.parentElement.clientWidth));

// A recording is drawn when it comes near the screen, the first one at once: a page that is only rendered, never scrolled,
// is not to be without charts.
const json = (id) => JSON.parse(document.getElementById(id).textContent);
const data = json("charts-data");
const waiting = new Map();
function drawRecording(root) {
  const charts = data[Number(root.dataset.charts)];
  if (charts.groups) drawGroups(root, charts);
  else drawOverTime(root, charts);
  if (charts.rtt_ecdf.length > 0) drawEcdf(root, charts.rtt_ecdf, "RTT", "ms", "samples");
  if (charts.fct_ecdf.length > 0) drawEcdf(root, charts.fct_ecdf, "flow completion time", "ms", "connections");
}
const drawNow = (root) => {
  if (!waiting.delete(root)) return;
  drawRecording(root);
  root.dataset.drawn = "";
};
const drawAll = () => [...waiting.keys()].forEach(drawNow);
const near = new IntersectionObserver((entries) => entries.forEach((e) => e.isIntersecting && drawNow(e.target)), { rootMargin: "600px" });
document.querySelectorAll("[data-charts]").forEach((root) => {
  waiting.set(root, true);
  near.observe(root);
});
document.querySelectorAll("[data-flows]").forEach((fold) => list(fold, data[Number(fold.dataset.flows)]));
document.querySelectorAll("[data-lines]").forEach((fold) => {
  const draw = () => {
    if ("drawn" in fold.dataset) return;
    fold.dataset.drawn = "";
    fold.lines = drawOverTime(fold, data[Number(fold.dataset.lines)]);
  };
  fold.draw = draw;
  fold.addEventListener("toggle", () => fold.open && draw());
});
const across = json("across-data");
document.querySelectorAll("[data-sweep]").forEach((root) => drawSweep(root, across.sweeps[Number(root.dataset.sweep)]));
const first = document.querySelector("[data-charts]");
if (first) drawNow(first);
