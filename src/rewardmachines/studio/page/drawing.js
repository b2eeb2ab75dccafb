// Machines as SVG, from layouts that come as data. Names are text and nothing else.

const SVG = "http://www.w3.org/2000/svg";
const COLORS = 8;
const TITLE = 26;
const LEGEND = 18;

function shape(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const middle = (box) => [box.x + box.w / 2, box.y + box.h / 2];

function octagon({ x, y, w, h }) {
  const c = Math.min(w, h) * 0.2929;
  return [[x + c, y], [x + w - c, y], [x + w, y + c], [x + w, y + h - c], [x + w - c, y + h], [x + c, y + h], [x, y + h - c], [x, y + c]].join(" ");
}

function outline(state, inset = 0) {
  const { x, y, w, h } = state.box;
  const [cx, cy] = middle(state.box);
  if (state.role === "rejecting") return shape("polygon", { points: octagon(state.box) });
  if (state.round) return shape("circle", { cx, cy, r: w / 2 - inset });
  return shape("rect", { x: x + inset, y: y + inset, width: w - 2 * inset, height: h - 2 * inset, rx: 14 - inset });
}

function lines(box, size, texts) {
  const [cx, cy] = middle(box);
  const first = cy - ((texts.length - 1) * size * 1.3) / 2 + size * 0.35;
  return texts.map((spans, i) => shape("text", { x: cx, y: first + i * size * 1.3, "text-anchor": "middle", "font-size": size }, ...spans));
}

function tooltip(text) {
  return shape("title", {}, text);
}

function arrows(pieces) {
  return pieces.flatMap(({ path, head }) => [shape("path", { d: path }), ...(head ? [shape("polygon", { points: head })] : [])]);
}

function labelGroup(label, colorOf) {
  const { x, y, w, h } = label.box;
  const back = label.callee || !label.alone ? [shape("rect", { x, y, width: w, height: h, rx: Math.min(h / 2, 11) })] : [];
  const texts = label.lines.map(({ callee, rest }) => [...(callee ? [shape("tspan", { class: "callee" }, callee)] : []), rest]);
  const kind = label.callee ? `label call ${colorOf(label.callee)}` : "label";
  const group = shape("g", { class: kind }, tooltip(label.full), ...back, ...lines(label.box, 12, texts));
  return group;
}

function machine(drawn, colorOf) {
  const width = Math.max(drawn.width, 40 + drawn.title.length * 9);
  const height = drawn.height + drawn.legend.length * LEGEND;
  const picture = shape("svg", {
    viewBox: `-12 ${-TITLE - 12} ${Math.ceil(width + 24)} ${Math.ceil(height + TITLE + 24)}`,
    width: Math.ceil(width + 24), height: Math.ceil(height + TITLE + 24), role: "img", "aria-label": `machine ${drawn.title}`,
    class: `machine ${colorOf(drawn.name)}`,
  });
  picture.append(shape("text", { class: "title", x: 0, y: -TITLE + 14, "font-size": 14 }, drawn.title));
  picture.append(shape("g", { class: "edge" }, tooltip("initial state"), ...arrows([drawn.initial])));
  const parts = { picture, states: new Map(), edges: [] };
  const above = [];
  for (const edge of drawn.edges) {
    const callees = new Set(edge.labels.map((label) => label.callee));
    const [only] = callees;
    const group = shape("g", { class: callees.size === 1 && only ? `edge ${colorOf(only)}` : "edge" }, ...arrows(edge.arrows));
    picture.append(group);
    for (const label of edge.labels) {
      const shown = labelGroup(label, colorOf);
      above.push(shown);
      parts.edges.push({ label, elements: [group, shown] });
    }
  }
  picture.append(...above);
  for (const state of drawn.states) {
    const rings = state.role === "accepting" ? [outline(state), outline(state, 3.6)] : [outline(state)];
    const group = shape("g", { class: `state ${state.role}` }, tooltip(state.name), ...rings, ...lines(state.box, 13, state.lines.map((line) => [line])));
    parts.states.set(state.name, group);
    picture.append(group);
  }
  drawn.legend.forEach(({ sign, formula }, i) => picture.append(
    shape("text", { x: 0, y: drawn.height + (i + 1) * LEGEND, "font-size": 11 }, shape("tspan", { class: "callee" }, sign), `  ${formula}`)));
  return parts;
}

export class Drawing {
  constructor(place) {
    this.place = place;
    this.machines = new Map();
  }

  show(drawn) {
    const names = drawn.map(({ name }) => name);
    const colorOf = (name) => `m${Math.max(0, names.indexOf(name)) % COLORS}`;
    this.machines = new Map(drawn.map((one) => [one.name, machine(one, colorOf)]));
    this.place.replaceChildren(...[...this.machines.values()].map(({ picture }) => picture));
  }

  clear() {
    this.machines.clear();
    this.place.replaceChildren();
  }

  /** Lights the present state, those in which callers wait, and their calls. */
  light(moment) {
    for (const lit of this.place.querySelectorAll(".present, .waiting")) lit.classList.remove("present", "waiting");
    if (!moment) return;
    this.machines.get(moment.machine)?.states.get(moment.state)?.classList.add("present");
    for (const picture of this.place.children) picture.classList.toggle("active", picture === this.machines.get(moment.machine)?.picture);
    for (const call of moment.stack) {
      const caller = this.machines.get(call.caller);
      caller?.states.get(call.source)?.classList.add("waiting");
      for (const { label, elements } of caller?.edges ?? []) {
        if (label.source === call.source && label.target === call.target && label.callee === call.callee) for (const element of elements) element.classList.add("waiting");
      }
    }
  }
}
