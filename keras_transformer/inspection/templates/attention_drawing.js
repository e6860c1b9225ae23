// What all views draw with: colours of the page, sharp canvases, tokens as elements.

let ramp; // 256 colours, [red, green, blue] each, from no weight to the largest
let inks; // colours of text and marks

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => {
    const hex = style.getPropertyValue(name).trim().slice(1);
    return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
  };
  const stops = ["--m0", "--m1", "--m2", "--m3", "--m4"].map(colour);
  ramp = range(256).map((i) => {
    const place = (i / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return stops[low].map((c, n) => Math.round(c + (stops[low + 1][n] - c) * (place - low)));
  });
  inks = {
    text: style.getPropertyValue("--text"),
    soft: style.getPropertyValue("--soft"),
    mark: style.getPropertyValue("--mark"),
    line: style.getPropertyValue("--line"),
    strong: style.getPropertyValue("--c1"),
    font: getComputedStyle(document.body).fontFamily,
  };
}

function colourOf(strength) {
  return ramp[Math.round(255 * strength)];
}

function asCss([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
}

// Black or white, whichever can be read on a colour.
function inkOn([red, green, blue]) {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#111" : "#fff";
}

// A canvas of this size in CSS pixels, sharp on every screen; returns its context, cleared.
function prepared(canvas, width, height) {
  const density = window.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * density)), Math.max(1, Math.round(height * density))];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

// The beginning of a text that has room in so many pixels.
function shortened(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  const letters = Array.from(text);
  let [fits, tooMany] = [0, letters.length];
  while (tooMany - fits > 1) {
    const tried = (fits + tooMany) >> 1;
    const width = context.measureText(`${letters.slice(0, tried).join("")}…`).width;
    if (width <= room) fits = tried;
    else tooMany = tried;
  }
  return `${letters.slice(0, fits).join("")}…`;
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && key !== "role") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// The text of a token, of whichever script: never taken for HTML, its direction its own.
function tokenText([text]) {
  return element("bdi", { dir: "auto" }, text);
}

function tokenElement(name, token, before, attributes) {
  const classes = ["token"];
  if (token[1]) classes.push("special");
  if (before && token[2] !== before[2]) classes.push("second");
  return element(name, { className: classes.join(" "), title: token[0], ...attributes }, tokenText(token));
}

const RIGHT_TO_LEFT =
  /\p{sc=Hebr}|\p{sc=Arab}|\p{sc=Syrc}|\p{sc=Thaa}|\p{sc=Nkoo}|\p{sc=Samr}|\p{sc=Mand}|\p{sc=Adlm}/u;

// "rtl" or "ltr", by the first letter: what `dir="auto"` does for elements.
function directionOf(text) {
  const letter = text.match(/\p{L}/u);
  return letter && RIGHT_TO_LEFT.test(letter[0]) ? "rtl" : "ltr";
}

// Tells a view which of its tokens the pointer or the keyboard is at (`look`), and when it is scrolled
// or has another size (`draw`). The view says to which token a key leads from another (`next`): null
// for none, undefined for a key that is not the view's.
function watchTokens(scroller, view) {
  const at = (event) => event.target.closest(".token");
  scroller.addEventListener("scroll", () => view.draw());
  scroller.addEventListener("mouseover", (e) => view.look(at(e)));
  scroller.addEventListener("mouseleave", () => view.look(null));
  scroller.addEventListener("focusin", (e) => view.look(at(e)));
  scroller.addEventListener("focusout", () => view.look(null));
  scroller.addEventListener("click", (e) => at(e)?.focus());
  scroller.addEventListener("keydown", (e) => {
    const item = at(e);
    if (!item || isBrowsers(e)) return;
    const row = item.parentElement;
    let next = view.next(item, e.key);
    if (e.key === "Home") next = row.firstElementChild;
    else if (e.key === "End") next = row.lastElementChild;
    else if (e.key === "Escape") item.blur();
    else if (next === undefined) return;
    e.preventDefault();
    next?.focus();
  });
  new ResizeObserver(() => view.draw()).observe(scroller);
}

// Whether a key belongs to the browser, as Alt and an arrow, or Ctrl and "+".
function isBrowsers(event) {
  return event.altKey || event.ctrlKey || event.metaKey;
}

// The token of another row that stands where a token does in its own.
function opposite(item, row) {
  return row.children[Math.min(Number(item.dataset.index), row.children.length - 1)];
}

// One of several elements can be reached by Tab; the arrow keys go from it to the others.
function roving(elements, chosen) {
  elements.forEach((e, i) => {
    e.tabIndex = i === chosen ? 0 : -1;
  });
}
