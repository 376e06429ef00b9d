// Counts the parameters of models as the Hub does: `node count.mjs PACKAGE DIRECTORY NAME…`, with and without their config.json.
// The Hub's files are those of the directory.

import { existsSync, openSync, readSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [package_, directory, ...names] = process.argv.slice(2);
const { parseSafetensorsMetadata } = await import(pathToFileURL(package_));

let lacksConfig;

async function fetch(url, { method, headers } = {}) {
	const path = directory + new URL(url).pathname.replace(/\/(raw|resolve)\/main\//, "/");
	if (!existsSync(path) || (lacksConfig && path.endsWith("/config.json"))) {
		return new Response(null, { status: 404 });
	}
	const size = statSync(path).size;
	const range = /^bytes=(\d+)-(\d+)$/.exec(new Headers(headers).get("Range") ?? "");
	const [begin, end] = range ? [Number(range[1]), Math.min(Number(range[2]) + 1, size)] : [0, size];
	const bytes = Buffer.alloc(method === "HEAD" ? 0 : end - begin);
	readSync(openSync(path), bytes, 0, bytes.length, begin);
	return new Response(bytes, { status: range ? 206 : 200, headers: { ETag: '"1"', "Content-Range": `bytes ${begin}-${end - 1}/${size}` } });
}

for (const name of names) {
	const counts = [];
	for (lacksConfig of [false, true]) {
		counts.push((await parseSafetensorsMetadata({ repo: name, fetch, computeParametersCount: true })).parameterCount);
	}
	console.log(JSON.stringify(counts));
}
