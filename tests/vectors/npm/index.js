// Asks a reader that is a function: each vector is a test of node:test. Public domain (CC0-1.0).
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { inspect } from "node:util";

// If this variable is 1, the tests write the file of known answers instead of comparing with it.
const WRITES = "CONFORMANCE_WRITE_EXPECT";
const isWriting = process.env[WRITES] === "1";
const LEVELS = {
  core: (vector) => vector.level === "core",
  full: (vector) => vector.level !== "large",
  large: (vector) => vector.length <= 2 ** 30, // what fits memory
  "header-only": (vector) => vector.header_only && vector.level !== "large",
  lite: (vector) => vector.lite,
};
const { suite, vectors, profiles } = parse(readFileSync(new URL("manifest.json", import.meta.url), "utf8"));
const byId = new Map(vectors.map((vector) => [vector.id, vector]));

export function conformance(read, { name = "safetensors", level = "full", exclude = [], expect, rejects = () => true, ...others } = {}) {
  for (const option of Object.keys(others)) throw new Error(`there is no option ${option}`);
  const kinds = known(expect);
  const names = (vector, one) => one === vector.id || vector.flags.includes(one);
  const stray = exclude.find((one) => !vectors.some((vector) => names(vector, one)));
  if (stray !== undefined || !Object.hasOwn(LEVELS, level)) throw new Error(`no vector has the id, the flag or the level ${stray ?? level}`);
  const chosen = vectors.filter((vector) => LEVELS[level](vector) && !exclude.some((one) => names(vector, one)));
  if (!chosen.length) throw new Error(`exclude leaves no vector of the level ${level}`);
  const answer = (vector) => ask(read, rejects, vector);
  const end = () => {
    process.exitCode = 1;
    console.error(`${name}: the reader ended the process`);
  };
  let lacks; // found when a file is first rejected
  describe(name, () => {
    before(() => process.on("exit", end));
    for (const vector of chosen) {
      test(vector.id, async () => {
        const [kind, problem] = await score(vector, answer, () => (lacks ??= lacking(answer)));
        const old = kinds.get(vector.id) ?? "right";
        if (expect && isWriting) kinds.set(vector.id, kind);
        else if (kind !== old) throw new Error(`newly ${kind}: ${vector.id} was ${old}\n${problem ?? ""}\n${vector.reason} (${vector.rule})`);
      });
    }
    after(() => {
      process.off("exit", end);
      if (expect && isWriting) writeFileSync(expect, written(kinds));
    });
  });
}

/** Reads the file of known answers; there may be none if it is to be written. */
function known(path) {
  const kinds = new Map();
  if (!path || (isWriting && !existsSync(path))) return kinds;
  if (!existsSync(path)) throw new Error(`${path} does not exist: run the tests with ${WRITES}=1 to write it`);
  for (const [at, line] of readFileSync(path, "utf8").split("\n").entries()) {
    const [id, kind] = line.split("#")[0].trim().split(": ");
    if (id === "suite" && kind !== suite) console.warn(`the expected answers are of suite ${kind}, the vectors are of ${suite}`);
    if (!id || id === "suite") continue;
    const isKnown = byId.has(id) && !kinds.has(id) && kind && kind !== "right";
    if (!isKnown) throw new Error(`${path}, line ${at + 1}: '${line}' is no id of suite ${suite} with a kind, or is a duplicate`);
    kinds.set(id, kind);
  }
  return kinds;
}

function written(kinds) {
  const head = "# Answers that are known not to be right: id and kind. Another run compares with them. Words after # are skipped.";
  const lines = [...kinds].filter(([, kind]) => kind !== "right").map(([id, kind]) => `${id}: ${kind}\n`);
  return `${head}\nsuite: ${suite}\n${lines.sort().join("")}`;
}

/** Calls the reader. Returns its verdict, and the table or the text. */
async function ask(read, rejects, vector) {
  const bytes = new Uint8Array(content(vector));
  try {
    return ["accept", await read(bytes)];
  } catch (error) {
    return [rejects(error) ? "reject" : "crash", error instanceof Error ? String(error) : shown(error)];
  }
}

/** Returns the kind of an answer, and the problem with it. */
async function score(vector, answer, lacks) {
  const [verdict, said] = await answer(vector);
  if (verdict === "reject") {
    if ((await lacks()).some((profile) => vector.flags.includes(profile))) return ["right"];
    if (vector.verdict === "valid") return ["wrong", `must accept, but did reject: ${said}`];
    const isShown = vector.verdict === "either" || (await answer(byId.get(vector.twin)))[0] === "accept";
    return isShown ? ["right"] : ["not shown", `rejected, but the valid file ${vector.twin} is not accepted either`];
  }
  if (verdict !== "accept") return [verdict, said];
  if (vector.verdict === "invalid") return ["wrong", "must reject, but did accept"];
  if (!isTable(said)) return ["bad output", `accepted, but this is no table: ${shown(said)}`];
  const problem = vector.verdict === "valid" && tableProblem(expected(vector), said);
  return problem ? ["wrong", problem] : ["right"];
}

