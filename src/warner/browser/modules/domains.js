// Answers as numbers, as Python encodes them.

import { insist } from "./refusals.js";

/**
 * @import {
 *   Answer, Asked, Categorical, Dates, Domain, Grid, Integers, Interval, Question,
 * } from "./types.js"
 */

/**
 * How many values a domain has, without silence.
 *
 * @param {Domain} domain
 * @returns {number}
 */
export function size(domain) {
  if (domain.kind === "categorical") return domain.values.length;
  if (domain.kind === "integers") return domain.high - domain.low + 1;
  if (domain.kind === "interval") return domain.bins;
  if (domain.kind === "grid") return domain.rows * domain.columns - (domain.without ?? []).length;
  return LAST_DATE[domain.unit];
}

/**
 * The index of an answer, as Python's domains number values.
 *
 * A label is the same code points, in the same composition: "é" as one character is another label
 * than "e" with an accent. No answer, `null`, has the index behind the last value.
 *
 * @param {Asked & { readonly silence?: boolean }} question
 * @param {Answer} answer
 * @returns {number}
 */
export function indexOf(question, answer) {
  if (answer === null) {
    insist(question.silence, "bad_answer", question.name, "needs an answer");
    return size(question.domain);
  }
  const { name, domain } = question;
  const found = ENCODERS[domain.kind](/** @type {never} */ (domain), answer, name);
  insist(found >= 0, "bad_answer", name, `must be ${permitted(domain)}`);
  return found;
}

const LISTED = 12; // values that are named one by one

/**
 * What answers a question takes, in words. They are public; the answer is not.
 *
 * @param {Domain} domain
 */
function permitted(domain) {
  if (domain.kind === "integers") return `a whole number from ${domain.low} to ${domain.high}`;
  if (domain.kind === "grid") {
    const { rows, columns } = domain;
    return `a cell [row, column], counted from 0, of ${rows} rows and ${columns} columns`;
  }
  if (domain.kind === "dates") return `a ${domain.unit}, such as "${EXAMPLES[domain.unit]}"`;
  if (domain.kind === "interval") {
    return domain.clip ? "a number" : `a number from ${domain.low} to ${domain.high}`;
  }
  const { values } = domain;
  const more = values.length > LISTED ? `, or one of ${values.length - LISTED} more values` : "";
  const listed = values.slice(0, LISTED).map((value) => JSON.stringify(value));
  return `one of ${listed.join(", ")}${more}`;
}

const EXAMPLES = { day: "2024-05-31", week: "2024-W22", month: "2024-05" };

/**
 * The position of a number in [0, 1] between the limits of its domain, for mechanisms of numbers.
 *
 *     (v - low) / (high - low)
 *
 * These are two subtractions and one division of doubles, as Python does them. No answer is null.
 *
 * @param {Question} question
 * @param {Answer} answer
 * @returns {number | null}
 */
export function positionOf(question, answer) {
  const { domain, name } = question;
  if (answer === null) {
    insist(question.silence, "bad_answer", name, "needs an answer");
    return null;
  }
  if (domain.kind === "integers") return indexOf(question, answer) / (size(domain) - 1);
  insist(domain.kind === "interval", "program", name, "must be on numbers");
  return share(domain, within(domain, answer, name));
}

/**
 * @param {Interval} domain
 * @param {number} number within the limits.
 */
function share({ low, high }, number) {
  return Math.min(Math.max((number - low) / (high - low), 0), 1);
}

/**
 * A number as the domain takes it: within the limits, or moved to them where it clips.
 *
 * @param {Interval} domain
 * @param {Answer} answer
 * @param {string} name
 */
function within(domain, answer, name) {
  const { low, high, clip } = domain;
  const rule = `must be ${permitted(domain)}`;
  insist(typeof answer === "number" && Number.isFinite(answer), "bad_answer", name, rule);
  if (clip) return Math.min(Math.max(answer, low), high);
  insist(answer >= low && answer <= high, "bad_answer", name, rule);
  return answer;
}

