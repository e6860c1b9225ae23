// All heads at a glance: a small map of each, in a grid of layers and heads.

function buildHeads(map, choose) {
  const grid = document.getElementById("heads");
  grid.replaceChildren();
  const columns = map.heads + (map.heads > 1 ? 1 : 0);
  const size = Math.max(18, Math.min(76, Math.floor((grid.clientWidth - 40) / columns) - 3));
  grid.style.gridTemplateColumns = `2rem repeat(${columns}, ${size}px)`;
  const name = (text, role) => element("span", { className: "name", role }, text);
  const heads = [...range(map.heads), ...(map.heads > 1 ? [MEAN] : [])];
  const header = heads.map((h) => name(h === MEAN ? "mean" : `${h}`, "columnheader"));
  grid.append(element("div", { role: "row" }, name("", "columnheader"), ...header));
  const rows = range(map.layers).map((layer) => heads.map((head) => [layer, head]));
  if (map.layers > 1) rows.push([[MEAN, MEAN]]);
  const cells = rows.map((row) => row.map(([layer, head]) => headCell(map, layer, head)));
  rows.forEach((row, r) => {
    const label = row[0][0] === MEAN ? "all" : `${row[0][0]}`;
    const spaces = label === "all" ? heads.slice(1).map(() => name("", "presentation")) : [];
    grid.append(element("div", { role: "row" }, name(label, "rowheader"), ...spaces, ...cells[r]));
  });
  const flat = cells.flat();
  grid.onclick = (event) => {
    const cell = event.target.closest("button");
    if (cell) choose(cell.place);
  };
  grid.onkeydown = (event) => {
    const cell = event.target.closest("button");
    if (!cell || isBrowsers(event)) return;
    let row = cells.findIndex((line) => line.includes(cell));
    let column = cells[row].indexOf(cell);
    if (cells[row].length === 1) column = columns - 1; // the mean of all stands under the means
    if (event.key === "ArrowRight") column += 1;
    else if (event.key === "ArrowLeft") column -= 1;
    else if (event.key === "ArrowDown") row += 1;
    else if (event.key === "ArrowUp") row -= 1;
    else if (event.key === "Home") column = 0;
    else if (event.key === "End") column = columns - 1;
    else return;
    event.preventDefault();
    const line = cells[Math.max(0, Math.min(row, cells.length - 1))];
    const next = line[Math.max(0, Math.min(column, line.length - 1))];
    choose(next.place);
    next.focus();
  };
  return flat;
}

function headCell(map, layer, head) {
  const which = nameOf(layer, head);
  const cell = element(
    "button",
    { type: "button", role: "gridcell", title: which, "aria-label": which },
    element("canvas", { width: 1, height: 1 }),
  );
  cell.place = [layer, head];
  return cell;
}

function nameOf(layer, head) {
  if (layer === MEAN) return "Mean of all layers and heads";
  return head === MEAN ? `Layer ${layer}, mean of all heads` : `Layer ${layer}, head ${head}`;
}

const SMALL_MAP = 120; // pixels of a small map at most

// Draws a few small maps at a time, so that the page answers while large ones are drawn.
let drawing = 0;

function drawHeads(map, cells, options) {
  const run = ++drawing;
  const waiting = [...cells];
  const some = () => {
    if (run !== drawing) return;
    const end = performance.now() + 12;
    while (waiting.length && performance.now() < end) drawHead(map, waiting.shift(), options);
    if (waiting.length) requestAnimationFrame(some);
    else document.getElementById("heads").dataset.drawn = String(run);
  };
  some();
}

function drawHead(map, cell, options) {
  const [layer, head] = cell.place;
  const [queries, keys] = [map.queries.length, map.keys.length];
  const isMean = layer === MEAN || head === MEAN;
  // Of one head the packed weights do: they grow with the weights.
  const start = isMean ? 0 : (layer * map.heads + head) * map.size;
  const weights = isMean ? weightsOf(map, layer, head) : map.codes.subarray(start, start + map.size);
  const canvas = cell.firstElementChild;
  const [width, height] = [Math.min(keys, SMALL_MAP), Math.min(queries, SMALL_MAP)];
  canvas.width = width;
  canvas.height = height;
  const peaks = new Float32Array(width * height); // of the weights that share a pixel the largest
  const columns = range(keys).map((k) => Math.floor((k * width) / keys));
  for (let k = 0; k < keys; k++) {
    if (options.plain && map.keys[k][1]) columns[k] = -1;
  }
  for (let q = 0; q < queries; q++) {
    const line = Math.floor((q * height) / queries) * width;
    for (let k = 0; k < keys; k++) {
      const weight = weights[q * keys + k];
      if (columns[k] >= 0 && weight > peaks[line + columns[k]]) peaks[line + columns[k]] = weight;
    }
  }
  if (!isMean) for (let i = 0; i < peaks.length; i++) peaks[i] = map.values[peaks[i]];
  const largest = peaks.reduce((a, b) => Math.max(a, b), 0);
  const image = new ImageData(width, height);
  for (let i = 0; i < peaks.length; i++) {
    image.data.set([...colourOf(share(peaks[i], largest, options)), 255], 4 * i);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

function markHead(cells, [layer, head]) {
  const chosen = cells.findIndex((c) => c.place[0] === layer && c.place[1] === head);
  cells.forEach((cell, i) => cell.setAttribute("aria-selected", String(i === chosen)));
  roving(cells, chosen);
}
