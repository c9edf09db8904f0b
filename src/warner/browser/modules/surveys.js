// Survey documents, which are refused where a program tells more than the survey states.

import { hexadecimal, sha256 } from "./bytes.js";
import { LAST_DATE, size, valuesOf } from "./domains.js";
import { isObject, logarithm, MOST_DELTA, ratio, ratioOf } from "./entries.js";
import { blocks, prepare } from "./programs.js";
import { RANGE } from "./random.js";
import { insist, Refusal } from "./refusals.js";

/**
 * @import { Asked, Block, Domain, Json, Question, Sampler, Survey } from "./types.js"
 */

const NO_SURVEY =
  "must be what a collector serves as study.json, and the address gave something else";

/** The format of survey documents that this module reads. */
export const FORMAT = 1;

/**
 * The largest odds of any two answers, also the most distant ones, that this module accepts where a
 * survey does not say that its protection is weak: a little above exp(10). A report may be at most
 * this many times as likely under one answer as under another.
 */
export const MOST_ODDS = 22027;

/** By how much a sum of rounded numbers may exceed a limit. */
export const SLACK = 1 + 1e-9;

/**
 * Read and check a survey document.
 *
 * @param {Uint8Array | ArrayBuffer} served the bytes as they were served.
 * @param {string | null} [expected] the SHA-256 that they must have, 64 hexadecimal digits.
 * @returns {Promise<Survey>}
 * @throws {Refusal}
 */
export async function readSurvey(served, expected = null) {
  const are = ArrayBuffer.isView(served) || String(served) === "[object ArrayBuffer]";
  const remedy = "must be the bytes that were served: pass await response.arrayBuffer()";
  insist(are, "malformed", "survey", remedy);
  const bytes = new Uint8Array(served);
  if (expected !== null) {
    const digest = String(expected).replace(/\s/g, "").toLowerCase(); // the page shows groups of 4
    const whole = /^[0-9a-f]{64}$/.test(digest);
    const rule = "must be the 64 hexadecimal digits that the survey page shows";
    insist(whole, "altered", "digest", rule);
    insist(await surveyDigest(bytes) === digest, "altered", "survey", "must have its digest");
  }
  let data;
  try {
    data = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal("malformed", "survey", NO_SURVEY);
  }
  return checkSurvey(data);
}

/**
 * The SHA-256 of a served survey, in hexadecimal digits, as the survey page shows it.
 *
 * @param {Uint8Array | ArrayBuffer} served
 */
export async function surveyDigest(served) {
  return hexadecimal(await sha256(new Uint8Array(served)));
}

/**
 * Check a survey document that was parsed.
 *
 * @param {unknown} data
 * @returns {Survey}
 * @throws {Refusal}
 */
