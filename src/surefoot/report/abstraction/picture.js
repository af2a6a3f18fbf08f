// The picture of a graph on a canvas: places, colours, pan and zoom. What is chosen is told to whoever asked.
"use strict";
const SCALES = {
  unsafe: [[178, 24, 43], [239, 138, 98], [247, 202, 120], [120, 190, 160], [54, 124, 170]],
  start: [[222, 235, 247], [158, 202, 225], [90, 160, 205], [112, 120, 190], [106, 81, 163]],
};

const mixed = (share, stops = SCALES.unsafe) => {
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const first = Math.min(Math.floor(place), stops.length - 2);
  const part = stops[first].map((v, i) => Math.round(v + (stops[first + 1][i] - v) * (place - first)));
  return `rgb(${part.join(",")})`;
};

class Picture {
  // graph: {x, y, flags, from, to, out, into}; picked(state) is called for a click or a key.
  constructor(canvas, picked) {
    this.canvas = canvas;
    this.picked = picked;
    this.graph = null;
    this.chosen = -1;
    this.under = -1;
    this.found = null; // the states that match a search
    this.marked = new Set();
    this.by = "unsafe";
    this.edges = true;
    this.pending = false;
    this.touched = false; // the reader has moved or zoomed: a new size of the window changes nothing
    this.moving = false; // many lines are left out meanwhile
    this.listen();
  }

  show(graph) {
    this.graph = graph;
    this.chosen = this.under = -1;
    this.found = null;
    this.marked = new Set();
    this.fit();
  }

  fit() {
    this.touched = false;
    const { x, y } = this.graph;
    const box = [Math.min(...x) - 0.8, Math.max(...x) + 0.8, Math.min(...y) - 0.8, Math.max(...y) + 0.8];
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    this.scale = Math.min(width / (box[1] - box[0]), height / (box[3] - box[2]), 90);
    this.left = width / 2 - ((box[0] + box[1]) / 2) * this.scale;
    this.top = height / 2 - ((box[2] + box[3]) / 2) * this.scale;
    this.draw();
  }

  place(state) {
    return [this.graph.x[state] * this.scale + this.left, this.graph.y[state] * this.scale + this.top];
  }

  radius() {
    return Math.min(15, Math.max(2, this.scale * 0.3));
  }

  at(x, y) {
    let best = -1, nearest = Math.max(this.radius() + 3, 6) ** 2;
    for (let state = 0; state < this.graph.x.length; state++) {
      const [a, b] = this.place(state), far = (a - x) ** 2 + (b - y) ** 2;
      if (far <= nearest) [best, nearest] = [state, far];
    }
    return best;
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(Math.max(this.scale * factor, 0.5), 240);
    this.left = x - ((x - this.left) * scale) / this.scale;
    this.top = y - ((y - this.top) * scale) / this.scale;
    this.scale = scale;
    this.touched = true;
    this.draw();
  }

  reveal(state) {
    const [x, y] = this.place(state), room = 30;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (x < room || x > width - room) this.left += width / 2 - x;
    if (y < room || y > height - room) this.top += height / 2 - y;
  }

