// `node test.mjs PACKAGE VECTORS MODEL [all]`: asks the vectors in Node and in Chromium. Without `all`, not the large
// ones. PACKAGE is the directory of the package, MODEL the file digits-f16.safetensors.
import { spawn } from "node:child_process";
import { openAsBlob } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ask, parse, readerOf, use } from "./vectors.mjs";

const [dir, vectorsDir, model, all] = process.argv.slice(2);
const page = `<body><script type="module">
import * as library from "/package/index.js";
import { ask, parse, use } from "/tests/vectors.mjs";
const get = async (path) => (await fetch(path)).blob();
const wrong = [];
try {
  const vectors = parse(await (await get("/vectors/manifest.json")).text(), ${Boolean(all)});
  wrong.push(...await ask(library, vectors, (file) => get("/vectors/" + file)));
  wrong.push(...await use(library, location.origin));
  const frame = document.body.appendChild(document.createElement("iframe"));
  await new Promise((loaded) => Object.assign(frame, { onload: loaded, src: "/package/example.html" }));
  const [files, input] = [new DataTransfer(), frame.contentDocument.querySelector("input")];
  files.items.add(new File([await get("/model")], "model"));
  input.files = files.files;
  input.dispatchEvent(new Event("change"));
  const said = frame.contentDocument.getElementById("said");
  while (said.textContent === "") await new Promise((resolve) => setTimeout(resolve, 50));
  if (said.textContent !== "model: 8 tensors, 702428 bytes") wrong.push("example.html: " + said.textContent);
} catch (error) { wrong.push(error.stack); }
await fetch("/done", { method: "POST", body: JSON.stringify(wrong) });
</script>`;

/** Answers as a server with ranges, but /ignores has none, /changes a new file each time, and /zips fewer bytes. */
async function serve({ url, headers }, reply) {
  const [, first, ...rest] = url.split("/");
  const folder = { package: dir, vectors: vectorsDir, tests: import.meta.dirname }[first];
  const path = folder ? join(folder, ...rest) : { model, ignores: model, changes: model, zips: model }[first] ?? "";
  const bytes = first ? await readFile(path).catch(() => undefined) : page;
  const range = first !== "ignores" && /^bytes=(\d+)-(\d+)$/.exec(headers.range);
  if (bytes && range) {
    const [begin, end] = [Number(range[1]), Math.min(Number(range[2]) + 1, bytes.length)];
    const tag = first === "changes" ? `"${begin}"` : '"1"';
    reply.writeHead(206, { "Content-Range": `bytes ${begin}-${end - 1}/${bytes.length}`, ETag: tag });
    reply.end(bytes.subarray(begin, first === "zips" ? end - 1 : end));
  } else {
    const type = /html$|^.$/.test(url) ? "text/html" : "text/javascript";
    reply.writeHead(bytes ? 200 : 404, { "Content-Type": type }).end(bytes);
  }
}

async function inChromium(url, done) {
  const profile = await mkdtemp(join(tmpdir(), "chromium-"));
  const options = ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${profile}`, url];
  const chromium = spawn("chromium", options, { stdio: "ignore" });
  process.on("exit", () => chromium.kill());
  const ended = new Promise((end) => chromium.on("close", end));
  const wrong = await Promise.race([done, ended.then(() => ["Chromium ended"])]);
  chromium.kill();
  await ended;
  await rm(profile, { recursive: true, force: true, maxRetries: 9, retryDelay: 200 });
  return wrong;
}

/** Opens 140 GB of zeros whose header lists 1,000 tensors in reverse order. Returns what is wrong. */
async function large() {
  const length = 140_000_000;
  const entry = (_, i) => [`model.layers.${i}.mlp.down_proj.weight`,
    { dtype: "BF16", shape: [7000, 10_000], data_offsets: [length * (999 - i), length * (1000 - i)] }];
  const header = [{ text: JSON.stringify(Object.fromEntries(Array.from({ length: 1000 }, entry))) }];
  const source = readerOf({ header, data: [{ zeros: 1000 * length }] });
  await library.open(await openAsBlob(model)); // the first call compiles the program
  const { instantiate } = WebAssembly;
  let memory;
  WebAssembly.instantiate = async (...module) => {
    const made = await instantiate(...module);
    memory = made.exports?.select ? made.exports.memory : memory; // others are of Node
    return made;
  };
  const used = async () => {
    for (const _ of "four") await new Promise(setImmediate).then(() => gc());
    return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  };
  const before = await used();
  const sparse = await library.open(source);
  const [inProgram, outside] = [memory.buffer.byteLength, await used() - before];
  WebAssembly.instantiate = instantiate;
  const row = await sparse.get("model.layers.0.mlp.down_proj.weight").slice(6999, [9996, 10_000]).read();
  console.log(`140 GB: the program has ${inProgram} bytes, and JavaScript ${outside} more than before`);
  return inProgram + Math.max(outside, 0) > 2 << 20 || row.length !== 4 || sparse.length !== 1000 ? ["140 GB"] : [];
}

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");
const library = await import(resolve(dir, "index.js"));
const vectors = parse(await readFile(join(vectorsDir, "manifest.json"), "utf8"), all);
const wrongOfLarge = await large(); // alone: it measures the memory of this process
const server = createServer(serve);
const done = new Promise((resolve) => server.on("request", async (request) => {
  if (request.method === "POST") resolve(JSON.parse((await request.toArray()).join("")));
}));
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const url = `http://127.0.0.1:${server.address().port}`;
const inNode = async () => [
  ...wrongOfLarge,
  ...await ask(library, vectors, (file) => openAsBlob(join(vectorsDir, file))),
  ...await use(library, url),
];
const runs = { Node: inNode(), Chromium: inChromium(url, done) };
for (const [where, run] of Object.entries(runs)) {
  const wrong = await run;
  wrong.forEach((line) => console.log(`${where}: ${line}`));
  console.log(`${where}: ${vectors.length} vectors, ${wrong.length} wrong answers`);
  process.exitCode ||= wrong.length > 0 ? 1 : 0;
}
server.closeAllConnections();
server.close();