export function checkSurvey(data) {
  insist(isObject(data), "malformed", "survey", "must be an object");
  insist(data.format !== undefined, "malformed", "survey", NO_SURVEY);
  insist(data.format === FORMAT, "malformed", "survey.format", `must be ${FORMAT}`);
  const digest = typeof data.study === "string" && /^[0-9a-f]{64}$/.test(data.study);
  insist(digest, "malformed", "survey.study", "must be a digest of 64 digits");
  const layout = typeof data.layout === "string" && /^[0-9a-f]{64}$/.test(data.layout);
  insist(layout, "malformed", "survey.layout", "must be a digest of 64 digits");
  const { languages, access, contact } = data;
  const tagged = Array.isArray(languages) && languages.length > 0
    && languages.every((tag) => typeof tag === "string")
    && new Set(languages).size === languages.length;
  insist(tagged, "malformed", "survey.languages", "must be different texts");
  checkText(data.title, languages, "survey.title");
  checkText(data.introduction, languages, "survey.introduction");
  checkNumber(data.epsilon, "survey.epsilon");
  const known = access === "open" || access === "invited" || access === "tokens";
  insist(known, "malformed", "survey.access", "must be open, invited or tokens");
  insist(typeof contact === "string", "malformed", "survey.contact", "must be a text");
  const weak = data.weak_protection === undefined || data.weak_protection === true;
  insist(weak, "malformed", "survey.weak_protection", "must be true, or left out");
  for (const key of ["opens", "closes"]) {
    const moment = data[key];
    const is = moment === null
      || (typeof moment === "string" && Number.isFinite(Date.parse(moment)));
    insist(is, "malformed", `survey.${key}`, "must be a moment or null");
  }
  const { questions, public: columns } = data;
  const some = Array.isArray(questions) && questions.length > 0 && Array.isArray(columns);
  insist(some, "malformed", "survey.questions", "must be lists, with a question at least");
  const names = new Set();
  for (const asked of [...questions, ...columns]) {
    checkAsked(asked, languages);
    insist(!names.has(asked.name), "malformed", `survey.${asked.name}`, "must be asked once");
    names.add(asked.name);
  }
  questions.forEach((question) => checkQuestion(question, data.program !== undefined));
  if (data.program !== undefined) checkBlocks(data.program, questions);
  checkRepeat(data.repeat, questions, data.program);
  checkTokens(data);
  for (const { name, domain } of columns) {
    const place = `survey.public.${name}.domain`;
    const kinds = ["categorical", "integers", "dates"];
    insist(kinds.includes(domain.kind), "malformed", place, "must be of a public column");
  }
  checkEpsilon(/** @type {Survey} */ (/** @type {unknown} */ (data)));
  return /** @type {Survey} */ (/** @type {unknown} */ (frozen(data)));
}

/**
 * @param {unknown} text
 * @param {readonly string[]} languages
 * @param {string} place
 */
function checkText(text, languages, place) {
  const is = isObject(text) && languages.every((tag) => typeof text[tag] === "string");
  insist(is, "malformed", place, "must have a text in each language");
}

/**
 * @param {unknown} value
 * @param {string} place
 */
function checkNumber(value, place) {
  const is = typeof value === "number" && Number.isFinite(value) && value > 0;
  insist(is, "malformed", place, "must be a number above 0");
}

/**
 * @param {unknown} asked
 * @param {readonly string[]} languages
 * @returns {asserts asked is Asked}
 */
function checkAsked(asked, languages) {
  insist(isObject(asked), "malformed", "survey.questions", "must be objects");
  const named = typeof asked.name === "string" && asked.name !== "";
  insist(named, "malformed", "survey.questions", "must have names");
  const place = `survey.${asked.name}`;
  checkText(asked.label, languages, `${place}.label`);
  checkText(asked.help, languages, `${place}.help`);
  insist(typeof asked.unit === "string", "malformed", `${place}.unit`, "must be a text");
  insist(isObject(asked.domain), "malformed", `${place}.domain`, "must be an object");
  const values = checkDomain(asked.domain, `${place}.domain`);
  const wanted = asked.domain.kind === "categorical" ? values : 0;
  const { answers } = asked;
  const shown = isObject(answers) && languages.every((tag) => {
    const texts = answers[tag];
    return Array.isArray(texts) && texts.every((text) => typeof text === "string")
      && texts.length === wanted;
  });
  insist(shown, "malformed", `${place}.answers`, "must have a text for each label");
}

/**
 * @param {Json} domain
 * @param {string} place
 * @returns {number} how many values it has.
 */
function checkDomain(domain, place) {
  const numeric = (/** @type {string[]} */ ...keys) => keys.every((key) => (
    typeof domain[key] === "number" && Number.isFinite(domain[key])));
  const whole = (/** @type {string[]} */ ...keys) => keys.every((key) => (
    Number.isSafeInteger(domain[key])));
  const { kind } = domain;
  const rule = "must be a domain that this module knows";
  if (kind === "categorical") {
    const { values } = domain;
    const labels = Array.isArray(values) && values.every((value) => (
      typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value)));
    insist(labels && new Set(values).size === values.length, "malformed", place, rule);
  } else if (kind === "integers") {
    insist(whole("low", "high"), "malformed", place, rule);
  } else if (kind === "interval") {
    const clips = domain.clip === undefined || typeof domain.clip === "boolean";
    insist(numeric("low", "high") && whole("bins") && clips, "malformed", place, rule);
    insist(Number(domain.low) < Number(domain.high), "malformed", place, rule);
  } else if (kind === "grid") {
    const { without = [] } = domain;
    const cells = Array.isArray(without) && without.every((pair) => (
      Array.isArray(pair) && pair.length === 2 && pair.every((part) => Number.isInteger(part))));
    insist(whole("rows", "columns") && numeric("side") && cells, "malformed", place, rule);
  } else {
    const unit = typeof domain.unit === "string" && Object.hasOwn(LAST_DATE, domain.unit);
    insist(kind === "dates" && unit, "malformed", place, rule);
  }
  const found = size(/** @type {Domain} */ (/** @type {unknown} */ (domain)));
  insist(found >= 2 && found <= 2 ** 26, "malformed", place, "must have 2 to 2^26 values");
  return found;
}

