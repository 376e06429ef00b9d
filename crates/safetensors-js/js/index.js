// What each name does is in index.d.ts. The functions that `calls` has are in src/lib.rs.
import program from "./program.js";

/** The longest header, and the most bytes of one read: the first one, the others of the header, of a tensor. */
const MOST_OF_HEADER = 100_000_000n;
const FIRST = 65_536;
const OF_HEADER = 262_144;
const OF_TENSOR = 4_194_304;
/** Gaps of so many bytes are read and dropped: another read would take longer. */
const GAP = 4_096n;
const GAP_OF_SERVER = 65_536n;
/** The most runs that are listed, and bytes that are converted, at a time. */
const RUNS = 256;
const PIECE = 8_192;

const ARRAYS = {
  I8: Int8Array, I16: Int16Array, U16: Uint16Array, I32: Int32Array, U32: Uint32Array, I64: BigInt64Array,
  U64: BigUint64Array, F32: Float32Array, F64: Float64Array, C64: Float32Array,
};
/** The bytes of an element that becomes a number of a Float32Array. */
const CONVERTED = { F16: 2, BF16: 2, F8_E5M2: 1, F8_E4M3: 1, F8_E8M0: 1, F8_E4M3FNUZ: 1, F8_E5M2FNUZ: 1 };

export class SafetensorsError extends Error {
  constructor(code, at, sentence, cause) {
    const where = at === undefined ? "" : ` at byte ${at}`;
    super(sentence.startsWith("error[") ? sentence : `error[${code}]${where}: ${sentence}`, cause && { cause });
    Object.assign(this, { name: new.target.name, code, at });
  }
}
export class FormatError extends SafetensorsError {}
export class ReadError extends SafetensorsError {}
export class LimitError extends SafetensorsError {}
export class UsageError extends SafetensorsError {}

const mistake = (code, sentence) => new UsageError(code, undefined, sentence);
/** `fetch failed` of Node has its reason in the cause. */
const failed = (at, error) => (error instanceof ReadError ? error : new ReadError("read.failed", at,
  [error?.message ?? String(error), error?.cause?.message || error?.cause?.code].filter(Boolean).join(": "), error));

