// Small helpers that all views use.

export const $ = (id) => document.getElementById(id);

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("aria-") || key === "scope" || key === "role") made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children);
  return made;
}

export const shownLabel = (label) => (label.length === 0 ? "{}" : label.join(","));

export const shownTrace = (trace) => (trace.length === 0 ? "the empty trace" : trace.map(shownLabel).join(" "));

/** Only the answer to the latest question counts: those to earlier ones are dropped. */
export function latest() {
  let count = 0;
  return async (promise) => {
    const mine = ++count;
    try {
      const value = await promise;
      return mine === count ? { value } : null;
    } catch (problem) {
      if (mine === count) throw problem;
      return null;
    }
  };
}

export function showProblem(place, problem, text = "") {
  place.replaceChildren();
  if (!problem) return;
  place.append(problem.message);
  if (!problem.at || !text) return;
  const { line, column, exact } = problem.at;
  const written = text.split("\n")[line - 1] ?? "";
  const quoted = element("pre", {}, `${line}  `);
  if (exact) {
    const points = [...written];
    quoted.append(points.slice(0, column - 1).join(""), element("mark", {}, points[column - 1] ?? " "), points.slice(column).join(""));
  } else quoted.append(written);
  place.append(quoted);
}

export function labelButtons(place, labels, press) {
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.label : null;
  const effects = { stay: "changes nothing", accept: "accepts", reject: "rejects", clash: "could start two calls", move: "moves it" };
  place.replaceChildren(...labels.map(({ label, effect }) => {
    const button = element("button", { type: "button", className: effect ? `effect-${effect}` : "", title: effects[effect] ?? "" }, shownLabel(label));
    button.dataset.label = shownLabel(label);
    button.addEventListener("click", () => press(label));
    return button;
  }));
  if (focused !== null) [...place.children].find((button) => button.dataset.label === focused)?.focus();
}

export function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

const MOST_BYTES = 16_000_000;

/** The text of a file that is chosen. */
export function chosenFile(accept) {
  return new Promise((resolve, reject) => {
    const input = element("input", { type: "file", accept });
    input.addEventListener("change", () => {
      if (input.files[0].size > MOST_BYTES) reject(new Error(`${input.files[0].name} is too large`));
      else resolve(input.files[0].text());
    });
    input.click();
  });
}

export async function pngOf(svg) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const picture = new Image();
    picture.src = address;
    await picture.decode();
    const canvas = element("canvas", { width: picture.naturalWidth * 2, height: picture.naturalHeight * 2 });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}
