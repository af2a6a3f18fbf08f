// Hover, click and arrow keys on the cells of a heat map. The data of a panel stand beside its picture.
"use strict";
(() => {
  const bubble = document.createElement("div");
  bubble.className = "bubble";
  bubble.hidden = true;
  document.body.append(bubble);

  const words = (data, column, row) => {
    const place = [`${data.x.name} = ${data.x.values[column]}`];
    if (data.y) place.push(`${data.y.name} = ${data.y.values[row]}`);
    return place.join(", ");
  };

  const facts = (data, column, row, cell) => {
    const found = [["cell", words(data, column, row)]];
    if (!cell) return [...found, ["value", "no start here"]];
    found.push([data.unit, cell[2]], ["interval", cell[3]]);
    if (cell[4]) found.push(["runs", data.counts.map((name, i) => `${name} ${cell[4][i]}`).join(", ")]);
    if (cell[5]) {
      const start = data.names.map((name, i) => `${name} = ${cell[5][i]}`);
      const rest = cell[6] > 1 ? ` (and ${cell[6] - 1} more)` : "";
      found.push(["start state", [...start, ...data.fixed].join(", ") + rest]);
    }
    return found;
  };

  for (const holder of document.querySelectorAll("figure.heat")) {
    const data = JSON.parse(holder.querySelector("script").textContent);
    const cells = new Map(data.cells.map((cell) => [`${cell[0]},${cell[1]}`, cell]));
    const picked = holder.closest("section").querySelector(".picked");
    const columns = data.x.values.length;
    const rows = data.y ? data.y.values.length : 1;
    for (const svg of holder.querySelectorAll("svg")) {
      const frame = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      frame.setAttribute("class", "frame");
      frame.setAttribute("width", data.size);
      frame.setAttribute("height", data.size);
      frame.setAttribute("visibility", "hidden");
      svg.append(frame);
      let here = null;

      const place = (event) => {
        const box = svg.getBoundingClientRect();
        const scale = svg.viewBox.baseVal.width / box.width;
        const column = Math.floor(((event.clientX - box.left) * scale - data.left) / data.size);
        const line = Math.floor(((event.clientY - box.top) * scale - data.top) / data.size);
        if (column < 0 || line < 0 || column >= columns || line >= rows) return null;
        return [column, data.down ? line : rows - 1 - line];
      };

      const mark = (at) => {
        const line = data.down ? at[1] : rows - 1 - at[1];
        frame.setAttribute("x", data.left + at[0] * data.size);
        frame.setAttribute("y", data.top + line * data.size);
        frame.setAttribute("visibility", "visible");
      };

      const pick = (at) => {
        here = at;
        mark(at);
        const list = document.createElement("dl");
        for (const [name, text] of [["map", data.title], ...facts(data, at[0], at[1], cells.get(`${at}`))]) {
          const term = document.createElement("dt");
          const said = document.createElement("dd");
          term.textContent = name;
          said.textContent = text;
          list.append(term, said);
        }
        picked.replaceChildren(list);
      };

      svg.addEventListener("mousemove", (event) => {
        const at = place(event);
        bubble.hidden = at === null;
        if (at === null) return;
        mark(at);
        const cell = cells.get(`${at}`);
        const value = cell ? `${cell[2]}  ${cell[3]}` : "no start here";
        bubble.textContent = `${words(data, at[0], at[1])}: ${value}`;
        const left = Math.min(event.pageX + 14, window.scrollX + document.documentElement.clientWidth - 290);
        bubble.style.left = `${Math.max(0, left)}px`;
        bubble.style.top = `${event.pageY + 18}px`;
      });
      svg.addEventListener("mouseleave", () => {
        bubble.hidden = true;
        if (here) mark(here);
        else frame.setAttribute("visibility", "hidden");
      });
      svg.addEventListener("click", (event) => {
        const at = place(event);
        if (at) pick(at);
      });
      svg.addEventListener("keydown", (event) => {
        const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
        if (!move) return;
        event.preventDefault();
        const [column, row] = here ?? [0, 0];
        const step = data.down ? move[1] : -move[1];
        const within = (value, count) => Math.min(count - 1, Math.max(0, value));
        pick(here ? [within(column + move[0], columns), within(row + step, rows)] : [0, 0]);
      });
    }
  }

  for (const box of document.querySelectorAll("section.heat input.whole")) {
    const choose = () => {
      const section = box.closest("section");
      for (const part of section.querySelectorAll("div.fitted")) part.hidden = box.checked;
      for (const part of section.querySelectorAll("div.whole")) part.hidden = !box.checked;
    };
    box.addEventListener("change", choose);
    choose();
  }
})();
