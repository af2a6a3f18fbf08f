// Boxes that runs stay in, over time or in two names. They hold every run; a proof rests on tighter sets.
"use strict";
(() => {
  const LEFT = 64, BOTTOM = 40, TOP = 10, RIGHT = 12, MOST_TOLD = 4;
  const round = (value) => Number(value.toPrecision(5));
  const ticks = (low, high) => {
    let step = 10 ** Math.floor(Math.log10(high - low));
    while ((high - low) / step < 4) step /= 2;
    const found = [];
    for (let n = Math.ceil(low / step); n * step <= high; n++) found.push(round(n * step));
    return found;
  };

  for (const holder of document.querySelectorAll("section.flowpipe")) {
    const part = (query) => holder.querySelector(query);
    const data = JSON.parse(part("script").textContent), canvas = part("canvas");
    const steps = data.unit === "step", half = steps ? 0.5 : 0;
    const last = data.pieces.reduce((most, p) => Math.max(most, p[1]), 0) || 1;
    const chosen = () => [Number(part(".across").value), Number(part(".upwards").value)];
    const shows = (name) => part(`input.${name}`)?.checked ?? false;
    let frame = null, here = null;

    // From where to where a box lies along an axis: 0 is time.
    const ends = (piece, axis) => (axis ? [piece[3][axis - 1], piece[4][axis - 1]] : [piece[0] - half, piece[1] + half]);
    const past = (piece) => {
      const start = data.starts[piece[2]];
      if (start.state !== "open") return false;
      return start.until === null || (steps ? piece[0] > start.until : piece[1] > start.until);
    };
    const order = data.pieces.map((p) => [past(p), p]).sort(([a, p], [b, q]) => a - b || q[0] - p[0]);

    const layout = () => {
      const [a, b] = chosen(), [width, height] = [canvas.clientWidth, canvas.clientHeight];
      const [x0, x1] = data.views[a], [y0, y1] = data.views[b];
      const [wide, high] = [width - LEFT - RIGHT, height - TOP - BOTTOM];
      frame = {
        a, b, width, height, wide, high,
        x: (v) => LEFT + ((v - x0) / (x1 - x0)) * wide,
        y: (v) => TOP + high - ((v - y0) / (y1 - y0)) * high,
        across: (x) => x0 + ((x - LEFT) / wide) * (x1 - x0),
        upwards: (y) => y0 + ((TOP + high - y) / high) * (y1 - y0),
        conditions: data.conditions[`${a},${b}`] ?? [],
      };
    };

    const axes = (pen, ink) => {
      const [x0, x1] = data.views[frame.a], [y0, y1] = data.views[frame.b];
      pen.strokeStyle = pen.fillStyle = ink;
      pen.lineWidth = 1;
      pen.setLineDash([]);
      pen.strokeRect(LEFT, TOP, frame.wide, frame.high);
      pen.font = "12px system-ui,sans-serif";
      pen.textAlign = "center";
      for (const v of ticks(x0, x1)) pen.fillText(v, frame.x(v), TOP + frame.high + 16);
      pen.fillText(data.axes[frame.a], LEFT + frame.wide / 2, TOP + frame.high + 33);
      pen.textAlign = "right";
      for (const v of ticks(y0, y1)) pen.fillText(v, LEFT - 6, frame.y(v) + 4);
      pen.save();
      pen.translate(14, TOP + frame.high / 2);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "center";
      pen.fillText(data.axes[frame.b], 0, 0);
      pen.restore();
    };

    const areas = (pen, colour, fill) => {
      for (const one of frame.conditions) {
        pen.setLineDash(one.part || one.when ? [5, 3] : []);
        pen.fillStyle = colour(one.kind);
        pen.strokeStyle = colour(`${one.kind}-edge`);
        for (const area of one.areas) {
          pen.beginPath();
          area.forEach(([x, y], i) => (i ? pen.lineTo(frame.x(x), frame.y(y)) : pen.moveTo(frame.x(x), frame.y(y))));
          pen.closePath();
          if (fill) pen.fill();
          else if (one.exact) pen.stroke();
        }
      }
    };

    const boxes = (pen, colour) => {
      for (const [open, piece] of order) {
        const [x0, x1] = ends(piece, frame.a), [y0, y1] = ends(piece, frame.b);
        const share = frame.a ? Math.round((piece[0] / last) * 8) * 12.5 : 40;
        pen.fillStyle = open ? colour("open") : `color-mix(in srgb, ${colour("late")} ${share}%, ${colour("early")})`;
        const [left, top] = [frame.x(x0), frame.y(y1)];
        pen.fillRect(left, top, frame.x(x1) - left + 0.6, Math.max(frame.y(y0) - top, 0.6));
      }
    };

    const outlines = (pen, colour) => {
      if (!frame.a || frame.a > data.variables || frame.b > data.variables) return;
      pen.strokeStyle = colour("mark");
      pen.setLineDash([5, 3]);
      for (const { box } of data.starts.slice(0, 400)) {
        const [x0, x1] = box[frame.a - 1], [y0, y1] = box[frame.b - 1];
        pen.strokeRect(frame.x(x0), frame.y(y1), frame.x(x1) - frame.x(x0), frame.y(y0) - frame.y(y1));
      }
    };

    const paths = (pen, colour) => {
      pen.strokeStyle = colour("run");
      pen.setLineDash([]);
      for (const run of data.runs) {
        pen.beginPath();
        run[frame.a].forEach((x, i) => {
          const spot = [frame.x(x), frame.y(run[frame.b][i])];
          if (i) pen.lineTo(...spot);
          else pen.moveTo(...spot);
        });
        pen.stroke();
      }
    };

    const paint = () => {
      if (!canvas.clientWidth) return;
      layout();
      const ratio = window.devicePixelRatio || 1, pen = canvas.getContext("2d"), look = getComputedStyle(holder);
      const known = new Map();
      const colour = (name) => {
        if (!known.has(name)) known.set(name, look.getPropertyValue(`--${name}`).trim());
        return known.get(name);
      };
      canvas.width = frame.width * ratio;
      canvas.height = frame.height * ratio;
      pen.scale(ratio, ratio);
      pen.fillStyle = colour("paper");
      pen.fillRect(0, 0, frame.width, frame.height);
      pen.save();
      pen.beginPath();
      pen.rect(LEFT, TOP, frame.wide, frame.high);
      pen.clip();
      areas(pen, colour, true);
      if (shows("sets")) boxes(pen, colour);
      areas(pen, colour, false);
      outlines(pen, colour);
      if (shows("runs")) paths(pen, colour);
      pen.restore();
      axes(pen, colour("ink"));
    };

    const tell = () => {
      const line = part(".here");
      if (!here) return void (line.textContent = "Point at the picture, or use the arrow keys, to read time and cell of a set.");
      const [x, y] = here, place = `${data.axes[frame.a]} = ${round(x)}, ${data.axes[frame.b]} = ${round(y)}`;
      const found = data.pieces.filter((piece) => {
        const [x0, x1] = ends(piece, frame.a), [y0, y1] = ends(piece, frame.b);
        return x0 <= x && x <= x1 && y0 <= y && y <= y1;
      });
      const said = found.slice(0, MOST_TOLD).map(([begin, end, cell]) => {
        const start = data.starts[cell], when = begin === end ? `${round(begin)}` : `${round(begin)} to ${round(end)}`;
        const known = start.state === "open" ? `open${start.why ? `: ${start.why}` : ""}${start.until === null ? "" : ` after ${round(start.until)}`}` : start.state;
        return `${data.unit} ${when}, cell ${cell} (${known})`;
      });
      if (found.length > MOST_TOLD) said.push(`and ${found.length - MOST_TOLD} more`);
      line.textContent = [place, ...(found.length ? said : ["no run is here"])].join("; ");
    };

    const legend = () => {
      const sign = (style, text) => {
        const word = document.createElement("span"), box = document.createElement("i");
        Object.assign(box.style, style);
        word.append(box, text);
        return word;
      };
      const [a, b] = chosen(), parts = [sign({ background: "linear-gradient(90deg,var(--early),var(--late))" }, a ? `sets, early to late` : "sets")];
      if (order.some(([open]) => open)) parts.push(sign({ background: "var(--open)" }, "not shown to satisfy the property"));
      for (const kind of ["bad", "goal"]) {
        const own = (data.conditions[`${a},${b}`] ?? []).filter((one) => one.kind === kind);
        const more = own.some((one) => one.part) ? ", as far as these names say" : "";
        const when = own[0]?.when ? ` ${own[0].when}` : "";
        if (own.length) parts.push(sign({ background: `var(--${kind})`, border: `1px solid var(--${kind}-edge)` }, kind + when + more));
      }
      if (a) parts.push(sign({ border: "2px dashed var(--mark)" }, "starts"));
      if (data.runs.length) parts.push(sign({ borderBottom: "2px solid var(--run)" }, "simulated runs"));
      part(".legend").replaceChildren(...parts);
    };

    const changed = () => {
      here = null;
      legend();
      paint();
      tell();
    };
    const point = (x, y) => {
      here = [x, y];
      tell();
    };

    for (const axis of [".across", ".upwards"]) part(axis).addEventListener("change", () => {
      const [a, b] = chosen();
      if (a === b && (axis === ".upwards" || data.axes.length < 3)) part(".across").value = "0";
      else if (a === b) part(".upwards").value = a === 1 ? "2" : "1";
      changed();
    });
    for (const box of holder.querySelectorAll("input[type=checkbox]")) box.addEventListener("change", paint);
    canvas.addEventListener("pointermove", (event) => {
      if (frame) point(frame.across(event.offsetX), frame.upwards(event.offsetY));
    });
    canvas.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!move) return;
      event.preventDefault();
      const [[x0, x1], [y0, y1]] = [data.views[frame.a], data.views[frame.b]];
      const [x, y] = here ?? [(x0 + x1) / 2, (y0 + y1) / 2];
      point(x + (move[0] * (x1 - x0)) / 50, y + (move[1] * (y1 - y0)) / 50);
    });
    new ResizeObserver(paint).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    holder.spotOf = (x, y) => { // in the window
      const box = canvas.getBoundingClientRect();
      return [box.left + frame.x(x), box.top + frame.y(y)];
    };
    changed();
  }
})();
