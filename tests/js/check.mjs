// Survey documents on standard input, on standard output for each the name of its error, or what a page
// may promise.

import { readFileSync } from "node:fs";

import { Refusal, checkSurvey, promisesOf } from "../../src/warner/browser/warner.js";

const found = JSON.parse(readFileSync(0, "utf8")).map((survey) => {
  try {
    return promisesOf(checkSurvey(survey));
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
});
process.stdout.write(JSON.stringify(found));
