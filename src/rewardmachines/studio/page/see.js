// See: the hierarchy drawn, its sizes, its flat and minimal form, and files of it.

import { Drawing } from "./drawing.js";
import { $, download, element, latest, pngOf } from "./parts.js";

const FILES = { svg: "image/svg+xml", png: "image/png", yaml: "text/yaml", dot: "text/vnd.graphviz", hoa: "text/plain" };

export class See {
  constructor(studio) {
    this.studio = studio;
    this.drawing = new Drawing($("see-drawing"));
    this.last = latest();
    $("form").addEventListener("change", () => this.refresh());
    $("exports").replaceChildren(...Object.keys(FILES).map((kind) => {
      const button = element("button", { type: "button" }, kind.toUpperCase());
      button.addEventListener("click", () => studio.attempt(() => this.save(kind)));
      return button;
    }));
  }

  get source() {
    return { ...this.studio.source, form: document.querySelector("input[name=form]:checked").value };
  }

  async refresh() {
    await this.studio.attempt(async () => {
      const found = await this.last(this.studio.ask("draw", { source: this.source, width: Math.max(320, $("views").clientWidth - 60) }));
      if (!found) return;
      const { drawn, size, flat_size: flat, height } = found.value;
      this.drawing.show(drawn);
      const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
      const flatText = flat && drawn.length > 1 ? `; flat ${count(flat.states, "state")}, ${count(flat.edges, "edge")}` : "";
      $("sizes").textContent = `${count(drawn.length, "machine")}, height ${height}, ${count(size.states, "state")}, ${count(size.edges, "edge")}${flatText}`;
    });
  }

  async save(kind) {
    const theme = document.documentElement.dataset.theme;
    const file = await this.studio.ask("export", { source: this.source, to: kind === "png" ? "svg" : kind, theme });
    if (kind === "png") download(file.name.replace(/svg$/, "png"), await pngOf(file.text));
    else download(file.name, file.text, FILES[kind]);
  }
}
