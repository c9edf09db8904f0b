// Samplers that are made of others: several questions, one block of them, no answer, and permanent
// reports. docs/device_programs.md defines them, with the checks in the order in which they stand.

import { WIDTHS } from "./bytes.js";
import {
  BY_INDEX, Entries, integers, isObject, larger, largest, packed, ratio,
} from "./entries.js";
import { among, below, drawnBits, RANGE } from "./random.js";
import { insist, Refusal } from "./refusals.js";

/**
 * @import {
 *   Block, Column, Drawn, Levels, Part, Prepare, Sampler, Words,
 * } from "./types.js"
 */

/** @type {Readonly<Record<string, (entries: Entries, prepare: Prepare) => Sampler>>} */
export const COMBINED = {
  repeated(entries, prepare) {
    const parts = partsOf(entries, "times", prepare);
    entries.law(parts.every(({ sampler }) => sampler.parts === undefined), "must repeat reports");
    const runs = parts.flatMap((part) => Array.from({ length: part.times }, () => part));
    const bounded = parts.every(({ sampler }) => sampler.odds !== null);
    const weakest = ["neighbours", "sensitive"].find((between) => (
      parts.some(({ sampler }) => sampler.between === between))) ?? "any";
    const [{ sampler: first, times }] = parts;
    const one = parts.length === 1;
    return {
      ...combined(runs.map((part, i) => ({ ...part, name: String(i + 1) }))),
      parts,
      odds: !bounded ? null : one ? first.odds : product(parts),
      between: weakest,
      power: one ? first.power * BigInt(times) : 1n,
      draw: (encoded, next) => {
        let run = 0;
        return Object.fromEntries(parts.flatMap(({ sampler, times: often }, i) => (
          Array.from({ length: often }, () => {
            run += 1;
            return prefixed(String(run), sampler.draw(encoded[i], next));
          }).flat())));
      },
    };
  },

  each(entries, prepare) {
    const parts = partsOf(entries, "name", prepare);
    const isEach = parts.some(({ program }) => program.sampler === "each");
    entries.law(!isEach, "must have parts of one question");
    return {
      ...combined(parts),
      parts,
      odds: null,
      draw: (encoded, next) => Object.fromEntries(parts.flatMap(({ name, sampler }, i) => (
        prefixed(name, sampler.draw(encoded[i], next))))),
    };
  },

  one_of(entries, prepare) {
    const blocks = blocksOf(entries, prepare);
    const slots = slotsOf(blocks);
    return {
      answer: "parts",
      size: 0,
      between: "any",
      power: 1n,
      columns: slots,
      blocks,
      odds: null,
      draw: (encoded, next) => {
        const block = blockFrom(blocks, next);
        return inSlots(slots, blocks, block, blocks[block].sampler.draw(encoded[block], next));
      },
      law: null,
    };
  },

  silence(entries, prepare) {
    const [dropped, silent] = [entries.integer("dropped"), entries.integer("silent")];
    const inner = prepare(entries.get("inner"), `${entries.place}.inner`);
    const { dummy, dummyOdds, odds } = inner;
    const without = "must have an inner program of numbers, with dummies";
    const usable = dummy && dummyOdds && odds && inner.between === "any";
    if (!usable) throw new Refusal("not_a_law", entries.place, without);
    const rule = "must have 1 <= dropped < 2^64 and 1 <= silent < 2^64";
    entries.law(dropped >= 1n && dropped < RANGE && silent >= 1n && silent < RANGE, rule);
    const [above, under] = dummyOdds();
    const others = ratio(RANGE - dropped, RANGE - silent);
    const ratios = [
      larger(dropped, silent),
      ratio(others.numerator * above.numerator, others.denominator * above.denominator),
      ratio(others.denominator * under.numerator, others.numerator * under.denominator),
    ];
    const raised = ratio(odds.numerator ** inner.power, odds.denominator ** inner.power);
    const last = inner.reports ?? 0;
    return {
      answer: inner.answer,
      size: inner.size,
      silence: true,
      between: "any",
      power: 1n,
      columns: [integers("report", last + 1)],
      odds: ratios.reduce(largest, raised),
      draw: (encoded, next) => {
        // Everybody draws a report, a dummy and "no answer", so that time does not tell silence.
        const report = inner.draw(encoded ?? 0, next);
        const instead = dummy(next);
        const none = below(next, encoded === null ? silent : dropped);
        if (none) return { report: [BigInt(last)] };
        return encoded === null ? instead : report;
      },
      law: null,
    };
  },

  permanent(entries, prepare) {
    const size = entries.count("size");
    const keep = entries.integer("keep");
    const memo = prepare(entries.get("memo"), `${entries.place}.memo`);
    const { chances, levels } = memo;
    const rule = "must have a memo whose reports can be degraded, of as many values";
    entries.law((chances !== undefined || levels !== undefined) && memo.size === size, rule);
    const coin = entries.get("coin") === undefined ? undefined : entries.integer("coin");
    const matches = (coin !== undefined) === (chances !== undefined);
    entries.law(matches, "must have a coin for bits alone");
    const inside = keep >= 1n && keep < RANGE && (coin ?? 1n) >= 1n && (coin ?? 1n) < RANGE;
    entries.law(inside, "must have 1 <= keep < 2^64 and 1 <= coin < 2^64");
    const odds = chances !== undefined
      ? oddsOfBits(keep, coin ?? 0n, chances) : oddsOfLevels(entries, keep, levels);
    /** @type {(z: Drawn, next: Words) => Drawn} */
    const degrade = (z, next) => {
      if (levels === undefined) {
        const count = 8 * z.bits.length;
        const [stays, coins] = [keep, coin ?? 0n].map((t) => drawnBits(next, t, count));
        const of = (/** @type {number} */ j) => (z.bits[j >> 3] >> BigInt(7 - (j & 7)) & 1n) === 1n;
        return { bits: packed(stays.map((s, j) => j < size && (s ? of(j) : coins[j]))) };
      }
      const stays = below(next, keep);
      // Drawn in any case, so that the words that are used do not tell whether it stays.
      const fresh = levels.uniform(next);
      return stays ? z : fresh;
    };
    return {
      ...BY_INDEX,
      size,
      columns: memo.columns,
      odds,
      memo,
      degrade,
      draw: (index, next) => degrade(memo.draw(index, next), next),
      law: null,
    };
  },
};

