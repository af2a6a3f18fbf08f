// The panel beside the picture: predicates, actions, an example, and what one more predicate would do.
"use strict";
const element = (name, text = "", more = {}) => {
  const made = Object.assign(document.createElement(name), more);
  if (text !== "") made.textContent = text;
  return made;
};

const read = (data) => {
  const states = data.states, count = states.length;
  const graph = { data, numbers: states.map((s) => s[0]), x: states.map((s) => s[1]), y: states.map((s) => s[2]) };
  [graph.flags, graph.from, graph.to] = [3, 4, 5].map((i) => states.map((s) => s[i]));
  graph.farthest = { from: Math.max(...graph.from), to: Math.max(...graph.to) };
  graph.steps = Array.from({ length: count }, () => new Map()); // label -> targets
  graph.out = Array.from({ length: count }, () => new Set());
  graph.into = Array.from({ length: count }, () => new Set());
  for (let i = 0; i < data.edges.length; i += 3) {
    const [source, label, target] = data.edges.slice(i, i + 3);
    if (!graph.steps[source].has(label)) graph.steps[source].set(label, []);
    graph.steps[source].get(label).push(target);
    graph.out[source].add(target);
    graph.into[target].add(source);
  }
  graph.edges = graph.out.flatMap((targets, source) => [...targets].map((target) => [source, target]));
  graph.words = states.map((s, i) => {
    const kind = [s[3] & 1 ? "start" : "", s[3] & 2 ? "unsafe" : ""];
    const truths = data.predicates.map((p, j) => (s[7][j] === "1" ? p : `not (${p})`));
    const labels = [...graph.steps[i].keys()].map((label) => data.labels[label]);
    return [`#${s[0]} `, ...kind, data.places[s[6]], ...truths, ...labels, s[8]].join("\n").toLowerCase();
  });
  return graph;
};

