// The entries of a program, read as exact integers, and what several samplers need.

import { RANGE } from "./random.js";
import { insist } from "./refusals.js";

/**
 * @import { Column, Json, Ratio } from "./types.js"
 */

export const MOST_DELTA = RANGE / 1000n; // of approximate privacy

/** The entries of a program, read as integers; each is refused where it is written otherwise. */
export class Entries {
  /**
   * @param {Json} data
   * @param {string} place
   */
  constructor(data, place) {
    this.data = data;
    this.place = place;
    this.known = new Set(["format", "sampler", "answer", "columns", "odds", "odds_at_most"]);
  }

  /**
   * An entry; undefined where it is missing. Entries that nobody reads are refused.
   *
   * @param {string} key
   */
  get(key) {
    this.known.add(key);
    return this.data[key];
  }

  /**
   * An integer of at least 0: a number below 2^53, or a hexadecimal text from there on.
   *
   * @param {string} key
   */
  integer(key) {
    return this.whole(this.get(key), key);
  }

  /**
   * @param {unknown} value
   * @param {string} key
   */
  whole(value, key) {
    const rule = "must be an integer: a number below 2^53, or a hexadecimal text";
    if (typeof value === "string" && /^0x[1-9a-f][0-9a-f]*$/.test(value)) {
      const found = BigInt(value);
      insist(found >= 1n << 53n, "malformed", `${this.place}.${key}`, rule);
      return found;
    }
    const is = Number.isSafeInteger(value) && !Object.is(value, -0) && Number(value) >= 0;
    insist(is, "malformed", `${this.place}.${key}`, rule);
    return BigInt(Number(value));
  }

  /**
   * An integer that is a number of values, of bits or of columns.
   *
   * @param {string} key
   */
  count(key) {
    const found = this.integer(key);
    insist(found < 1n << 53n, "malformed", `${this.place}.${key}`, "must be below 2^53");
    return Number(found);
  }

  /** @param {string} key */
  integers(key) {
    return this.list(key).map((value) => this.whole(value, key));
  }

  /** @param {string} key */
  list(key) {
    const found = this.get(key);
    insist(Array.isArray(found), "malformed", `${this.place}.${key}`, "must be a list");
    return found;
  }

  /** @param {string} key */
  matrix(key) {
    return this.list(key).map((row) => {
      insist(Array.isArray(row), "malformed", `${this.place}.${key}`, "must be lists");
      return row.map((/** @type {unknown} */ value) => this.whole(value, key));
    });
  }

  /**
   * @param {unknown} holds
   * @param {string} rule
   */
  law(holds, rule) {
    insist(holds, "not_a_law", this.place, rule);
  }
}

/**
 * @param {unknown} value
 * @returns {value is Json}
 */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * @param {bigint} numerator
 * @param {bigint} denominator
 * @returns {Ratio}
 */
export function ratio(numerator, denominator) {
  return { numerator, denominator };
}

/**
 * Of a ratio and its inverse the larger one.
 *
 * @param {bigint} a
 * @param {bigint} b
 */
export function larger(a, b) {
  return a > b ? ratio(a, b) : ratio(b, a);
}

/**
 * @param {Ratio} a
 * @param {Ratio} b
 */
export function exceeds(a, b) {
  return a.numerator * b.denominator > b.numerator * a.denominator;
}

/**
 * @param {Ratio} a
 * @param {Ratio} b
 */
export function largest(a, b) {
  return exceeds(a, b) ? a : b;
}

/**
 * A column of integers 0..m-1.
 *
 * @param {string} name
 * @param {number} m
 * @returns {Column}
 */
export function integers(name, m) {
  const dtype = m <= 2 ** 8 ? "|u1" : m <= 2 ** 16 ? "<u2" : m <= 2 ** 32 ? "<u4" : "<u8";
  return { name, dtype, length: 1, limit: m };
}

/**
 * A column of bits.
 *
 * @param {number} count
 * @returns {Column}
 */
export function bitColumn(count) {
  return { name: "bits", dtype: "|u1", length: Math.ceil(count / 8) };
}

/**
 * The bytes of bits: the first bit is the highest of the first byte.
 *
 * @param {readonly boolean[]} bits
 */
export function packed(bits) {
  const bytes = new Array(Math.ceil(bits.length / 8)).fill(0n);
  bits.forEach((bit, i) => {
    if (bit) bytes[i >> 3] |= 128n >> BigInt(i & 7);
  });
  return bytes;
}

/** @type {{ answer: "index", between: string, power: bigint }} */
export const BY_INDEX = { answer: "index", between: "any", power: 1n };

export const SHAPE = "must have the shape and the words that it states";

export const MOST_WORDS = 64; // of a probability; Python's laws have below 40

/**
 * The end of each cell but the last, without empty cells at the end.
 *
 * @param {readonly bigint[]} masses
 * @param {bigint} whole their sum.
 */
export function cumulative(masses, whole) {
  let sum = 0n;
  return masses.map((mass) => (sum += mass)).filter((end) => end < whole);
}

/**
 * The largest likelihood ratio of a table of probabilities.
 *
 * @param {Entries} entries
 * @param {readonly (readonly bigint[])[]} rows the numerators of each value.
 * @param {ReadonlySet<number> | null} sensitive the values that are protected; null for all.
 */
export function tableOdds(entries, rows, sensitive) {
  const rule = "must have no report that rules a protected value out";
  const made = rows[0].map((_, y) => rows.map((row) => row[y]));
  const kept = (/** @type {bigint} */ _, /** @type {number} */ x) => sensitive?.has(x) ?? true;
  const reported = made.filter((masses) => masses.some((mass) => mass > 0n));
  const isProtected = reported.map((masses) => masses.filter(kept).some((mass) => mass > 0n));
  const unique = reported.every(
    (masses, y) => isProtected[y] || masses.filter((mass) => mass > 0n).length === 1,
  );
  let found = ratio(1n, 1n);
  reported.forEach((masses, y) => {
    if (unique && !isProtected[y]) return;
    const above = unique ? masses : masses.filter(kept);
    const high = above.reduce((a, b) => (a > b ? a : b), 0n);
    const low = masses.reduce((a, b) => (a < b ? a : b));
    insist(high === 0n || low > 0n, "not_a_law", entries.place, rule);
    if (high > 0n) found = largest(found, ratio(high, low));
  });
  return found;
}

/**
 * @param {unknown} value
 * @param {string} place
 * @param {bigint} [least] of the numerator.
 */
export function ratioOf(value, place, least = 1n) {
  insist(isObject(value), "malformed", place, "must be a fraction");
  const entries = new Entries(value, place);
  const found = ratio(entries.integer("numerator"), entries.integer("denominator"));
  const positive = found.numerator >= least && found.denominator > 0n;
  insist(positive, "malformed", place, "must be positive");
  return found;
}

/** @param {Ratio} odds */
export function logarithm({ numerator, denominator }) {
  const scale = 1n << 1000n;
  const double = (/** @type {bigint} */ scaled) => {
    const bits = scaled.toString(16).length * 4;
    return [Number(scaled >> BigInt(Math.max(bits - 64, 0))), Math.max(bits - 64, 0) - 1000];
  };
  // Odds near 1, by what they exceed it: a difference of logarithms would lose their digits.
  const isNear = numerator > denominator && numerator < 2n * denominator;
  const exact = isNear ? numerator - denominator : numerator;
  const [head, power] = double((exact * scale) / denominator);
  return isNear ? Math.log1p(head * 2 ** power) : Math.log(head) + power * Math.LN2;
}
