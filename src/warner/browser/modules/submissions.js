// Reports of a person, sealed as one submission, and submissions as the body of a request.

import {
  hexadecimal, int32, joined, record, recordLength, sha256, unhex, WIDTHS,
} from "./bytes.js";
import { blockFrom, inSlots } from "./combined.js";
import { indexOf, positionOf, valuesOf } from "./domains.js";
import { blocks, degrade, degraded, prepare, sample } from "./programs.js";
import { listedWords, systemWords } from "./random.js";
import { insist, Refusal } from "./refusals.js";

/**
 * @import {
 *   Answer, Asked, Encoded, Program, Question, Sampler, Segment, Survey, Words,
 * } from "./types.js"
 */

const LARGEST_BATCH = 10_000;

/**
 * The encoded answer that a question's program takes.
 *
 * @param {Question} question
 * @param {Answer} answer
 * @returns {Encoded}
 */
export function encode(question, answer) {
  return encodedFor(prepare(question.program), question, answer);
}

/**
 * @param {Sampler} sampler
 * @param {Question} question
 * @param {Answer} answer
 * @returns {Encoded}
 */
function encodedFor(sampler, question, answer) {
  if (sampler.parts) {
    return sampler.parts.map((part) => encodedFor(part.sampler, question, answer));
  }
  if (sampler.answer === "position") return positionOf(question, answer);
  const index = indexOf(question, answer);
  return sampler.silence && answer === null ? null : index;
}

/**
 * Randomise the answer to one question. Each call draws anew: seal a submission once, and send the
 * same bytes again where a reply is lost.
 *
 * @param {Question} question
 * @param {Answer} answer
 * @param {Uint8Array} [memo] the permanent report on the answer, where the survey has several
 *   rounds. Without it each round would draw another one, and spend the epsilon of all again.
 * @param {Words} [next]
 * @returns {Uint8Array} the record of the report.
 * @throws {Refusal}
 */
export function randomize(question, answer, memo, next = systemWords()) {
  const encoded = encode(question, answer); // also beside a memo, or that of an old answer is sent
  return prepare(question.program).memo === undefined
    ? sample(question.program, encoded, next)
    : degrade(question.program, needed(question.name, memo), next);
}

/**
 * Draw the block that a person is asked, before any answer is known.
 *
 * Draw it once for a person and keep it. Whoever draws again after a refusal or a skipped question
 * makes the draw depend on the answer.
 *
 * @param {unknown} program
 * @param {Words} [next] one word is taken.
 * @returns {number} the block, from 0.
 */
export function drawBlock(program, next = systemWords()) {
  return blockFrom(blocks(program), next);
}

/**
 * Under which name a device keeps the block that it has drawn: that of the study, or of all rounds.
 *
 * @param {Survey} survey
 */
export function nameOfDraw({ study, repeat }) {
  return repeat?.draw ?? study;
}

/**
 * The block that an invited person is asked: the same on every device. Its word is
 *
 *     the first 8 bytes of SHA-256("warner block\n" study "\n" code), the highest byte first
 *
 * With rounds it has `draw` of `repeat` in place of the study, so that each round asks the same.
 *
 * @param {Survey} survey
 * @param {string} code as it is printed, or without hyphens.
 * @returns {Promise<number>} the block, from 0.
 */
export async function blockOfCode(survey, code) {
  const hash = await hashOfCode("warner block", { study: nameOfDraw(survey) }, code);
  return drawBlock(survey.program, listedWords([new DataView(hash.buffer).getBigUint64(0)]));
}

/**
 * The block that a submission is about, which is sent as it is.
 *
 * @param {Survey} survey
 * @param {Uint8Array} submission
 * @returns {number} from 0.
 */
export function blockOf(survey, submission) {
  const [{ dtype }] = prepare(survey.program).columns;
  const { bytes } = segments(survey, submission).slice(-1)[0];
  return bytes.slice(0, WIDTHS[dtype]).reduceRight((number, byte) => number * 256 + byte, 0);
}

