// A heat map with numbers, of any size: what can be seen of it is drawn, and drawn anew on scrolling.

const LARGEST_CELL = 120;
const WITH_NUMBERS = 30; // smallest cell that a number fits into
const TILT = 0.87; // of names that are wider than their columns, in radians
const LONGEST_NAME = 136; // pixels of a token's name; longer ones are cut
const WITH_NAMES = 10; // smallest cell that a token's name fits beside

class MatrixView {
  constructor(place, tell) {
    this.tell = tell;
    this.canvas = element("canvas");
    this.spacer = element("div", { className: "spacer" });
    this.scroller = element("div", {
      className: "scroller matrix",
      tabIndex: 0,
      role: "application",
      "aria-label": "Heat map; the arrow keys go from cell to cell",
    });
    this.spacer.append(this.canvas);
    this.scroller.append(this.spacer);
    const button = (text, label, act) =>
      element("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    const zoom = element(
      "div",
      { className: "zoom" },
      button("−", "Smaller", () => this.zoom(1 / 1.4)),
      button("+", "Larger", () => this.zoom(1.4)),
      button("Fit", "As large as fits", () => this.fit()),
    );
    place.append(zoom, this.scroller);
    this.scroller.addEventListener("scroll", () => this.draw());
    this.scroller.addEventListener("mousemove", (e) => this.point(e));
    this.scroller.addEventListener("mouseleave", () => this.choose(null));
    this.scroller.addEventListener("keydown", (e) => this.move(e));
    new ResizeObserver(() => this.shown && (this.fitted ? this.fit() : this.layOut())).observe(
      this.scroller,
    );
  }

  show(map, shown) {
    const other = this.map !== map;
    this.map = map;
    this.shown = shown;
    if (other) {
      this.cell = null;
      this.measure();
      this.fit();
    } else this.draw();
    this.say();
  }

  // Room for the names of rows and columns.
  measure() {
    const context = this.canvas.getContext("2d");
    context.font = `13px ${inks.font}`;
    const widest = (tokens) => {
      const most = Math.max(...tokens.map((token) => context.measureText(token[0]).width));
      return Math.min(LONGEST_NAME, most) + 14;
    };
    this.left = widest(this.map.rows);
    this.widest = widest(this.map.keys);
  }

  fit() {
    const room = this.scroller.clientWidth - this.left - 2;
    if (room <= 0) return;
    const high = window.innerHeight * 0.74 - this.widest;
    const whole = Math.min(room / this.shown.keys, high / this.shown.queries);
    this.size = Math.max(1, Math.min(56, whole));
    if (this.shown.keys <= 30) this.size = Math.max(this.size, WITH_NUMBERS);
    this.fitted = true;
    this.layOut();
  }

  zoom(factor) {
    this.size = Math.max(1, Math.min(LARGEST_CELL, this.size * factor));
    this.fitted = false;
    this.layOut();
    if (this.cell) this.reveal();
  }

  layOut() {
    this.level = this.widest <= this.size; // names of columns lie flat where they fit
    this.top = this.level ? 26 : Math.ceil(this.widest * Math.sin(TILT)) + 12;
    const aside = this.level ? 2 : Math.ceil(this.widest * Math.cos(TILT));
    this.spacer.style.width = `${this.left + this.size * this.shown.keys + aside}px`;
    this.spacer.style.height = `${this.top + this.size * this.shown.queries + 2}px`;
    this.draw();
  }

  draw() {
    const width = Math.min(this.scroller.clientWidth, parseFloat(this.spacer.style.width));
    const height = Math.min(this.scroller.clientHeight, parseFloat(this.spacer.style.height));
    if (!this.shown || !(width > 0) || !(height > 0)) return;
    const context = prepared(this.canvas, width, height);
    const { left, top, size } = this;
    const [x0, y0] = [left - this.scroller.scrollLeft, top - this.scroller.scrollTop];
    const first = (start, room) => Math.max(0, Math.floor((room - start) / size));
    const columns = [first(x0, left), Math.min(this.shown.keys, Math.ceil((width - x0) / size))];
    const rows = [first(y0, top), Math.min(this.shown.queries, Math.ceil((height - y0) / size))];
    context.save();
    context.beginPath();
    context.rect(left, top, width - left, height - top);
    context.clip();
    this.drawCells(context, x0, y0, columns, rows);
    context.restore();
    this.drawNames(context, x0, y0, columns, rows, width, height);
  }