// Parts with commas between them, all of which have to be found; p3 and !p3 are values of a predicate.
const matching = (graph, query) => {
  const parts = query.toLowerCase().split(",").map((p) => p.trim()).filter((p) => p);
  if (!parts.length) return null;
  const fits = (state, part) => {
    const truth = /^(!?)p(\d+)$/.exec(part);
    if (truth && +truth[2] < graph.data.predicates.length)
      return (graph.data.states[state][7][+truth[2]] === "1") !== (truth[1] === "!");
    return graph.words[state].includes(/^#\d+$/.test(part) ? `${part} ` : part);
  };
  return new Set(graph.numbers.map((_, i) => i).filter((i) => parts.every((part) => fits(i, part))));
};

for (const holder of document.querySelectorAll("section.abstraction")) {
  const part = (query) => holder.querySelector(query);
  const panel = part(".panel"), search = part("input[type=search]");
  const first = read(JSON.parse(part("script").textContent));
  let graph = first, splitted = null, before = -1;
  const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

  const jump = (state, text = `${graph.numbers[state]}${graph.flags[state] & 2 ? " unsafe" : ""}`) =>
    element("button", text, { onclick: () => picture.choose(state), title: `state ${graph.numbers[state]}` });

  const heading = (state) => {
    const flags = graph.flags[state], list = [];
    if (flags & 1) list.push("start");
    if (flags & 2) list.push("unsafe");
    return `State ${graph.numbers[state]}${list.length ? ` (${list.join(", ")})` : ""}`;
  };

  const distances = (state) => {
    const to = graph.to[state], unsafe = graph.data.counts[2];
    const away = to > 0 ? `${many(to, "step")} to an unsafe state` : to === 0 ? "unsafe itself"
      : unsafe ? "no way to an unsafe state" : "no unsafe state can be reached at all";
    return `${many(graph.from[state], "step")} from a start; ${away}.`;
  };

  const predicates = (state) => {
    const bits = graph.data.states[state][7], list = element("ul", "", { className: "plain predicates" });
    for (const wanted of ["1", "0"]) graph.data.predicates.forEach((text, i) => {
      if (bits[i] !== wanted) return;
      const yes = wanted === "1", line = element("li", "", { className: yes ? "yes" : "no" });
      const only = () => { search.value = `${search.value ? `${search.value}, ` : ""}${yes ? "" : "!"}p${i}`; filter(); };
      line.append(element("span", yes ? "✓ yes" : "✗ no", { className: "word" }), " ", element("code", text), " ",
        element("button", `p${i}`, { onclick: only, title: `show only states where this ${yes ? "holds" : "does not hold"}` }));
      list.append(line);
    });
    if (!graph.data.predicates.length) list.append(element("li", "There is no predicate."));
    return list;
  };

  const meaning = (label) => {
    const known = /(\S+#\d+)/.exec(label);
    return (known && first.data.meanings[known[1].replace(/[()]/g, "")]) || "";
  };

  const actions = (state) => {
    const list = element("ul", "", { className: "plain actions" });
    for (const [label, targets] of graph.steps[state]) {
      const name = graph.data.labels[label], line = element("li"), told = meaning(name);
      line.append(element("strong", name, { title: told }), " → ");
      targets.slice(0, 12).forEach((target) => line.append(jump(target), " "));
      if (targets.length > 12) line.append(`and ${targets.length - 12} more`);
      if (told) {
        const more = element("details", "", { className: "told" });
        more.append(element("summary", "what it does"), told);
        line.append(more);
      }
      list.append(line);
    }
    if (!graph.steps[state].size) list.append(element("li", "No step leads on from here."));
    return list;
  };

  const became = (split, state) => ({ 0: "not reached any more", 1: "1 state", 2: "2 states" })[split.pieces[state]];

  const splits = (state) => {
    const box = element("div", "", { className: "splits" }), all = first.data.splits;
    const here = all.filter((s) => s.pieces[state] !== "1");
    const counts = first.data.counts;
    box.append(element("p", all.length ? `Now: ${many(counts[0], "state")}, ${many(counts[1], "transition")}, `
      + `${counts[2]} unsafe. ${here.length} of ${all.length} predicates that were tried change this state.`
      : "No further predicate was tried.", { className: "told" }));
    if (!all.length) return box;
    const table = element("table"), head = element("tr");
    for (const name of ["one more predicate", "this state", "states", "transitions", "unsafe"])
      head.append(element("th", name));
    table.append(head);
    const rest = all.filter((s) => s.pieces[state] === "1");
    for (const split of [...here, ...rest].sort((a, b) => rank(a, state) - rank(b, state))) {
      const row = element("tr"), named = element("td");
      named.append(element("code", split.predicate), ` (${split.origin}) `);
      if (split.graph) named.append(element("button", "split here", { onclick: () => showSplit(split, state) }));
      const numbers = split.counts.map((n, i) => element("td", `${n}${change(n, counts[i])}`));
      row.append(named, element("td", became(split, state)), ...numbers);
      table.append(row);
    }
    box.append(table);
    return box;
  };

  const rank = (split, state) => (split.counts[2] === 0 ? 0 : 1e6) + (split.pieces[state] === "1" ? 1e5 : 0) + split.counts[2];
  const change = (now, old) => (now === old ? "" : ` (${now > old ? "+" : "−"}${Math.abs(now - old)})`);

  const violation = () => {
    if (!graph.data.run.length) return [];
    const line = element("p", "", { className: "run" });
    graph.data.run.slice(0, 60).forEach((state) => line.append(jump(state), " "));
    if (graph.data.run.length > 60) line.append(`and ${graph.data.run.length - 60} more`);
    return [element("h4", "The run that violates the property goes through"), line];
  };

  const detail = (state) => {
    if (state < 0) {
      const [states, edges, unsafe, starts] = graph.data.counts;
      panel.replaceChildren(element("h3", "The whole graph"),
        element("p", `${many(states, "abstract state")}, ${many(starts, "start")}, ${unsafe} unsafe, ${many(edges, "transition")}.`),
        ...violation(), element("p", "Click a state, or go from state to state with the arrow keys. Drag to move, turn the wheel to zoom."));
      return;
    }
    const row = graph.data.states[state], parts = [element("h3", heading(state)), element("p", distances(state))];
    if (graph.data.places[row[6]]) parts.push(element("p", graph.data.places[row[6]]));
    parts.push(element("h4", "Predicates"), predicates(state), element("h4", "Actions that the policy may pick in it"), actions(state));
    parts.push(element("h4", "One of its states"), element("p", row[8] || "None is known.", { className: "witness" }));
    if (row[9]) parts.push(element("p", `There the policy picks ${row[9]}`, { className: "told" }));
    if (!splitted) parts.push(element("h4", "Split here"), splits(state));
    const into = element("p");
    [...graph.into[state]].slice(0, 20).forEach((s) => into.append(jump(s), " "));
    if (graph.into[state].size > 20) into.append(`and ${graph.into[state].size - 20} more`);
    parts.push(element("h4", `Reached from ${many(graph.into[state].size, "state")}`), into);
    panel.replaceChildren(...parts);
    panel.scrollTop = 0;
  };

  const picture = new Picture(part("canvas"), detail);
  holder.placeOf = (number) => { // in the window, of the state with this number
    const box = part("canvas").getBoundingClientRect(), [x, y] = picture.place(graph.numbers.indexOf(number));
    return [box.left + x, box.top + y];
  };

  const use = (next) => {
    graph = next;
    picture.show(graph);
    legend();
    filter();
    detail(-1);
  };

  const showSplit = (split, state) => {
    splitted = split;
    before = state;
    const banner = part(".split-view"), old = first.numbers[state];
    banner.replaceChildren("With one more predicate, ", element("code", split.predicate),
      `: state ${old} becomes ${became(split, state)} (ringed). `,
      split.counts[2] ? `${many(split.counts[2], "unsafe state")} can still be reached. ` : "No unsafe state can be reached. ",
      element("button", "back to the graph without it", { onclick: back }));
    banner.hidden = false;
    use(read(split.graph));
    graph.numbers.forEach((number, i) => { if (split.inside[number] === old) picture.marked.add(i); });
    const [mine] = picture.marked;
    if (mine !== undefined) picture.choose(mine);
  };

  const back = () => {
    splitted = null;
    part(".split-view").hidden = true;
    use(first);
    picture.choose(before);
  };

  const filter = () => {
    picture.found = matching(graph, search.value);
    const shown = picture.found ? [...picture.found] : graph.numbers.map((_, i) => i);
    part(".matches").textContent = picture.found ? `${many(shown.length, "state")} found` : "";
    const items = shown.slice(0, 400).map((state) => {
      const item = element("li");
      item.append(jump(state, heading(state)));
      return item;
    });
    if (shown.length > 400) items.push(element("li", `and ${shown.length - 400} more`));
    part(".all").replaceChildren(...items);
    picture.draw();
  };

  const legend = () => {
    const box = part(".legend"), unsafe = graph.data.counts[2], by = picture.by;
    const sign = (colour, text, kind = "") => {
      const word = element("span"), dot = element("i", "", { className: kind });
      if (colour) dot.style.background = colour;
      word.append(dot, text);
      return word;
    };
    const far = by === "unsafe" ? graph.farthest.to : graph.farthest.from;
    const parts = [sign("", "start", "start")];
    if (unsafe) parts.push(sign(mixed(0), "unsafe", "unsafe"));
    if (by === "unsafe" && !unsafe) parts.push(sign("var(--none)", "no unsafe state can be reached"));
    else if (by === "unsafe") {
      for (const n of new Set([1, Math.round(far / 2), far].filter((v) => v > 0)))
        parts.push(sign(mixed((0.35 + n) / Math.max(4, far)), `${many(n, "step")} to an unsafe state`));
      parts.push(sign("var(--none)", "no way to an unsafe state"));
    } else for (const n of new Set([0, Math.round(far / 2), far]))
      parts.push(sign(mixed(n / Math.max(1, far), SCALES.start), `${many(n, "step")} from a start`));
    if (graph.data.run.length > 1) {
      const line = sign(mixed(0), "the run that violates the property");
      Object.assign(line.firstChild.style, { height: "3px", borderRadius: "0", width: "1.2rem", verticalAlign: ".2rem" });
      parts.push(line);
    }
    box.replaceChildren(...parts);
  };

  search.addEventListener("input", filter);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && picture.found && picture.found.size) picture.choose([...picture.found][0]);
  });
  part(".colour").addEventListener("change", (event) => { picture.by = event.target.value; legend(); picture.draw(); });
  part(".edges").addEventListener("change", (event) => { picture.edges = event.target.checked; picture.draw(); });
  part(".closer").addEventListener("click", () => picture.zoom(1.4));
  part(".further").addEventListener("click", () => picture.zoom(1 / 1.4));
  part(".whole").addEventListener("click", () => picture.fit());
  if (!first.data.counts[2]) part(".colour").value = picture.by = "start";
  use(first);
}