/**
 * Randomise the answers to the block that was drawn.
 *
 * @param {Survey} survey
 * @param {number} block what `drawBlock` returned.
 * @param {Readonly<Record<string, Answer>>} answers by the names of the block's questions.
 * @param {Readonly<Record<string, Uint8Array>>} [memos] the permanent report on each answer, by the
 *   names of the questions, where the survey has several rounds.
 * @param {Words} [next]
 * @returns {Uint8Array} the record of the report.
 * @throws {Refusal}
 */
export function randomizeBlock(survey, block, answers, memos, next = systemWords()) {
  const { columns } = prepare(survey.program);
  const all = blocks(survey.program);
  insist(Number.isInteger(block) && block >= 0 && block < all.length, "bad_answer", "block",
    "must be one of the blocks");
  const { attributes, program, sampler } = all[block];
  const rule = "is of no question that this person was asked";
  checkIsObject(answers);
  for (const name of Object.keys(answers)) {
    insist(attributes.includes(name), "bad_answer", name, rule);
  }
  const asked = attributes.map((name) => (
    /** @type {Question} */ (survey.questions.find((question) => question.name === name))));
  const encoded = encodedBlock(sampler, asked, asked.map((question) => given(question, answers)));
  const drawn = sampler.memo === undefined
    ? sampler.draw(encoded, next)
    : degraded(program, needed(attributes[0], memos?.[attributes[0]]), next);
  const slots = inSlots([...columns], all, block, drawn);
  return record(/** @type {Program} */ (survey.program), slots);
}

/**
 * @param {Sampler} sampler
 * @param {readonly Question[]} asked
 * @param {readonly Answer[]} answers
 * @returns {Encoded}
 */
function encodedBlock(sampler, asked, answers) {
  if (sampler.parts) {
    return sampler.parts.map((part, i) => encodedFor(part.sampler, asked[i], answers[i]));
  }
  if (asked.length === 1) return encodedFor(sampler, asked[0], answers[0]);
  return asked.reduce((index, question, i) => (
    index * valuesOf(question) + indexOf(question, answers[i])), 0);
}

/**
 * Seal one person's answers: the bytes that leave the device.
 *
 * @param {Survey} survey
 * @param {object} person
 * @param {Readonly<Record<string, Answer>>} person.answers by the names of all questions, or of
 *   those of the block.
 * @param {number} [person.block] what was drawn, where each person is asked one block.
 * @param {Readonly<Record<string, Answer>>} [person.public] by the names of all public columns.
 * @param {string} [person.code] the invitation code, where the survey asks for one.
 * @param {Uint8Array} [person.token] what the code was exchanged for, where the survey has tokens.
 * @param {Readonly<Record<string, Uint8Array>>} [person.memos] the permanent report on each answer,
 *   by the names of the questions, where the survey has several rounds.
 * @param {Uint8Array} [person.id] 16 bytes, for tests. Otherwise drawn, or made of the code.
 * @param {Words} [person.words] for tests.
 * @returns {Promise<Uint8Array>} id or token, public indices, and the record of each question or of
 *   the block.
 * @throws {Refusal}
 */
export async function seal(survey, person) {
  const { answers, block, public: columns = {}, code, token, memos, id, words } = person;
  const unknown = Object.keys(person).find((name) => ![...OF_PERSON, "id", "words"].includes(name));
  const takes = `is unknown to seal, which takes ${OF_PERSON.join(", ")}`;
  insist(unknown === undefined, "malformed", unknown ?? "", takes);
  // The answers are read before anything is awaited, so that the caller can forget them.
  const next = words ?? systemWords();
  const invited = survey.access !== "open";
  const shown = publicIndices(survey, columns).map(int32);
  if (survey.program === undefined) checkNames(survey, answers);
  const records = survey.program === undefined
    ? survey.questions.map((question) => (
      randomize(question, given(question, answers), memos?.[question.name], next)))
    : [randomizeBlock(survey, block ?? -1, answers, memos, next)];
  const first = survey.access === "tokens" ? token : id ?? (invited
    ? await invitationId(survey, code ?? "")
    : crypto.getRandomValues(new Uint8Array(ID_LENGTH)));
  const length = firstLength(survey);
  insist(first?.length === length, "code", "id or token", `must have ${length} bytes`);
  if (invited && survey.program !== undefined) {
    const same = await blockOfCode(survey, code ?? "") === block;
    insist(same, "code", "block", "must be that of the invitation code");
  }
  return joined([first, ...shown, ...records]);
}

