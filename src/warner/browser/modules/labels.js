// Samplers of labels: each value is one of a list. docs/device_programs.md defines them, with the
// checks in the order in which they stand.

import {
  bitColumn, BY_INDEX, cumulative, integers, larger, largest, MOST_WORDS, packed, ratio, SHAPE,
  tableOdds,
} from "./entries.js";
import { among, below, cell, drawnBits, RANGE, subset, uniform } from "./random.js";

/**
 * @import { Entries } from "./entries.js"
 * @import { Column, Drawn, Law, Sampler, Words } from "./types.js"
 */

/**
 * @typedef {object} Functions public hash functions.
 * @property {Column[]} columns
 * @property {[bigint, bigint] | null} collision the chance that two values share a bucket, as a
 *   numerator and a denominator, where it is the same for all pairs.
 * @property {(index: number, next: Words) => { columns: Drawn, bucket: number }} draw
 */

/**
 * Randomised response among values 0..size-1.
 *
 * @param {number} index
 * @param {Direct} widths
 * @param {Words} next
 */
function direct(index, { size, own, other }, next) {
  const drawn = Number(cell(next, other, BigInt(size - 1), own));
  if (drawn === size - 1) return index;
  return drawn < index ? drawn : drawn + 1;
}

/**
 * @typedef {{ size: number, own: bigint, other: bigint }} Direct
 *
 * @param {Entries} entries
 * @param {string} size the entry with the number of values.
 * @returns {Direct}
 */
function directEntries(entries, size) {
  return {
    size: entries.count(size), own: entries.integer("own"), other: entries.integer("other"),
  };
}

/**
 * @param {Entries} entries
 * @param {Direct} widths
 */
function directLaw(entries, { size, own, other }) {
  entries.law(size >= 2 && own >= 1n && other >= 1n, "own, other and size - 1 must be at least 1");
  const total = own + BigInt(size - 1) * other;
  entries.law(total <= RANGE, "own + (size - 1) other must be at most 2^64");
  return total;
}