/** Returns a number as 64 bits without a sign. */
function integer(value, what, of) {
  if (!(typeof value === "bigint" || Number.isSafeInteger(value)) || value < 0 || value >= 2n ** 64n) {
    const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
    const why = Number.isInteger(value) && value > 0 ? "is too large to be exact: give a bigint"
      : "is not an integer from 0 to 2^64 - 1";
    throw mistake("usage.number", `${what} ${shown} of ${of} ${why}`);
  }
  return BigInt(value);
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
let compiled;

async function compile() {
  const packed = new Blob([Uint8Array.from(atob(program), (letter) => letter.charCodeAt(0))]);
  const unpacked = new Response(packed.stream().pipeThrough(new DecompressionStream("gzip")));
  return WebAssembly.compile(await unpacked.arrayBuffer());
}

/** Starts the program for one file. */
async function start() {
  try {
    return await WebAssembly.instantiate(await (compiled ??= compile()));
  } catch (cause) {
    compiled = undefined; // the next call tries again
    throw new LimitError("limit.memory", undefined, `the program does not start: ${cause.message}`, cause);
  }
}

/** The parts of an answer of the program. */
const [NAME, DTYPE, SHAPE, LEFT] = [0, 1, 2, 3];

/** An instance of the program, which has one file. Arrays of its memory are valid until the next call. */
class Instance {
  constructor({ exports }) { this.calls = exports; }

  memory(Kind, at, length) { return new Kind(this.calls.memory.buffer, at, length); }

  /** Numbers and parts of the answer. */
  number(index) { return this.memory(BigUint64Array, this.calls.answer(), 4)[index]; }
  part(Kind, index) {
    return this.memory(Kind, ...this.memory(Uint32Array, this.calls.answer() + 32 + 8 * index, 2));
  }
  text(index) { return decoder.decode(this.part(Uint8Array, index)); }

  /** Throws the error that a call returned. */
  check(kind) {
    if (kind > 0) {
      throw new [FormatError, LimitError, UsageError][kind - 1](this.text(0), this.number(0), this.text(1));
    }
  }

  /** Returns the address of new memory. */
  reserve(length) {
    const at = this.calls.reserve(length);
    if (at === 0) {
      throw new LimitError("limit.memory", undefined, `no memory for ${length} more bytes`);
    }
    return at;
  }
}

/** Requests a range. Returns its bytes, and the size and the version of the file. */
async function request(url, options, offset, length) {
  const headers = new Headers(options?.headers);
  headers.set("Range", `bytes=${offset}-${offset + BigInt(length) - 1n}`);
  const reply = await fetch(url, { ...options, headers });
  const range = reply.headers.get("Content-Range");
  const [, begin, end, size] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+)$/.exec(range) ?? [];
  if (reply.status === 206 && begin === String(offset)) {
    const version = reply.headers.get("ETag") ?? reply.headers.get("Last-Modified");
    const bytes = new Uint8Array(await reply.arrayBuffer());
    if (bytes.length > length || BigInt(bytes.length) !== BigInt(end) + 1n - offset) {
      throw new ReadError("read.reply", offset, `the reply to a request for ${length} bytes has ${bytes.length}, `
        + `and its Content-Range is "${range}": the server must not compress the file`);
    }
    return { size, version: `${size} ${version}`, bytes };
  }
  reply.body?.cancel().catch(() => {});
  if (reply.status === 416 && (size === "0" || offset > 0n)) {
    return { size, bytes: new Uint8Array() }; // the file is empty, or shorter than the first reply said
  }
  const [code, sentence] = {
    200: ["read.ranges", "the server ignores ranges and sends the entire file"],
    206: ["read.reply", "the reply has no Content-Range with this byte and the size; other origins must expose it"],
  }[reply.status] ?? ["read.reply", `the server answers ${reply.status} ${reply.statusText}`];
  throw new ReadError(code, offset, sentence);
}

/** The first reply tells the size, and usually has the header. */
async function ofUrl(url, options) {
  const first = await request(url, options, 0n, FIRST).catch((error) => { throw failed(0n, error); });
  const read = async (offset, length) => {
    const end = Number(offset) + length;
    if (end <= first.bytes.length) {
      return first.bytes.subarray(Number(offset), end);
    }
    const { version, bytes } = await request(url, options, offset, length);
    if (version !== first.version) {
      throw new ReadError("read.changed", offset, "the file on the server has changed since it was opened");
    }
    return bytes;
  };
  return { size: BigInt(first.size), read, gap: GAP_OF_SERVER };
}

/** Tells sources apart by their members: those of another realm, such as a frame, are no instances. */
async function sourceOf(source, options) {
  if (typeof source?.arrayBuffer === "function" && typeof source.slice === "function") {
    const part = (offset, length) => source.slice(Number(offset), Number(offset) + length).arrayBuffer();
    return { size: BigInt(source.size), read: async (...range) => new Uint8Array(await part(...range)), gap: GAP };
  }
  if (typeof source === "string" || typeof source?.href === "string") {
    return ofUrl(source, options);
  }
  if (typeof source?.read !== "function") {
    throw mistake("usage.source", "a source is a Blob, as new Blob([bytes]), a URL, or an object with size and read");
  }
  const size = integer(source.size, "size", "the source");
  return { size, read: async (...range) => source.read(...range), gap: GAP };
}