/**
 * The odds of one round of bits that are kept one by one.
 *
 * @param {bigint} keep
 * @param {bigint} coin
 * @param {readonly [bigint, bigint]} chances of the permanent bits, of which each is 1.
 */
function oddsOfBits(keep, coin, [own, other]) {
  const whole = RANGE * RANGE;
  const [high, low] = [own, other].map((bit) => keep * bit + (RANGE - keep) * coin);
  return ratio(high * (whole - low), low * (whole - high));
}

/**
 * The odds of one round of reports that are kept as a whole.
 *
 * @param {Entries} entries
 * @param {bigint} keep
 * @param {Levels | undefined} levels
 */
function oddsOfLevels(entries, keep, levels) {
  const { inside, outside, likelier } = /** @type {Levels} */ (levels);
  const { numerator: high, denominator: low } = likelier;
  entries.law(high > low, "must have a memo whose reports speak for their values");
  const [all, total] = [inside + outside, inside * high + outside * low];
  const uniform = (RANGE - keep) * total;
  return ratio(keep * high * all + uniform, keep * low * all + uniform);
}

/**
 * The programs of several reports of one person.
 *
 * @param {Entries} entries
 * @param {"times" | "name"} key
 * @param {Prepare} prepare
 * @returns {Part[]}
 */
function partsOf(entries, key, prepare) {
  const parts = entries.list("parts").map((part, i) => {
    const place = `${entries.place}.parts.${i}`;
    insist(isObject(part), "malformed", place, "must be an object");
    const { program } = part;
    insist(isObject(program), "malformed", place, "must have a program");
    const inner = new Entries(part, place);
    const name = key === "name" ? part.name : "";
    insist(typeof name === "string", "malformed", place, "must have a name");
    const times = key === "times" ? inner.count("times") : 1;
    return { name, times, program, sampler: prepare(program, place) };
  });
  const runs = parts.reduce((sum, { times }) => sum + times, 0);
  const rule = "must have a part at least, and at most 10,000 reports";
  entries.law(parts.every(({ times }) => times >= 1) && runs >= 1 && runs <= 10_000, rule);
  return parts;
}

/**
 * @param {readonly { name: string, sampler: Sampler }[]} parts
 * @returns {{
 *   answer: "parts", size: number, between: string, power: bigint, columns: Column[], law: null,
 * }}
 */
function combined(parts) {
  const columns = parts.flatMap(({ name, sampler }) => (
    sampler.columns.map((column) => ({ ...column, name: `${name}.${column.name}` }))));
  return { answer: "parts", size: 0, between: "any", power: 1n, columns, law: null };
}

const MOST_BLOCKS = 10_000;