/** @type {Readonly<Record<string, (entries: Entries) => Sampler>>} */
export const LABELS = {
  direct(entries) {
    const widths = directEntries(entries, "size");
    const total = directLaw(entries, widths);
    return {
      ...BY_INDEX,
      size: widths.size,
      columns: [integers("report", widths.size)],
      odds: larger(widths.own, widths.other),
      draw: (index, next) => ({ report: [BigInt(direct(index, widths, next))] }),
      levels: {
        inside: 1n,
        outside: BigInt(widths.size - 1),
        likelier: ratio(widths.own, widths.other),
        uniform: (next) => ({ report: [uniform(next, BigInt(widths.size))] }),
      },
      law: () => ({
        kind: "names", same: ratio(widths.own, total), other: ratio(widths.other, total),
      }),
    };
  },

  bits(entries) {
    const size = entries.count("size");
    const [keep, raised] = [entries.integer("keep"), entries.integer("raised")];
    entries.law(
      size >= 2 && raised >= 1n && raised < keep && keep < RANGE,
      "must have 1 <= raised < keep < 2^64",
    );
    return {
      ...BY_INDEX,
      size,
      columns: [bitColumn(size)],
      odds: ratio(keep * (RANGE - raised), raised * (RANGE - keep)),
      chances: [keep, raised],
      draw: (index, next) => {
        const bits = drawnBits(next, raised, 8 * Math.ceil(size / 8)).slice(0, size);
        bits[index] = below(next, keep);
        return { bits: packed(bits) };
      },
      law: () => ({ kind: "bit", same: ratio(keep, RANGE), other: ratio(raised, RANGE) }),
    };
  },

  hash(entries) {
    const size = entries.count("size");
    const widths = directEntries(entries, "buckets");
    const family = entries.count("family");
    entries.law(family === 1 || family === 2, "must have the family 1 or 2");
    const functions = (family === 1 ? bySeed : overField)(entries, size, widths.size);
    entries.law(size >= 2 && widths.size < 2 ** 16, "must have 2 <= buckets < 2^16");
    const total = directLaw(entries, widths);
    return {
      ...BY_INDEX,
      size,
      columns: [...functions.columns, integers("bucket", widths.size)],
      odds: larger(widths.own, widths.other),
      draw: (index, next) => {
        const { columns, bucket } = functions.draw(index, next);
        return { ...columns, bucket: [BigInt(direct(bucket, widths, next))] };
      },
      levels: {
        inside: 1n,
        outside: BigInt(widths.size - 1),
        likelier: ratio(widths.own, widths.other),
        uniform: (next) => {
          const { columns } = functions.draw(0, next);
          return { ...columns, bucket: [uniform(next, BigInt(widths.size))] };
        },
      },
      law: functions.collision && hashLaw(widths, total, functions.collision),
    };
  },

  subset(entries) {
    const [size, members] = [entries.count("size"), entries.count("members")];
    const include = entries.integer("include");
    const rule = "must have 1 <= members < size and 1 <= include < 2^64";
    entries.law(members >= 1 && members < size && include >= 1n && include < RANGE, rule);
    const [d, rest] = [BigInt(members), BigInt(size - members)];
    return {
      ...BY_INDEX,
      size,
      columns: [bitColumn(size)],
      odds: larger(include * rest, d * (RANGE - include)),
      draw: (index, next) => {
        const included = below(next, include);
        const bits = subset(next, size - 1, included ? members - 1 : members, 2 * members > size);
        // The last value stood in the place of the person's.
        bits.push(index < size - 1 && bits[index]);
        bits[index] = included;
        return { bits: packed(bits) };
      },
      levels: {
        inside: d,
        outside: rest,
        likelier: ratio(include * rest, d * (RANGE - include)),
        uniform: (next) => (
          { bits: packed(subset(next, size, members, 2 * members > size + 1)) }),
      },
      law: () => ({
        kind: "supports",
        same: ratio(include, RANGE),
        other: ratio(
          include * (d - 1n) + (RANGE - include) * d, RANGE * BigInt(size - 1),
        ),
      }),
    };
  },

  hadamard(entries) {
    const [size, order] = [entries.count("size"), entries.count("order")];
    const agree = entries.integer("agree");
    const rule = "must have an order that is a power of two above size, and 1 <= agree < 2^64";
    const wide = BigInt(order);
    entries.law(size >= 2 && order > size && (wide & (wide - 1n)) === 0n, rule);
    entries.law(agree >= 1n && agree < RANGE, rule);
    return {
      ...BY_INDEX,
      size,
      columns: [integers("report", order)],
      odds: larger(agree, RANGE - agree),
      draw: (index, next) => {
        const y = uniform(next, wide);
        const row = BigInt(index + 1);
        const keep = below(next, agree);
        return { report: [isEven(y & row) === keep ? y : y ^ (row & -row)] };
      },
      levels: {
        inside: 1n,
        outside: 1n,
        likelier: ratio(agree, RANGE - agree),
        uniform: (next) => ({ report: [uniform(next, wide)] }),
      },
      law: () => ({ kind: "supports", same: ratio(agree, RANGE), other: ratio(1n, 2n) }),
    };
  },

  table(entries) {
    const [size, words] = [entries.count("size"), entries.count("words")];
    const rows = entries.matrix("numerators");
    const listed = entries.get("sensitive") === undefined ? null : entries.integers("sensitive");
    entries.law(words >= 1 && words <= MOST_WORDS, SHAPE);
    const whole = 1n << BigInt(64 * words);
    entries.law(size >= 2 && rows.length === size, "must have a list for each value");
    const reports = rows[0].length;
    for (const row of rows) {
      const total = row.reduce((sum, value) => sum + value, 0n);
      entries.law(
        row.length === reports && total === whole, "the numerators of each value must sum to 1",
      );
    }
    entries.law(
      listed === null || (listed.length > 0 && listed.every((x) => x < BigInt(size))),
      "sensitive must list values",
    );
    const sensitive = listed === null ? null : new Set(listed.map(Number));
    const ends = rows.map((row) => cumulative(row, whole));
    return {
      ...BY_INDEX,
      size,
      columns: [integers("report", reports)],
      odds: tableOdds(entries, rows, sensitive),
      between: sensitive === null ? "any" : "sensitive",
      draw: (index, next) => ({ report: [BigInt(among(next, ends[index], words))] }),
      law: null,
    };
  },

  projective(entries) {
    const [size, blocks] = [entries.count("size"), entries.count("blocks")];
    const include = entries.integer("include");
    const space = spaceOf(entries);
    const each = Math.ceil(size / blocks);
    const points = BigInt(blocks) * space.points;
    const rule = "must have blocks with room for all values, and 1 <= include < 2^64";
    entries.law(size >= 2 && blocks >= 1 && BigInt(each) <= space.points, rule);
    entries.law((blocks - 1) * each < size && points <= 1n << 25n, rule);
    entries.law(include >= 1n && include < RANGE, rule);
    const { orthogonal: s } = space;
    return {
      ...BY_INDEX,
      size,
      columns: [integers("report", Number(points))],
      odds: larger(include * (points - s), s * (RANGE - include)),
      draw: (index, next) => {
        const own = BigInt(Math.floor(index / each));
        const included = below(next, include);
        // Drawn for every value, so that the words that are used do not tell the block.
        const place = uniform(next, points - s);
        const point = projectivePoint(space, BigInt(index % each), included, next);
        if (included || place < space.points - s) return { report: [own * space.points + point] };
        const beyond = place - (space.points - s);
        const block = beyond / space.points;
        const other = block >= own ? block + 1n : block;
        return { report: [other * space.points + (beyond % space.points)] };
      },
      levels: {
        inside: s,
        outside: points - s,
        likelier: ratio(include * (points - s), s * (RANGE - include)),
        uniform: (next) => ({ report: [uniform(next, points)] }),
      },
      // Values of other blocks share no report with the value, so one block alone has one chance.
      law: blocks > 1 ? null : () => ({
        kind: "supports",
        same: ratio(include, RANGE),
        // A report that another value prefers supports this one in c of its s points.
        other: ratio(
          include * space.common * (points - s) + (RANGE - include) * (s - space.common) * s,
          RANGE * s * (points - s),
        ),
      }),
    };
  },

  utility_direct(entries) {
    const [own, other] = [entries.integer("own"), entries.integer("other")];
    const { size, members, ranks } = sensitiveEntries(entries);
    const total = namedTotal(entries, members, own, other);
    return {
      ...BY_INDEX,
      size,
      columns: [integers("report", size)],
      odds: ratio(own, other),
      between: members.length === size ? "any" : "sensitive",
      draw: (index, next) => (
        { report: [BigInt(namedValue(index, next, members, ranks, own, other))] }),
      law: (index) => ({
        kind: "names",
        same: ratio(ranks.has(index) ? own : own - other, total),
        other: ratio(ranks.has(index) ? other : 0n, total),
      }),
    };
  },

  utility_subset(entries) {
    const [own, other] = [entries.integer("own"), entries.integer("other")];
    const wanted = entries.count("members");
    const { size, members, ranks } = sensitiveEntries(entries);
    namedTotal(entries, members, own, other);
    const last = members.length - 1;
    entries.law(
      wanted >= 1 && wanted <= Math.max(last, 1), "must have fewer members than sensitive values",
    );
    const d = BigInt(wanted);
    return {
      ...BY_INDEX,
      size,
      columns: [bitColumn(size)],
      odds: ratio(own + (d - 1n) * other, d * other),
      between: members.length === size ? "any" : "sensitive",
      draw: (index, next) => {
        const named = namedValue(index, next, members, ranks, own, other);
        // Drawn for every value, so that the words that are used do not tell the kind of a value.
        const inside = subset(next, last, wanted - 1, 2 * (wanted - 1) > members.length);
        const rank = ranks.get(named);
        const bits = new Array(size).fill(false);
        if (rank !== undefined) {
          // The last sensitive value stood in the place of the one that is named.
          inside.push(rank < last && inside[rank]);
          members.forEach((member, i) => { bits[member] = inside[i]; });
        }
        bits[named] = true;
        return { bits: packed(bits) };
      },
      law: null,
    };
  },

  utility_bits(entries) {
    const [keep, raised] = [entries.integer("keep"), entries.integer("raised")];
    const dropped = entries.integer("dropped");
    const { size, members, ranks } = sensitiveEntries(entries);
    const rule = "must have 1 <= raised < keep < 2^64 and 1 <= dropped <= 2^64";
    entries.law(raised >= 1n && raised < keep && keep < RANGE, rule);
    entries.law(dropped >= 1n && dropped <= RANGE, rule);
    let odds = members.length > 1
      ? ratio(keep * (RANGE - raised), raised * (RANGE - keep)) : ratio(1n, 1n);
    if (members.length < size) {
      for (const [a, b] of [[keep, raised], [RANGE - keep, RANGE - raised]]) {
        odds = largest(larger(a * RANGE, b * dropped), odds);
      }
    }
    return {
      ...BY_INDEX,
      size,
      columns: [bitColumn(size)],
      odds,
      between: members.length === size ? "any" : "sensitive",
      draw: (index, next) => {
        const noise = drawnBits(next, raised, 8 * Math.ceil(members.length / 8));
        const bits = new Array(size).fill(false);
        members.forEach((member, i) => { bits[member] = noise[i]; });
        bits[index] = below(next, ranks.has(index) ? keep : RANGE - dropped);
        return { bits: packed(bits) };
      },
      law: (index) => ({
        kind: "bit",
        same: ratio(ranks.has(index) ? keep : RANGE - dropped, RANGE),
        other: ratio(ranks.has(index) ? raised : 0n, RANGE),
      }),
    };
  },
};

