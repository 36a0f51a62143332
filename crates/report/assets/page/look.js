// How lines are told apart: the colour of the registry, and a dash and a marker for those who cannot go by colour.

// Paul Tol's "muted" set: told apart with any colour blindness, and by lightness on grey paper.
const MODE_COLORS = ["#88ccee", "#332288", "#ddcc77", "#117733", "#cc6677", "#44aa99", "#882255", "#999933", "#aa4499", "#bbbbbb"];
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [5, 2], [10, 3, 2, 3, 2, 3]];
const FONT = "system-ui, sans-serif";
// Contrast of lines to the paper, at least; WCAG 2.1 asks for 3.
const CONTRAST = 4;

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
  for (let share = 0.1; contrast(out, paper) < CONTRAST && share <= 1; share += 0.1) out = mix(color, ink, share);
  return out;
}

// Shades of one colour: the share of ink, below 0 of paper.
const SHADES = [0, 0.42, -0.45, 0.2, -0.25, 0.62];

// The colour is the algorithm's, another shade of it for its second, third … flow; the dash is the line's own.
function looks(lines) {
  const used = {};
  return lines.map((line, number) => {
    const rank = (used[line.color] = (used[line.color] ?? -1) + 1);
    const share = SHADES[rank % SHADES.length];
    const shade = () => mix(line.color, variable(share < 0 ? "--paper" : "--ink"), Math.abs(share));
    return { number, dash: DASHES[number % DASHES.length], stroke: () => legible(shade()) };
  });
}

// The same shapes as in the still figures.
const SHAPES = [
  (c, r) => c.arc(0, 0, r, 0, 2 * Math.PI),
  (c, r) => c.rect(-r, -r, 2 * r, 2 * r),
  (c, r) => polygon(c, [[-r, r], [r, r], [0, -r]]),
  (c, r) => polygon(c, [[0, -1.2 * r], [1.2 * r, 0], [0, 1.2 * r], [-1.2 * r, 0]]),
  (c, r) => strokes(c, [[-r, -r, r, r], [-r, r, r, -r]]),
  (c, r) => polygon(c, [[-r, -r], [r, -r], [0, r]]),
  (c, r) => strokes(c, [[-r, 0, r, 0], [0, -r, 0, r]]),
  (c, r) => polygon(c, [[-r, -r / 2], [0, -r], [r, -r / 2], [r, r], [-r, r]]),
];

function polygon(ctx, points) {
  points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.closePath();
}

function strokes(ctx, lines) {
  for (const [x0, y0, x1, y1] of lines) {
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
  }
}

function marker(ctx, number, x, y, radius, stroke) {
  ctx.save();
  ctx.translate(x, y);
  ctx.setLineDash([]);
  ctx.beginPath();
  SHAPES[number % SHAPES.length](ctx, radius);
  ctx.fillStyle = variable("--paper");
  ctx.fill();
  ctx.strokeStyle = stroke;
  ctx.stroke();
  ctx.restore();
}