/**
 * The blocks of questions of which a person answers one.
 *
 * @param {Entries} entries
 * @param {Prepare} prepare
 * @returns {Block[]}
 */
function blocksOf(entries, prepare) {
  const { place } = entries;
  const widths = entries.integers("draw");
  const programs = entries.list("programs").map((program, i) => {
    insist(isObject(program), "malformed", `${place}.programs.${i}`, "must be an object");
    return { program, sampler: prepare(program, `${place}.programs.${i}`) };
  });
  const listed = entries.list("blocks").map((block, i) => {
    const at = `${place}.blocks.${i}`;
    insist(isObject(block), "malformed", at, "must be an object");
    const { attributes } = block;
    const named = Array.isArray(attributes) && attributes.every((one) => typeof one === "string");
    insist(named, "malformed", at, "must name its questions");
    const number = new Entries(block, at).count("program");
    insist(number < programs.length, "malformed", at, "must have one of the programs");
    return { attributes, ...programs[number] };
  });
  const rule = "must have 2 to 10,000 different blocks, with odds that add up to 2^64";
  const sum = widths.reduce((total, width) => total + width, 0n);
  entries.law(widths.length === listed.length && sum === RANGE, rule);
  entries.law(widths.length >= 2 && widths.length <= MOST_BLOCKS, rule);
  entries.law(widths.every((width) => width >= 1n), rule);
  const sets = listed.map(({ attributes }) => JSON.stringify([...attributes].sort()));
  entries.law(new Set(sets).size === sets.length, rule);
  for (const { attributes, program, sampler } of listed) {
    const differ = attributes.length >= 1 && new Set(attributes).size === attributes.length;
    const each = program.sampler !== "each" || (sampler.parts?.length === attributes.length
      && sampler.parts.every(({ name }, i) => name === attributes[i]));
    const plain = program.sampler !== "one_of" && program.sampler !== "repeated";
    entries.law(differ && each && plain, "must have blocks of different questions");
  }
  return listed.map((block, i) => ({ ...block, width: widths[i] }));
}

/**
 * The columns of reports about one of several blocks: its number, and the numbers of its report.
 *
 * @param {readonly Block[]} blocks
 * @returns {Column[]}
 */
function slotsOf(blocks) {
  /** @type {Column["dtype"][]} */
  const widest = [];
  for (const { sampler } of blocks) {
    const dtypes = sampler.columns.flatMap(({ dtype, length }) => (
      Array.from({ length }, () => dtype)));
    dtypes.forEach((dtype, i) => {
      if (i >= widest.length || WIDTHS[dtype] > WIDTHS[widest[i]]) widest[i] = dtype;
    });
  }
  const one = widest.length === 1;
  return [integers("block", blocks.length), ...widest.map((dtype, i) => (
    { name: one ? "report" : `report_${i + 1}`, dtype, length: 1 }))];
}

/**
 * The number of a block, by one word.
 *
 * @param {readonly Block[]} blocks
 * @param {Words} next
 */
export function blockFrom(blocks, next) {
  let end = 0n;
  return among(next, blocks.slice(0, -1).map(({ width }) => (end += width)), 1);
}

/**
 * A report about a block in the columns of all blocks; those that it does not need are 0.
 *
 * @param {readonly Column[]} slots
 * @param {readonly Block[]} blocks
 * @param {number} block
 * @param {Drawn} drawn
 * @returns {Drawn}
 */
export function inSlots(slots, blocks, block, drawn) {
  const { sampler } = blocks[block];
  const flat = [BigInt(block), ...sampler.columns.flatMap(({ name }) => drawn[name])];
  return Object.fromEntries(slots.map(({ name }, i) => [name, [flat[i] ?? 0n]]));
}

/**
 * The product of the odds of all runs.
 *
 * @param {readonly Part[]} parts
 */
function product(parts) {
  let [numerator, denominator] = [1n, 1n];
  for (const { sampler, times } of parts) {
    const exponent = sampler.power * BigInt(times);
    numerator *= (sampler.odds?.numerator ?? 1n) ** exponent;
    denominator *= (sampler.odds?.denominator ?? 1n) ** exponent;
  }
  return ratio(numerator, denominator);
}

/**
 * The columns of a part under the names that they have among all.
 *
 * @param {string} prefix
 * @param {Drawn} drawn
 * @returns {[string, bigint[]][]}
 */
function prefixed(prefix, drawn) {
  return Object.entries(drawn).map(([name, numbers]) => [`${prefix}.${name}`, numbers]);
}