const OF_PERSON = ["answers", "block", "public", "code", "token", "memos"];
const ID_LENGTH = 16;
const TOKEN_LENGTH = 288; // its random prefix, and the signature

/** How many bytes the id or the token of a submission has. @param {Survey} survey */
function firstLength({ access }) {
  return access === "tokens" ? TOKEN_LENGTH : ID_LENGTH;
}

/** Refuse answers that are not there, as before settings are loaded. @param {unknown} answers */
function checkIsObject(answers) {
  const rule = "must be an object of questions and their answers";
  insist(typeof answers === "object" && answers !== null, "bad_answer", "answers", rule);
}

/**
 * Refuse an answer to what is no question of the survey.
 *
 * @param {Survey} survey
 * @param {Readonly<Record<string, Answer>>} answers
 */
export function checkNames({ questions }, answers) {
  checkIsObject(answers);
  for (const name of Object.keys(answers)) {
    const known = questions.some((question) => question.name === name);
    insist(known, "bad_answer", name, "is no question of the survey");
  }
}

/**
 * The answer to a question, which is there.
 *
 * @param {Asked & { readonly silence?: boolean }} asked
 * @param {Readonly<Record<string, Answer>>} answers
 */
export function given({ name, silence }, answers) {
  const rule = `has no answer${silence ? ": null says that the person gave none" : ""}`;
  insist(answers[name] !== undefined, "bad_answer", name, rule);
  return answers[name];
}

/**
 * The indices of the public columns, all of which must have a value.
 *
 * @param {Survey} survey
 * @param {Readonly<Record<string, Answer>>} columns by their names.
 */
export function publicIndices(survey, columns) {
  const names = survey.public.map(({ name }) => name);
  const has = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
  for (const name of Object.keys(columns)) {
    insist(names.includes(name), "bad_answer", name, `is no public column of the survey: ${has}`);
  }
  return survey.public.map((column) => {
    const { name } = column;
    const missing = columns[name] === undefined || columns[name] === null;
    const remedy = `pass it in public, as { public: { ${JSON.stringify(name)}: ... } }`;
    insist(!missing, "bad_answer", name, `is a public column and has no value: ${remedy}`);
    return indexOf(column, columns[name]);
  });
}

/**
 * The permanent report on an answer, which is there.
 *
 * @param {string} name of the question.
 * @param {Uint8Array} [memo]
 */
function needed(name, memo) {
  const rule = "needs the permanent report on its answer, as memos in seal and as memo in "
    + "randomize. Draw it once for each answer, and keep it: "
    + "sample(program.memo, encode({ ...question, program }, answer))";
  if (memo === undefined) throw new Refusal("bad_answer", name, rule);
  return memo;
}

/**
 * The text of one report, for survey tools that carry it in a hidden field. `warner tally --column`
 * counts such texts. It says which study and which question the report is of; a report on a block
 * is of all questions.
 *
 * @param {Survey} survey
 * @param {string} name the question.
 * @param {Uint8Array} record what `randomize` returned.
 * @returns {string} letters, digits and hyphens.
 * @throws {Refusal}
 */
