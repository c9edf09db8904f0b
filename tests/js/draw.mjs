// Reports by the words of crypto.getRandomValues, counted: a test compares them with the exact laws.
//
// Standard input: [{"program", "encoded", "draws", "words"}]. Standard output: [{record: count}], a record as
// its bytes with commas between them.
// "words" says which words are drawn: "system", or one of the wrong sources below.

import { readFileSync } from "node:fs";

import { sample, systemWords } from "../../src/warner/browser/warner.js";

const system = systemWords();
const SOURCES = {
  system,
  // Words whose upper half is lost, as of a generator of 32 bits.
  short: () => system() & 0xffffffffn,
  // Words that never lie beyond 3/4 of the range, as by a remainder instead of another draw.
  folded: () => system() % (3n << 62n),
};

const asked = JSON.parse(readFileSync(0, "utf8"));
const counted = asked.map(({ program, encoded, draws, words }) => {
  const counts = {};
  for (let i = 0; i < draws; i += 1) {
    const record = sample(program, encoded, SOURCES[words]).join();
    counts[record] = (counts[record] ?? 0) + 1;
  }
  return counts;
});
process.stdout.write(JSON.stringify(counted));
