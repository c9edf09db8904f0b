// Programs: their integers are read and checked once, then reports are drawn.

import { record, recordLength, WIDTHS } from "./bytes.js";
import { COMBINED } from "./combined.js";
import { Entries, exceeds, isObject, ratioOf } from "./entries.js";
import { LABELS } from "./labels.js";
import { NUMBERS } from "./numbers.js";
import { systemWords } from "./random.js";
import { insist } from "./refusals.js";

/**
 * @import { Block, Drawn, Encoded, Json, Prepare, Program, Sampler, Words } from "./types.js"
 */

/** @type {Readonly<Record<string, (entries: Entries, prepare: Prepare) => Sampler>>} */
const SAMPLERS = { ...LABELS, ...NUMBERS, ...COMBINED };

// What programs were prepared: the integers of a study, never anything of a person.
/** @type {WeakMap<object, Sampler>} */
const PREPARED = new WeakMap();

/**
 * The sampler of a program, read and checked.
 *
 * @param {unknown} program
 * @param {string} [place] the name of the question, for refusals.
 * @returns {Sampler}
 */
export function prepare(program, place = "program") {
  insist(isObject(program), "malformed", place, "must be a program");
  const known = PREPARED.get(program);
  if (known !== undefined) return known;
  insist(program.format === 1, "unknown_format", place, "must have the format 1");
  const name = program.sampler;
  const isKnown = typeof name === "string" && Object.hasOwn(SAMPLERS, name);
  insist(isKnown, "unknown_sampler", place, "must name a sampler that this module knows");
  const entries = new Entries(program, place);
  const sampler = SAMPLERS[name](entries, prepare);
  insist(program.answer === sampler.answer, "malformed", place, "must have its kind of answers");
  const strange = Object.keys(program).some((key) => !entries.known.has(key));
  insist(!strange, "malformed", place, "must have the entries of its sampler");
  checkColumns(entries, sampler);
  checkOdds(entries, sampler);
  PREPARED.set(program, sampler);
  return sampler;
}

/**
 * @param {Entries} entries
 * @param {Sampler} sampler
 */
function checkColumns({ data, place }, sampler) {
  const rule = "must have the columns of its sampler";
  const { columns } = data;
  const same = Array.isArray(columns) && columns.length === sampler.columns.length;
  insist(same, "columns_differ", place, rule);
  sampler.columns.forEach((column, i) => {
    const given = columns[i];
    const equal = isObject(given) && given.name === column.name && given.dtype === column.dtype
      && given.length === column.length;
    insist(equal, "columns_differ", place, rule);
  });
}

/**
 * @param {Entries} entries
 * @param {Sampler} sampler
 */
function checkOdds({ data, place }, sampler) {
  const { odds, between, power } = sampler;
  const rule = "must be the odds of its integers";
  if (odds === null) {
    insist(data.odds === null, "odds_differ", place, rule);
    if (sampler.checkDelta) sampler.delta = sampler.checkDelta(data, place);
    return;
  }
  const stated = ratioOf(data.odds, `${place}.odds`);
  const given = /** @type {Json} */ (data.odds);
  const same = stated.numerator * odds.denominator === odds.numerator * stated.denominator;
  insist(same && given.between === between, "odds_differ", place, rule);
  insist(new Entries(given, place).integer("power") === power, "odds_differ", place, rule);
  const most = ratioOf(data.odds_at_most, `${place}.odds_at_most`);
  insist(!exceeds(odds, most), "odds_exceed", place, "must have odds of at most odds_at_most");
}

/**
 * The record of one report of an encoded answer: what leaves the device for one question.
 *
 * @param {unknown} program
 * @param {Encoded} encoded
 * @param {Words} [next]
 * @returns {Uint8Array}
 */
export function sample(program, encoded, next = systemWords()) {
  const sampler = prepare(program);
  const rule = "must be an answer that the program takes";
  insist(takes(sampler, encoded), "bad_answer", "bad_answer", rule);
  return record(/** @type {Program} */ (program), sampler.draw(encoded, next));
}

/**
 * The record of one round, from the record of a permanent report, which a device draws by
 * `sample(program.memo, encoded)` once for each value, and keeps.
 *
 * @param {unknown} program a program `permanent`.
 * @param {Uint8Array} memo
 * @param {Words} [next]
 * @returns {Uint8Array}
 */
export function degrade(program, memo, next = systemWords()) {
  return record(/** @type {Program} */ (program), degraded(program, memo, next));
}

/**
 * The numbers of one round, as `degrade` makes its record.
 *
 * @param {unknown} program
 * @param {Uint8Array} memo
 * @param {Words} next
 * @returns {Drawn}
 */
export function degraded(program, memo, next) {
  const sampler = prepare(program);
  const { columns } = /** @type {Program} */ (program);
  const right = sampler.degrade !== undefined
    && memo.length === recordLength(/** @type {Program} */ (program));
  insist(right, "bad_answer", "memo", "must be the record of a permanent report");
  /** @type {Drawn} */
  const kept = {};
  let at = 0;
  for (const { name, dtype, length } of columns) {
    kept[name] = Array.from({ length }, (_, i) => {
      const bytes = memo.slice(at + i * WIDTHS[dtype], at + (i + 1) * WIDTHS[dtype]);
      return bytes.reduceRight((number, byte) => number << 8n | BigInt(byte), 0n);
    });
    at += length * WIDTHS[dtype];
  }
  const possible = sampler.columns.every(({ name, limit }) => (
    limit === undefined || kept[name].every((number) => number < BigInt(limit))));
  insist(possible, "bad_answer", "memo", "must be a report that the permanent report can be");
  const { degrade: once } = /** @type {Required<Sampler>} */ (sampler);
  return once(kept, next);
}

/**
 * @param {Sampler} sampler
 * @param {unknown} encoded
 * @returns {boolean}
 */
function takes(sampler, encoded) {
  if (sampler.blocks !== undefined) {
    return Array.isArray(encoded) && encoded.length === sampler.blocks.length
      && sampler.blocks.every((block, i) => takes(block.sampler, encoded[i]));
  }
  if (sampler.parts !== undefined) {
    return Array.isArray(encoded) && encoded.length === sampler.parts.length
      && sampler.parts.every((part, i) => takes(part.sampler, encoded[i]));
  }
  if (encoded === null) return sampler.silence ?? false;
  if (sampler.answer === "position") {
    return typeof encoded === "number" && encoded >= 0 && encoded <= 1;
  }
  return Number.isSafeInteger(encoded) && Number(encoded) >= 0 && Number(encoded) < sampler.size;
}

/**
 * The blocks of a program `one_of`: the questions that one person answers together.
 *
 * @param {unknown} program
 * @returns {readonly Block[]}
 */
export function blocks(program) {
  const { blocks: found } = prepare(program);
  insist(found !== undefined, "malformed", "program", "must be of blocks of questions");
  return found;
}
