/** What a reader reports of a file that it accepts: the object of PROTOCOL.md. Integers may be texts of digits. */
export interface Table {
  tensors: Record<string, Tensor> | Map<string, Tensor>;
  metadata?: Record<string, string> | Map<string, string> | null;
}

type Integers = readonly (number | bigint | string)[];
export interface Tensor { dtype: string; shape: Integers; data_offsets?: Integers; sha256?: string }

export interface Options {
  /** The name of the suite of tests [default: safetensors]. */
  name?: string;
  level?: "core" | "full" | "large" | "header-only" | "lite";
  /** Ids and flags of vectors that are not asked. */
  exclude?: readonly string[];
  /** The file of the answers that are known not to be right; CONFORMANCE_WRITE_EXPECT=1 writes it. */
  expect?: string;
  /** Whether what was thrown rejects the file [default: it does]; otherwise it is a crash. */
  rejects?: (error: unknown) => boolean;
}

/** Makes a test of `node:test` of each vector. The function gets the bytes of a file, and throws where it rejects it. */
export function conformance(read: (bytes: Uint8Array) => Table | Promise<Table>, options?: Options): void;
