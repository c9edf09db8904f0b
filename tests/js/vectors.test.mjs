// The known answers of tests/vectors: every word stream makes the record that Python makes.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

import * as warner from "../../src/warner/browser/warner.js";

const read = (name) => {
  const path = new URL(`../vectors/${name}`, import.meta.url);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).cases : [];
};

for (const { name, program, draws } of read("samplers.json")) {
  test(`samplers: ${name}`, () => {
    for (const { encoded, words, record, used } of draws) {
      const next = warner.listedWords(words.map(BigInt));
      assert.equal(warner.hexadecimal(warner.sample(program, encoded, next)), record);
      assert.equal(next.used(), used);
    }
  });
}
