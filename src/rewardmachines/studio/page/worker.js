// Python in a Web Worker. Everything is read from the folder of the page.

let answerText;

async function start(settings) {
  const tell = (status) => postMessage({ status });
  tell("Loading Python …");
  const { loadPyodide } = await import("./pyodide/pyodide.mjs");
  const archives = settings.archives.map((name) => fetch(name).then((found) => {
    if (!found.ok) throw new Error(`${name}: status ${found.status}`);
    return found.arrayBuffer();
  }));
  const python = await loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href });
  tell("Loading the package …");
  for (const archive of await Promise.all(archives)) python.unpackArchive(archive, "zip");
  answerText = python.pyimport("rewardmachines.studio.actions").answer_text;
}

onmessage = async ({ data }) => {
  if (data.settings) {
    try {
      await start(data.settings);
      postMessage({ ready: true });
    } catch (problem) {
      postMessage({ failed: String(problem.message ?? problem) });
    }
    return;
  }
  try {
    postMessage({ id: data.id, text: answerText(data.text) });
  } catch (problem) {
    postMessage({ id: data.id, error: `this is a mistake of the Studio: ${String(problem.message).trim().split("\n").pop()}` });
  }
};
