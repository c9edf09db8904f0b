// One person of a survey with tokens: standard input {"served", "code", "answers", "drawn", "signed"},
// standard output what is drawn and the request for the token; with "signed", the sealed body.

import { readFileSync } from "node:fs";

import * as warner from "../../src/warner/browser/warner.js";
import { unhex } from "../../src/warner/browser/modules/bytes.js";

const { served, code, answers, drawn, signed } = JSON.parse(readFileSync(0, "utf8"));
const survey = await warner.readSurvey(new TextEncoder().encode(served));
const block = survey.program && await warner.blockOfCode(survey, code);
if (signed === undefined) {
  const fresh = warner.drawBlinding(survey, block);
  const request = await warner.tokenRequest(survey, code, fresh, block);
  const told = { drawn: warner.hexadecimal(fresh), request: warner.hexadecimal(request), block };
  process.stdout.write(JSON.stringify(told));
} else {
  const token = await warner.tokenOf(survey, unhex(drawn), signed, block);
  const names = block === undefined ? Object.keys(answers) : warner.blocks(survey.program)[block].attributes;
  const own = Object.fromEntries(names.map((name) => [name, answers[name]]));
  const sealed = await warner.seal(survey, { answers: own, block, code, token });
  process.stdout.write(warner.hexadecimal(warner.body(survey, [sealed])));
}
