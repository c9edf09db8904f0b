// The device half of warner in a browser: it reads a survey, randomises answers, and seals reports.
//
// One ES module without dependencies. Every decision of a sampler compares words of 64 bits with
// integers that travel in the survey. The words come from crypto.getRandomValues. No exponential is
// computed. The only doubles are the positions of numbers between the points of a grid, on which
// privacy does not depend.
//
// A survey is refused, with a name, where its bytes do not have the digest that was expected, where
// a program is malformed, and where the odds of a program, computed here from its integers, are not
// those that the survey states or exceed those that it may have.
//
// The module keeps no answer: nothing of a person outlives a call, and used words are overwritten.

/** The format of survey documents that this module reads. */
export const FORMAT = 1;

/**
 * The largest odds of any two answers, also the most distant ones, that this module accepts where a
 * survey does not say that its protection is weak: a little above exp(10). A report may be at most
 * this many times as likely under one answer as under another.
 */
export const MOST_ODDS = 22027;

/**
 * Odds up to which a page may say that nobody can be sure of an answer. Who held two answers to be
 * equally likely is then at most 95 % sure of one of them.
 */
export const STRONG_ODDS = 19;

const RANGE = 1n << 64n;
const MOST_DELTA = RANGE / 1000n; // of approximate privacy
const LARGEST_BATCH = 10_000;

/**
 * @typedef {() => bigint} Words gives uniform integers 0..2^64 - 1, one for each call.
 * @typedef {string | number | boolean | bigint | readonly number[] | null} Answer a label, a
 *   number, a cell [row, column], or null for no answer.
 * @typedef {Readonly<Record<string, string>>} Text a text by language.
 * @typedef {{ readonly numerator: bigint, readonly denominator: bigint }} Ratio
 * @typedef {{ readonly [key: string]: unknown }} Json
 */

/**
 * @typedef {object} Categorical
 * @property {"categorical"} kind
 * @property {readonly (string | number | boolean)[]} values
 *
 * @typedef {object} Integers
 * @property {"integers"} kind
 * @property {number} low
 * @property {number} high
 *
 * @typedef {object} Interval
 * @property {"interval"} kind
 * @property {number} low
 * @property {number} high
 * @property {number} bins
 * @property {boolean} [clip]
 *
 * @typedef {object} Grid
 * @property {"grid"} kind
 * @property {number} rows
 * @property {number} columns
 * @property {number} side
 * @property {readonly (readonly [number, number])[]} [without]
 *
 * @typedef {object} Dates
 * @property {"dates"} kind
 * @property {"day" | "week" | "month"} unit
 *
 * @typedef {Categorical | Integers | Interval | Grid | Dates} Domain
 */

/**
 * @typedef {object} Asked what is asked: a question or a public column.
 * @property {string} name
 * @property {Text} label
 * @property {Text} help
 * @property {Domain} domain
 * @property {Readonly<Record<string, readonly string[]>>} answers the texts of labels, by language.
 * @property {string} unit of a number, such as "km".
 *
 * @typedef {object} Column
 * @property {string} name
 * @property {"|u1" | "<u2" | "<u4" | "<u8"} dtype
 * @property {number} length how many numbers of this type a report has.
 *
 * @typedef {Json & { readonly sampler: string, readonly columns: readonly Column[] }} Program
 *
 * @typedef {object} Randomised
 * @property {boolean} silence whether a person may give no answer, which is then randomised too.
 * @property {number} epsilon
 * @property {number | null} delta
 * @property {Program} [program] missing where the survey has one for all questions.
 *
 * @typedef {Asked & Randomised} Question
 *
 * @typedef {object} SurveyDocument
 * @property {number} format
 * @property {string} study the digest of the study, 64 hexadecimal digits.
 * @property {string} layout the digest with the order of columns and questions, 64 digits.
 * @property {Text} title
 * @property {Text} introduction
 * @property {readonly string[]} languages
 * @property {number} epsilon
 * @property {readonly Question[]} questions
 * @property {Program} [program] where each person is asked one block of the questions: which one is
 *   drawn, and how the answers to it are randomised.
 * @property {readonly Asked[]} public
 * @property {"open" | "invited"} access
 * @property {string} contact
 * @property {string | null} opens
 * @property {string | null} closes
 * @property {true} [weak_protection] where reports may tell more than odds of 22,027.
 * @property {Repeat} [repeat] where the same people are asked in several rounds.
 *
 * @typedef {object} Repeat devices keep permanent reports, and degrade them in each round.
 * @property {number} round this one, from 1.
 * @property {number} rounds how many there are.
 * @property {number} values on how many different values of a question a device reports at most.
 * @property {number} epsilon of all reports for ever, of people whose answers change alike.
 *
 * @typedef {Readonly<SurveyDocument>} Survey a survey document that was read and checked; frozen.
 */

/**
 * Why a survey, an answer or a submission is refused. No message holds an answer.
 *
 * `code` is the name of the rule that is broken. The rules of programs stand in
 * docs/device_programs.md: `unknown_format`, `unknown_sampler`, `malformed`, `not_a_law`,
 * `columns_differ`, `odds_differ` and `odds_exceed`; and `bad_answer`, an answer outside the domain
 * of its question, or none where one is needed. The others are
 *
 * - `altered`: the bytes of the survey do not have the digest that was expected.
 * - `insecure`: no Web Cryptography: the page was not loaded over HTTPS or from this machine.
 * - `malformed`: not a survey document, or one of another format.
 * - `odds_exceed`: also a survey that states a smaller epsilon than its programs have.
 * - `unprotected`: the odds exceed those that this module accepts at all.
 * - `code`: no invitation code.
 * - `words`: an injected source of words is used up.
 */
export class Refusal extends Error {
  /**
   * @param {string} code
   * @param {string} place the question or the key that is refused.
   * @param {string} rule
   */
  constructor(code, place, rule) {
    super(`${place}: ${rule}.`);
    this.name = "Refusal";
    this.code = code;
    this.place = place;
  }
}

/**
 * @param {unknown} condition
 * @param {string} code
 * @param {string} place
 * @param {string} rule
 * @returns {asserts condition}
 */
function require(condition, code, place, rule) {
  if (!condition) throw new Refusal(code, place, rule);
}

// ---------------------------------------------------------------------------------------------
// Random words.

/**
 * Words of the browser's cryptographic generator. A word is overwritten when it is handed out.
 *
 * @returns {Words}
 */
export function systemWords() {
  const random = globalThis.crypto?.getRandomValues;
  require(random, "insecure", "page", "must have the browser's cryptographic generator");
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
    require(taken < words.length, "words", "words", "are used up");
    taken += 1;
    return words[taken - 1];
  };
  return Object.assign(next, { used: () => taken });
}

// ---------------------------------------------------------------------------------------------
// Decisions on words, which Python's reference source makes in the same way.

/**
 * True with probability T / 2^64; T may have further words, of which the next counts where u = T.
 *
 * @param {Words} next
 * @param {...bigint} thresholds the words of T, the most significant first.
 */
