/** A source that is read in parts. `read` returns at most `length` bytes from `offset` on, and at least one. */
export interface Reader {
  readonly size: number | bigint;
  read(offset: bigint, length: number): Promise<Uint8Array>;
}

/**
 * Opens a file: reads its header and validates it. The options of a URL are those of `fetch`.
 * @throws FormatError, ReadError, LimitError, UsageError
 */
export function open(source: Blob | URL | string | Reader, options?: RequestInit): Promise<Model>;

/** A valid file. It iterates over its tensors in the order of their offsets. */
export interface Model extends Iterable<Tensor> {
  /** The number of tensors. */
  readonly length: number;
  /** The bytes of the file, and the byte at which its data begins. */
  readonly size: bigint;
  readonly dataStart: bigint;
  /** `__metadata__`, or null if there is none. */
  readonly metadata: Map<string, string> | null;
  get(name: string): Tensor | undefined;
}

/**
 * F16, BF16 and F8 become a Float32Array, which has all of their values; C64 too, real parts first. F4, F6 and BOOL
 * are bytes as in the file. Integers of 64 bits are bigint.
 */
export type Values =
  | Uint8Array<ArrayBuffer> | Int8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Int16Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer> | Int32Array<ArrayBuffer> | BigUint64Array<ArrayBuffer> | BigInt64Array<ArrayBuffer>
  | Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

/** A part of a tensor, or all of it. */
export interface Slice {
  /** As in the file, such as "F16". */
  readonly dtype: string;
  /** The dimensions, outermost first. */
  readonly shape: bigint[];
  /** The number of elements, and of their bytes. */
  readonly length: bigint;
  readonly byteLength: bigint;
  read(): Promise<Values>;
  /** Reads the bytes, as they are in the file. */
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  /** Reads the elements in pieces of at most 4 MiB of the file. */
  chunks(): AsyncGenerator<Values>;
}

type Integer = number | bigint;
/** An index, or the begin, the end and the step of a range. `[5, 2]` is empty. */
export type Range = Integer | [begin: Integer, end: Integer, step?: Integer] | null | undefined;

export interface Tensor extends Slice {
  readonly name: string;
  /** The first byte and the end, counted from `dataStart`. */
  readonly offsets: [bigint, bigint];
  /**
   * Selects a part, outermost axis first. An index drops its axis; null, and a missing range, is the complete axis.
   * The part has at most 8 axes.
   * @throws UsageError, LimitError
   */
  slice(...ranges: Range[]): Slice;
}

export class SafetensorsError extends Error {
  protected constructor();
  /** Stable: those of the page "Errors" of the guide, and `read.`. */
  readonly code: string;
  /** The byte of the file, if the error has one. */
  readonly at: bigint | undefined;
}
/** The file is invalid. */
export class FormatError extends SafetensorsError {}
/** The source failed. */
export class ReadError extends SafetensorsError {}
/** There is too little memory. */
export class LimitError extends SafetensorsError {}
/** The caller made a mistake. */
export class UsageError extends SafetensorsError {}
