// The device half of warner in a browser: it reads a survey, randomises answers, and seals reports.
//
// One ES module without dependencies. Every decision of a sampler compares whole numbers of 64 bits
// or more with whole numbers that travel in the survey. Nothing is decided by a rounded number, and
// no exponential is computed. The words come from crypto.getRandomValues.
//
// A survey is refused, with a name, where its bytes do not have the digest that was expected, where
// a program is malformed, and where the odds of a program, computed here from its integers, are not
// those that the survey states or exceed those that it may have.
//
// The module keeps no answer: nothing of a person outlives a call, and used words are overwritten.

/** The format of survey documents that this module reads. */
export const FORMAT = 1;

/**
 * The largest odds that this module accepts: a little above exp(10). A report of a survey may be at
 * most this many times as likely under one answer as under another.
 */
export const MOST_ODDS = 22027n;

const RANGE = 1n << 64n;
const LARGEST_BATCH = 10_000;

/**
 * @typedef {() => bigint} Words gives uniform integers 0..2^64 - 1, one for each call.
 * @typedef {string | number | boolean | bigint | readonly number[] | null} Answer a label, a number,
 *   a cell [row, column], or null for no answer.
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
 * @property {Program} program
 *
 * @typedef {Asked & Randomised} Question
 *
 * @typedef {object} Survey a survey document that was read and checked; frozen.
 * @property {number} format
 * @property {string} study the digest of the study, 64 hexadecimal digits.
 * @property {Text} title
 * @property {Text} introduction
 * @property {readonly string[]} languages
 * @property {number} epsilon
 * @property {readonly Question[]} questions
 * @property {readonly Asked[]} public
 * @property {"open" | "invited"} access
 * @property {string} contact
 * @property {string | null} opens
 * @property {string | null} closes
 */

/**
 * Why a survey, an answer or a submission is refused. No message holds an answer.
 *
 * `code` is one of
 *
 * - `altered`: the bytes of the survey do not have the digest that was expected.
 * - `insecure`: the page has no Web Cryptography: it was not loaded over HTTPS or from this machine.
 * - `malformed`: not a survey document, or one of another format.
 * - `program`: a program that is not well-formed, or that this module does not know.
 * - `odds`: the odds of a program are not those that the survey states, or exceed what it may have.
 * - `unprotected`: the odds exceed those that this module accepts at all.
 * - `answer`: an answer outside the domain of its question, or none where one is needed.
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
    require(question.silence, "answer", question.name, "needs an answer");
    return size(question.domain);
  }
  const found = ENCODERS[question.domain.kind](/** @type {never} */ (question.domain), answer);
  require(found >= 0, "answer", question.name, "must be one of the values of the question");
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
    require(question.silence, "answer", name, "needs an answer");
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
  require(typeof answer === "number" && Number.isFinite(answer), "answer", name, rule);
  if (clip) return Math.min(Math.max(answer, low), high);
  require(answer >= low && answer <= high, "answer", name, rule);
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
    return Math.min(Math.trunc(exact * domain.bins), domain.bins - 1);
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
 * @property {"names" | "bit" | "supports"} kind whether the report names the value, has its bit set,
 *   or supports it.
 * @property {Ratio} same
 * @property {Ratio} other
 *
 * @typedef {object} Sampler a program whose integers were read and checked.
 * @property {"index" | "position"} answer how answers are encoded.
 * @property {number} size how many encoded answers there are; 0 for positions.
 * @property {boolean} [silence] of positions: whether null is an answer.
 * @property {readonly Column[]} columns
 * @property {Ratio} odds
 * @property {string} between
 * @property {bigint} power
 * @property {(encoded: any, next: Words) => Drawn} draw
 * @property {((encoded: number) => Law) | null} law null where no such sentence makes sense.
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
  }

  /**
   * An integer of at least 0: a number below 2^53, or a hexadecimal text from there on.
   *
   * @param {string} key
   */
  integer(key) {
    return this.whole(this.data[key], key);
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
    const found = this.data[key];
    require(Array.isArray(found), "malformed", `${this.place}.${key}`, "must be a list");
    return found;
  }

  /** @param {string} key */
  inner(key) {
    const found = this.data[key];
    require(isObject(found), "malformed", `${this.place}.${key}`, "must be a program");
    return found;
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
      law: () => ({ kind: "supports", same: ratio(agree, RANGE), other: ratio(1n, 2n) }),
    };
  },

  table(entries) {
    const [size, words] = [entries.count("size"), entries.count("words")];
    const rows = entries.list("numerators").map((_, x, all) => {
      require(Array.isArray(all[x]), "malformed", `${entries.place}.numerators`, "must be lists");
      return all[x].map((/** @type {unknown} */ value) => entries.whole(value, "numerators"));
    });
    const listed = entries.data.sensitive === undefined ? null : entries.integers("sensitive");
    const whole = 1n << BigInt(64 * words);
    entries.law(words >= 1 && size >= 2 && rows.length === size, "must have a list for each value");
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
};

