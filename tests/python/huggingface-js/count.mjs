// Counts the parameters of models as the Hub does: `node count.mjs PACKAGE HUB_URL NAME…`.

import { pathToFileURL } from "node:url";

const [package_, hubUrl, ...names] = process.argv.slice(2);
const { parseSafetensorsMetadata } = await import(pathToFileURL(package_));

for (const name of names) {
	const info = await parseSafetensorsMetadata({ repo: name, hubUrl, computeParametersCount: true });
	const counts = Object.entries(info.parameterCount);
	const total = counts.reduce((sum, [, count]) => sum + count, 0);
	console.log([name, total, ...counts.map(([dtype, count]) => `${dtype}=${count}`)].join(" "));
}
