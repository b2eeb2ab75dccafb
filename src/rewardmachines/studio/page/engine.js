// The functions behind the page: in a Web Worker under Pyodide, or behind a server. `engine.json` says which.

export class Problem extends Error {
  constructor({ message, at }) {
    super(message);
    this.at = at ?? null;
  }
}

class Server {
  async ask(request) {
    const answer = await fetch("answer", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(request) })
      .catch(() => { throw new Problem({ message: "the server does not answer: is `hrm studio` still running?" }); });
    if (!answer.ok) throw new Problem({ message: `the server answered with status ${answer.status}` });
    return answer.json();
  }

  async ready() {}

  stop() {}
}

class InPage {
  constructor(settings, tell) {
    this.settings = settings;
    this.tell = tell;
    this.start();
  }

  start() {
    this.waiting = new Map();
    this.count = 0;
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.started = new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data }) => this.hear(data, resolve, reject);
      this.worker.onerror = () => reject(new Problem({ message: "Python could not be started in this browser" }));
    });
    this.started.catch(() => {});
    this.worker.postMessage({ settings: this.settings });
  }

  hear(data, resolve, reject) {
    if (data.status) this.tell(data.status);
    else if (data.ready) resolve();
    else if (data.failed) reject(new Problem({ message: `Python could not be started: ${data.failed}` }));
    else {
      const { resolve: done, reject: fail } = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.error) fail(new Problem({ message: data.error }));
      else done(JSON.parse(data.text));
    }
  }

  ready() {
    return this.started;
  }

  async ask(request) {
    await this.started;
    const id = this.count++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, text: JSON.stringify(request) });
    });
  }

  stop() {
    this.worker.terminate();
    for (const { reject } of this.waiting.values()) reject(new Problem({ message: "It was stopped." }));
    this.start();
    this.started.then(() => this.tell("Ready"), (problem) => this.tell(problem.message));
  }
}

export async function openEngine(tell) {
  const settings = await fetch("engine.json").then((found) => found.json());
  const inner = settings.kind === "server" ? new Server() : new InPage(settings, tell);
  await inner.ready();
  return {
    async ask(action, rest = {}) {
      const answer = await inner.ask({ action, ...rest });
      if (!answer.ok) throw new Problem(answer.error);
      return answer.result;
    },
    stop: () => inner.stop(),
  };
}