/**
 * @param {Question} question
 * @param {boolean} drawn whether the survey has one program for all questions.
 */
function checkQuestion(question, drawn) {
  const { name, domain, silence, program, delta } = question;
  const place = `survey.${name}`;
  insist(typeof silence === "boolean", "malformed", `${place}.silence`, "must be true or false");
  checkNumber(question.epsilon, `${place}.epsilon`);
  if (delta !== null) checkNumber(delta, `${place}.delta`);
  const asks = domain.kind !== "dates";
  insist(asks, "malformed", `${place}.domain`, "must be a domain of questions");
  if (drawn) {
    insist(program === undefined, "malformed", place, "must have no program beside that of all");
    return;
  }
  const one = program?.sampler !== "each" && program?.sampler !== "one_of";
  insist(one, "malformed", place, "must have a program of one question");
  const sampler = prepare(program, place);
  checkFits(sampler, question, place);
  checkDeltaOf(sampler, delta, place);
}

// 2,048 bits in letters and digits, the first of them 1, of an odd number.
const KEY = /^[g-z0-9_-][A-Za-z0-9_-]{340}[Qw]$/;

/**
 * A survey says where codes are exchanged for tokens, with a key for each block of questions.
 *
 * @param {Json} data
 */
function checkTokens({ access, tokens, program }) {
  const place = "survey.tokens";
  const goes = (access === "tokens") === (tokens !== undefined);
  insist(goes, "malformed", place, "must go with access");
  if (tokens === undefined) return;
  insist(isObject(tokens), "malformed", place, "must be an object");
  const { issuer, keys, wait } = tokens;
  const known = typeof issuer === "string" && /^https?:\/\/[^/]+$/.test(issuer)
    && Number.isSafeInteger(wait) && Number(wait) >= 0;
  insist(known, "malformed", place, "must have an address and seconds to wait");
  const count = program === undefined ? 1 : prepare(program, "survey.program").blocks?.length;
  const whole = Array.isArray(keys) && keys.length === count
    && keys.every((key) => typeof key === "string" && KEY.test(key));
  insist(whole, "malformed", `${place}.keys`, "must be a key for each block of questions");
}

/**
 * A survey has permanent reports and says its rounds, or it has neither.
 *
 * @param {unknown} repeat
 * @param {readonly Question[]} questions
 * @param {unknown} drawn the program of all questions, of which a device draws one for all rounds.
 */
function checkRepeat(repeat, questions, drawn) {
  const programs = drawn === undefined
    ? questions.map(({ program }) => /** @type {Json} */ (program))
    : blocks(drawn).map(({ program }) => program);
  const place = "survey.repeat";
  const all = repeat !== undefined;
  const same = programs.every((program) => (prepare(program).memo !== undefined) === all);
  insist(same, "malformed", place, "must go with permanent reports of all questions");
  if (!all) return;
  const alone = drawn === undefined
    || blocks(drawn).every(({ attributes }) => attributes.length === 1);
  insist(alone, "malformed", place, "must go with blocks of one question");
  insist(isObject(repeat), "malformed", place, "must be an object");
  const { round, rounds, values, epsilon, draw } = repeat;
  const named = drawn === undefined
    ? draw === undefined : typeof draw === "string" && /^[0-9a-f]{64}$/.test(draw);
  insist(named, "malformed", `${place}.draw`, "must be a digest where questions are drawn");
  const whole = [round, rounds, values].every((n) => Number.isSafeInteger(n) && Number(n) >= 1);
  insist(whole && Number(round) <= Number(rounds), "malformed", place, "must be of one round");
  checkNumber(epsilon, `${place}.epsilon`);
  const spent = programs.map((program) => natsOfRounds(program, Number(values)));
  const total = drawn === undefined
    ? spent.reduce((sum, one) => sum + one, 0) : Math.max(...spent);
  const rule = "must be the epsilon of all permanent reports";
  insist(total <= Number(epsilon) * SLACK, "odds_exceed", `${place}.epsilon`, rule);
}

