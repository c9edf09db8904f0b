// Random words of 64 bits, and decisions on words. The reference in Python makes the same ones.

import { insist } from "./refusals.js";

/**
 * @import { Words } from "./types.js"
 */

export const RANGE = 1n << 64n;

/**
 * Words of the browser's cryptographic generator. A word is overwritten when it is handed out.
 *
 * @returns {Words}
 */
export function systemWords() {
  const random = globalThis.crypto?.getRandomValues;
  insist(random, "insecure", "page", "must have the browser's cryptographic generator");
  const drawn = new BigUint64Array(64);
  let left = 0;
  return () => {
    if (left === 0) {
      crypto.getRandomValues(drawn);
      left = drawn.length;
    }
    left -= 1;
    const word = drawn[left];
    drawn[left] = 0n;
    return word;
  };
}

/**
 * Words from a list, for tests. `used()` says how many were taken.
 *
 * @param {readonly bigint[]} words
 * @returns {Words & { used: () => number }}
 */
export function listedWords(words) {
  let taken = 0;
  const next = () => {
    insist(taken < words.length, "words", "words", "are used up");
    taken += 1;
    return words[taken - 1];
  };
  return Object.assign(next, { used: () => taken });
}

/**
 * True with probability T / 2^64; T may have further words, of which the next counts where u = T.
 *
 * @param {Words} next
 * @param {...bigint} thresholds the words of T, the most significant first.
 */
export function below(next, ...thresholds) {
  for (const threshold of thresholds) {
    const u = next();
    if (u !== threshold) return u < threshold;
  }
  return false;
}

/**
 * Uniform on 0..bound-1, by rejection. A bound of 1 takes no word.
 *
 * @param {Words} next
 * @param {bigint} bound
 */
export function uniform(next, bound) {
  if (bound === 1n) return 0n;
  const width = RANGE / bound;
  let found = next() / width;
  while (found >= bound) found = next() / width;
  return found;
}

/**
 * The cell of a word: `count` cells of one width, then one of the width `last`. Words beyond all
 * cells are drawn again.
 *
 * @param {Words} next
 * @param {bigint} width
 * @param {bigint} count
 * @param {bigint} last
 */
export function cell(next, width, count, last) {
  const total = count * width + last;
  let u = next();
  while (u >= total) u = next();
  const found = u / width;
  return found < count ? found : count;
}

/**
 * The cell of an integer of several words, the most significant word first.
 *
 * @param {Words} next
 * @param {readonly bigint[]} ends the end of each cell but the last, in increasing order.
 * @param {number} words
 */
export function among(next, ends, words) {
  let u = 0n;
  for (let i = 0; i < words; i += 1) u = (u << 64n) | next();
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (u < ends[middle]) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * @param {Words} next
 * @param {bigint} threshold
 * @param {number} count
 */
export function drawnBits(next, threshold, count) {
  return Array.from({ length: count }, () => below(next, threshold));
}

/**
 * A uniform subset of `members` of the items 0..total-1, by Floyd's algorithm.
 *
 * @param {Words} next
 * @param {number} total
 * @param {number} members
 * @param {boolean} complement whether the items that are not in the subset are drawn.
 */
export function subset(next, total, members, complement) {
  const bits = new Array(total).fill(false);
  const wanted = complement ? total - members : members;
  for (let top = total - wanted; top < total; top += 1) {
    const drawn = Number(uniform(next, BigInt(top + 1)));
    bits[bits[drawn] ? top : drawn] = true;
  }
  return complement ? bits.map((bit) => !bit) : bits;
}