/** Reads so many bytes. */
async function readAll(source, offset, length) {
  const all = new Uint8Array(length);
  for (let done = 0, piece; done < length; done += piece.length) {
    const [at, left] = [offset + BigInt(done), length - done];
    piece = await source.read(at, left).catch((error) => { throw failed(at, error); });
    const kind = Object.prototype.toString.call(piece).slice(8, -1);
    if (kind !== "Uint8Array") {
      throw new ReadError("read.type", at, `read must return a promise of a Uint8Array, not of ${kind}`);
    }
    if (piece.length === 0 || piece.length > left) {
      throw new ReadError("read.count", at, `${left} bytes were requested, and ${piece.length} came`);
    }
    all.set(piece, done);
  }
  return all;
}

/** Reads the header, or the first bytes of an invalid one, into the memory of an instance. */
async function readHeader(instance, source) {
  let [start, length, end] = [0, 0, Number(source.size < FIRST ? source.size : FIRST)];
  while (length < end) {
    const piece = await readAll(source, BigInt(length), Math.min(end - length, length ? OF_HEADER : FIRST));
    const at = instance.reserve(piece.length); // directly after the last piece
    instance.memory(Uint8Array, at, piece.length).set(piece);
    if (length === 0 && piece.length >= 8) {
      const claimed = new DataView(piece.buffer).getBigUint64(0, true);
      end = claimed <= MOST_OF_HEADER && 8n + claimed <= source.size ? Number(claimed) + 8 : 0;
    }
    [start, length] = [start || at, length + piece.length];
  }
  return [start, length];
}

export async function open(from, options) {
  if (new Uint8Array(Uint16Array.of(1).buffer)[0] !== 1) {
    const sentence = "numbers of this computer are big-endian, and those of files little-endian";
    throw new LimitError("limit.endian", undefined, sentence);
  }
  const source = await sourceOf(from, options);
  const instance = new Instance(await start());
  const [address, length] = await readHeader(instance, source);
  const key = crypto.getRandomValues(new BigUint64Array(2));
  instance.check(instance.calls.open(address, length, source.size, ...key));
  return new Model(instance, source, address);
}

class Model {
  #file;
  #header;
  #tensors;

  constructor(instance, source, address) {
    this.size = source.size;
    this.dataStart = instance.number(0);
    this.length = Number(instance.number(1));
    this.#header = [address + 8, Number(this.dataStart) - 8];
    this.#file = { instance, source, dataStart: this.dataStart, memory: instance.reserve(5 * PIECE) };
  }