/**
 * The values that are protected, and their ranks among them.
 *
 * @param {Entries} entries
 */
function sensitiveEntries(entries) {
  const size = entries.count("size");
  const members = entries.integers("sensitive").map(Number);
  const rule = "must list sensitive values in their order";
  const ordered = members.every((x, i) => x < size && (i === 0 || members[i - 1] < x));
  entries.law(size >= 2 && members.length >= 1 && ordered, rule);
  return { size, members, ranks: new Map(members.map((x, i) => [x, i])) };
}

/**
 * @typedef {object} Space the points of PG(t-1, q).
 * @property {bigint} q
 * @property {number} t
 * @property {bigint} points how many there are.
 * @property {bigint} orthogonal how many are orthogonal to a point.
 * @property {bigint} common how many are orthogonal to two points.
 *
 * @param {Entries} entries
 * @returns {Space}
 */
function spaceOf(entries) {
  const [q, t] = [entries.integer("prime"), entries.count("dimension")];
  entries.law(t >= 2 && t <= 26 && q < 1n << 26n && isPrime(q), "must have a prime, and t >= 2");
  return { q, t, points: points(q, t), orthogonal: points(q, t - 1), common: points(q, t - 2) };
}

/**
 * @param {bigint} q
 * @param {number} t
 */