  drawCells(context, x0, y0, columns, rows) {
    const { keys, weights, strength, shown } = this.shown;
    const { size } = this;
    const gap = size >= 8 ? 1 : 0;
    const numbers = size >= WITH_NUMBERS - 0.01;
    context.font = `${Math.min(14, size * 0.36)}px ${inks.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let q = rows[0]; q < rows[1]; q++) {
      for (let k = columns[0]; k < columns[1]; k++) {
        const weight = weights[q * keys + k];
        const colour = colourOf(strength(weight, k));
        const [x, y] = [x0 + k * size, y0 + q * size];
        context.fillStyle = asCss(colour);
        context.fillRect(x, y, size - gap + (gap ? 0 : 0.5), size - gap + (gap ? 0 : 0.5));
        if (numbers && weight > 0) {
          context.fillStyle = inkOn(colour);
          context.globalAlpha = shown[k] && weight >= 0.005 ? 1 : 0.55;
          const text = weight < 0.005 ? "0" : weight.toFixed(2);
          context.fillText(text, x + size / 2, y + size / 2);
          context.globalAlpha = 1;
        }
      }
    }
    if (this.cell) {
      const { query, key } = this.cell;
      context.strokeStyle = inks.mark;
      context.lineWidth = 2;
      context.strokeRect(x0 + key * size, y0 + query * size, Math.max(size, 3), Math.max(size, 3));
    }
  }

  drawNames(context, x0, y0, columns, rows, width, height) {
    const { size, left, top } = this;
    context.font = `13px ${inks.font}`;
    context.textBaseline = "middle";
    const named = (i, other) => size >= WITH_NAMES || (this.cell && i === other);
    context.save();
    context.beginPath();
    context.rect(0, top, left, height - top);
    context.clip();
    context.textAlign = "right";
    for (let q = rows[0]; q < rows[1]; q++) {
      if (!named(q, this.cell?.query)) continue;
      this.name(context, this.map.rows[q], left - 6, y0 + (q + 0.5) * size, q === this.cell?.query);
    }
    context.restore();
    context.save();
    context.beginPath();
    context.rect(left, 0, width - left, top);
    context.clip();
    context.textAlign = this.level ? "center" : "left";
    for (let k = columns[0]; k < columns[1]; k++) {
      if (!named(k, this.cell?.key)) continue;
      context.save();
      context.translate(x0 + (k + 0.5) * size, top - (this.level ? 12 : 8));
      if (!this.level) context.rotate(-TILT);
      this.name(context, this.map.keys[k], 0, 0, k === this.cell?.key);
      context.restore();
    }
    context.restore();
  }

  name(context, token, x, y, chosen) {
    context.fillStyle = chosen ? inks.mark : token[1] ? inks.soft : inks.text;
    context.direction = directionOf(token[0]);
    context.fillText(shortened(context, token[0], LONGEST_NAME), x, y);
  }

  point(event) {
    const box = this.scroller.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (x < this.left || y < this.top) return this.choose(null);
    const key = Math.floor((x + this.scroller.scrollLeft - this.left) / this.size);
    const query = Math.floor((y + this.scroller.scrollTop - this.top) / this.size);
    this.choose(key < this.shown.keys && query < this.shown.queries ? { query, key } : null);
  }

  choose(cell) {
    if (this.cell?.query === cell?.query && this.cell?.key === cell?.key) return;
    this.cell = cell;
    this.draw();
    this.say();
  }

  say() {
    const { keys, weights } = this.shown;
    const cell = this.cell;
    this.tell(cell && { ...cell, weight: weights[cell.query * keys + cell.key] });
  }

  move(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const { queries, keys } = this.shown;
    if (isBrowsers(event)) return;
    if (event.key === "Escape") this.choose(null);
    else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-") this.zoom(1 / 1.4);
    else if (event.key in steps || event.key === "Home" || event.key === "End") {
      const cell = this.cell;
      let [query, key] = cell ? [cell.query, cell.key] : [0, 0];
      if (event.key === "Home") key = 0;
      else if (event.key === "End") key = keys - 1;
      else if (cell) {
        query = Math.max(0, Math.min(queries - 1, query + steps[event.key][0]));
        key = Math.max(0, Math.min(keys - 1, key + steps[event.key][1]));
      }
      this.choose({ query, key });
      this.reveal();
    } else return;
    event.preventDefault();
  }

  // Scrolls until the chosen cell can be seen.
  reveal() {
    const { scroller, size, left, top } = this;
    const into = (start, room, at) => {
      if (at < start) return at;
      return at + size > start + room ? at + size - room : start;
    };
    scroller.scrollLeft = into(scroller.scrollLeft, scroller.clientWidth - left, this.cell.key * size);
    scroller.scrollTop = into(scroller.scrollTop, scroller.clientHeight - top, this.cell.query * size);
    this.draw();
  }
}