/** @type {{ answer: "index", between: string, power: bigint }} */
const BY_INDEX = { answer: "index", between: "any", power: 1n };

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
  require(data.answer === sampler.answer, "columns_differ", place, "must have its kind of answers");
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
function checkOdds({ data, place }, { odds, between, power }) {
  const stated = ratioOf(data.odds, `${place}.odds`);
  const given = /** @type {Json} */ (data.odds);
  const same = stated.numerator * odds.denominator === odds.numerator * stated.denominator;
  const rule = "must be the odds of its integers";
  require(same && given.between === between, "odds_differ", place, rule);
  require(new Entries(given, place).integer("power") === power, "odds_differ", place, rule);
  const most = ratioOf(data.odds_at_most, `${place}.odds_at_most`);
  require(!exceeds(odds, most), "odds_exceed", place, "must have odds of at most odds_at_most");
}

/**
 * @param {unknown} value
 * @param {string} place
 */
function ratioOf(value, place) {
  require(isObject(value), "malformed", place, "must be a fraction");
  const entries = new Entries(value, place);
  const found = ratio(entries.integer("numerator"), entries.integer("denominator"));
  require(found.numerator > 0n && found.denominator > 0n, "malformed", place, "must be positive");
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
  questions.forEach(checkQuestion);
  for (const { name, domain } of columns) {
    const place = `survey.public.${name}.domain`;
    const kinds = ["categorical", "integers", "dates"];
    require(kinds.includes(domain.kind), "malformed", place, "must be of a public column");
  }
  checkEpsilon(data, questions);
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

/** @param {Question} question */
function checkQuestion(question) {
  const { name, domain, silence, program, delta } = question;
  const place = `survey.${name}`;
  require(typeof silence === "boolean", "malformed", `${place}.silence`, "must be true or false");
  checkNumber(question.epsilon, `${place}.epsilon`);
  if (delta !== null) checkNumber(delta, `${place}.delta`);
  const asks = domain.kind !== "dates";
  require(asks, "malformed", `${place}.domain`, "must be a domain of questions");
  const sampler = prepare(program, place);
  const values = size(domain) + (silence ? 1 : 0);
  const fits = sampler.answer === "position" || sampler.size === values;
  require(fits, "malformed", place, "must have a program for its values");
  const numeric = domain.kind === "integers" || domain.kind === "interval";
  require(sampler.answer === "index" || numeric, "malformed", place, "must be on numbers");
  const most = ratio(MOST_ODDS, 1n);
  const rule = `must have odds of at most ${MOST_ODDS}`;
  require(!exceeds(power(sampler), most), "unprotected", place, rule);
}

/**
 * The odds that bound any two compared values: r^power, or a little above it.
 *
 * Powers are taken by squaring, with 256 binary digits after the point and rounded up. They stop
 * where they exceed what this module accepts.
 *
 * @param {Sampler} sampler
 * @returns {Ratio}
 */
function power({ odds, power: exponent }) {
  if (exponent === 1n) return odds;
  const [one, most] = [1n << 256n, MOST_ODDS << 256n];
  const up = (/** @type {bigint} */ a, /** @type {bigint} */ b) => (a + b - 1n) / b;
  let square = up(odds.numerator * one, odds.denominator);
  let found = one;
  for (let left = exponent; left > 0n && found <= most; left >>= 1n) {
    if (left & 1n) found = up(found * square, one);
    if (left > 1n) square = square > most ? most + one : up(square * square, one);
  }
  return ratio(found, one);
}

/**
 * The epsilon of a question in nats, from the odds of its integers. It is shown, and decides
 * nothing that is sampled.
 *
 * @param {Question} question
 */
export function epsilonOf(question) {
  const { odds, power: exponent } = prepare(question.program);
  return logarithm(odds) * Number(exponent);
}

/** @param {Ratio} odds */
function logarithm({ numerator, denominator }) {
  const scale = 1n << 200n;
  const found = (numerator * scale) / denominator;
  const bits = found.toString(2).length;
  const head = Number(found >> BigInt(Math.max(bits - 60, 0)));
  return Math.log(head) + (Math.max(bits - 60, 0) - 200) * Math.LN2;
}

/**
 * Refuse a survey that shows a smaller epsilon than its programs have.
 *
 * @param {Json} data
 * @param {readonly Question[]} questions
 */
function checkEpsilon(data, questions) {
  const rule = "must be the epsilon of the odds";
  let total = 0;
  for (const question of questions) {
    const sampler = prepare(question.program);
    if (sampler.between === "neighbours") continue;
    const stated = question.epsilon;
    const is = epsilonOf(question) <= stated * (1 + 1e-9) + 1e-9;
    require(is, "odds_exceed", `survey.${question.name}.epsilon`, rule);
  }
  for (const { epsilon } of questions) total += epsilon;
  require(total <= Number(data.epsilon) * (1 + 1e-9), "odds_exceed", "survey.epsilon", rule);
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
 * @param {number | null} encoded an index in 0..K-1, or a position in [0, 1] and null for silence.
 * @param {Words} [next]
 * @returns {Uint8Array}
 */
export function sample(program, encoded, next = systemWords()) {
  const sampler = prepare(program);
  const rule = "must be an answer that the program takes";
  require(takes(sampler, encoded), "bad_answer", "answer", rule);
  return record(/** @type {Program} */ (program), sampler.draw(encoded, next));
}

/**
 * @param {Sampler} sampler
 * @param {unknown} encoded
 */
function takes(sampler, encoded) {
  if (sampler.answer === "index") {
    return Number.isSafeInteger(encoded) && Number(encoded) >= 0 && Number(encoded) < sampler.size;
  }
  if (encoded === null) return sampler.silence ?? false;
  return typeof encoded === "number" && encoded >= 0 && encoded <= 1;
}

/**
 * The encoded answer that a question's program takes.
 *
 * @param {Question} question
 * @param {Answer} answer
 * @returns {number | null}
 */
export function encode(question, answer) {
  const { answer: form } = prepare(question.program);
  return form === "index" ? indexOf(question, answer) : positionOf(question, answer);
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
 * Seal one person's answers: the bytes that leave the device.
 *
 * @param {Survey} survey
 * @param {object} person
 * @param {Readonly<Record<string, Answer>>} person.answers by the names of all questions.
 * @param {Readonly<Record<string, Answer>>} [person.public] by the names of all public columns.
 * @param {string} [person.code] the invitation code, where the survey asks for one.
 * @param {Uint8Array} [person.id] 16 bytes, for tests. Otherwise drawn, or made of the code.
 * @param {Words} [person.words] for tests.
 * @returns {Promise<Uint8Array>} id, public indices, and the record of each question.
 * @throws {Refusal}
 */
export async function seal(survey, { answers, public: columns = {}, code, id, words }) {
  // The answers are read before anything is awaited, so that the caller can forget them.
  const next = words ?? systemWords();
  const shown = survey.public.map((column) => int32(indexOf(column, given(column, columns))));
  const records = survey.questions.map((question) => (
    randomize(question, given(question, answers), next)));
  const own = id ?? (survey.access === "invited"
    ? await invitationId(survey, code ?? "")
    : crypto.getRandomValues(new Uint8Array(ID_LENGTH)));
  require(own.length === ID_LENGTH, "code", "id", `must have ${ID_LENGTH} bytes`);
  return joined([own, ...shown, ...records]);
}

const ID_LENGTH = 16;

/**
 * @param {Asked} asked
 * @param {Readonly<Record<string, Answer>>} answers
 */
function given({ name }, answers) {
  require(Object.hasOwn(answers, name), "answer", name, "needs an answer, or null for none");
  return answers[name];
}

/** @param {number} value four bytes, little endian. */
function int32(value) {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, value, true);
  return bytes;
}

/**
 * How many bytes each submission of a survey has.
 *
 * @param {Survey} survey
 */
export function submissionLength(survey) {
  return survey.questions.reduce(
    (sum, { program }) => sum + recordLength(program), ID_LENGTH + 4 * survey.public.length,
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
  return joined([new TextEncoder().encode("WRN1"), unhex(survey.study), ...submissions]);
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
  const plain = plainCode(code);
  require(plain !== null, "code", "code", "must be 16 letters and digits, as in the invitation");
  const text = `warner invitation\n${survey.study}\n${plain}`;
  return (await sha256(new TextEncoder().encode(text))).slice(0, ID_LENGTH);
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
 * @param {Question} question
 * @param {number} [index] the value that the sentence is about.
 * @returns {Chances | null}
 */
export function probabilities(question, index = 0) {
  const { law, odds } = prepare(question.program);
  if (law === null) return null;
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
 * How many times as likely a report can be under one value as under another, for people: the odds
 * rounded up to three digits, so that they are never understated.
 *
 * @param {Question} question
 * @returns {number}
 */
export function oddsOf(question) {
  const { numerator, denominator } = power(prepare(question.program));
  let scale = 100n;
  if (numerator >= 100n * denominator) scale = 1n;
  else if (numerator >= 10n * denominator) scale = 10n;
  const scaled = (numerator * scale + denominator - 1n) / denominator;
  return Number(scaled) / Number(scale);
}

/**
 * @typedef {object} Segment bytes of a submission that mean something.
 * @property {"id" | "public" | "report"} kind
 * @property {string} name the public column or the question; "" for the id.
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
    ...survey.questions.map(({ name, program }) => (
      /** @type {[Segment["kind"], string, number]} */ (["report", name, recordLength(program)]))),
  ];
  let start = 0;
  return lengths.map(([kind, name, length]) => {
    const bytes = submission.slice(start, start + length);
    start += length;
    return { kind, name, start: start - length, bytes };
  });
}