function below(next, ...thresholds) {
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
function uniform(next, bound) {
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
function cell(next, width, count, last) {
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
function among(next, ends, words) {
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

// ---------------------------------------------------------------------------------------------
// Bytes.

/**
 * @param {Uint8Array} bytes
 * @returns {Promise<Uint8Array>}
 */
async function sha256(bytes) {
  const subtle = globalThis.crypto?.subtle;
  require(subtle, "insecure", "page", "must be loaded over HTTPS or from this machine");
  return new Uint8Array(await subtle.digest("SHA-256", new Uint8Array(bytes)));
}

/**
 * Bytes as hexadecimal digits.
 *
 * @param {Uint8Array} bytes
 */
export function hexadecimal(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {string} digits two for each byte. */
function unhex(digits) {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** @param {readonly Uint8Array[]} parts */
function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** @type {Readonly<Record<string, number>>} */
const WIDTHS = { "|u1": 1, "<u2": 2, "<u4": 4, "<u8": 8 };

/**
 * The bytes of a report: its columns in their order, little endian.
 *
 * @param {Program} program
 * @param {Readonly<Record<string, readonly bigint[]>>} columns the numbers of each column.
 */
function record(program, columns) {
  const bytes = new Uint8Array(recordLength(program));
  let at = 0;
  for (const { name, dtype } of program.columns) {
    for (let number of columns[name]) {
      for (let i = 0; i < WIDTHS[dtype]; i += 1) {
        bytes[at] = Number(number & 255n);
        number >>= 8n;
        at += 1;
      }
    }
  }
  return bytes;
}

/** @param {Program} program */
function recordLength(program) {
  return program.columns.reduce((sum, { dtype, length }) => sum + WIDTHS[dtype] * length, 0);
}

// ---------------------------------------------------------------------------------------------
// Answers.

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
    require(question.silence, "bad_answer", question.name, "needs an answer");
    return size(question.domain);
  }
  const found = ENCODERS[question.domain.kind](/** @type {never} */ (question.domain), answer);
  const isWhole = question.domain.kind === "integers";
  const one = isWhole ? "a whole number within the limits" : "one of the values";
  require(found >= 0, "bad_answer", question.name, `must be ${one} of the question`);
  return found;
}

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
    require(question.silence, "bad_answer", name, "needs an answer");
    return null;
  }
  if (domain.kind === "integers") return indexOf(question, answer) / (size(domain) - 1);
  require(domain.kind === "interval", "program", name, "must be on numbers");
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
function within({ low, high, clip }, answer, name) {
  const rule = "must be a number within the limits of the question";
  require(typeof answer === "number" && Number.isFinite(answer), "bad_answer", name, rule);
  if (clip) return Math.min(Math.max(answer, low), high);
  require(answer >= low && answer <= high, "bad_answer", name, rule);
  return answer;
}

/** @type {{ [kind: string]: (domain: any, answer: Answer) => number }} */
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
  interval: (/** @type {Interval} */ domain, answer) => {
    const number = within(domain, answer, "question");
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

const LAST_DATE = { day: 3652059, week: 521723, month: 119988 };
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

// ---------------------------------------------------------------------------------------------
// Samplers. docs/device_programs.md defines them, with the checks in the order in which they stand.

/**
 * @typedef {Record<string, bigint[]>} Drawn the numbers of each column of a report.
 *
 * @typedef {object} Law what a report says about a value: with these exact chances the report is of
 *   that sort under the value itself, and under another one.
 * @property {"names" | "bit" | "supports"} kind whether the report names the value, has its bit
 *   set, or supports it.
 * @property {Ratio} same
 * @property {Ratio} other
 *
 * @typedef {object} Sampler a program whose integers were read and checked.
 * @property {"index" | "position" | "parts"} answer how answers are encoded.
 * @property {number} size how many indices there are; 0 for positions and parts.
 * @property {boolean} [silence] whether null, for no answer, is an encoded answer too.
 * @property {readonly Column[]} columns
 * @property {Ratio | null} odds null where a report can rule a value out, with approximate privacy.
 * @property {string} between
 * @property {bigint} power
 * @property {(data: Json, place: string) => Ratio} [checkDelta] of approximate privacy.
 * @property {boolean} [unchecked] whether the delta is not computed here, so no survey may have it.
 * @property {number} [steps] of odds of neighbours on a line, those between its ends.
 * @property {Ratio} [furthest] of other odds of neighbours, the largest of any two values: no chain
 *   of neighbours may join two values, and two axes are longer than one.
 * @property {Ratio} [delta] of approximate privacy, as the integers have it.
 * @property {readonly Part[]} [parts]
 * @property {readonly Block[]} [blocks] of questions, of which a person answers one.
 * @property {(encoded: any, next: Words) => Drawn} draw
 * @property {number} [reports] how many different reports there are, where there are dummies.
 * @property {(next: Words) => Drawn} [dummy] a report that depends on no answer.
 * @property {() => [Ratio, Ratio]} [dummyOdds] the largest ratio of a person's report to a dummy's,
 *   and of a dummy's to a person's.
 * @property {((encoded: number) => Law) | null} law null where no such sentence makes sense.
 * @property {Levels} [levels] of reports with two likelihoods, which can be degraded.
 * @property {readonly [bigint, bigint]} [chances] of bits: 2^64 times the chances of a 1.
 * @property {Sampler} [memo] of the report that is drawn once and kept.
 * @property {(memo: Drawn, next: Words) => Drawn} [degrade] one round of it.
 *
 * @typedef {object} Levels reports that support a value are likelier than all others.
 * @property {bigint} inside of inside + outside reports, up to a factor, those that support it.
 * @property {bigint} outside
 * @property {Ratio} likelier the likelihood of one that supports the value to that of another.
 * @property {(next: Words) => Drawn} uniform
 *
 * @typedef {{ name: string, times: number, program: Json, sampler: Sampler }} Part
 *
 * @typedef {object} Block questions that one person answers, and how often they are drawn.
 * @property {readonly string[]} attributes the names of the questions.
 * @property {bigint} width of 2^64: the odds.
 * @property {Json} program of the answers to them together.
 * @property {Sampler} sampler
 */

/** The entries of a program, read as integers; each is refused where it is written otherwise. */
class Entries {
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
      require(found >= 1n << 53n, "malformed", `${this.place}.${key}`, rule);
      return found;
    }
    const is = Number.isSafeInteger(value) && !Object.is(value, -0) && Number(value) >= 0;
    require(is, "malformed", `${this.place}.${key}`, rule);
    return BigInt(Number(value));
  }

  /**
   * An integer that is a number of values, of bits or of columns.
   *
   * @param {string} key
   */
  count(key) {
    const found = this.integer(key);
    require(found < 1n << 53n, "malformed", `${this.place}.${key}`, "must be below 2^53");
    return Number(found);
  }

  /** @param {string} key */
  integers(key) {
    return this.list(key).map((value) => this.whole(value, key));
  }

  /** @param {string} key */
  list(key) {
    const found = this.get(key);
    require(Array.isArray(found), "malformed", `${this.place}.${key}`, "must be a list");
    return found;
  }

  /** @param {string} key */
  matrix(key) {
    return this.list(key).map((row) => {
      require(Array.isArray(row), "malformed", `${this.place}.${key}`, "must be lists");
      return row.map((/** @type {unknown} */ value) => this.whole(value, key));
    });
  }

  /**
   * @param {unknown} holds
   * @param {string} rule
   */
  law(holds, rule) {
    require(holds, "not_a_law", this.place, rule);
  }
}

/**
 * @param {unknown} value
 * @returns {value is Json}
 */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * @param {bigint} numerator
 * @param {bigint} denominator
 * @returns {Ratio}
 */
function ratio(numerator, denominator) {
  return { numerator, denominator };
}

/**
 * Of a ratio and its inverse the larger one.
 *
 * @param {bigint} a
 * @param {bigint} b
 */
function larger(a, b) {
  return a > b ? ratio(a, b) : ratio(b, a);
}

/**
 * @param {Ratio} a
 * @param {Ratio} b
 */
function exceeds(a, b) {
  return a.numerator * b.denominator > b.numerator * a.denominator;
}

/**
 * @param {Ratio} a
 * @param {Ratio} b
 */
function largest(a, b) {
  return exceeds(a, b) ? a : b;
}

/**
 * A column of integers 0..m-1.
 *
 * @param {string} name
 * @param {number} m
 * @returns {Column}
 */
function integers(name, m) {
  const dtype = m <= 2 ** 8 ? "|u1" : m <= 2 ** 16 ? "<u2" : m <= 2 ** 32 ? "<u4" : "<u8";
  return { name, dtype, length: 1 };
}

/**
 * A column of bits.
 *
 * @param {number} count
 * @returns {Column}
 */
function bitColumn(count) {
  return { name: "bits", dtype: "|u1", length: Math.ceil(count / 8) };
}

/**
 * The bytes of bits: the first bit is the highest of the first byte.
 *
 * @param {readonly boolean[]} bits
 */
function packed(bits) {
  const bytes = new Array(Math.ceil(bits.length / 8)).fill(0n);
  bits.forEach((bit, i) => {
    if (bit) bytes[i >> 3] |= 128n >> BigInt(i & 7);
  });
  return bytes;
}

/**
 * @param {Words} next
 * @param {bigint} threshold
 * @param {number} count
 */
function drawnBits(next, threshold, count) {
  return Array.from({ length: count }, () => below(next, threshold));
}

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
const SAMPLERS = {
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

  window(entries) {
    const [cells, width] = [entries.count("cells"), entries.count("width")];
    const [own, other] = [entries.integer("own"), entries.integer("other")];
    const [w, outside] = [BigInt(width), BigInt(cells - width)];
    const total = w * own + outside * other;
    entries.law(width >= 1 && width < cells && cells <= 2 ** 20, "must have 1 <= width < cells");
    entries.law(own >= 1n && other >= 1n && total <= RANGE, "must have widths of at most 2^64");
    return {
      ...BY_POSITION,
      columns: [integers("report", cells)],
      odds: larger(own, other),
      draw: (position, next) => {
        const start = BigInt(rounded(position, cells - width, next));
        let u = next();
        while (u >= total) u = next();
        if (u < w * own) return { report: [start + u / own] };
        const drawn = (u - w * own) / other;
        return { report: [drawn >= start ? drawn + w : drawn] };
      },
      reports: cells,
      dummy: (next) => ({ report: [uniform(next, BigInt(cells))] }),
      dummyOdds: () => {
        const [most, least] = own > other ? [own, other] : [other, own];
        return [ratio(most * BigInt(cells), total), ratio(total, least * BigInt(cells))];
      },
      law: null,
    };
  },

  noise(entries) {
    const [steps, reach] = [entries.count("steps"), entries.count("reach")];
    const fall = entries.integer("fall");
    const byIndex = entries.data.answer === "index";
    const size = byIndex ? entries.count("size") : steps + 1;
    const digits = entries.list("digits").map((_, i, all) => thresholdOf(entries, all[i]));
    const rest = thresholdOf(entries, entries.get("rest"));
    const [n, last] = [BigInt(steps), BigInt(steps) + 2n * BigInt(reach)];
    entries.law(size === steps + 1, "must have size = steps + 1");
    entries.law(steps >= 1 && fall >= 1n && fall < RANGE, "must have 1 <= fall < 2^64");
    entries.law(last < 1n << 23n, "must have at most 2^23 reports");
    entries.law(isGeometric(fall, digits, rest), "must have the digits of its fall");
    const sum = (/** @type {bigint} */ point, /** @type {bigint} */ moved) => {
      const report = point + moved + BigInt(reach);
      return { report: [report < 0n ? 0n : report > last ? last : report] };
    };
    const noise = (/** @type {Words} */ next) => (
      geometric(next, digits, rest) - geometric(next, digits, rest));
    const stated = entries.data.odds;
    const near = isObject(stated) && stated.between === "neighbours";
    return {
      ...(byIndex ? { ...BY_INDEX, size } : BY_POSITION),
      columns: [integers("report", Number(last) + 1)],
      odds: ratio(RANGE, fall),
      between: near ? "neighbours" : "any",
      power: near ? 1n : n,
      steps: near ? steps : 1,
      draw: (encoded, next) => {
        const moved = noise(next);
        return sum(BigInt(byIndex ? encoded : rounded(encoded, steps, next)), moved);
      },
      reports: Number(last) + 1,
      dummy: (next) => {
        const point = uniform(next, n + 1n);
        return sum(point, noise(next));
      },
      dummyOdds: () => {
        // S = 1 + a + .. + a^n as a numerator over 2^(64 n), with a = fall / 2^64.
        const sums = (RANGE ** (n + 1n) - fall ** (n + 1n)) / (RANGE - fall);
        return [ratio((n + 1n) * RANGE ** n, sums), ratio(sums, (n + 1n) * fall ** n)];
      },
      law: null,
    };
  },

  exponential(entries) {
    const [size, words] = [entries.count("size"), entries.count("words")];
    const { height, width, places } = placesOf(entries);
    const weights = entries.matrix("weights");
    const classes = [height, width].map((length, axis) => {
      const key = axis === 0 ? "row_classes" : "column_classes";
      return entries.get(key) === undefined ? null : { length, matrix: entries.matrix(key) };
    });
    entries.law(words >= 1 && words <= MOST_WORDS && places.length === size && size >= 2, SHAPE);
    const whole = 1n << BigInt(64 * words);
    const classOf = (
      /** @type {number} */ axis, /** @type {number} */ i, /** @type {number} */ j,
    ) => Number(classes[axis]?.matrix[i]?.[j] ?? Math.abs(i - j));
    const weight = (/** @type {number} */ a, /** @type {number} */ b) => {
      const found = weights[classOf(0, Math.floor(a / width), Math.floor(b / width))]
        ?.[classOf(1, a % width, b % width)];
      entries.law(found !== undefined, "must have a weight for each class");
      return found;
    };
    const masses = (/** @type {number} */ x) => {
      const own = places.map((place) => weight(places[x], place));
      const total = own.reduce((sum, value) => sum + value, 0n);
      entries.law(total > 0n, "must have weights");
      const found = own.map((value, z) => (z === x ? 0n : (whole * value) / total));
      found[x] = whole - found.reduce((sum, value) => sum + value, 0n);
      return found;
    };
    const rows = places.map((_, x) => masses(x));
    entries.law(rows.every((row) => row.every((mass) => mass > 0n)), "must have positive masses");
    const pairs = neighbours(places, width);
    const furthest = tableOdds(entries, rows, null);
    return {
      ...BY_INDEX,
      size,
      columns: [integers("report", size)],
      odds: pairs.length > 0 ? largestOfPairs(rows, pairs) : furthest,
      between: pairs.length > 0 ? "neighbours" : "any",
      furthest,
      draw: (index, next) => {
        const ends = cumulative(rows[index], whole);
        return { report: [BigInt(among(next, ends, words))] };
      },
      law: null,
    };
  },

  planar(entries) {
    const [size, words] = [entries.count("size"), entries.count("words")];
    const { height, width, places } = placesOf(entries);
    const quadrant = entries.matrix("quadrant");
    const reports = entries.get("reports") === undefined ? null : entries.integers("reports");
    const cells = height * width;
    entries.law(height >= 2 && width >= 2 && places.length === size && size >= 2, SHAPE);
    entries.law(words >= 1 && words <= MOST_WORDS, SHAPE);
    entries.law(quadrant.length === height && quadrant.every((row) => row.length === width), SHAPE);
    entries.law(quadrant.every((row) => row.every((mass) => mass > 0n)), SHAPE);
    const inside = reports === null
      || (reports.length === cells && reports.every((y) => y < BigInt(size)));
    entries.law(inside, "must have a report for each cell");
    const whole = 1n << BigInt(64 * words);
    const unfolded = (/** @type {number} */ half) => (
      Array.from({ length: 2 * half - 1 }, (_, i) => Math.abs(i - half + 1)));
    const masses = unfolded(height).flatMap((i) => unfolded(width).map((j) => quadrant[i][j]));
    entries.law(masses.reduce((sum, mass) => sum + mass, 0n) === whole, "must sum to 1");
    const ends = cumulative(masses, whole);
    return {
      ...BY_INDEX,
      size,
      columns: [integers("report", reports === null ? cells : size)],
      odds: planarOdds(quadrant),
      between: "neighbours",
      furthest: cells * size > MOST_PAIRS
        ? shiftedOdds(entries, quadrant, places) : furthestOdds(quadrant, places, reports),
      draw: (index, next) => {
        const moved = among(next, ends, words);
        const down = Math.floor(moved / (2 * width - 1)) - (height - 1);
        const right = (moved % (2 * width - 1)) - (width - 1);
        const row = limited(Math.floor(places[index] / width) + down, height - 1);
        const place = row * width + limited((places[index] % width) + right, width - 1);
        return { report: [reports === null ? BigInt(place) : reports[place]] };
      },
      law: null,
    };
  },

  gaussian(entries) {
    const steps = entries.integers("steps").map(Number);
    const [beyond, group] = [entries.count("beyond"), entries.count("group")];
    const words = entries.count("words");
    const half = entries.integers("masses");
    const byIndex = entries.data.answer === "index";
    const size = byIndex ? entries.count("size") : 0;
    const places = byIndex ? entries.matrix("places") : null;
    for (const key of ["delta", "delta_at_most"]) entries.get(key);
    const reach = half.length - 1;
    entries.law(steps.length >= 1 && group >= 1, SHAPE);
    entries.law(words >= 1 && words <= MOST_WORDS && (byIndex || steps.length === 1), SHAPE);
    const whole = 1n << BigInt(64 * words);
    entries.law(reach === beyond + Math.max(...steps), "must have masses up to its reach");
    entries.law(half.every((mass) => mass > 0n), "must have positive masses");
    const sides = half.slice(1);
    const total = half[0] + 2n * sides.reduce((sum, mass) => sum + mass, 0n);
    entries.law(total === whole, "must have masses that sum to 1");
    const onAxes = (/** @type {bigint[]} */ place) => (
      place.length === steps.length && place.every((at, i) => at <= BigInt(steps[i])));
    const fits = places === null || (places.length === size && size >= 2 && places.every(onAxes));
    entries.law(fits, "must have places on its axes");
    const masses = [...sides.slice().reverse(), ...half];
    const ends = cumulative(masses, whole);
    const shifts = places === null ? [steps] : largestShifts(places.map((at) => at.map(Number)));
    const most = steps.map((n) => n + 2 * beyond);
    const names = byIndex ? steps.map((_, i) => `axis${i}`) : ["report"];
    return {
      ...(byIndex ? { ...BY_INDEX, size } : BY_POSITION),
      columns: names.map((name, i) => integers(name, Math.ceil((most[i] + 1) / group))),
      odds: null,
      checkDelta: (data, place) => checkDelta(data, place, { masses, whole, shifts, byIndex }),
      unchecked: steps.length > 2,
      draw: (encoded, next) => {
        const at = places === null
          ? [rounded(encoded, steps[0], next)] : places[encoded].map(Number);
        return Object.fromEntries(names.map((name, i) => {
          const noise = among(next, ends, words) - reach;
          const value = limited(at[i] + noise + beyond, most[i]);
          return [name, [BigInt(Math.floor(value / group))]];
        }));
      },
      law: null,
    };
  },

  repeated(entries) {
    const parts = partsOf(entries, "times");
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

  each(entries) {
    const parts = partsOf(entries, "name");
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

  one_of(entries) {
    const blocks = blocksOf(entries);
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
        return inSlots(slots, blocks, block, encoded[block], next);
      },
      law: null,
    };
  },

  silence(entries) {
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

  permanent(entries) {
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

/** @type {{ answer: "index", between: string, power: bigint }} */
const BY_INDEX = { answer: "index", between: "any", power: 1n };

const SHAPE = "must have the shape and the words that it states";
const MOST_WORDS = 64; // of a probability; Python's laws have below 40
const MOST_PAIRS = 2 ** 20; // of a cell and a value that are compared; more would take seconds

/**
 * A shape, and the cell of each value in it.
 *
 * @param {Entries} entries
 */
function placesOf(entries) {
  const [height, width, ...more] = entries.integers("shape").map(Number);
  const two = width !== undefined && more.length === 0;
  require(two, "malformed", `${entries.place}.shape`, "must be two numbers");
  entries.law(height >= 1 && width >= 1 && height * width <= 2 ** 16, SHAPE);
  const cells = height * width;
  const places = entries.get("places") === undefined
    ? Array.from({ length: cells }, (_, i) => i) : entries.integers("places").map(Number);
  const ordered = places.every((place, i) => place < cells && (i === 0 || places[i - 1] < place));
  entries.law(ordered, "must have places in their order");
  return { height, width, places };
}

/**
 * The pairs of values that lie next to each other in a row or in a column.
 *
 * @param {readonly number[]} places
 * @param {number} width
 * @returns {[number, number][]}
 */
function neighbours(places, width) {
  const values = new Map(places.map((place, x) => [place, x]));
  /** @type {[number, number][]} */
  const pairs = [];
  places.forEach((place, x) => {
    const right = (place + 1) % width === 0 ? undefined : values.get(place + 1);
    const under = values.get(place + width);
    for (const y of [right, under]) if (y !== undefined) pairs.push([x, y]);
  });
  return pairs;
}

/**
 * The largest ratio of the masses of one report under two values of a pair.
 *
 * @param {readonly (readonly bigint[])[]} rows
 * @param {readonly (readonly [number, number])[]} pairs
 */
function largestOfPairs(rows, pairs) {
  let found = ratio(1n, 1n);
  for (const [a, b] of pairs) {
    rows[a].forEach((mass, y) => { found = largest(larger(mass, rows[b][y]), found); });
  }
  return found;
}

/**
 * The masses of displacements as reports at an end of the rows or of the columns see them, or in a
 * corner: those beyond are added up. `seen` are these tables as far as values lie so far away.
 *
 * @param {readonly (readonly bigint[])[]} inner
 */
function planarTables(inner) {
  const [height, width] = [inner.length, inner[0].length];
  const down = (/** @type {readonly (readonly bigint[])[]} */ table) => {
    const sums = table.map((row) => row.slice());
    for (let i = height - 2; i >= 0; i -= 1) {
      sums[i].forEach((_, j) => { sums[i][j] += sums[i + 1][j]; });
    }
    return sums;
  };
  const right = (/** @type {readonly (readonly bigint[])[]} */ table) => table.map((row) => {
    const sums = row.slice();
    for (let j = width - 2; j >= 0; j -= 1) sums[j] += sums[j + 1];
    return sums;
  });
  const along = down(inner);
  const [across, corner] = [right(inner), right(along)];
  const seen = [corner];
  if (width > 2) seen.push(along.map((row) => row.slice(0, -1)));
  if (height > 2) seen.push(across.slice(0, -1));
  if (width > 2 && height > 2) seen.push(inner.slice(0, -1).map((row) => row.slice(0, -1)));
  return { along, across, corner, seen };
}

/**
 * The largest ratio of two neighbouring displacements, as a report sees them: inside the rectangle,
 * at a side, and in a corner.
 *
 * @param {readonly (readonly bigint[])[]} inner
 */
function planarOdds(inner) {
  let found = ratio(1n, 1n);
  for (const table of planarTables(inner).seen) {
    table.forEach((row, i) => row.forEach((mass, j) => {
      for (const next of [table[i + 1]?.[j], row[j + 1]]) {
        if (next !== undefined) found = largest(larger(mass, next), found);
      }
    }));
  }
  return found;
}

/**
 * The largest ratio of the masses that a report has under any two values.
 *
 * @param {readonly (readonly bigint[])[]} inner
 * @param {readonly number[]} places
 * @param {readonly bigint[] | null} reports what cells are reported as; null for themselves.
 */
function furthestOdds(inner, places, reports) {
  const [height, width] = [inner.length, inner[0].length];
  const { along, across, corner } = planarTables(inner);
  const mass = (/** @type {number} */ cell, /** @type {number} */ place) => {
    const [row, column] = [Math.floor(cell / width), cell % width];
    const [end, side] = [row % (height - 1) === 0, column % (width - 1) === 0];
    const table = end ? (side ? corner : along) : side ? across : inner;
    return table[Math.abs(row - Math.floor(place / width))][Math.abs(column - (place % width))];
  };
  /** @type {Map<bigint, number[]>} */
  const cells = new Map();
  for (let cell = 0; cell < height * width; cell += 1) {
    const report = reports === null ? BigInt(cell) : reports[cell];
    const merged = cells.get(report) ?? [];
    merged.push(cell);
    cells.set(report, merged);
  }
  let found = ratio(1n, 1n);
  for (const merged of cells.values()) {
    const masses = places.map((place) => merged.reduce((sum, at) => sum + mass(at, place), 0n));
    const high = masses.reduce((a, b) => (a > b ? a : b));
    found = largest(ratio(high, masses.reduce((a, b) => (a < b ? a : b))), found);
  }
  return found;
}

/**
 * A bound of these odds for many cells, where masses fall with the distance. Of values that are at
 * most (a, b) apart, one that a report sees at (i, j) is seen at most at (i + a, j + b) from the
 * other, and cells that are reported as one have no larger odds than the worst of them.
 *
 * @param {Entries} entries
 * @param {readonly (readonly bigint[])[]} inner
 * @param {readonly number[]} places
 */
function shiftedOdds(entries, inner, places) {
  const width = inner[0].length;
  const shifts = largestShifts(places.map((at) => [Math.floor(at / width), at % width]));
  let [worst, found] = [-1, ratio(1n, 1n)];
  for (const table of planarTables(inner).seen) {
    const [last, end] = [table.length - 1, table[0].length - 1];
    entries.law(
      table.every((row, i) => row.every((mass, j) => (
        mass >= (table[i + 1]?.[j] ?? 0n) && mass >= (row[j + 1] ?? 0n)))),
      "must have masses that fall with the distance, where there are many cells",
    );
    // The pair is chosen by doubles, and its odds are exact.
    const nats = table.map((row) => row.map((mass) => (
      mass < 1n << 1000n ? Math.log(Number(mass)) : logarithm(ratio(mass, 1n)))));
    for (const [down, across] of shifts) {
      const [a, b] = [Math.min(down, last), Math.min(across, end)];
      for (let i = 0; i + a <= last; i += 1) {
        for (let j = 0; j + b <= end; j += 1) {
          if (nats[i][j] - nats[i + a][j + b] > worst) {
            worst = nats[i][j] - nats[i + a][j + b];
            found = ratio(table[i][j], table[i + a][j + b]);
          }
        }
      }
    }
  }
  return found;
}

/**
 * A number moved to 0 or to the last one where it lies beyond.
 *
 * @param {number} value
 * @param {number} last
 */
function limited(value, last) {
  return Math.min(Math.max(value, 0), last);
}

/**
 * @typedef {object} Noise of one axis or more, independent and alike.
 * @property {readonly bigint[]} masses
 * @property {bigint} whole their sum.
 * @property {readonly (readonly number[])[]} shifts the differences of the most distant values.
 * @property {boolean} byIndex whether the program leaves the delta out.
 */

/**
 * The delta of a program is that of its integers, and at most what it may be.
 *
 * @param {Json} data
 * @param {string} place
 * @param {Noise} noise
 * @returns {Ratio} the delta; that of two axes at most.
 */
function checkDelta(data, place, { masses, whole, shifts, byIndex }) {
  const most = ratioOf(data.odds_at_most, `${place}.odds_at_most`);
  const allowed = ratioOf(data.delta_at_most, `${place}.delta_at_most`);
  const rule = "must have the delta of its integers";
  if (byIndex) require(data.delta === null, "odds_differ", place, rule);
  const isConcave = masses.every((mass, j) => (
    mass * mass >= (masses[j - 1] ?? 0n) * (masses[j + 1] ?? 0n)));
  require(isConcave, "not_a_law", place, "must have masses that fall ever faster");
  let worst = ratio(0n, 1n);
  for (const shift of shifts) {
    if (shift.length > 2) return allowed; // a survey has no such program
    const found = deltaOfShift(masses, whole, shift, most);
    require(!exceeds(found, allowed), "odds_exceed", place, "must have at most delta_at_most");
    if (!byIndex) {
      const stated = ratioOf(data.delta, `${place}.delta`, 0n);
      const same = stated.numerator * found.denominator === found.numerator * stated.denominator;
      require(same, "odds_differ", place, rule);
    }
    worst = largest(found, worst);
  }
  return worst;
}

/**
 * The delta of two values that differ by a shift, with m the masses and M their sum.
 *
 *     one axis:  sum_j max(0, m_j - e m_(j + a)) / M
 *     two axes:  sum_ij max(0, m_i m_j - e m_(i + a) m_(j + b)) / M^2
 *
 * Since the masses are log-concave, m_j / m_(j + b) grows with j. So the terms above 0 are those
 * from some j on, for each i, and sums from j on are known.
 *
 * @param {readonly bigint[]} masses
 * @param {bigint} whole
 * @param {readonly number[]} shift
 * @param {Ratio} most e.
 */
function deltaOfShift(masses, whole, shift, most) {
  const [a, b] = shift.length > 1 ? shift : [0, shift[0]];
  const rows = shift.length > 1 ? masses : [1n];
  const last = masses.length;
  const from = new Array(last + 1).fill(0n);
  for (let j = last - 1; j >= 0; j -= 1) from[j] = from[j + 1] + masses[j];
  let excess = 0n;
  rows.forEach((row, i) => {
    const own = most.denominator * row;
    const other = most.numerator * (rows[i + a] ?? 0n);
    let [low, high] = [0, last];
    while (low < high) {
      const j = (low + high) >> 1;
      if (own * masses[j] > other * (masses[j + b] ?? 0n)) high = j;
      else low = j + 1;
    }
    excess += own * from[low] - other * from[Math.min(low + b, last)];
  });
  return ratio(excess, most.denominator * whole ** BigInt(shift.length));
}

/**
 * The differences of places that no other difference exceeds on all axes. Noise hides the others
 * better.
 *
 * @param {readonly (readonly number[])[]} places
 */
function largestShifts(places) {
  const axes = places[0]?.length ?? 0;
  if (axes > 2) return [new Array(axes).fill(0)];
  // Of the places in one row, only the first and the last can be furthest from others.
  const ends = new Map();
  for (const [row, column = 0] of places) {
    const [low, high] = ends.get(row) ?? [column, column];
    ends.set(row, [Math.min(low, column), Math.max(high, column)]);
  }
  /** @type {Map<number, number>} */
  const widest = new Map();
  for (const [row, [low, high]] of ends) {
    for (const [other, [otherLow, otherHigh]] of ends) {
      const down = Math.abs(row - other);
      const across = Math.max(high - otherLow, otherHigh - low);
      widest.set(down, Math.max(widest.get(down) ?? 0, across));
    }
  }
  let best = -1;
  const found = [];
  for (const [down, across] of [...widest].sort(([i], [j]) => j - i)) {
    if (across > best) found.push(axes > 1 ? [down, across] : [down]);
    best = Math.max(best, across);
  }
  return axes > 1 ? found : found.slice(0, 1);
}

/**
 * The programs of several reports of one person.
 *
 * @param {Entries} entries
 * @param {"times" | "name"} key
 * @returns {Part[]}
 */
function partsOf(entries, key) {
  const parts = entries.list("parts").map((part, i) => {
    const place = `${entries.place}.parts.${i}`;
    require(isObject(part), "malformed", place, "must be an object");
    const { program } = part;
    require(isObject(program), "malformed", place, "must have a program");
    const inner = new Entries(part, place);
    const name = key === "name" ? part.name : "";
    require(typeof name === "string", "malformed", place, "must have a name");
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
 * @returns {Block[]}
 */
function blocksOf(entries) {
  const { place } = entries;
  const widths = entries.integers("draw");
  const programs = entries.list("programs").map((program, i) => {
    require(isObject(program), "malformed", `${place}.programs.${i}`, "must be an object");
    return { program, sampler: prepare(program, `${place}.programs.${i}`) };
  });
  const listed = entries.list("blocks").map((block, i) => {
    const at = `${place}.blocks.${i}`;
    require(isObject(block), "malformed", at, "must be an object");
    const { attributes } = block;
    const named = Array.isArray(attributes) && attributes.every((one) => typeof one === "string");
    require(named, "malformed", at, "must name its questions");
    const number = new Entries(block, at).count("program");
    require(number < programs.length, "malformed", at, "must have one of the programs");
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
function blockFrom(blocks, next) {
  let end = 0n;
  return among(next, blocks.slice(0, -1).map(({ width }) => (end += width)), 1);
}

/**
 * A report about a block in the columns of all blocks; those that it does not need are 0.
 *
 * @param {readonly Column[]} slots
 * @param {readonly Block[]} blocks
 * @param {number} block
 * @param {Encoded} encoded
 * @param {Words} next
 * @returns {Drawn}
 */
function inSlots(slots, blocks, block, encoded, next) {
  const { sampler } = blocks[block];
  const drawn = sampler.draw(encoded, next);
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

/** @type {{ answer: "position", size: number, between: string, power: bigint }} */
const BY_POSITION = { answer: "position", size: 0, between: "any", power: 1n };

/**
 * A position in [0, 1] as one of the points 0..steps, rounded at random with the right mean. Two
 * products and a subtraction of doubles make the threshold, as in Python; the word decides.
 *
 * @param {number} position
 * @param {number} steps
 * @param {Words} next
 */
function rounded(position, steps, next) {
  const s = position * steps;
  const point = Math.min(Math.floor(s), steps - 1);
  const threshold = BigInt(Math.trunc(Math.min((s - point) * 2 ** 64, 2 ** 64 - 2048)));
  const up = below(next, threshold);
  if (s >= steps) return steps;
  return up ? point + 1 : point;
}

/**
 * A threshold of several words.
 *
 * @param {Entries} entries
 * @param {unknown} words
 */
function thresholdOf(entries, words) {
  const rule = "must be lists of four words";
  require(Array.isArray(words), "malformed", entries.place, rule);
  const found = words.map((word) => entries.whole(word, "digits"));
  entries.law(found.length === 4 && found.every((word) => word < RANGE), rule);
  return found;
}

/**
 * G >= 0 with Pr(G >= k) = a^k: its binary digits are independent, and the rest takes trials.
 *
 * @param {Words} next
 * @param {readonly (readonly bigint[])[]} digits
 * @param {readonly bigint[]} rest
 */
function geometric(next, digits, rest) {
  let total = 0n;
  digits.forEach((digit, i) => {
    if (below(next, ...digit)) total += 1n << BigInt(i);
  });
  while (below(next, ...rest)) total += 1n << BigInt(digits.length);
  return total;
}

/**
 * Whether the thresholds of a geometric number are those of a = fall / 2^64, within 2^-191.
 *
 *     digit j: a^(2^j) / (1 + a^(2^j)),   rest: a^(2^J) for J digits
 *
 * @param {bigint} fall
 * @param {readonly (readonly bigint[])[]} digits
 * @param {readonly bigint[]} rest
 */
function isGeometric(fall, digits, rest) {
  const one = 1n << 256n;
  const near = (/** @type {bigint} */ a, /** @type {bigint} */ b, /** @type {bigint} */ width) => (
    a - b <= width && b - a <= width);
  const whole = (/** @type {readonly bigint[]} */ words) => (
    words.reduce((sum, word) => (sum << 64n) | word, 0n));
  let power = fall << 192n;
  for (const digit of digits) {
    if (!near(whole(digit) * (one + power), one * power, 1n << 320n)) return false;
    power = (power * power) >> 256n;
  }
  return digits.length <= 40 && near(whole(rest), power, 1n << 64n);
}

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
 * A uniform subset of `members` of the items 0..total-1, by Floyd's algorithm.
 *
 * @param {Words} next
 * @param {number} total
 * @param {number} members
 * @param {boolean} complement whether the items that are not in the subset are drawn.
 */
function subset(next, total, members, complement) {
  const bits = new Array(total).fill(false);
  const wanted = complement ? total - members : members;
  for (let top = total - wanted; top < total; top += 1) {
    const drawn = Number(uniform(next, BigInt(top + 1)));
    bits[bits[drawn] ? top : drawn] = true;
  }
  return complement ? bits.map((bit) => !bit) : bits;
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
 * The end of each cell but the last, without empty cells at the end.
 *
 * @param {readonly bigint[]} masses
 * @param {bigint} whole their sum.
 */
function cumulative(masses, whole) {
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
function tableOdds(entries, rows, sensitive) {
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
    require(high === 0n || low > 0n, "not_a_law", entries.place, rule);
    if (high > 0n) found = largest(found, ratio(high, low));
  });
  return found;
}

/**
 * @typedef {object} Functions public hash functions.
 * @property {Column[]} columns
 * @property {[bigint, bigint] | null} collision the chance that two values share a bucket, as a
 *   numerator and a denominator, where it is the same for all pairs.
 * @property {(index: number, next: Words) => { columns: Drawn, bucket: number }} draw
 */

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
  require(isObject(program), "malformed", place, "must be a program");
  const known = PREPARED.get(program);
  if (known !== undefined) return known;
  require(program.format === 1, "unknown_format", place, "must have the format 1");
  const name = program.sampler;
  const isKnown = typeof name === "string" && Object.hasOwn(SAMPLERS, name);
  require(isKnown, "unknown_sampler", place, "must name a sampler that this module knows");
  const entries = new Entries(program, place);
  const sampler = SAMPLERS[name](entries);
  require(program.answer === sampler.answer, "malformed", place, "must have its kind of answers");
  const strange = Object.keys(program).some((key) => !entries.known.has(key));
  require(!strange, "malformed", place, "must have the entries of its sampler");
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
  require(same, "columns_differ", place, rule);
  sampler.columns.forEach((column, i) => {
    const given = columns[i];
    const equal = isObject(given) && given.name === column.name && given.dtype === column.dtype
      && given.length === column.length;
    require(equal, "columns_differ", place, rule);
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
    require(data.odds === null, "odds_differ", place, rule);
    if (sampler.checkDelta) sampler.delta = sampler.checkDelta(data, place);
    return;
  }
  const stated = ratioOf(data.odds, `${place}.odds`);
  const given = /** @type {Json} */ (data.odds);
  const same = stated.numerator * odds.denominator === odds.numerator * stated.denominator;
  require(same && given.between === between, "odds_differ", place, rule);
  require(new Entries(given, place).integer("power") === power, "odds_differ", place, rule);
  const most = ratioOf(data.odds_at_most, `${place}.odds_at_most`);
  require(!exceeds(odds, most), "odds_exceed", place, "must have odds of at most odds_at_most");
}

/**
 * @param {unknown} value
 * @param {string} place
 * @param {bigint} [least] of the numerator.
 */
function ratioOf(value, place, least = 1n) {
  require(isObject(value), "malformed", place, "must be a fraction");
  const entries = new Entries(value, place);
  const found = ratio(entries.integer("numerator"), entries.integer("denominator"));
  const positive = found.numerator >= least && found.denominator > 0n;
  require(positive, "malformed", place, "must be positive");
  return found;
}

// ---------------------------------------------------------------------------------------------
// Surveys.

/**
 * Read and check a survey document.
 *
 * @param {Uint8Array | ArrayBuffer} served the bytes as they were served.
 * @param {string | null} [expected] the SHA-256 that they must have, 64 hexadecimal digits.
 * @returns {Promise<Survey>}
 * @throws {Refusal}
 */
export async function readSurvey(served, expected = null) {
  const bytes = new Uint8Array(served);
  if (expected !== null) {
    const found = await surveyDigest(bytes);
    require(found === expected.toLowerCase(), "altered", "survey", "must have its digest");
  }
  let data;
  try {
    data = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal("malformed", "survey", "must be JSON");
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
  require(isObject(data), "malformed", "survey", "must be an object");
  require(data.format === FORMAT, "malformed", "survey.format", `must be ${FORMAT}`);
  const digest = typeof data.study === "string" && /^[0-9a-f]{64}$/.test(data.study);
  require(digest, "malformed", "survey.study", "must be a digest of 64 digits");
  const layout = typeof data.layout === "string" && /^[0-9a-f]{64}$/.test(data.layout);
  require(layout, "malformed", "survey.layout", "must be a digest of 64 digits");
  const { languages, access, contact } = data;
  const tagged = Array.isArray(languages) && languages.length > 0
    && languages.every((tag) => typeof tag === "string")
    && new Set(languages).size === languages.length;
  require(tagged, "malformed", "survey.languages", "must be different texts");
  checkText(data.title, languages, "survey.title");
  checkText(data.introduction, languages, "survey.introduction");
  checkNumber(data.epsilon, "survey.epsilon");
  const known = access === "open" || access === "invited";
  require(known, "malformed", "survey.access", "must be open or invited");
  require(typeof contact === "string", "malformed", "survey.contact", "must be a text");
  const weak = data.weak_protection === undefined || data.weak_protection === true;
  require(weak, "malformed", "survey.weak_protection", "must be true, or left out");
  for (const key of ["opens", "closes"]) {
    const moment = data[key];
    const is = moment === null
      || (typeof moment === "string" && Number.isFinite(Date.parse(moment)));
    require(is, "malformed", `survey.${key}`, "must be a moment or null");
  }
  const { questions, public: columns } = data;
  const some = Array.isArray(questions) && questions.length > 0 && Array.isArray(columns);
  require(some, "malformed", "survey.questions", "must be lists, with a question at least");
  const names = new Set();
  for (const asked of [...questions, ...columns]) {
    checkAsked(asked, languages);
    require(!names.has(asked.name), "malformed", `survey.${asked.name}`, "must be asked once");
    names.add(asked.name);
  }
  questions.forEach((question) => checkQuestion(question, data.program !== undefined));
  if (data.program !== undefined) checkBlocks(data.program, questions);
  checkRepeat(data.repeat, questions);
  for (const { name, domain } of columns) {
    const place = `survey.public.${name}.domain`;
    const kinds = ["categorical", "integers", "dates"];
    require(kinds.includes(domain.kind), "malformed", place, "must be of a public column");
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
  require(is, "malformed", place, "must have a text in each language");
}

/**
 * @param {unknown} value
 * @param {string} place
 */
function checkNumber(value, place) {
  const is = typeof value === "number" && Number.isFinite(value) && value > 0;
  require(is, "malformed", place, "must be a number above 0");
}

/**
 * @param {unknown} asked
 * @param {readonly string[]} languages
 * @returns {asserts asked is Asked}
 */
function checkAsked(asked, languages) {
  require(isObject(asked), "malformed", "survey.questions", "must be objects");
  const named = typeof asked.name === "string" && asked.name !== "";
  require(named, "malformed", "survey.questions", "must have names");
  const place = `survey.${asked.name}`;
  checkText(asked.label, languages, `${place}.label`);
  checkText(asked.help, languages, `${place}.help`);
  require(typeof asked.unit === "string", "malformed", `${place}.unit`, "must be a text");
  require(isObject(asked.domain), "malformed", `${place}.domain`, "must be an object");
  const values = checkDomain(asked.domain, `${place}.domain`);
  const wanted = asked.domain.kind === "categorical" ? values : 0;
  const { answers } = asked;
  const shown = isObject(answers) && languages.every((tag) => {
    const texts = answers[tag];
    return Array.isArray(texts) && texts.every((text) => typeof text === "string")
      && texts.length === wanted;
  });
  require(shown, "malformed", `${place}.answers`, "must have a text for each label");
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
    require(labels && new Set(values).size === values.length, "malformed", place, rule);
  } else if (kind === "integers") {
    require(whole("low", "high"), "malformed", place, rule);
  } else if (kind === "interval") {
    const clips = domain.clip === undefined || typeof domain.clip === "boolean";
    require(numeric("low", "high") && whole("bins") && clips, "malformed", place, rule);
    require(Number(domain.low) < Number(domain.high), "malformed", place, rule);
  } else if (kind === "grid") {
    const { without = [] } = domain;
    const cells = Array.isArray(without) && without.every((pair) => (
      Array.isArray(pair) && pair.length === 2 && pair.every((part) => Number.isInteger(part))));
    require(whole("rows", "columns") && numeric("side") && cells, "malformed", place, rule);
  } else {
    const unit = typeof domain.unit === "string" && Object.hasOwn(LAST_DATE, domain.unit);
    require(kind === "dates" && unit, "malformed", place, rule);
  }
  const found = size(/** @type {Domain} */ (/** @type {unknown} */ (domain)));
  require(found >= 2 && found <= 2 ** 26, "malformed", place, "must have 2 to 2^26 values");
  return found;
}

/**
 * @param {Question} question
 * @param {boolean} drawn whether the survey has one program for all questions.
 */
function checkQuestion(question, drawn) {
  const { name, domain, silence, program, delta } = question;
  const place = `survey.${name}`;
  require(typeof silence === "boolean", "malformed", `${place}.silence`, "must be true or false");
  checkNumber(question.epsilon, `${place}.epsilon`);
  if (delta !== null) checkNumber(delta, `${place}.delta`);
  const asks = domain.kind !== "dates";
  require(asks, "malformed", `${place}.domain`, "must be a domain of questions");
  if (drawn) {
    require(program === undefined, "malformed", place, "must have no program beside that of all");
    return;
  }
  const one = program?.sampler !== "each" && program?.sampler !== "one_of";
  require(one, "malformed", place, "must have a program of one question");
  const sampler = prepare(program, place);
  checkFits(sampler, question, place);
  checkDeltaOf(sampler, delta, place);
}

/**
 * A survey has permanent reports and says its rounds, or it has neither.
 *
 * @param {unknown} repeat
 * @param {readonly Question[]} questions
 */
function checkRepeat(repeat, questions) {
  const memos = questions.map(({ program }) => program && prepare(program).memo);
  const place = "survey.repeat";
  const all = repeat !== undefined;
  const same = memos.every((memo) => (memo !== undefined) === all);
  require(same, "malformed", place, "must go with permanent reports of all questions");
  if (!all) return;
  require(isObject(repeat), "malformed", place, "must be an object");
  const { round, rounds, values, epsilon } = repeat;
  const whole = [round, rounds, values].every((n) => Number.isSafeInteger(n) && Number(n) >= 1);
  require(whole && Number(round) <= Number(rounds), "malformed", place, "must be of one round");
  checkNumber(epsilon, `${place}.epsilon`);
  const total = questions.reduce((sum, { program }) => {
    const memo = /** @type {Json} */ (/** @type {Program} */ (program).memo);
    const sampler = prepare(memo);
    return sum + Math.min(Number(values), sampler.size) * natsOf(sampler, memo);
  }, 0);
  const rule = "must be the epsilon of all permanent reports";
  require(total <= Number(epsilon) * (1 + 1e-9), "odds_exceed", `${place}.epsilon`, rule);
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
  require(small, "unprotected", place, "must have a small delta that can be checked");
  const told = Number(found) / Number(RANGE) <= (delta ?? 0) * (1 + 1e-9);
  require(told, "odds_exceed", `${place}.delta`, "must be the delta of the integers");
}

/**
 * Check the program of a survey whose people are asked one block of its questions each.
 *
 * @param {unknown} program
 * @param {readonly Question[]} questions
 */
function checkBlocks(program, questions) {
  const [place, { blocks }] = ["survey.program", prepare(program, "survey.program")];
  require(blocks !== undefined, "malformed", place, "must be of blocks of questions");
  const names = new Map(questions.map((question) => [question.name, question]));
  const held = new Set(blocks.flatMap(({ attributes }) => attributes));
  const same = held.size === names.size && [...held].every((name) => names.has(name));
  require(same, "malformed", place, "must be of the questions of the survey");
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
    require(fits, "malformed", place, "must have a program for its values");
  }
}

/**
 * How many answers a question has, silence among them.
 *
 * @param {Question} question
 */
function valuesOf({ domain, silence }) {
  return size(domain) + (silence ? 1 : 0);
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
  require(sampler.answer === "index" || numeric, "malformed", place, "must be on numbers");
  if (sampler.answer === "position") {
    const same = (sampler.silence ?? false) === silence;
    require(same, "malformed", place, "must have a program with silence, or none");
    return;
  }
  const values = size(domain) + (silence && !sampler.silence ? 1 : 0);
  require(sampler.size === values, "malformed", place, "must have a program for its values");
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

/** @param {Ratio} odds */
function logarithm({ numerator, denominator }) {
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

/**
 * Refuse a survey that shows a smaller epsilon than its programs have, or hides so little that it
 * would have to say so.
 *
 * @param {Survey} data
 */
function checkEpsilon({ questions, program, epsilon, weak_protection: weak }) {
  const rule = "must be the epsilon of the odds";
  let total = program === undefined ? 0 : natsOf(prepare(program), program);
  for (const question of questions) {
    const { name, epsilon: stated } = question;
    const place = `survey.${name}.epsilon`;
    const found = Math.max(...programsOf({ questions, program }, name).map((one) => (
      natsOf(prepare(one), one))));
    require(found <= stated * (1 + 1e-9) + 1e-12, "odds_exceed", place, rule);
    const few = weak === true || found <= Math.log(MOST_ODDS);
    require(few, "unprotected", place, `must have odds of at most ${MOST_ODDS} of any two answers`);
    if (program === undefined) total += stated;
  }
  require(total <= epsilon * (1 + 1e-9), "odds_exceed", "survey.epsilon", rule);
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

// ---------------------------------------------------------------------------------------------
// Reports and submissions.

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
  require(takes(sampler, encoded), "bad_answer", "bad_answer", rule);
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
  const sampler = prepare(program);
  const { columns } = /** @type {Program} */ (program);
  const right = sampler.degrade !== undefined
    && memo.length === recordLength(/** @type {Program} */ (program));
  require(right, "bad_answer", "memo", "must be the record of a permanent report");
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
  const { degrade: once } = /** @type {Required<Sampler>} */ (sampler);
  return record(/** @type {Program} */ (program), once(kept, next));
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
 * @typedef {number | null | readonly Encoded[]} Encoded an index, a position in [0, 1], null for no
 *   answer of a program of numbers, or one of these for each part of a program.
 */

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
 * @param {Words} [next]
 * @returns {Uint8Array} the record of the report.
 */
export function randomize(question, answer, next = systemWords()) {
  return sample(question.program, encode(question, answer), next);
}

/**
 * The blocks of a program `one_of`: the questions that one person answers together.
 *
 * @param {unknown} program
 * @returns {readonly Block[]}
 */
export function blocks(program) {
  const { blocks: found } = prepare(program);
  require(found !== undefined, "malformed", "program", "must be of blocks of questions");
  return found;
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
 * The block that an invited person is asked: the same on every device. Its word is
 *
 *     the first 8 bytes of SHA-256("warner block\n" study "\n" code), the highest byte first
 *
 * @param {Survey} survey
 * @param {string} code as it is printed, or without hyphens.
 * @returns {Promise<number>} the block, from 0.
 */
export async function blockOfCode(survey, code) {
  const hash = await hashOfCode("warner block", survey, code);
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
 * @param {Words} [next]
 * @returns {Uint8Array} the record of the report.
 */
export function randomizeBlock(survey, block, answers, next = systemWords()) {
  const { columns } = prepare(survey.program);
  const all = blocks(survey.program);
  require(Number.isInteger(block) && block >= 0 && block < all.length, "bad_answer", "block",
    "must be one of the blocks");
  const { attributes, sampler } = all[block];
  const rule = "is of no question that this person was asked";
  for (const name of Object.keys(answers)) {
    require(attributes.includes(name), "bad_answer", name, rule);
  }
  const asked = attributes.map((name) => (
    /** @type {Question} */ (survey.questions.find((question) => question.name === name))));
  const encoded = encodedBlock(sampler, asked, asked.map((question) => given(question, answers)));
  const drawn = inSlots([...columns], all, block, encoded, next);
  return record(/** @type {Program} */ (survey.program), drawn);
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
 * @param {Readonly<Record<string, Uint8Array>>} [person.memos] the permanent report on each answer,
 *   by the names of the questions, where the survey has several rounds.
 * @param {Uint8Array} [person.id] 16 bytes, for tests. Otherwise drawn, or made of the code.
 * @param {Words} [person.words] for tests.
 * @returns {Promise<Uint8Array>} id, public indices, and the record of each question or of the
 *   block.
 * @throws {Refusal}
 */
export async function seal(survey, person) {
  const { answers, block, public: columns = {}, code, memos, id, words } = person;
  // The answers are read before anything is awaited, so that the caller can forget them.
  const next = words ?? systemWords();
  const invited = survey.access === "invited";
  const shown = survey.public.map((column) => int32(indexOf(column, given(column, columns))));
  const records = survey.program === undefined
    ? survey.questions.map((question) => (survey.repeat === undefined
      ? randomize(question, given(question, answers), next)
      : degrade(question.program, memos?.[question.name] ?? new Uint8Array(), next)))
    : [randomizeBlock(survey, block ?? -1, answers, next)];
  const own = id ?? (invited
    ? await invitationId(survey, code ?? "")
    : crypto.getRandomValues(new Uint8Array(ID_LENGTH)));
  require(own.length === ID_LENGTH, "code", "id", `must have ${ID_LENGTH} bytes`);
  if (invited && survey.program !== undefined) {
    const same = await blockOfCode(survey, code ?? "") === block;
    require(same, "code", "block", "must be that of the invitation code");
  }
  return joined([own, ...shown, ...records]);
}

const ID_LENGTH = 16;

/**
 * @param {Asked} asked
 * @param {Readonly<Record<string, Answer>>} answers
 */
function given({ name }, answers) {
  require(Object.hasOwn(answers, name), "bad_answer", name, "needs an answer, or null for none");
  return answers[name];
}

/** @param {number} value four bytes, little endian. */
function int32(value) {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, value, true);
  return bytes;
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
  require(asked >= 0, "malformed", name, "must be a question of the survey");
  const place = survey.program === undefined ? asked : 0;
  const { length } = reportsOf(survey)[place];
  require(record.length === length, "malformed", name, `must have a record of ${length} bytes`);
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
    (sum, { length }) => sum + length, ID_LENGTH + 4 * survey.public.length,
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
  require(some, "malformed", "submissions", `must be 1 to ${LARGEST_BATCH}`);
  const whole = submissions.every((submission) => submission.length === length);
  require(whole, "malformed", "submissions", `must have ${length} bytes each`);
  return joined([new TextEncoder().encode("WRN1"), unhex(survey.layout), ...submissions]);
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
 * @param {Survey} survey
 * @param {string} code
 */
function hashOfCode(use, { study }, code) {
  const plain = plainCode(code);
  require(plain !== null, "code", "code", "must be 16 letters and digits, as in the invitation");
  return sha256(new TextEncoder().encode(`${use}\n${study}\n${plain}`));
}

// ---------------------------------------------------------------------------------------------
// What a person is told.

/**
 * @typedef {object} Chances how often reports of a sort are sent, of `of` people.
 * @property {"names" | "bit" | "supports"} kind
 * @property {number} of 100, or more where a count would be rounded to none or to all.
 * @property {number} same of `of` people with the value, how many send such a report.
 * @property {number} other of `of` people with another value.
 * @property {Ratio} exactlySame the exact chance.
 * @property {Ratio} exactlyOther
 * @property {Ratio} odds how many times as likely a report can be under one value as under another.
 */

/**
 * The exact law of a question's reports, for the sentence of odds; null where only the odds say
 * something, as for numbers.
 *
 * @param {{ readonly program?: unknown }} question a question, or a block of one question.
 * @param {number} [index] the value that the sentence is about.
 * @returns {Chances | null}
 */
export function probabilities(question, index = 0) {
  const { law, odds } = prepare(question.program);
  if (law === null || odds === null) return null;
  const { kind, same, other } = law(index);
  let of = 100;
  while (of < 1_000_000 && [same, other].some((chance) => isAllOrNone(outOf(chance, of), of))) {
    of *= 10;
  }
  return {
    kind,
    of,
    same: outOf(same, of),
    other: outOf(other, of),
    exactlySame: same,
    exactlyOther: other,
    odds,
  };
}

/**
 * A chance as a number of people, rounded to the nearest.
 *
 * @param {Ratio} chance
 * @param {number} people
 */
export function outOf({ numerator, denominator }, people) {
  return Number((2n * BigInt(people) * numerator + denominator) / (2n * denominator));
}

/**
 * @param {number} count
 * @param {number} people
 */
function isAllOrNone(count, people) {
  return count === 0 || count === people;
}

/**
 * What a page may promise the people who answer a survey, by the epsilons that it states and that
 * its integers keep to.
 *
 * First how well answers are hidden: `strong`: nobody can be sure what somebody answered. `weak`:
 * of some answers somebody can be more than 95 % sure. `none`: of some answers almost certain. Then
 * what has to be added: `together`: all answers together can tell more than each one; `sensitive`:
 * only some answers are protected; `drawn`: which questions somebody is asked is not; `public`: nor
 * are public columns.
 *
 * @param {Survey} survey
 * @returns {string[]}
 */
export function promisesOf(survey) {
  const { questions, public: columns, epsilon } = survey;
  const levels = ["strong", "weak", "none"];
  const levelOf = (/** @type {number} */ nats, /** @type {number | null} */ delta) => {
    if (nats > Math.log(MOST_ODDS)) return 2;
    return nats > Math.log(STRONG_ODDS) || delta !== null ? 1 : 0;
  };
  /** @type {Set<number>} */
  const found = new Set(questions.map((question) => levelOf(question.epsilon, question.delta)));
  const least = Math.max(...found);
  const isSensitive = (/** @type {Question} */ { name }) => (
    programsOf(survey, name).some((program) => prepare(program).between === "sensitive"));
  return [
    ...levels.filter((_, i) => found.has(i) && (i > 0 || least === 0)).reverse(),
    ...(levelOf(survey.repeat?.epsilon ?? epsilon, null) > least ? ["together"] : []),
    ...(questions.some(isSensitive) ? ["sensitive"] : []),
    ...(survey.program !== undefined ? ["drawn"] : []),
    ...(columns.length > 0 ? ["public"] : []),
  ];
}

/**
 * @typedef {object} Segment bytes of a submission that mean something.
 * @property {"id" | "public" | "report"} kind
 * @property {string} name the public column or the question; "" for the id and for a block.
 * @property {number} start
 * @property {Uint8Array} bytes
 */

/**
 * What the bytes of a submission are: the id, public columns, and the report of each question.
 *
 * @param {Survey} survey
 * @param {Uint8Array} submission
 * @returns {Segment[]}
 */
export function segments(survey, submission) {
  /** @type {[Segment["kind"], string, number][]} */
  const lengths = [
    ["id", "", ID_LENGTH],
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
