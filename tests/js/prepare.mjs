// Programs on standard input, on standard output for each the name of its error, or null.

import { readFileSync } from "node:fs";

import { Refusal, prepare } from "../../src/warner/browser/warner.js";

const found = JSON.parse(readFileSync(0, "utf8")).map((program) => {
  try {
    prepare(program);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
});
process.stdout.write(JSON.stringify(found));
