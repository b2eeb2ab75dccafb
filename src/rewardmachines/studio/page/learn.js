// Learn: traces made by clicking, a machine learned from them, refuted by a counterexample, and learned again.

import { Drawing } from "./drawing.js";
import { $, chosenFile, element, labelButtons, shownTrace } from "./parts.js";

const OUTCOMES = { accept: "goal", reject: "dead_end", neither: "incomplete" };
const SHOWN = { goal: "goal", dead_end: "dead end", incomplete: "goes on" };
const MOST_ROUNDS = 40;

export class Learn {
  constructor(studio) {
    this.studio = studio;
    this.drawing = new Drawing($("learn-drawing"));
    this.traces = [];
    this.draft = [];
    this.fresh = Promise.resolve();
    $("add").addEventListener("click", () => studio.attempt(() => this.add()));
    $("open-traces").addEventListener("click", () => studio.attempt(() => this.openTraces()));
    $("draft-clear").addEventListener("click", () => { this.draft = []; this.showDraft(); });
    $("learn-now").addEventListener("click", () => this.work(() => this.learn()));
    $("refute").addEventListener("click", () => this.work(() => this.refute()));
    $("until-right").addEventListener("click", () => this.work(() => this.repeat()));
    $("stop").addEventListener("click", () => { this.stopped = true; studio.engine.stop(); });
  }

  /** Another task is written: traces and machines were about the one before. */
  refresh() {
    this.fresh = this.renew();
    return this.fresh;
  }

  async renew() {
    if (this.text === this.studio.text) return;
    await this.studio.attempt(async () => {
      const { propositions } = await this.studio.ask("parse", { source: this.studio.source });
      this.text = this.studio.text;
      this.propositions = propositions;
      this.traces = [];
      this.draft = [];
      this.forget();
      $("learn-log").replaceChildren();
      labelButtons($("learn-labels"), [[], ...propositions.map((name) => [name])].map((label) => ({ label })), (label) => {
        this.draft.push(label);
        this.showDraft();
      });
      this.showDraft();
      this.showTraces();
    });
  }

  forget() {
    this.learned = null;
    this.drawing.clear();
  }

  note(text) {
    $("learn-log").append(element("li", {}, text));
    $("learn-log").scrollTop = $("learn-log").scrollHeight;
  }

  showDraft() {
    $("draft").textContent = this.draft.length ? shownTrace(this.draft) : "no label yet";
    $("add").disabled = $("draft-clear").disabled = this.draft.length === 0;
  }

  showTraces() {
    $("traces").replaceChildren(...this.traces.map((trace) => {
      const remove = element("button", { type: "button", "aria-label": "Remove this trace" }, "×");
      remove.addEventListener("click", () => { this.traces = this.traces.filter((one) => one !== trace); this.showTraces(); });
      return element("tr", {}, element("td", {}, shownTrace(trace.labels)), element("td", {}, SHOWN[trace.outcome]), element("td", {}, remove));
    }));
    const box = $("traces").closest(".scroll");
    box.scrollTop = box.scrollHeight;
  }

  /** An episode ends when the task is done or has failed: what was clicked after that is no part of it. */
  async add() {
    const { states } = await this.studio.ask("step", { source: this.studio.source, trace: this.draft });
    const end = states.findIndex(({ verdict }) => verdict !== "neither");
    const last = end < 0 ? states.length - 1 : end;
    this.traces.push({ labels: this.draft.slice(0, last), outcome: OUTCOMES[states[last].verdict] });
    this.draft = [];
    this.showDraft();
    this.showTraces();
  }

  /** Recorded traces say themselves how they ended, and may mention what the task does not. */
  async openTraces() {
    const { traces } = await this.studio.ask("import", { kind: "traces", text: await chosenFile(".jsonl") });
    this.traces.push(...traces);
    this.propositions = [...new Set([...this.propositions, ...traces.flatMap(({ labels }) => labels.flat())])];
    this.showTraces();
  }

  async work(job) {
    await this.fresh;
    this.stopped = false;
    const buttons = ["learn-now", "refute", "until-right"].map($);
    buttons.forEach((button) => { button.disabled = true; });
    $("stop").disabled = false;
    await this.studio.busy("Learning …", job);
    buttons.forEach((button) => { button.disabled = false; });
    $("stop").disabled = true;
  }

  async learn() {
    this.forget();
    if (!this.traces.some(({ outcome }) => outcome !== "incomplete")) await this.firstTrace();
    const found = await this.studio.ask("induce", { traces: this.traces, propositions: this.propositions, disjuncts: 2 });
    if (found.status !== "learned") {
      this.note({ contradictory: found.message, "timed out": "The time is over before a machine was found.", unsatisfiable: "No machine of this size explains the traces." }[found.status]);
      return;
    }
    this.learned = found.yaml;
    const smaller = found.refuted.length ? `; no machine with ${found.refuted.join(" or ")} explains them` : "";
    this.note(`${this.traces.length} traces: ${found.states} states${smaller}.`);
    const { drawn } = await this.studio.ask("draw", { source: { text: this.learned }, width: Math.max(320, $("views").clientWidth - 60) });
    this.drawing.show(drawn);
  }

  /** Without a trace that ends, there is nothing to explain: a shortest one is taken from the task. */
  async firstTrace() {
    const nothing = "machines: {nothing: {edges: []}}";
    const found = await this.studio.ask("compare", { source: this.studio.source, other: { text: nothing }, labels: "singletons", events: true });
    if (found.equal) return;
    this.traces.push({ labels: found.trace, outcome: OUTCOMES[found.verdicts[0]] });
    this.note(`A first trace, from the task: ${shownTrace(found.trace)}.`);
    this.showTraces();
  }

  /** Whether a counterexample was found. */
  async refute() {
    if (!this.learned) {
      this.note("Learn a machine first.");
      return false;
    }
    const found = await this.studio.ask("compare", { source: this.studio.source, other: { text: this.learned }, labels: "singletons", events: true });
    if (found.equal) {
      this.note("Nothing refutes it: on traces of one proposition at a time, it is the task.");
      return false;
    }
    this.traces.push({ labels: found.trace, outcome: OUTCOMES[found.verdicts[0]] });
    this.note(`Refuted by ${shownTrace(found.trace)}: ${SHOWN[OUTCOMES[found.verdicts[0]]]}, not ${SHOWN[OUTCOMES[found.verdicts[1]]]}.`);
    this.showTraces();
    return true;
  }

  async repeat() {
    for (let round = 0; round < MOST_ROUNDS && !this.stopped; round += 1) {
      await this.learn();
      if (!this.learned || !(await this.refute())) return;
    }
  }
}
