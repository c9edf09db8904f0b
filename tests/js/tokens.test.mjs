// Blind tokens: the numbers of RFC 9474, and what a device refuses.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { joined, hexadecimal, unhex } from "../../src/warner/browser/modules/bytes.js";
import { blind, finalize } from "../../src/warner/browser/modules/tokens.js";

const vector = JSON.parse(
  readFileSync(new URL("../vectors/blind_signatures.json", import.meta.url), "utf8"));
const number = (name) => BigInt(`0x${vector[name]}`);
const modulus = number("p") * number("q");
const key = unhex(modulus.toString(16));

function power(base, exponent) {
  let [result, square] = [1n, base];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

/** The inverse, by the exponent of the group: the private key is known here. */
function inverse(of) {
  return power(of, (number("p") - 1n) * (number("q") - 1n) - 1n);
}

const factor = inverse(number("inverse")).toString(16).padStart(1024, "0");
const drawn = joined([unhex(vector.prefix), unhex(vector.salt), unhex(factor)]);

test("the numbers of RFC 9474", async () => {
  const covered = await blind(key, unhex(vector.message), drawn);
  assert.equal(hexadecimal(covered), vector.blinded);
  const signature = await finalize(key, unhex(vector.message), drawn, unhex(vector.signed));
  assert.equal(hexadecimal(signature), vector.signature);
});

test("what was signed with another key, or for another message, is refused", async () => {
  const other = `${vector.signed.slice(0, -2)}00`;
  await assert.rejects(finalize(key, unhex(vector.message), drawn, unhex(other)), /everybody/);
  await assert.rejects(finalize(key, unhex("00"), drawn, unhex(vector.signed)), /everybody/);
});
