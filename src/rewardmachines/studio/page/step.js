// Step: a trace, label by label, with machine, state, context and call stack.

import { Drawing } from "./drawing.js";
import { $, element, labelButtons, latest, shownLabel } from "./parts.js";

export class Step {
  constructor(studio) {
    this.studio = studio;
    this.drawing = new Drawing($("step-drawing"));
    this.last = latest();
    this.lastDrawn = latest();
    this.wanted = { trace: [], at: 0 };
    this.trace = [];
    this.at = 0;
    $("back").addEventListener("click", () => this.go(this.at - 1));
    $("forward").addEventListener("click", () => this.go(this.at + 1));
    $("restart").addEventListener("click", () => this.play([], 0));
    $("events").addEventListener("change", () => this.play(this.trace, this.trace.length));
    $("trace").addEventListener("change", () => this.play($("trace").value));
    $("step").addEventListener("keydown", (event) => {
      if (event.target === $("trace") || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "ArrowLeft") this.go(this.at - 1);
      else if (event.key === "ArrowRight") this.go(this.at + 1);
      else return;
      event.preventDefault();
    });
  }

  /** Draws what is written now, and plays as much of the wanted trace as there is. */
  async refresh() {
    await Promise.all([this.draw(), this.play(this.wanted.trace, this.wanted.at)]);
  }

  async draw() {
    await this.studio.attempt(async () => {
      const width = Math.max(320, $("views").clientWidth - 60);
      const found = await this.lastDrawn(this.studio.ask("draw", { source: this.studio.source, width }));
      if (!found) return;
      this.drawing.show(found.value.drawn);
      this.drawing.light(this.played?.states[this.at]);
    });
  }

  async play(trace, at = Infinity) {
    this.wanted = { trace, at };
    await this.studio.attempt(async () => {
      const found = await this.last(this.asked(trace));
      if (found) this.take(found.value, at);
    });
  }

  asked(trace) {
    return this.studio.ask("step", { source: this.studio.source, trace, events: $("events").checked });
  }

  take(played, at) {
    this.played = played;
    this.trace = played.trace;
    $("trace").value = this.trace.map(shownLabel).join(" ");
    this.go(Math.min(at, played.states.length - 1));
  }

  async go(at) {
    if (!this.played || at < 0 || at >= this.played.states.length) return;
    this.at = at;
    this.wanted = { trace: this.trace, at };
    $("back").disabled = at === 0;
    $("forward").disabled = at === this.played.states.length - 1;
    this.showTrace();
    this.drawing.light(this.played.states[at]);
    const whole = at === this.trace.length && !this.played.problem;
    const next = whole ? this.played.next : (await this.asked(this.trace.slice(0, at))).next;
    if (at === this.at) this.showMoment(this.played.states[at], next);
  }

  press(label) {
    this.play([...this.trace.slice(0, this.at), label]);
  }

  showTrace() {
    const held = $("step-trace").contains(document.activeElement);
    const chips = ["start", ...this.trace.map(shownLabel)].map((text, i) => {
      const chip = element("button", { type: "button", disabled: i >= this.played.states.length }, text);
      if (i === this.at) chip.setAttribute("aria-current", "step");
      chip.addEventListener("click", () => this.go(i));
      return element("li", {}, chip);
    });
    $("step-trace").replaceChildren(...chips);
    if (held) chips[this.at].firstChild.focus();
  }

  showMoment(moment, next) {
    labelButtons($("step-labels"), next.labels, (label) => this.press(label));
    const code = (text) => element("code", {}, text);
    const part = (title, ...children) => element("div", {}, element("h3", {}, title), ...children);
    const list = (kind, items, none) => (items.length ? element(kind, {}, ...items) : element("p", { className: "none" }, none));
    const { problem, unknown } = this.played;
    const stopped = problem && this.at === this.played.states.length - 1;
    const verdict = element("span", { className: `verdict-${moment.verdict}` }, { accept: "accepts", reject: "rejects", neither: "neither yet" }[moment.verdict]);
    const here = element("p", { className: "quiet" }, "machine ", code(moment.machine), ", state ", code(moment.state), ", context ", code(moment.context), ": ", verdict);
    const notes = [
      ...(stopped ? [element("p", { className: "verdict-reject" }, problem)] : []),
      ...(unknown.length ? [element("p", { className: "quiet" }, `Not mentioned by any formula: ${unknown.join(", ")}`)] : []),
    ];
    const calls = moment.stack.map((call) => element("li", {}, code(`${call.caller}: ${call.source} → ${call.target}`), ` waits for `, code(call.callee)));
    const exits = next.exits.map((exit) => element("li", {}, code(exit.condition ?? "a long condition"), exit.callee ? " calls " : " moves", ...(exit.callee ? [code(exit.callee), ", then"] : []), ` to `, code(exit.target)));
    $("moment").replaceChildren(
      part("Now", here, ...notes),
      part("Call stack", list("ol", calls, "Nothing is called.")),
      part("What can fire next", list("ul", exits, moment.verdict === "neither" ? "Nothing." : "Nothing: it is over.")),
    );
  }
}
