// What is chosen, and the parts of the page that show it.

const state = { text: 0, kind: null, view: null, places: {}, plain: false, bright: false };
const byId = (id) => document.getElementById(id);
let map;
let cells = [];
const views = {
  lines: new LinesView(byId("lines"), tell),
  matrix: new MatrixView(byId("matrix"), tell),
  alignment: new AlignmentView(byId("alignment"), tell),
};
const VIEW_NAMES = { lines: "Lines", matrix: "Heat map", alignment: "Alignment" };

function start() {
  readColours();
  byId("title").textContent = page.title;
  page.texts.forEach((text, i) => {
    byId("text").append(element("option", { value: i }, `${i + 1}: ${text.text.slice(0, 60)}`));
  });
  byId("choose-text").hidden = page.texts.length < 2;
  byId("text").addEventListener("change", (e) => chooseText(Number(e.target.value)));
  for (const option of ["plain", "bright"]) {
    byId(option).addEventListener("change", (e) => {
      state[option] = e.target.checked;
      drawHeads(map, cells, state);
      show();
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColours();
    drawHeads(map, cells, state);
    show();
  });
  chooseText(0);
}

function chooseText(index) {
  state.text = index;
  const text = page.texts[index];
  const about = byId("about");
  about.replaceChildren(element("bdi", { dir: "auto" }, text.text));
  if (text.pair !== null) about.append(" · ", element("bdi", { dir: "auto" }, text.pair));
  if (text.written !== null) about.append(" → ", element("bdi", { dir: "auto" }, text.written));
  if (text.windows > 1) about.append(` (window ${text.window} of ${text.windows}, from 0)`);
  if (text.truncated) {
    about.append(
      text.written === null
        ? " (not all of it is shown: it is longer than the model takes)"
        : " (cut: the text is longer than the model takes, or what follows it than it may become)",
    );
  }
  const kinds = text.maps.map((m) => m.kind);
  if (!kinds.includes(state.kind)) state.kind = kinds.includes("cross") ? "cross" : kinds[0];
  switches("kinds", "kind", kinds, (kind) => KIND_NAMES[kind], chooseKind);
  byId("kinds").hidden = kinds.length < 2;
  chooseKind(state.kind, true);
}

async function chooseKind(kind, whole = false) {
  state.kind = kind;
  map = page.texts[state.text].maps.find((m) => m.kind === kind);
  const chosen = map;
  await unpack(map);
  if (chosen !== map) return; // something else was chosen meanwhile
  if (whole) state.bright = byId("bright").checked = map.keys.length > LONG;
  const names = Object.keys(VIEW_NAMES).filter((v) => v !== "alignment" || kind === "cross");
  if (kind === "cross") state.view ??= "alignment";
  if (!names.includes(state.view)) state.view = "lines";
  switches("views", "view", names, (view) => VIEW_NAMES[view], chooseView);
  state.place = placeIn(map, state.places[kind] ?? (kind === "cross" ? [MEAN, MEAN] : [0, 0]));
  cells = buildHeads(map, chooseHead);
  drawHeads(map, cells, state);
  markHead(cells, state.place);
  show();
  document.body.dataset.ready = `${state.text} ${kind}`;
}

// The place itself, or another one where the map has no such layer, head or mean.
function placeIn(map, [layer, head]) {
  if (layer === MEAN && map.layers > 1) return [MEAN, MEAN];
  const fits = layer < map.layers && head < map.heads;
  const row = layer === MEAN || !fits ? 0 : layer;
  return [row, map.heads === 1 || !fits ? 0 : head];
}

function chooseView(view) {
  state.view = view;
  show();
}

function chooseHead(place) {
  state.place = state.places[state.kind] = place;
  markHead(cells, place);
  show();
}

function show() {
  byId("head-title").textContent = nameOf(...state.place);
  byId("facts").textContent = factsOf(map, ...state.place);
  for (const name of Object.keys(views)) byId(name).hidden = name !== state.view;
  views[state.view].show(map, picture(map, ...state.place, state));
}

function switches(id, group, names, textOf, choose) {
  const place = byId(id);
  while (place.children.length > 1) place.lastElementChild.remove(); // all but the legend
  for (const name of names) {
    const button = element("input", { type: "radio", name: group, value: name });
    button.checked = state[group] === name;
    button.addEventListener("change", () => choose(name));
    place.append(element("label", {}, button, textOf(name)));
  }
}

// Says what the pointer or the keyboard is at: a query, a key, or both with their weight.
function tell(at) {
  const place = byId("readout");
  place.replaceChildren();
  if (!at) return;
  const token = (t) => element("span", {}, "“", tokenText(t), "”");
  const parts = [];
  if (at.query !== undefined) {
    const [read, written] = [map.queries[at.query], map.predicted?.[at.query]];
    parts.push(token(map.rows[at.query]), ` (${at.query})`);
    if (map.kind === "cross") parts.push(", written after ", token(read), ",");
    else if (written) parts.push(", where ", token(written), " is written,");
    parts.push(at.strongest ? " looks most at " : " looks at ");
    parts.push(token(map.keys[at.key]), ` (${at.key}): `, element("b", {}, inNumbers(at.weight)));
  } else parts.push("Who looks at ", token(map.keys[at.key]), ` (${at.key})`);
  place.append(...parts);
}

start();