  choose(state) {
    this.chosen = state;
    if (state >= 0) this.reveal(state);
    this.draw();
    this.picked(state);
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  colour(state) {
    const { flags, from, to, farthest } = this.graph;
    if (flags[state] & 2) return mixed(0);
    if (this.by === "start") return mixed(from[state] / Math.max(1, farthest.from), SCALES.start);
    if (to[state] < 0) return this.paper.none;
    return mixed((0.35 + to[state]) / Math.max(4, farthest.to));
  }

  paint() {
    const canvas = this.canvas, ratio = window.devicePixelRatio || 1, pen = canvas.getContext("2d");
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    pen.scale(ratio, ratio);
    const look = getComputedStyle(canvas);
    this.paper = Object.fromEntries(
      ["paper", "ink", "faint", "line", "mark", "none"].map((n) => [n, look.getPropertyValue(`--${n}`).trim()]));
    pen.fillStyle = this.paper.paper;
    pen.fillRect(0, 0, width, height);
    const seen = [];
    for (let state = 0; state < this.graph.x.length; state++) {
      const [x, y] = this.place(state);
      if (x > -20 && y > -20 && x < width + 20 && y < height + 20) seen.push(state);
    }
    if (this.edges && !(this.moving && this.graph.edges.length > 8000)) this.lines(pen, seen, Math.min(0.5, 0.08 + 400 / this.graph.edges.length));
    this.path(pen);
    for (const state of [this.under, this.chosen]) if (state >= 0) this.around(pen, state);
    for (const state of seen) this.node(pen, state);
  }

  lines(pen, seen, alpha) {
    pen.strokeStyle = this.paper.line;
    pen.fillStyle = this.paper.line;
    pen.globalAlpha = alpha;
    pen.lineWidth = 1;
    const inside = new Set(seen), arrows = this.scale > 18;
    pen.beginPath();
    for (const [source, target] of this.graph.edges) {
      if (inside.has(source) || inside.has(target)) this.curve(pen, source, target);
    }
    pen.stroke();
    if (arrows) for (const [s, t] of this.graph.edges) if (inside.has(t)) this.arrow(pen, s, t);
    pen.globalAlpha = 1;
  }

  around(pen, state) {
    for (const [list, back] of [[this.graph.out[state], false], [this.graph.into[state], true]]) {
      pen.strokeStyle = pen.fillStyle = back ? this.paper.faint : this.paper.mark;
      pen.lineWidth = 2;
      for (const other of list) {
        const [s, t] = back ? [other, state] : [state, other];
        pen.beginPath();
        this.curve(pen, s, t);
        pen.stroke();
        if (this.scale > 8) this.arrow(pen, s, t);
      }
    }
  }

  path(pen) { // of a run that violates the property
    const run = this.graph.data.run;
    pen.strokeStyle = pen.fillStyle = mixed(0);
    pen.lineWidth = 3;
    for (let i = 0; i + 1 < run.length; i++) {
      pen.beginPath();
      this.curve(pen, run[i], run[i + 1]);
      pen.stroke();
      if (this.scale > 8) this.arrow(pen, run[i], run[i + 1]);
    }
  }

  bend(source, target) {
    const [a, b] = this.place(source), [c, d] = this.place(target);
    const share = this.graph.y[target] > this.graph.y[source] ? 0.06 : 0.22; // backwards further aside
    return [(a + c) / 2 - (d - b) * share, (b + d) / 2 + (c - a) * share];
  }

  curve(pen, source, target) {
    const [a, b] = this.place(source);
    if (source === target) {
      const size = this.radius();
      pen.moveTo(a + size * 2, b - size);
      pen.arc(a + size, b - size, size, 0, 2 * Math.PI);
      return;
    }
    const [c, d] = this.place(target);
    pen.moveTo(a, b);
    pen.quadraticCurveTo(...this.bend(source, target), c, d);
  }

  arrow(pen, source, target) {
    if (source === target) return;
    const [c, d] = this.place(target), [a, b] = this.bend(source, target);
    const angle = Math.atan2(d - b, c - a), size = this.radius() + 1;
    const [x, y] = [c - Math.cos(angle) * size, d - Math.sin(angle) * size];
    pen.beginPath();
    pen.moveTo(x, y);
    for (const side of [-0.4, 0.4]) pen.lineTo(x - Math.cos(angle + side) * 7, y - Math.sin(angle + side) * 7);
    pen.fill();
  }

  node(pen, state) {
    const [x, y] = this.place(state), size = this.radius(), flags = this.graph.flags[state];
    const fades = this.found && !this.found.has(state);
    pen.globalAlpha = fades ? 0.12 : 1;
    pen.fillStyle = this.colour(state);
    pen.beginPath();
    if (flags & 2) {
      const far = size * 1.25;
      pen.moveTo(x, y - far);
      for (const [a, b] of [[far, 0], [0, far], [-far, 0]]) pen.lineTo(x + a, y + b);
      pen.closePath();
    } else pen.arc(x, y, size, 0, 2 * Math.PI);
    pen.fill();
    pen.strokeStyle = this.paper.ink;
    pen.lineWidth = size > 5 ? 1 : 0.4;
    pen.stroke();
    if (flags & 1) this.ring(pen, x, y, size + Math.max(2, size * 0.28), this.paper.ink, 1.5);
    if (this.marked.has(state)) this.ring(pen, x, y, size + 7, this.paper.mark, 2);
    if (state === this.chosen) this.ring(pen, x, y, size + 5, this.paper.mark, 3.5);
    else if (state === this.under) this.ring(pen, x, y, size + 5, this.paper.mark, 1.5);
    if (size >= 10) {
      pen.fillStyle = flags & 2 ? "#fff" : this.colour(state) === this.paper.none ? this.paper.ink : "#10151a";
      pen.font = `${Math.min(11, size)}px system-ui,sans-serif`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText(this.graph.numbers[state], x, y);
    }
    pen.globalAlpha = 1;
  }

  ring(pen, x, y, size, colour, width) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    pen.arc(x, y, size, 0, 2 * Math.PI);
    pen.stroke();
  }

  // The state in the direction of a key that is nearest to the chosen one.
  beside(key) {
    const { x, y } = this.graph, here = this.chosen;
    if (here < 0) return 0;
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    let best = here, nearest = Infinity;
    for (let state = 0; state < x.length; state++) {
      const along = (x[state] - x[here]) * dx + (y[state] - y[here]) * dy;
      const aside = Math.abs((x[state] - x[here]) * dy) + Math.abs((y[state] - y[here]) * dx);
      if (along > 0.01 && along + 2 * aside < nearest) [best, nearest] = [state, along + 2 * aside];
    }
    return best;
  }

  listen() {
    const canvas = this.canvas;
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = [event.offsetX, event.offsetY, this.left, this.top, false];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held) {
        const [dx, dy] = [event.offsetX - held[0], event.offsetY - held[1]];
        if (!held[4] && Math.hypot(dx, dy) < 4) return;
        held[4] = this.moving = this.touched = true;
        [this.left, this.top] = [held[2] + dx, held[3] + dy];
        this.draw();
        return;
      }
      const under = this.at(event.offsetX, event.offsetY);
      canvas.style.cursor = under < 0 ? "grab" : "pointer";
      if (under !== this.under) {
        this.under = under;
        this.draw();
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      const moved = held && held[4];
      held = null;
      this.moving = false;
      if (moved) {
        this.draw();
        return;
      }
      this.choose(this.at(event.offsetX, event.offsetY));
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      if (event.key.startsWith("Arrow")) this.choose(this.beside(event.key));
      else if (event.key === "+" || event.key === "=") this.zoom(1.3);
      else if (event.key === "-") this.zoom(1 / 1.3);
      else if (event.key === "0") this.fit();
      else if (event.key === "Escape") this.choose(-1);
      else return;
      event.preventDefault();
    });
    new ResizeObserver(() => this.graph && (this.touched ? this.draw() : this.fit())).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }
}
