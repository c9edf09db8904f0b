// Seal answers to a survey: standard input {"served", "sha256", "people": [{"answers", "public"}]},
// standard output the body in hexadecimal digits.

import { readFileSync } from "node:fs";

import { body, hexadecimal, readSurvey, seal } from "../../src/warner/browser/warner.js";

const { served, sha256, people } = JSON.parse(readFileSync(0, "utf8"));
const survey = await readSurvey(new TextEncoder().encode(served), sha256);
const sealed = await Promise.all(people.map((person) => seal(survey, person)));
process.stdout.write(hexadecimal(body(survey, sealed)));
