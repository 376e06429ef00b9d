// python3 run.py --batch -- node adapter.js
// Replace `read` by a call of your reader. It returns the tensors and the metadata, and throws where it rejects a file.
const fs = require("node:fs");
const readline = require("node:readline");

async function read(path) {
  const file = fs.readFileSync(path);
  const header = JSON.parse(file.subarray(8, 8 + Number(file.readBigUInt64LE(0))).toString());
  const { __metadata__: metadata = null, ...entries } = header;
  const tensor = ({ dtype, shape, data_offsets }) => ({ dtype, shape, data_offsets });
  return { tensors: Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, tensor(entry)])), metadata };
}

async function main() {
  for await (const path of readline.createInterface({ input: process.stdin })) {
    let answer;
    try {
      // Integers that are BigInt become strings, which are accepted, too.
      answer = JSON.stringify(await read(path), (_, value) => (typeof value === "bigint" ? String(value) : value));
    } catch (error) {
      answer = JSON.stringify({ error: String(error) });
    }
    process.stdout.write(answer + "\n");
  }
}
main();
