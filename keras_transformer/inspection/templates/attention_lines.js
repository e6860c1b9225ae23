// Lines from the tokens that look to the tokens that they look at.

const ROW = 26; // height of a token, as the style has it
const FAINTEST = 0.02; // weaker lines could not be seen

class LinesView {
  constructor(place, tell) {
    this.place = place;
    this.tell = tell;
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.middle = element("div", {}, this.canvas);
    this.scroller = element("div", { className: "scroller lines" });
    place.append(this.scroller);
    watchTokens(this.scroller, this);
  }

  show(map, shown) {
    if (this.map !== map) {
      this.map = map;
      const [left, right] = [this.list(map.rows, "queries"), this.list(map.keys, "keys")];
      this.sides = [left, right];
      this.scroller.replaceChildren(left, this.middle, right);
    }
    this.shown = shown;
    this.look(null);
  }

  // How strong a line looks: of a chosen token beside its own lines, else beside all others, which
  // would hide each other if small weights were brightened.
  strength(query, key) {
    const weight = this.shown.weights[query * this.shown.keys + key];
    const found = this.shown.strength(weight, key, this.largest);
    return this.largest === undefined && this.shown.bright ? found ** 2 : found;
  }

  largestOf(query, key) {
    if (query === null && key === null) return undefined;
    const queries = query === null ? range(this.shown.queries) : [query];
    const keys = key === null ? range(this.shown.keys) : [key];
    return Math.max(...queries.flatMap((q) => keys.map((k) => this.weight(q, k))));
  }

  list(tokens, side) {
    const label = side === "queries" ? "Tokens that look" : "Tokens that are looked at";
    const items = tokens.map((token, i) => {
      const item = tokenElement("li", token, tokens[i - 1], { role: "option" });
      item.dataset.index = i;
      const weight = element("span", { className: "weight" });
      if (side === "queries") item.prepend(weight);
      else item.append(weight);
      return item;
    });
    roving(items, 0);
    return element("ol", { className: side, role: "listbox", "aria-label": label }, ...items);
  }

  // Shows one token only, or all.
  look(item) {
    if (item === this.item && item) return;
    this.item = item;
    const isQuery = item?.parentElement === this.sides[0];
    this.query = item && isQuery ? Number(item.dataset.index) : null;
    this.key = item && !isQuery ? Number(item.dataset.index) : null;
    if (item) roving([...item.parentElement.children], Number(item.dataset.index));
    this.largest = this.largestOf(this.query, this.key);
    this.label();
    this.draw();
    if (this.query !== null) this.tell(this.strongest(this.query));
    else if (this.key !== null) this.tell({ key: this.key });
    else this.tell(null);
  }

  strongest(query) {
    let best = 0;
    for (let k = 1; k < this.shown.keys; k++) {
      if (this.weight(query, k) > this.weight(query, best)) best = k;
    }
    return { query, key: best, weight: this.weight(query, best), strongest: true };
  }

  weight(query, key) {
    return this.shown.shown[key] ? this.shown.weights[query * this.shown.keys + key] : 0;
  }

  // Writes the weights of the chosen token at those of the other side.
  label() {
    const [left, right] = this.sides;
    [...left.children].forEach((item, q) => {
      const weight = this.key === null ? null : this.shown.weights[q * this.shown.keys + this.key];
      this.dress(item, weight, weight === null ? 0 : this.strength(q, this.key));
      item.classList.toggle("chosen", this.query === q);
    });
    [...right.children].forEach((item, k) => {
      const weight =
        this.query === null ? null : this.shown.weights[this.query * this.shown.keys + k];
      this.dress(item, weight, weight === null ? 0 : this.strength(this.query, k));
      item.classList.toggle("chosen", this.key === k);
      item.classList.toggle("out", !this.shown.shown[k]);
    });
  }

  dress(item, weight, strength) {
    const share = Math.round(70 * strength);
    item.style.background = share ? `color-mix(in srgb, var(--c1) ${share}%, transparent)` : "";
    const written = item.querySelector(".weight");
    written.textContent = weight === null || weight < 0.005 ? "" : inNumbers(weight);
    written.style.color = share > 40 ? "inherit" : "";
  }

  draw() {
    if (!this.shown || !this.scroller.clientHeight) return;
    const width = this.middle.clientWidth;
    const height = this.scroller.clientHeight;
    const context = prepared(this.canvas, width, height);
    const top = this.scroller.scrollTop;
    const at = (i) => i * ROW + ROW / 2 - top;
    context.strokeStyle = inks.strong;
    const { keys, queries } = this.shown;
    for (let q = 0; q < queries; q++) {
      if (this.query !== null && q !== this.query) continue;
      for (let k = 0; k < keys; k++) {
        if (this.key !== null && k !== this.key) continue;
        const alpha = this.strength(q, k);
        if (alpha < FAINTEST) continue;
        const [from, to] = [at(q), at(k)];
        if (Math.max(from, to) < 0 || Math.min(from, to) > height) continue;
        context.globalAlpha = alpha;
        context.lineWidth = 0.6 + 2.6 * alpha;
        context.beginPath();
        context.moveTo(0, from);
        context.bezierCurveTo(width * 0.4, from, width * 0.6, to, width, to);
        context.stroke();
      }
    }
    context.globalAlpha = 1;
  }

  next(item, key) {
    const [left, right] = this.sides;
    if (key === "ArrowDown") return item.nextElementSibling;
    if (key === "ArrowUp") return item.previousElementSibling;
    if (key === "ArrowRight") return opposite(item, right);
    if (key === "ArrowLeft") return opposite(item, left);
    return undefined;
  }
}
