// What the tests ask of the page. `chart` is found by the beginning of its heading.
const charts = () => [...document.querySelectorAll("figure.chart")];
const titleOf = (figure) => figure.querySelector("h3").textContent;
const chart = (title) => charts().find((figure) => titleOf(figure).startsWith(title));
const legend = (title) => Object.fromEntries(
  [...chart(title).querySelectorAll(".u-legend .u-series")].map((row) => {
    const name = row.querySelector("th");
    const value = row.querySelector(".u-value").textContent;
    return [name.textContent, { value, off: row.classList.contains("u-off"), pressed: name.getAttribute("aria-pressed") }];
  }),
);
// Of the part of a canvas that shows data, without axes: how many pixels are not paper, and a sum that changes with any of them.
const pixels = (figure) => {
  const [canvas, over] = [figure.querySelector("canvas"), figure.querySelector(".u-over")];
  const [c, o] = [canvas.getBoundingClientRect(), over.getBoundingClientRect()];
  const ratio = canvas.width / c.width;
  const box = [o.left - c.left, o.top - c.top, o.width, o.height].map((v) => Math.round(v * ratio));
  const data = canvas.getContext("2d").getImageData(...box).data;
  let painted = 0;
  let sum = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] === 0) continue;
    // Grid lines are grey and thin; lines of data have a hue or are dark.
    const [r, g, b] = [data[i], data[i + 1], data[i + 2]];
    if (Math.max(r, g, b) - Math.min(r, g, b) > 40 || Math.max(r, g, b) < 90) painted++;
    sum = (sum * 31 + r * 7 + g * 3 + b) % 1000000007;
  }
  return { painted, sum };
};
// Where in the window a share of the plot of a chart is, after scrolling to it.
const place = (title, share) => {
  const over = chart(title).querySelector(".u-over");
  over.scrollIntoView({ block: "center", behavior: "instant" });
  const box = over.getBoundingClientRect();
  return [box.left + box.width * share, box.top + box.height / 2];
};
const luminance = (color) => {
  const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
// Contrast of the text of every element that has some, against the first background behind it; the lowest of all.
const lowestContrast = () => {
  let lowest = { contrast: Infinity };
  for (const element of document.querySelectorAll("main *, header *, footer")) {
    const text = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    if (!text || !element.checkVisibility() || element.closest("script")) continue;
    let behind = element;
    while (behind && /, 0\)$|transparent/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
    const [a, b] = [getComputedStyle(element).color, getComputedStyle(behind ?? document.body).backgroundColor].map(luminance);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < lowest.contrast) lowest = { contrast, text: element.textContent.trim().slice(0, 60) };
  }
  return lowest;
};