function points(q, t) {
  return (q ** BigInt(t) - 1n) / (q - 1n);
}

/** @param {bigint} number */
function isPrime(number) {
  const n = Number(number);
  if (n < 2) return false;
  for (let d = 2; d * d <= n; d += 1) if (n % d === 0) return false;
  return true;
}

/**
 * A uniform point among those that are orthogonal to a point, or among those that are not.
 *
 * Points are vectors of t digits whose first non-zero digit is 1, in the order of their numbers in
 * base q. Vectors u and v are orthogonal where sum_k u_k v_(t-1-k) = 0 modulo q.
 *
 * @param {Space} space
 * @param {bigint} index of the point.
 * @param {boolean} orthogonal
 * @param {Words} next
 */
function projectivePoint({ q, t, orthogonal: s }, index, orthogonal, next) {
  const power = (/** @type {number} */ k) => q ** BigInt(k);
  const free = (/** @type {bigint} */ i) => {
    let r = 0;
    while (r + 1 < t && points(q, r + 1) <= i) r += 1;
    return r;
  };
  const numberOf = (/** @type {bigint} */ i) => i - points(q, free(i)) + power(free(i));
  const [v, place] = [numberOf(index), free(index)];
  const w = orthogonal ? numberOf(uniform(next, s)) : uniform(next, power(t - 1));
  let product = orthogonal ? 0n : 1n;
  let pending = !orthogonal;
  let [number, total] = [0n, 0n];
  for (let j = 0; j < t - 1; j += 1) {
    let digit = (w / power(t - 2 - j)) % q;
    const before = j < place;
    if (pending && before && digit > 0n) {
      product = digit;
      digit = 1n;
      pending = false;
    }
    if (before) total += digit * ((v / power(j)) % q);
    number += digit * power(before ? t - 1 - j : t - 2 - j);
  }
  number += ((((product - total) % q) + q) % q) * power(t - 1 - place);
  let r = 0;
  while (r + 1 < t && power(r + 1) <= number) r += 1;
  return number - power(r) + points(q, r);
}

