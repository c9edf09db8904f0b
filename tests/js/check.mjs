// Survey documents on standard input, on standard output for each the name of its error, or null.

import { readFileSync } from "node:fs";

import { Refusal, checkSurvey } from "../../src/warner/browser/warner.js";

const found = JSON.parse(readFileSync(0, "utf8")).map((survey) => {
  try {
    checkSurvey(survey);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
});
process.stdout.write(JSON.stringify(found));