/** @type {{ [kind: string]: (domain: any, answer: Answer, name: string) => number }} */
const ENCODERS = {
  categorical: (/** @type {Categorical} */ { values }, answer) => {
    const kinds = new Set(values.map((value) => typeof value));
    const plain = typeof answer === "bigint" ? Number(answer) : answer;
    if (!kinds.has(/** @type {any} */ (typeof plain))) return -1;
    // As in Python, true counts as 1 where booleans and integers stand side by side.
    const number = (/** @type {unknown} */ v) => (typeof v === "boolean" ? Number(v) : v);
    return values.findIndex((value) => number(value) === number(plain));
  },
  integers: (/** @type {Integers} */ { low, high }, answer) => {
    const number = typeof answer === "bigint" ? Number(answer) : answer;
    if (typeof number !== "number" || !Number.isSafeInteger(number)) return -1;
    return number < low || number > high ? -1 : number - low;
  },
  interval: (/** @type {Interval} */ domain, answer, name) => {
    const number = within(domain, answer, name);
    const exact = (number - domain.low) / (domain.high - domain.low);
    return Math.min(Math.trunc(exact * domain.bins), domain.bins - 1) + 0; // -0 is 0
  },
  grid: (/** @type {Grid} */ { rows, columns, without }, answer) => {
    if (!Array.isArray(answer) || answer.length !== 2) return -1;
    const [row, column] = answer;
    if (!Number.isInteger(row) || !Number.isInteger(column)) return -1;
    if (row < 0 || row >= rows || column < 0 || column >= columns) return -1;
    const place = row * columns + column;
    const left = (without ?? []).map(([r, c]) => r * columns + c);
    return left.includes(place) ? -1 : place - left.filter((other) => other < place).length;
  },
  dates: (/** @type {Dates} */ { unit }, answer) => dateIndex(unit, answer),
};

export const LAST_DATE = { day: 3652059, week: 521723, month: 119988 };
const DAY = 86_400_000;
const FIRST_DAY = Date.UTC(2001, 0, 1) - 730_485 * DAY; // 0001-01-01, a Monday

/**
 * The index of the day, ISO week or month that holds a date; -1 for what is none.
 *
 * @param {"day" | "week" | "month"} unit
 * @param {Answer} answer an ISO text: 2024-05-31, 2024-W22 or 2024-05.
 */
function dateIndex(unit, answer) {
  if (typeof answer !== "string") return -1;
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(answer) ?? [];
  if (day !== undefined) {
    const days = dayIndex(Number(year), Number(month), Number(day));
    if (days < 0 || unit === "day") return days;
    return unit === "week" ? Math.floor(days / 7) : monthIndex(Number(year), Number(month));
  }
  const [, of, second] = (unit === "week" ? /^(\d{4})-W(\d{2})$/ : /^(\d{4})-(\d{2})$/)
    .exec(answer) ?? [];
  if (second === undefined || unit === "day") return -1;
  return unit === "week"
    ? weekIndex(Number(of), Number(second))
    : monthIndex(Number(of), Number(second));
}

/**
 * @param {number} year
 * @param {number} month
 */
function monthIndex(year, month) {
  return year < 1 || month < 1 || month > 12 ? -1 : (year - 1) * 12 + month - 1;
}

/**
 * @param {number} year
 * @param {number} month
 * @param {number} day
 */
function dayIndex(year, month, day) {
  const moment = new Date(0);
  moment.setUTCFullYear(year, month - 1, day);
  const same = moment.getUTCMonth() === month - 1 && moment.getUTCDate() === day;
  return year < 1 || !same ? -1 : Math.round((moment.getTime() - FIRST_DAY) / DAY);
}

/**
 * Week 1 of a year is the one with its 4th of January.
 *
 * @param {number} year
 * @param {number} week
 */
function weekIndex(year, week) {
  const first = Math.floor(dayIndex(year, 1, 4) / 7);
  const last = year === 9999 ? 52 : Math.floor(dayIndex(year + 1, 1, 4) / 7) - first;
  return year < 1 || week < 1 || week > last ? -1 : first + week - 1;
}

/**
 * The answer in a text that a person typed, as Python reads it from a file; undefined for none.
 *
 * @param {Asked} question
 * @param {string} text
 * @returns {Answer | undefined}
 */
export function parse({ domain }, text) {
  const { kind } = domain;
  if (kind === "categorical") {
    const whole = domain.values.every((value) => typeof value === "boolean");
    const wanted = whole ? text.toLowerCase() : text;
    return domain.values.find((value) => String(value) === wanted);
  }
  if (kind === "integers") return /^-?[0-9]{1,18}$/.test(text) ? Number(text) : undefined;
  if (kind === "interval") {
    const pattern = /^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$/;
    return pattern.test(text) ? Number(text) : undefined;
  }
  if (kind === "grid") {
    const found = /^(?:([0-9]{1,9}), ?([0-9]{1,9})|\[([0-9]{1,9}), ?([0-9]{1,9})\])$/.exec(text);
    return found ? found.slice(1).filter((part) => part !== undefined).map(Number) : undefined;
  }
  return text;
}

/**
 * How many answers a question has, silence among them.
 *
 * @param {Question} question
 */
export function valuesOf({ domain, silence }) {
  return size(domain) + (silence ? 1 : 0);
}