/** Returns the profiles that the reader lacks: it rejects all valid files of them. */
async function lacking(answer) {
  const isReject = async (vector) => (await answer(vector))[0] === "reject";
  const found = [];
  for (const profile of Object.keys(profiles)) {
    const shows = vectors.filter((one) => one.verdict === "valid" && one.level !== "large" && one.flags.includes(profile));
    if ((await Promise.all(shows.map(isReject))).every(Boolean)) found.push(profile);
  }
  return found;
}

/** Returns the tensors and the metadata to report. Those of a recipe are in the header that it makes. */
function expected({ tensors, metadata, ...vector }) {
  if (tensors) return { tensors: new Map(tensors.map(({ name, ...row }) => [name, row])), metadata };
  const file = content(vector);
  const start = 8 + Number(file.readBigUInt64LE());
  const entries = new Map(Object.entries(parse(file.toString("utf8", 8, start))));
  const kept = entries.get("__metadata__") ?? null;
  entries.delete("__metadata__");
  for (const [name, { dtype, shape, data_offsets }] of entries) {
    const [begin, end] = data_offsets.map((at) => start + Number(at));
    entries.set(name, { dtype, shape, data_offsets, sha256: sha256(file.subarray(begin, end)) });
  }
  return { tensors: entries, metadata: kept };
}

const isMap = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const pairs = (map) => (map instanceof Map ? [...map] : Object.entries(map ?? {}));

/** Whether a value has the form of the protocol. */
function isTable(value) {
  const isTensor = ([, tensor]) => isMap(tensor) && tensor.dtype !== undefined && tensor.shape !== undefined;
  return isMap(value) && isMap(value.tensors) && pairs(value.tensors).every(isTensor) && (value.metadata == null || isMap(value.metadata));
}

/** Returns what is wrong with a table. What is missing in it is not compared. */
function tableProblem({ tensors, metadata }, found) {
  const read = pairs(found.tensors);
  if (read.length !== tensors.size || !read.every(([name]) => tensors.has(name))) {
    return `the tensors are ${shown([...tensors.keys()])}, but ${shown(read.map(([name]) => name))} were read`;
  }
  for (const [name, tensor] of read) {
    const row = tensors.get(name);
    const members = [...Object.keys(row), ...Object.keys(tensor)]; // a class may have getters
    const wrong = members.find((member) => tensor[member] !== undefined && !same(tensor[member], row[member]));
    if (wrong) return `${wrong} of ${shown(name)} is ${shown(row[wrong])}, but ${shown(tensor[wrong])} was read`;
  }
  const [right, said] = [pairs(metadata), new Map(pairs(found.metadata))];
  const isSame = found.metadata === undefined || (said.size === right.length && right.every(([key, value]) => said.get(key) === value));
  return isSame ? undefined : `the metadata is ${shown(right)}, but ${shown([...said])} was read`;
}

/** Whether a value is the expected one. Integers may be bigints, or texts of digits. */
function same(found, right) {
  if (Array.isArray(right)) return Array.isArray(found) && found.length === right.length && found.every((one, at) => same(one, right[at]));
  return ["number", "bigint", "string"].includes(typeof found) && String(found) === String(right);
}

function shown(value) {
  return inspect(value, { breakLength: Infinity }).slice(0, 240);
}

/** Returns a JSON value whose integers above 2^53 are texts of digits. */
function parse(text) {
  const long = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])\d{16,}(?![\d.eE])/g;
  return JSON.parse(text.replace(long, (found) => (found[0] === '"' ? found : `"${found}"`)));
}

function sha256(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Returns the bytes of a vector's file, read or made by its recipe. */
function content(vector) {
  const file = vector.recipe ? expand(vector.recipe) : readFileSync(new URL(vector.file, import.meta.url));
  if (sha256(file) !== vector.sha256) throw new Error(`${vector.id}: the file is not the one that the manifest means`);
  return file;
}

function expand({ header, length, data }) {
  const [start, head] = [Buffer.alloc(8), Buffer.concat(header.map(part))];
  start.writeBigUInt64LE(BigInt(length ?? head.length));
  return Buffer.concat([start, head, ...data.map(part)]);
}

function part({ text, hex, zeros, repeat }) {
  if (zeros !== undefined) return Buffer.alloc(zeros);
  return hex === undefined ? Buffer.from(text ?? repeated(repeat)) : Buffer.from(hex, "hex");
}

function repeated({ count, text, join = "" }) {
  if (!text.includes("${i")) return (text + join).repeat(count - 1) + text;
  const value = (i) => (_, factor, summand) => BigInt(i) * BigInt(factor ?? 1) + BigInt(summand ?? 0);
  return Array.from({ length: count }, (_, i) => text.replace(/\$\{i(?:\*(\d+))?(?:\+(\d+))?\}/g, value(i))).join(join);
}
