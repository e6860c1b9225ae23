// The alignment of a translation: two lines of text, and which tokens were written by which.

const BETWEEN = 150; // pixels between the lines
const SHARE = 0.5; // of the strongest weight of a token: weaker ones are not drawn

class AlignmentView {
  constructor(place, tell) {
    this.tell = tell;
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.scroller = element("div", { className: "scroller alignment" });
    place.append(this.scroller);
    watchTokens(this.scroller, this);
  }

  show(map, shown) {
    if (this.map !== map) {
      this.map = map;
      this.rows = [this.row(map.keys, "Text"), this.row(map.predicted, "Translation")];
      const side = (text) => element("span", { className: "side" }, text);
      const [text, translation] = this.rows;
      this.scroller.replaceChildren(side("text"), text, this.canvas, translation, side("translation"));
    }
    this.shown = shown;
    this.look(null);
  }

  row(tokens, label) {
    const items = tokens.map((token, i) => {
      const item = tokenElement("li", token, null, { role: "option" });
      item.dataset.index = i;
      return item;
    });
    roving(items, 0);
    const row = element("ol", { className: "row", role: "listbox", "aria-label": label }, ...items);
    row.dir = directionOf(tokens.filter((token) => !token[1]).map((token) => token[0]).join(""));
    return row;
  }

  look(item) {
    const written = item?.parentElement === this.rows[1];
    this.key = item && !written ? Number(item.dataset.index) : null;
    this.query = item && written ? Number(item.dataset.index) : null;
    if (item) roving([...item.parentElement.children], Number(item.dataset.index));
    const { keys, weights, strength } = this.shown;
    const dress = (items, chosen, strengthAt) =>
      [...items].forEach((e, i) => {
        const share = Math.round(70 * strengthAt(i));
        e.style.background = share ? `color-mix(in srgb, var(--c1) ${share}%, var(--card))` : "";
        e.classList.toggle("chosen", i === chosen);
      });
    dress(this.rows[0].children, this.key, (k) =>
      this.query === null ? 0 : strength(weights[this.query * keys + k], k));
    dress(this.rows[1].children, this.query, (q) =>
      this.key === null ? 0 : strength(weights[q * keys + this.key], this.key));
    [...this.rows[0].children].forEach((e, k) => e.classList.toggle("out", !this.shown.shown[k]));
    this.draw();
    if (this.query === null) this.tell(this.key === null ? null : { key: this.key });
    else {
      const key = this.bestOf(this.query);
      this.tell({ query: this.query, key, weight: weights[this.query * keys + key], strongest: true });
    }
  }

  bestOf(query) {
    const { keys, weights, shown } = this.shown;
    let best = -1;
    for (let k = 0; k < keys; k++) {
      if (shown[k] && (best < 0 || weights[query * keys + k] > weights[query * keys + best])) best = k;
    }
    return Math.max(best, 0);
  }

  draw() {
    if (!this.shown || !this.scroller.clientWidth) return;
    const width = this.scroller.clientWidth;
    const context = prepared(this.canvas, width, BETWEEN);
    const edge = this.canvas.getBoundingClientRect().left;
    const middles = this.rows.map((row) =>
      [...row.children].map((e) => {
        const box = e.getBoundingClientRect();
        return box.left + box.width / 2 - edge;
      }),
    );
    const { keys, queries, weights, shown, strength } = this.shown;
    context.strokeStyle = inks.strong;
    for (let q = 0; q < queries; q++) {
      if (this.query !== null && q !== this.query) continue;
      const most = weights[q * keys + this.bestOf(q)];
      for (let k = 0; k < keys; k++) {
        const weight = weights[q * keys + k];
        if ((this.key !== null && k !== this.key) || !shown[k]) continue;
        if (!weight || (this.query === null && weight < SHARE * most)) continue;
        const alpha = strength(weight, k);
        if (alpha < FAINTEST) continue;
        const [from, to] = [middles[0][k], middles[1][q]];
        if (Math.max(from, to) < 0 || Math.min(from, to) > width) continue;
        context.globalAlpha = Math.max(0.12, alpha);
        context.lineWidth = 0.8 + 4 * alpha;
        context.beginPath();
        context.moveTo(from, 0);
        context.bezierCurveTo(from, BETWEEN * 0.5, to, BETWEEN * 0.5, to, BETWEEN);
        context.stroke();
      }
    }
    context.globalAlpha = 1;
  }

  next(item, key) {
    const [text, translation] = this.rows;
    const onward = item.parentElement.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    if (key === "ArrowDown") return opposite(item, translation);
    if (key === "ArrowUp") return opposite(item, text);
    if (key === onward) return item.nextElementSibling;
    if (key === "ArrowLeft" || key === "ArrowRight") return item.previousElementSibling;
    return undefined;
  }
}