  *[Symbol.iterator]() {
    for (let position = 0; position < this.length; position += 1) {
      yield new Tensor(this.#file, position);
    }
  }

  get(name) {
    this.#tensors ??= new Map(Array.from(this, (tensor) => [tensor.name, tensor]));
    return this.#tensors.get(name);
  }

  /** The header has been validated, so it is JSON, without duplicate keys. */
  get metadata() {
    const header = decoder.decode(this.#file.instance.memory(Uint8Array, ...this.#header));
    const metadata = JSON.parse(header).__metadata__;
    return metadata ? new Map(Object.entries(metadata)) : null;
  }
}

/** Returns the row of the program's table for the range of an axis. */
function rowOf(range, axis) {
  if (range === null || range === undefined) {
    return [0n, 0n, 0n, 0n];
  }
  const of = `axis ${axis}`;
  if (!Array.isArray(range)) {
    return [1n, 0n, integer(range, "index", of), 0n];
  }
  if (range.length !== 2 && range.length !== 3) {
    throw mistake("usage.number", `range [${range}] of ${of} is not [begin, end] or [begin, end, step]`);
  }
  const [begin, end, step = 1] = range;
  return [2n, integer(step, "step", of), integer(begin, "begin", of), integer(end, "end", of)];
}

class Slice {
  #file;
  #position;
  #rows;
  #start;

  constructor(file, position, rows) {
    const { instance, dataStart } = file;
    [this.#file, this.#position, this.#rows] = [file, position, rows];
    this.#select();
    this.dtype = instance.text(DTYPE);
    this.#start = dataStart + instance.number(0);
    this.shape = [...instance.part(BigUint64Array, SHAPE)];
    this.byteLength = instance.number(2);
    this.length = instance.number(3);
  }

  #select() {
    const [{ instance }, { length }] = [this.#file, this.#rows];
    const table = instance.reserve(32 * length);
    instance.memory(BigUint64Array, table, 4 * length).set(this.#rows.flat());
    instance.check(instance.calls.select(this.#position, table, length));
  }

  read() {
    const Kind = CONVERTED[this.dtype] ? Float32Array : ARRAYS[this.dtype] ?? Uint8Array;
    return this.#collect(Kind, CONVERTED[this.dtype] ?? Kind.BYTES_PER_ELEMENT, this.chunks());
  }

  bytes() {
    return this.#collect(Uint8Array, 1, this.#pieces());
  }

  async *chunks() {
    for await (const piece of this.#pieces()) {
      yield CONVERTED[this.dtype] ? this.#convert(piece) : new (ARRAYS[this.dtype] ?? Uint8Array)(piece.buffer);
    }
  }

  async #collect(Kind, width, pieces) {
    let [all, at, length] = [undefined, 0, this.byteLength / BigInt(width)];
    try {
      all = new Kind(Number(length));
    } catch (cause) {
      const bytes = length * BigInt(Kind.BYTES_PER_ELEMENT);
      throw new LimitError("limit.memory", this.#start, `no memory for ${bytes} bytes`, cause);
    }
    for await (const piece of pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }

  /** The instance has what is left of one slice, so that of this one is kept here. */
  async *#pieces() {
    const { instance, memory } = this.#file;
    this.#select();
    for (let count; (count = instance.calls.runs(memory, RUNS, BigInt(OF_TENSOR))) > 0;) {
      const left = instance.part(Uint8Array, LEFT).slice();
      yield await this.#gather(instance.memory(BigUint64Array, memory, 2 * count).slice());
      instance.part(Uint8Array, LEFT).set(left);
    }
  }

  /** Reads the runs of a table, at the same time: as many of them by one read as their gaps allow. */
  async #gather(table) {
    const { source } = this.#file;
    const reads = [];
    let length = 0;
    for (let row = 0; row < table.length; row += 2) {
      const [begin, end] = table.subarray(row, row + 2);
      let read = reads.at(-1);
      if (!read || begin - read.end > source.gap || end - read.begin > OF_TENSOR) {
        reads.push(read = { begin, runs: [] });
      }
      read.end = end;
      read.runs.push([Number(begin - read.begin), Number(end - read.begin), length]);
      length += Number(end - begin);
    }
    const piece = new Uint8Array(length);
    await Promise.all(reads.map(async ({ begin, end, runs }) => {
      const bytes = await readAll(source, this.#start + begin, Number(end - begin));
      runs.forEach(([from, end, to]) => piece.set(bytes.subarray(from, end), to));
    }));
    return piece;
  }

  #convert(bytes) {
    const [{ instance, memory }, width] = [this.#file, CONVERTED[this.dtype]];
    const values = new Float32Array(bytes.length / width);
    this.#select();
    for (let at = 0; at < bytes.length; at += PIECE) {
      const piece = bytes.subarray(at, at + PIECE);
      const count = piece.length / width;
      instance.memory(Uint8Array, memory, piece.length).set(piece);
      instance.check(instance.calls.convert(memory, piece.length, memory + PIECE, count));
      values.set(instance.memory(Float32Array, memory + PIECE, count), at / width);
    }
    return values;
  }
}

class Tensor extends Slice {
  #place;

  constructor(file, position) {
    super(file, position, []); // selects it
    this.name = file.instance.text(NAME);
    this.offsets = [file.instance.number(0), file.instance.number(1)];
    this.#place = [file, position];
  }

  slice(...ranges) { return new Slice(...this.#place, ranges.map(rowOf)); }
}
