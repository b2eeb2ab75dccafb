// Compare: equal, or a shortest trace that tells two hierarchies apart, played in both.

import { Drawing } from "./drawing.js";
import { $, element, shownLabel, shownTrace, showProblem } from "./parts.js";

const SAYS = { accept: "accepts", reject: "rejects", neither: "says neither" };

export class Compare {
  constructor(studio) {
    this.studio = studio;
    this.drawings = [new Drawing($("compare-a")), new Drawing($("compare-b"))];
    $("other").value = "(chicken & wheat) ; table";
    $("compare-now").addEventListener("click", () => this.compare());
    $("other").addEventListener("input", () => this.clear());
    $("compare").addEventListener("keydown", (event) => {
      if (!this.plays || event.target.tagName === "TEXTAREA") return;
      const to = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1 }[event.key];
      if (to === undefined) return;
      this.go(to);
      event.preventDefault();
    });
  }

  /** The text on the Write side may be the one that was compared: it is parsed a moment after the last key. */
  refresh() {
    if (this.job?.text !== this.studio.text) this.clear();
  }

  clear() {
    this.job = null;
    this.plays = null;
    $("difference").textContent = "";
    $("compare-trace").replaceChildren();
    showProblem($("other-problem"), null);
    for (const drawing of this.drawings) drawing.clear();
  }

  async compare() {
    this.clear();
    const text = $("other").value;
    const sources = [this.studio.source, { text, name: "other" }];
    const job = { text: sources[0].text };
    this.job = job; // until a text is changed, which makes the answers those of another question
    await this.studio.busy("Comparing …", async () => {
      try {
        await this.studio.ask("parse", { source: sources[1] });
      } catch (problem) {
        if (this.job === job) showProblem($("other-problem"), problem, text);
        return;
      }
      const events = $("compare-events").checked;
      const labels = $("one-at-a-time").checked ? "singletons" : "all";
      const found = await this.studio.ask("compare", { source: sources[0], other: sources[1], labels, events });
      const width = Math.max(320, $("compare-a").clientWidth - 40);
      const drawn = await Promise.all(sources.map((source) => this.studio.ask("draw", { source, width })));
      if (this.job !== job) return;
      drawn.forEach((one, i) => this.drawings[i].show(one.drawn));
      if (found.equal) {
        $("difference").textContent = `Equal: every trace${labels === "all" ? "" : " of one proposition at a time"} gets the same verdict.`;
        return;
      }
      const [a, b] = found.verdicts;
      $("difference").textContent = `Different: on ${shownTrace(found.trace)}, the first ${SAYS[a]} and the second ${SAYS[b]}.`;
      const plays = await Promise.all(sources.map((source) => this.studio.ask("step", { source, trace: found.trace, events })));
      if (this.job !== job) return;
      this.plays = plays;
      this.go(found.trace.length);
    });
  }

  go(at) {
    const { trace } = this.plays[0];
    if (at < 0 || at > trace.length) return;
    this.at = at;
    const held = $("compare-trace").contains(document.activeElement);
    const chips = ["start", ...trace.map(shownLabel)].map((text, i) => {
      const chip = element("button", { type: "button" }, text);
      if (i === at) chip.setAttribute("aria-current", "step");
      chip.addEventListener("click", () => this.go(i));
      return element("li", {}, chip);
    });
    $("compare-trace").replaceChildren(...chips);
    if (held) chips[at].firstChild.focus();
    this.plays.forEach(({ states }, i) => this.drawings[i].light(states[Math.min(at, states.length - 1)]));
  }
}
