// Closed sets cut along two variables. Polynomials are evaluated in floats: this is for looking, not a proof.
"use strict";
(() => {
  const COLOURS = [[93, 160, 214], [114, 190, 120], [170, 130, 200], [224, 170, 80], [90, 190, 190]];
  const LEFT = 64, BOTTOM = 40, TOP = 10, RIGHT = 12;

  // The polynomial in two variables that is left when the others have these values: [coefficient, i, j].
  const cut = (polynomial, across, upwards, values) => {
    const found = new Map();
    for (const [coefficient, powers] of polynomial) {
      let value = coefficient, i = 0, j = 0;
      for (const [name, exponent] of powers) {
        if (name === across) i = exponent;
        else if (name === upwards) j = exponent;
        else value *= values[name] ** exponent;
      }
      const key = `${i},${j}`;
      found.set(key, (found.get(key) ?? 0) + value);
    }
    return [...found].map(([key, value]) => [value, ...key.split(",").map(Number)]);
  };
  const at = (terms, x, y) => terms.reduce((sum, [c, i, j]) => sum + c * x ** i * y ** j, 0);
  const round = (value) => Number(value.toPrecision(5));

  const ticks = (low, high) => {
    let step = 10 ** Math.floor(Math.log10(high - low));
    while ((high - low) / step < 4) step /= 2;
    const found = [];
    for (let n = Math.ceil(low / step); n * step <= high; n++) found.push(round(n * step));
    return found;
  };

  for (const holder of document.querySelectorAll("section.region")) {
    const part = (query) => holder.querySelector(query);
    const data = JSON.parse(part("script").textContent), canvas = part("canvas");
    const names = data.variables, values = [...data.middle];
    const chosen = () => [Number(part(".across").value), Number(part(".upwards").value)];
    const shows = (name) => part(`input.${name}`)?.checked ?? false;
    let frame = null, here = null;

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
        regions: data.regions.map((r) => ({ ...r, rows: r.rows.map((p) => cut(p, a, b, values)) })),
        unsafe: data.unsafe.map((all) => all.map((p) => cut(p, a, b, values))),
      };
    };

    const inside = (region, x, y) => region.domain.every(([low, high], i) => {
      const value = i === frame.a ? x : i === frame.b ? y : values[i];
      return low <= value && value <= high;
    }) && region.rows.every((terms) => at(terms, x, y) <= 0);
    const bad = (x, y) => frame.unsafe.some((all) => all.every((terms) => at(terms, x, y) >= 0));

    const fill = (pen, paper) => {
      const side = 2, wide = Math.floor(frame.wide / side), high = Math.floor(frame.high / side);
      const image = new ImageData(wide, high), owner = new Int8Array(wide * high).fill(-1);
      for (let j = 0; j < high; j++) for (let i = 0; i < wide; i++) {
        const x = frame.across(LEFT + (i + 0.5) * side), y = frame.upwards(TOP + (j + 0.5) * side);
        const spot = j * wide + i;
        if (shows("sets")) owner[spot] = frame.regions.findIndex((r) => inside(r, x, y));
        const unsafe = bad(x, y), stripe = (i + j) % 5 < 2;
        const set = owner[spot];
        if (unsafe) image.data.set([...paper.bad, stripe ? 150 : 50], spot * 4);
        else if (set >= 0) image.data.set([...COLOURS[set % COLOURS.length], 120], spot * 4);
      }
      for (let j = 1; j < high; j++) for (let i = 1; i < wide; i++) { // edges of the sets
        const spot = j * wide + i;
        for (const other of [spot - 1, spot - wide]) if (owner[spot] !== owner[other]) {
          const set = Math.max(owner[spot], owner[other]);
          image.data.set([...COLOURS[set % COLOURS.length].map((v) => v * 0.6), 255], spot * 4);
        }
      }
      const sheet = new OffscreenCanvas(wide, high);
      sheet.getContext("2d").putImageData(image, 0, 0);
      pen.imageSmoothingEnabled = false;
      pen.drawImage(sheet, LEFT, TOP, wide * side, high * side);
    };

    const axes = (pen, paper) => {
      const [x0, x1] = data.views[frame.a], [y0, y1] = data.views[frame.b];
      pen.strokeStyle = pen.fillStyle = paper.ink;
      pen.lineWidth = 1;
      pen.setLineDash([]);
      pen.strokeRect(LEFT, TOP, frame.wide, frame.high);
      pen.font = "12px system-ui,sans-serif";
      pen.textAlign = "center";
      for (const v of ticks(x0, x1)) pen.fillText(v, frame.x(v), TOP + frame.high + 16);
      pen.fillText(names[frame.a], LEFT + frame.wide / 2, TOP + frame.high + 33);
      pen.textAlign = "right";
      for (const v of ticks(y0, y1)) pen.fillText(v, LEFT - 6, frame.y(v) + 4);
      pen.save();
      pen.translate(14, TOP + frame.high / 2);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "center";
      pen.fillText(names[frame.b], 0, 0);
      pen.restore();
    };

    const boxed = (pen, box, colour, dash, width) => {
      const [[x0, x1], [y0, y1]] = [box[frame.a], box[frame.b]];
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.setLineDash(dash);
      pen.strokeRect(frame.x(x0), frame.y(y1), frame.x(x1) - frame.x(x0), frame.y(y0) - frame.y(y1));
    };

    const paths = (pen, paper) => {
      for (const run of data.runs) {
        if (!shows(run.shielded ? "with" : "without")) continue;
        const points = run.states.map((s) => [frame.x(s[frame.a]), frame.y(s[frame.b])]);
        pen.strokeStyle = pen.fillStyle = run.shielded ? paper.with : paper.without;
        pen.lineWidth = 1.5;
        pen.setLineDash(run.shielded ? [] : [5, 3]);
        pen.beginPath();
        points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
        pen.stroke();
        pen.setLineDash([]);
        pen.beginPath();
        pen.arc(...points[0], 3, 0, 2 * Math.PI);
        pen.fill();
        if (!run.unsafe) continue;
        const [x, y] = points.at(-1);
        pen.lineWidth = 2.5;
        pen.beginPath();
        for (const [dx, dy] of [[-5, -5], [5, -5]]) {
          pen.moveTo(x + dx, y + dy);
          pen.lineTo(x - dx, y - dy);
        }
        pen.stroke();
      }
    };

    const numbers = (colour) => { // of a colour of the page
      const probe = document.createElement("span");
      probe.style.color = colour;
      holder.append(probe);
      const found = getComputedStyle(probe).color.match(/\d+/g).slice(0, 3).map(Number);
      probe.remove();
      return found;
    };

    const paint = () => {
      if (!canvas.clientWidth) return;
      layout();
      const ratio = window.devicePixelRatio || 1, pen = canvas.getContext("2d"), look = getComputedStyle(holder);
      const colour = (name) => look.getPropertyValue(`--${name}`).trim();
      const paper = { ink: colour("ink"), with: colour("with"), without: colour("without"), bad: numbers(colour("bad")) };
      canvas.width = frame.width * ratio;
      canvas.height = frame.height * ratio;
      pen.scale(ratio, ratio);
      pen.fillStyle = colour("paper");
      pen.fillRect(0, 0, frame.width, frame.height);
      fill(pen, paper);
      pen.save();
      pen.beginPath();
      pen.rect(LEFT, TOP, frame.wide, frame.high);
      pen.clip();
      if (shows("sets")) for (const region of frame.regions) boxed(pen, region.domain, colour("faint"), [], 1);
      boxed(pen, data.starts, paper.ink, [6, 4], 2);
      paths(pen, paper);
      if (here) {
        pen.setLineDash([]);
        pen.strokeStyle = colour("mark");
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(frame.x(here[0]), TOP);
        pen.lineTo(frame.x(here[0]), TOP + frame.high);
        pen.moveTo(LEFT, frame.y(here[1]));
        pen.lineTo(LEFT + frame.wide, frame.y(here[1]));
        pen.stroke();
      }
      pen.restore();
      axes(pen, paper);
    };

    const tell = () => {
      const line = part(".here");
      if (!here) return void (line.textContent = "Point at the picture, or use the arrow keys, to read a state.");
      const [x, y] = here, place = `${names[frame.a]} = ${round(x)}, ${names[frame.b]} = ${round(y)}`;
      const sets = frame.regions.map((r, i) => `B${i + 1} = ${round(Math.max(...r.rows.map((terms) => at(terms, x, y))))}${inside(r, x, y) ? " (inside)" : ""}`);
      line.textContent = [place, ...sets, bad(x, y) ? "unsafe" : "not unsafe"].join("; ");
    };

    const legend = () => {
      const sign = (style, text) => {
        const word = document.createElement("span"), box = document.createElement("i");
        Object.assign(box.style, style);
        word.append(box, text);
        return word;
      };
      const [a, b] = chosen(), cutting = names.length > 2;
      const parts = [sign({ border: "2px dashed var(--ink)" }, "starts")];
      parts.push(sign({ background: "repeating-linear-gradient(135deg,var(--bad) 0 3px,transparent 3px 6px)" }, "unsafe"));
      data.regions.slice(0, 5).forEach((_, i) => parts.push(sign({ background: `rgb(${COLOURS[i].join(",")})` }, `set ${i + 1}`)));
      if (data.runs.some((r) => !r.shielded)) parts.push(sign({ borderBottom: "2px dashed var(--without)" },
        data.runs.some((r) => r.shielded) ? "without the shield" : "runs"));
      if (data.runs.some((r) => r.shielded)) parts.push(sign({ borderBottom: "2px solid var(--with)" }, "with the shield"));
      if (data.runs.some((r) => r.unsafe)) parts.push(sign({}, "× unsafe end of a run"));
      if (cutting) parts.push(sign({}, `sets are cut at ${names.map((n, i) => (i === a || i === b ? "" : `${n} = ${round(values[i])}`))
        .filter((t) => t).join(", ")}; runs are seen from the side`));
      part(".legend").replaceChildren(...parts);
    };

    const inputs = () => {
      const [a, b] = chosen(), box = part(".values");
      part(".cut").hidden = names.length <= 2;
      box.replaceChildren(...names.flatMap((name, i) => {
        if (i === a || i === b) return [];
        const label = document.createElement("label"), field = document.createElement("input");
        Object.assign(field, { type: "number", step: "any", value: round(values[i]) });
        field.addEventListener("input", () => {
          if (Number.isFinite(field.valueAsNumber)) values[i] = field.valueAsNumber;
          legend();
          paint();
        });
        label.append(`${name} `, field);
        return [label];
      }));
    };

    const changed = () => {
      here = null;
      inputs();
      legend();
      paint();
      tell();
    };
    const point = (x, y) => {
      here = [x, y];
      paint();
      tell();
    };

    for (const axis of [".across", ".upwards"]) part(axis).addEventListener("change", () => {
      const [a, b] = chosen(), other = axis === ".across" ? ".upwards" : ".across";
      if (a === b && names.length > 1) part(other).value = String((a + 1) % names.length);
      changed();
    });
    for (const box of holder.querySelectorAll("input[type=checkbox]")) box.addEventListener("change", paint);
    canvas.addEventListener("pointerdown", (event) => {
      point(frame.across(event.offsetX), frame.upwards(event.offsetY));
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