/** @param {bigint} bits whether an even number of them is 1. */
function isEven(bits) {
  let even = true;
  for (let left = bits; left > 0n; left &= left - 1n) even = !even;
  return even;
}

/**
 * The sum of the cells of `namedValue`, where they are a law.
 *
 * @param {Entries} entries
 * @param {readonly number[]} members
 * @param {bigint} own
 * @param {bigint} other
 */
function namedTotal(entries, members, own, other) {
  const total = own + BigInt(members.length - 1) * other;
  entries.law(other >= 1n && own > other && total <= RANGE, "must have 1 <= other < own");
  return total;
}

/**
 * The value that a person names: a sensitive one, or the person's own.
 *
 * @param {number} index
 * @param {Words} next
 * @param {readonly number[]} members the sensitive values.
 * @param {ReadonlyMap<number, number>} ranks
 * @param {bigint} own
 * @param {bigint} other
 */
function namedValue(index, next, members, ranks, own, other) {
  const drawn = Number(cell(next, other, BigInt(members.length), own - other));
  const rank = ranks.get(index);
  const named = rank !== undefined && drawn >= rank ? drawn + 1 : drawn;
  return named < members.length ? members[named] : index;
}

/**
 * A report supports the values of its bucket. The value of another person shares the bucket with
 * the chance of a collision.
 *
 * @param {Direct} widths
 * @param {bigint} total
 * @param {[bigint, bigint]} collision
 * @returns {() => Law}
 */
function hashLaw({ own, other }, total, [together, pairs]) {
  const supports = together * own + (pairs - together) * other;
  return () => ({
    kind: "supports", same: ratio(own, total), other: ratio(supports, pairs * total),
  });
}

/**
 * Functions over a prime field: ((a x^3 + b) mod p) mod g.
 *
 * @param {Entries} entries
 * @param {number} size
 * @param {number} buckets
 * @returns {Functions}
 */
function overField(entries, size, buckets) {
  const prime = entries.count("prime");
  entries.law(prime >= size && prime >= 2 && prime < 2 ** 27, "must have size <= prime < 2^27");
  const [p, g] = [BigInt(prime), BigInt(buckets)];
  // The residues of a bucket are `full` or one more; `rest` buckets have one more.
  const [full, rest] = [p / (g || 1n), p % (g || 1n)];
  const together = rest * (full + 1n) * full + (g - rest) * full * (full - 1n);
  return {
    columns: [integers("multiplier", prime - 1), integers("shift", prime)],
    collision: [together, p * (p - 1n)],
    draw: (index, next) => {
      const [multiplier, shift] = [uniform(next, p - 1n), uniform(next, p)];
      const x = BigInt(index);
      const bucket = (((multiplier + 1n) * ((x * x * x) % p) + shift) % p) % g;
      return { columns: { multiplier: [multiplier], shift: [shift] }, bucket: Number(bucket) };
    },
  };
}

/**
 * Functions by seed, in 32-bit arithmetic.
 *
 * @param {Entries} entries
 * @param {number} _
 * @param {number} buckets
 * @returns {Functions}
 */
function bySeed(entries, _, buckets) {
  const seeds = entries.count("seeds");
  entries.law(seeds >= 1 && seeds < 2 ** 32, "must have 1 <= seeds < 2^32");
  return {
    columns: [integers("seed", seeds)],
    collision: null,
    draw: (index, next) => {
      const seed = uniform(next, BigInt(seeds));
      const key = mix(Math.imul(Number(seed), 0x9e3779b1) + 0x7f4a7c15);
      const hashed = mix(key ^ Math.imul(index, 0x85ebca77)) >>> 16;
      return { columns: { seed: [seed] }, bucket: (hashed * buckets) >>> 16 };
    },
  };
}

/** @param {number} word the lowbias32 finaliser. */
function mix(word) {
  let h = word >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x7feb352d) >>> 0;
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b) >>> 0;
  return (h ^ (h >>> 16)) >>> 0;
}