/**
 * @param {Sampler} sampler
 * @param {number | null} delta
 * @param {string} place
 */
function checkDeltaOf(sampler, delta, place) {
  const found = deltaOf(sampler);
  const small = found <= MOST_DELTA && !sampler.unchecked
    && !sampler.parts?.some((part) => part.sampler.unchecked);
  insist(small, "unprotected", place, "must have a small delta that can be checked");
  const told = Number(found) / Number(RANGE) <= (delta ?? 0) * SLACK;
  insist(told, "odds_exceed", `${place}.delta`, "must be the delta of the integers");
}

/**
 * Check the program of a survey whose people are asked one block of its questions each.
 *
 * @param {unknown} program
 * @param {readonly Question[]} questions
 */
function checkBlocks(program, questions) {
  const [place, { blocks }] = ["survey.program", prepare(program, "survey.program")];
  insist(blocks !== undefined, "malformed", place, "must be of blocks of questions");
  const names = new Map(questions.map((question) => [question.name, question]));
  const held = new Set(blocks.flatMap(({ attributes }) => attributes));
  const same = held.size === names.size && [...held].every((name) => names.has(name));
  insist(same, "malformed", place, "must be of the questions of the survey");
  for (const { attributes, sampler } of blocks) {
    const of = attributes.map((name) => /** @type {Question} */ (names.get(name)));
    checkFitsBlock(sampler, of, place);
    for (const { delta } of of) checkDeltaOf(sampler, delta, place);
  }
}

/**
 * @param {Sampler} sampler
 * @param {readonly Question[]} questions
 * @param {string} place
 */
function checkFitsBlock(sampler, questions, place) {
  if (sampler.parts) {
    sampler.parts.forEach((part, i) => checkFits(part.sampler, questions[i], place));
  } else if (questions.length === 1) {
    checkFits(sampler, questions[0], place);
  } else {
    const values = questions.reduce((product, one) => product * valuesOf(one), 1);
    const fits = sampler.answer === "index" && sampler.size === values;
    insist(fits, "malformed", place, "must have a program for its values");
  }
}

/**
 * A part for each question of a block, where these are randomised for themselves.
 *
 * @param {Block} block
 * @param {string} name of a question.
 * @returns {{ sampler: Sampler, program: Json }}
 */
function partOf(block, name) {
  return block.sampler.parts?.find((part) => part.name === name) ?? block;
}

/**
 * @param {Sampler} sampler
 * @param {Question} question
 * @param {string} place
 */
function checkFits(sampler, question, place) {
  const { domain, silence } = question;
  if (sampler.parts) {
    for (const { sampler: inner } of sampler.parts) checkFits(inner, question, place);
    return;
  }
  const numeric = domain.kind === "integers" || domain.kind === "interval";
  insist(sampler.answer === "index" || numeric, "malformed", place, "must be on numbers");
  if (sampler.answer === "position") {
    const same = (sampler.silence ?? false) === silence;
    insist(same, "malformed", place, "must have a program with silence, or none");
    return;
  }
  const values = size(domain) + (silence && !sampler.silence ? 1 : 0);
  insist(sampler.size === values, "malformed", place, "must have a program for its values");
}

/**
 * The delta of a program, in 2^-64; those of all reports add up.
 *
 * @param {Sampler} sampler
 * @returns {bigint}
 */
