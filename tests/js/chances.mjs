// Programs on standard input, on standard output what is told of each: the chances of value 0.

import { readFileSync } from "node:fs";

import { epsilonOf, probabilities } from "../../src/warner/browser/warner.js";

const asFraction = ({ numerator, denominator }) => [String(numerator), String(denominator)];
const told = JSON.parse(readFileSync(0, "utf8")).map((program) => {
  const chances = probabilities({ program });
  const epsilon = epsilonOf({ program });
  if (chances === null) return { epsilon };
  const { kind, of, same, other, exactlySame, exactlyOther } = chances;
  return { epsilon, kind, of, same, other, exactly: [exactlySame, exactlyOther].map(asFraction) };
});
process.stdout.write(JSON.stringify(told));