export function reportText(survey, name, record) {
  const asked = survey.questions.findIndex((question) => question.name === name);
  insist(asked >= 0, "malformed", name, "must be a question of the survey");
  const place = survey.program === undefined ? asked : 0;
  const { length } = reportsOf(survey)[place];
  insist(record.length === length, "malformed", name, `must have a record of ${length} bytes`);
  return `wr1-${survey.layout.slice(0, 16)}-${place + 1}-${hexadecimal(record)}`;
}

/**
 * The reports of a submission: one on each question, or one on the block that was drawn.
 *
 * @param {Survey} survey
 * @returns {{ name: string, length: number }[]} the name is that of the question, "" for a block.
 */
function reportsOf({ questions, program }) {
  const all = program === undefined ? questions : [{ name: "", program }];
  return all.map((one) => (
    { name: one.name, length: recordLength(/** @type {Program} */ (one.program)) }));
}

/**
 * How many bytes each submission of a survey has.
 *
 * @param {Survey} survey
 */
export function submissionLength(survey) {
  return reportsOf(survey).reduce(
    (sum, { length }) => sum + length, firstLength(survey) + 4 * survey.public.length,
  );
}

/**
 * The body of a request with submissions of a survey.
 *
 * @param {Survey} survey
 * @param {readonly Uint8Array[]} submissions 1 to 10,000 of them.
 * @returns {Uint8Array}
 */
export function body(survey, submissions) {
  const length = submissionLength(survey);
  const some = submissions.length >= 1 && submissions.length <= LARGEST_BATCH;
  insist(some, "malformed", "submissions", `must be 1 to ${LARGEST_BATCH}`);
  const whole = submissions.every((submission) => submission.length === length);
  insist(whole, "malformed", "submissions", `must have ${length} bytes each`);
  const magic = new TextEncoder().encode(survey.access === "tokens" ? "WRNT" : "WRN1");
  return joined([magic, unhex(survey.layout), ...submissions]);
}

// Letters and digits without look-alikes: no I, L, O, U, 0 or 1.
const CODE = /^[2-9A-HJKMNP-TV-Z]{16}$/;

/**
 * An invitation code without the hyphens and spaces between its groups, in capital letters.
 *
 * @param {string} text
 * @returns {string | null} null for what is no code.
 */
export function plainCode(text) {
  const plain = text.replace(/[\s-]/g, "").toUpperCase();
  return CODE.test(plain) ? plain : null;
}

/**
 * The id of a submission by an invited person.
 *
 *     the first 16 bytes of SHA-256("warner invitation\n" study "\n" code)
 *
 * @param {Survey} survey
 * @param {string} code as it is printed, or without hyphens.
 * @returns {Promise<Uint8Array>}
 */
export async function invitationId(survey, code) {
  return (await hashOfCode("warner invitation", survey, code)).slice(0, ID_LENGTH);
}

/**
 * @param {string} use what the hash is for: from one nobody can tell another.
 * @param {Pick<Survey, "study">} survey
 * @param {string} code
 */
function hashOfCode(use, { study }, code) {
  const plain = plainCode(code);
  insist(plain !== null, "code", "code", "must be 16 letters and digits, as in the invitation");
  return sha256(new TextEncoder().encode(`${use}\n${study}\n${plain}`));
}

/**
 * What the bytes of a submission are: the id or token, public columns, and the report of each
 * question.
 *
 * @param {Survey} survey
 * @param {Uint8Array} submission
 * @returns {Segment[]}
 */
export function segments(survey, submission) {
  /** @type {[Segment["kind"], string, number][]} */
  const lengths = [
    ["id", "", firstLength(survey)],
    ...survey.public.map(({ name }) => (
      /** @type {[Segment["kind"], string, number]} */ (["public", name, 4]))),
    ...reportsOf(survey).map(({ name, length }) => (
      /** @type {[Segment["kind"], string, number]} */ (["report", name, length]))),
  ];
  let start = 0;
  return lengths.map(([kind, name, length]) => {
    const bytes = submission.slice(start, start + length);
    start += length;
    return { kind, name, start: start - length, bytes };
  });
}
