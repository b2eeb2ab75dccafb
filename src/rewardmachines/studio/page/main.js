// The page: what is written, the views of it, the theme, and the link to share.

import { Compare } from "./compare.js";
import { openEngine } from "./engine.js";
import { Learn } from "./learn.js";
import { $, chosenFile, element, latest, showProblem } from "./parts.js";
import { See } from "./see.js";
import { Step } from "./step.js";

const FIRST = "tasks:\n  paper: sugarcane ; workbench\n  leather: rabbit ; workbench\n  book: (paper & leather) ; table\n";
const PAUSE = 150;

const encoded = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

function decoded(code) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(atob(code.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0)));
  } catch {
    return null;
  }
}

class Studio {
  constructor() {
    this.views = { see: new See(this), step: new Step(this), compare: new Compare(this), learn: new Learn(this) };
    this.last = latest();
    this.view = "see";
    this.jobs = 0;
  }

  get text() {
    return $("text").value;
  }

  get source() {
    return { text: this.text };
  }

  ask(action, rest) {
    return this.engine.ask(action, rest);
  }

  say(text) {
    $("status").textContent = text;
  }

  /** Runs a job of a view; what goes wrong is shown beside the text. */
  async attempt(job) {
    try {
      await job();
    } catch (problem) {
      this.tell(problem);
    }
  }

  async busy(text, job) {
    this.jobs += 1;
    this.say(text);
    await this.attempt(job);
    this.jobs -= 1;
    if (this.jobs === 0) this.say("Ready");
  }

  tell(problem) {
    $("text").setAttribute("aria-invalid", String(Boolean(problem)));
    showProblem($("problem"), problem, this.text);
  }

  /** The text has changed: the view is renewed if it makes sense, and left as it is while it does not. */
  async changed() {
    history.replaceState(null, "", `#text=${encoded(this.text)}`);
    try {
      if (!(await this.last(this.ask("parse", { source: this.source })))) return;
    } catch (problem) {
      this.tell(problem);
      return;
    }
    this.tell(null);
    await this.views[this.view].refresh();
  }

  open(view) {
    this.view = view;
    for (const name of Object.keys(this.views)) {
      const chosen = name === view;
      $(name).hidden = !chosen;
      $(`tab-${name}`).setAttribute("aria-selected", String(chosen));
      $(`tab-${name}`).tabIndex = chosen ? 0 : -1;
    }
    this.changed();
  }

  async offerExamples() {
    const { shelves } = await this.ask("examples");
    const texts = shelves.flatMap(({ examples }) => examples.map(({ text }) => text));
    let number = 0;
    const groups = shelves.map(({ shelf, examples }) => {
      const group = element("optgroup", { label: shelf });
      group.append(...examples.map(({ name }) => element("option", { value: String(number++) }, name)));
      return group;
    });
    $("examples").replaceChildren(element("option", { value: "" }, "choose …"), ...groups);
    $("examples").addEventListener("change", () => {
      if ($("examples").value === "") return;
      $("text").value = texts[Number($("examples").value)];
      this.changed();
    });
  }

  async begin() {
    const code = new URLSearchParams(location.hash.slice(1)).get("text");
    $("text").value = (code && decoded(code)) ?? FIRST;
    try {
      this.engine = await openEngine((text) => this.say(text));
    } catch (problem) {
      this.say("");
      this.tell(problem);
      return;
    }
    let timer = 0;
    $("text").addEventListener("input", () => {
      clearTimeout(timer);
      $("examples").value = "";
      timer = setTimeout(() => this.changed(), PAUSE);
    });
    addEventListener("hashchange", () => {
      const text = decoded(new URLSearchParams(location.hash.slice(1)).get("text") ?? "");
      if (text === null || text === this.text) return;
      $("text").value = text;
      this.changed();
    });
    this.listenToTabs();
    await this.changed();
    await this.attempt(() => this.offerExamples());
    this.say("Ready");
  }

  listenToTabs() {
    const names = Object.keys(this.views);
    names.forEach((name, i) => {
      $(`tab-${name}`).addEventListener("click", () => this.open(name));
      $(`tab-${name}`).addEventListener("keydown", (event) => {
        const to = { ArrowRight: i + 1, ArrowLeft: i + names.length - 1, Home: 0, End: names.length - 1 }[event.key];
        if (to === undefined) return;
        this.open(names[to % names.length]);
        $(`tab-${names[to % names.length]}`).focus();
        event.preventDefault();
      });
    });
  }
}

function listenToTheme() {
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  const set = (dark) => { document.documentElement.dataset.theme = dark ? "dark" : "light"; };
  set(wanted.matches);
  wanted.addEventListener("change", () => set(wanted.matches));
  $("theme").addEventListener("click", () => set(document.documentElement.dataset.theme !== "dark"));
}

const studio = new Studio();
listenToTheme();
$("share").addEventListener("click", () => studio.attempt(async () => {
  history.replaceState(null, "", `#text=${encoded(studio.text)}`);
  await navigator.clipboard.writeText(location.href);
  studio.say("The link is copied");
}));
$("open").addEventListener("click", () => studio.attempt(async () => {
  $("text").value = await chosenFile(".yaml,.yml,.json,.hoa,.dot,.gv,.ltlf,.txt");
  $("text").dispatchEvent(new Event("input"));
}));
studio.begin();