function deltaOf(sampler) {
  if (sampler.blocks) {
    return sampler.blocks.reduce((most, block) => {
      const delta = deltaOf(block.sampler);
      return delta > most ? delta : most;
    }, 0n);
  }
  if (sampler.parts) {
    return sampler.parts.reduce((sum, part) => (
      sum + BigInt(part.times) * deltaOf(part.sampler)), 0n);
  }
  const { numerator, denominator } = sampler.delta ?? ratio(0n, 1n);
  return (numerator * RANGE + denominator - 1n) / denominator;
}

/**
 * The epsilon of a question in nats, from the odds of its integers: that of the two values that its
 * reports tell apart best, beside the delta of approximate privacy.
 *
 * @param {Question} question
 * @returns {number}
 */
export function epsilonOf({ program }) {
  return natsOf(prepare(program), /** @type {Json} */ (program));
}

/**
 * @param {Sampler} sampler
 * @param {Json} program
 * @returns {number}
 */
function natsOf({ odds, power, steps, furthest, parts, blocks }, program) {
  if (blocks) return Math.max(...blocks.map((block) => natsOf(block.sampler, block.program)));
  if (parts) {
    return parts.reduce((sum, part) => sum + part.times * natsOf(part.sampler, part.program), 0);
  }
  if (odds === null) return logarithm(ratioOf(program.odds_at_most, "program"));
  if (furthest) return logarithm(furthest);
  return logarithm(odds) * Number(power) * (steps ?? 1);
}

/**
 * The epsilon of all rounds in nats: that of the permanent reports on several answers.
 *
 * @param {Json} program
 * @param {number} values on how many answers a device reports at most.
 */
function natsOfRounds({ memo }, values) {
  const sampler = prepare(memo);
  return Math.min(values, sampler.size) * natsOf(sampler, /** @type {Json} */ (memo));
}

/**
 * The epsilon of all that a person sends on a question, in all rounds.
 *
 * @param {Pick<Survey, "questions" | "program" | "repeat">} survey
 * @param {Question} question
 */
export function epsilonOfAll({ questions, program, repeat }, { name, epsilon }) {
  if (repeat === undefined) return epsilon;
  return Math.max(...programsOf({ questions, program }, name).map((one) => (
    natsOfRounds(one, repeat.values))));
}

/**
 * Refuse a survey that shows a smaller epsilon than its programs have, or hides so little that it
 * would have to say so.
 *
 * @param {Survey} data
 */
function checkEpsilon({ questions, program, epsilon, repeat, weak_protection: weak }) {
  const rule = "must be the epsilon of the odds";
  let total = program === undefined ? 0 : natsOf(prepare(program), program);
  for (const question of questions) {
    const { name, epsilon: stated } = question;
    const place = `survey.${name}.epsilon`;
    const found = Math.max(...programsOf({ questions, program }, name).map((one) => (
      natsOf(prepare(one), one))));
    insist(found <= stated * SLACK + 1e-12, "odds_exceed", place, rule);
    const ofAll = repeat === undefined
      ? found : Math.max(found, epsilonOfAll({ questions, program, repeat }, question));
    const few = weak === true || ofAll <= Math.log(MOST_ODDS) * SLACK;
    insist(few, "unprotected", place, `must have odds of at most ${MOST_ODDS} of any two answers`);
    if (program === undefined) total += stated;
  }
  insist(total <= epsilon * SLACK, "odds_exceed", "survey.epsilon", rule);
}

/**
 * The programs that may randomise a question: its own, or those of the blocks that hold it.
 *
 * @param {Pick<Survey, "questions" | "program">} survey
 * @param {string} name of the question.
 * @returns {Json[]}
 */
export function programsOf({ questions, program }, name) {
  if (program === undefined) {
    return questions.flatMap((one) => (one.name === name && one.program ? [one.program] : []));
  }
  const holding = blocks(program).filter(({ attributes }) => attributes.includes(name));
  return [...new Set(holding.map((block) => partOf(block, name).program))];
}

/**
 * @template T
 * @param {T} value
 * @returns {T}
 */
function frozen(value) {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
}
