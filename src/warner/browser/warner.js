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
//
// One file, made from modules/ by `make browser-module`; comments and types stand there.
// @ts-nocheck

// modules/refusals.js
var Refusal = class extends Error {
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
};
function insist(condition, code, place, rule) {
  if (!condition) throw new Refusal(code, place, rule);
}

// modules/bytes.js
async function sha256(bytes) {
  const subtle = globalThis.crypto?.subtle;
  insist(subtle, "insecure", "page", "must be loaded over HTTPS or from this machine");
  return new Uint8Array(await subtle.digest("SHA-256", new Uint8Array(bytes)));
}
function hexadecimal(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
function unhex(digits) {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
var WIDTHS = { "|u1": 1, "<u2": 2, "<u4": 4, "<u8": 8 };
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
function recordLength(program) {
  return program.columns.reduce((sum, { dtype, length }) => sum + WIDTHS[dtype] * length, 0);
}
function int32(value) {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, value, true);
  return bytes;
}

// modules/domains.js
function size(domain) {
  if (domain.kind === "categorical") return domain.values.length;
  if (domain.kind === "integers") return domain.high - domain.low + 1;
  if (domain.kind === "interval") return domain.bins;
  if (domain.kind === "grid") return domain.rows * domain.columns - (domain.without ?? []).length;
  return LAST_DATE[domain.unit];
}
function indexOf(question, answer) {
  if (answer === null) {
    insist(question.silence, "bad_answer", question.name, "needs an answer");
    return size(question.domain);
  }
  const { name, domain } = question;
  const found = ENCODERS[domain.kind](
    /** @type {never} */
    domain,
    answer,
    name
  );
  insist(found >= 0, "bad_answer", name, `must be ${permitted(domain)}`);
  return found;
}
var LISTED = 12;
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
var EXAMPLES = { day: "2024-05-31", week: "2024-W22", month: "2024-05" };
function positionOf(question, answer) {
  const { domain, name } = question;
  if (answer === null) {
    insist(question.silence, "bad_answer", name, "needs an answer");
    return null;
  }
  if (domain.kind === "integers") return indexOf(question, answer) / (size(domain) - 1);
  insist(domain.kind === "interval", "program", name, "must be on numbers");
  return share(domain, within(domain, answer, name));
}
function share({ low, high }, number) {
  return Math.min(Math.max((number - low) / (high - low), 0), 1);
}
function within(domain, answer, name) {
  const { low, high, clip } = domain;
  const rule = `must be ${permitted(domain)}`;
  insist(typeof answer === "number" && Number.isFinite(answer), "bad_answer", name, rule);
  if (clip) return Math.min(Math.max(answer, low), high);
  insist(answer >= low && answer <= high, "bad_answer", name, rule);
  return answer;
}
var ENCODERS = {
  categorical: ({ values }, answer) => {
    const kinds = new Set(values.map((value) => typeof value));
    const plain = typeof answer === "bigint" ? Number(answer) : answer;
    if (!kinds.has(
      /** @type {any} */
      typeof plain
    )) return -1;
    const number = (v) => typeof v === "boolean" ? Number(v) : v;
    return values.findIndex((value) => number(value) === number(plain));
  },
  integers: ({ low, high }, answer) => {
    const number = typeof answer === "bigint" ? Number(answer) : answer;
    if (typeof number !== "number" || !Number.isSafeInteger(number)) return -1;
    return number < low || number > high ? -1 : number - low;
  },
  interval: (domain, answer, name) => {
    const number = within(domain, answer, name);
    const exact = (number - domain.low) / (domain.high - domain.low);
    return Math.min(Math.trunc(exact * domain.bins), domain.bins - 1) + 0;
  },
  grid: ({ rows, columns, without }, answer) => {
    if (!Array.isArray(answer) || answer.length !== 2) return -1;
    const [row, column] = answer;
    if (!Number.isInteger(row) || !Number.isInteger(column)) return -1;
    if (row < 0 || row >= rows || column < 0 || column >= columns) return -1;
    const place = row * columns + column;
    const left = (without ?? []).map(([r, c]) => r * columns + c);
    return left.includes(place) ? -1 : place - left.filter((other) => other < place).length;
  },
  dates: ({ unit }, answer) => dateIndex(unit, answer)
};
var LAST_DATE = { day: 3652059, week: 521723, month: 119988 };
var DAY = 864e5;
var FIRST_DAY = Date.UTC(2001, 0, 1) - 730485 * DAY;
function dateIndex(unit, answer) {
  if (typeof answer !== "string") return -1;
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(answer) ?? [];
  if (day !== void 0) {
    const days = dayIndex(Number(year), Number(month), Number(day));
    if (days < 0 || unit === "day") return days;
    return unit === "week" ? Math.floor(days / 7) : monthIndex(Number(year), Number(month));
  }
  const [, of, second] = (unit === "week" ? /^(\d{4})-W(\d{2})$/ : /^(\d{4})-(\d{2})$/).exec(answer) ?? [];
  if (second === void 0 || unit === "day") return -1;
  return unit === "week" ? weekIndex(Number(of), Number(second)) : monthIndex(Number(of), Number(second));
}
function monthIndex(year, month) {
  return year < 1 || month < 1 || month > 12 ? -1 : (year - 1) * 12 + month - 1;
}
function dayIndex(year, month, day) {
  const moment = /* @__PURE__ */ new Date(0);
  moment.setUTCFullYear(year, month - 1, day);
  const same = moment.getUTCMonth() === month - 1 && moment.getUTCDate() === day;
  return year < 1 || !same ? -1 : Math.round((moment.getTime() - FIRST_DAY) / DAY);
}
function weekIndex(year, week) {
  const first = Math.floor(dayIndex(year, 1, 4) / 7);
  const last = year === 9999 ? 52 : Math.floor(dayIndex(year + 1, 1, 4) / 7) - first;
  return year < 1 || week < 1 || week > last ? -1 : first + week - 1;
}
function parse({ domain }, text) {
  const { kind } = domain;
  if (kind === "categorical") {
    const whole = domain.values.every((value) => typeof value === "boolean");
    const wanted = whole ? text.toLowerCase() : text;
    return domain.values.find((value) => String(value) === wanted);
  }
  if (kind === "integers") return /^-?[0-9]{1,18}$/.test(text) ? Number(text) : void 0;
  if (kind === "interval") {
    const pattern = /^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$/;
    return pattern.test(text) ? Number(text) : void 0;
  }
  if (kind === "grid") {
    const found = /^(?:([0-9]{1,9}), ?([0-9]{1,9})|\[([0-9]{1,9}), ?([0-9]{1,9})\])$/.exec(text);
    return found ? found.slice(1).filter((part) => part !== void 0).map(Number) : void 0;
  }
  return text;
}
function valuesOf({ domain, silence }) {
  return size(domain) + (silence ? 1 : 0);
}

// modules/random.js
var RANGE = 1n << 64n;
function systemWords() {
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
function listedWords(words) {
  let taken = 0;
  const next = () => {
    insist(taken < words.length, "words", "words", "are used up");
    taken += 1;
    return words[taken - 1];
  };
  return Object.assign(next, { used: () => taken });
}
function below(next, ...thresholds) {
  for (const threshold of thresholds) {
    const u = next();
    if (u !== threshold) return u < threshold;
  }
  return false;
}
function uniform(next, bound) {
  if (bound === 1n) return 0n;
  const width = RANGE / bound;
  let found = next() / width;
  while (found >= bound) found = next() / width;
  return found;
}
function cell(next, width, count, last) {
  const total = count * width + last;
  let u = next();
  while (u >= total) u = next();
  const found = u / width;
  return found < count ? found : count;
}
function among(next, ends, words) {
  let u = 0n;
  for (let i = 0; i < words; i += 1) u = u << 64n | next();
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = low + high >> 1;
    if (u < ends[middle]) high = middle;
    else low = middle + 1;
  }
  return low;
}
function drawnBits(next, threshold, count) {
  return Array.from({ length: count }, () => below(next, threshold));
}
function subset(next, total, members, complement) {
  const bits = new Array(total).fill(false);
  const wanted = complement ? total - members : members;
  for (let top = total - wanted; top < total; top += 1) {
    const drawn = Number(uniform(next, BigInt(top + 1)));
    bits[bits[drawn] ? top : drawn] = true;
  }
  return complement ? bits.map((bit) => !bit) : bits;
}

// modules/entries.js
var MOST_DELTA = RANGE / 1000n;
var Entries = class {
  /**
   * @param {Json} data
   * @param {string} place
   */
  constructor(data, place) {
    this.data = data;
    this.place = place;
    this.known = /* @__PURE__ */ new Set(["format", "sampler", "answer", "columns", "odds", "odds_at_most"]);
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
      return row.map((value) => this.whole(value, key));
    });
  }
  /**
   * @param {unknown} holds
   * @param {string} rule
   */
  law(holds, rule) {
    insist(holds, "not_a_law", this.place, rule);
  }
};
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function ratio(numerator, denominator) {
  return { numerator, denominator };
}
function larger(a, b) {
  return a > b ? ratio(a, b) : ratio(b, a);
}
function exceeds(a, b) {
  return a.numerator * b.denominator > b.numerator * a.denominator;
}
function largest(a, b) {
  return exceeds(a, b) ? a : b;
}
function integers(name, m) {
  const dtype = m <= 2 ** 8 ? "|u1" : m <= 2 ** 16 ? "<u2" : m <= 2 ** 32 ? "<u4" : "<u8";
  return { name, dtype, length: 1, limit: m };
}
function bitColumn(count) {
  return { name: "bits", dtype: "|u1", length: Math.ceil(count / 8) };
}
function packed(bits) {
  const bytes = new Array(Math.ceil(bits.length / 8)).fill(0n);
  bits.forEach((bit, i) => {
    if (bit) bytes[i >> 3] |= 128n >> BigInt(i & 7);
  });
  return bytes;
}
var BY_INDEX = { answer: "index", between: "any", power: 1n };
var SHAPE = "must have the shape and the words that it states";
var MOST_WORDS = 64;
function cumulative(masses, whole) {
  let sum = 0n;
  return masses.map((mass) => sum += mass).filter((end) => end < whole);
}
function tableOdds(entries, rows, sensitive) {
  const rule = "must have no report that rules a protected value out";
  const made = rows[0].map((_, y) => rows.map((row) => row[y]));
  const kept = (_, x) => sensitive?.has(x) ?? true;
  const reported = made.filter((masses) => masses.some((mass) => mass > 0n));
  const isProtected = reported.map((masses) => masses.filter(kept).some((mass) => mass > 0n));
  const unique = reported.every(
    (masses, y) => isProtected[y] || masses.filter((mass) => mass > 0n).length === 1
  );
  let found = ratio(1n, 1n);
  reported.forEach((masses, y) => {
    if (unique && !isProtected[y]) return;
    const above = unique ? masses : masses.filter(kept);
    const high = above.reduce((a, b) => a > b ? a : b, 0n);
    const low = masses.reduce((a, b) => a < b ? a : b);
    insist(high === 0n || low > 0n, "not_a_law", entries.place, rule);
    if (high > 0n) found = largest(found, ratio(high, low));
  });
  return found;
}
function ratioOf(value, place, least = 1n) {
  insist(isObject(value), "malformed", place, "must be a fraction");
  const entries = new Entries(value, place);
  const found = ratio(entries.integer("numerator"), entries.integer("denominator"));
  const positive = found.numerator >= least && found.denominator > 0n;
  insist(positive, "malformed", place, "must be positive");
  return found;
}
function logarithm({ numerator, denominator }) {
  const scale = 1n << 1000n;
  const double = (scaled) => {
    const bits = scaled.toString(16).length * 4;
    return [Number(scaled >> BigInt(Math.max(bits - 64, 0))), Math.max(bits - 64, 0) - 1e3];
  };
  const isNear = numerator > denominator && numerator < 2n * denominator;
  const exact = isNear ? numerator - denominator : numerator;
  const [head, power] = double(exact * scale / denominator);
  return isNear ? Math.log1p(head * 2 ** power) : Math.log(head) + power * Math.LN2;
}

// modules/combined.js
var COMBINED = {
  repeated(entries, prepare2) {
    const parts = partsOf(entries, "times", prepare2);
    entries.law(parts.every(({ sampler }) => sampler.parts === void 0), "must repeat reports");
    const runs = parts.flatMap((part) => Array.from({ length: part.times }, () => part));
    const bounded = parts.every(({ sampler }) => sampler.odds !== null);
    const weakest = ["neighbours", "sensitive"].find((between) => parts.some(({ sampler }) => sampler.between === between)) ?? "any";
    const [{ sampler: first, times }] = parts;
    const one = parts.length === 1;
    return {
      ...combined(runs.map((part, i) => ({ ...part, name: String(i + 1) }))),
      parts,
      odds: !bounded ? null : one ? first.odds : product(parts),
      between: weakest,
      power: one ? first.power * BigInt(times) : 1n,
      draw: (encoded2, next) => {
        let run = 0;
        return Object.fromEntries(parts.flatMap(({ sampler, times: often }, i) => Array.from({ length: often }, () => {
          run += 1;
          return prefixed(String(run), sampler.draw(encoded2[i], next));
        }).flat()));
      }
    };
  },
  each(entries, prepare2) {
    const parts = partsOf(entries, "name", prepare2);
    const isEach = parts.some(({ program }) => program.sampler === "each");
    entries.law(!isEach, "must have parts of one question");
    return {
      ...combined(parts),
      parts,
      odds: null,
      draw: (encoded2, next) => Object.fromEntries(parts.flatMap(({ name, sampler }, i) => prefixed(name, sampler.draw(encoded2[i], next))))
    };
  },
  one_of(entries, prepare2) {
    const blocks2 = blocksOf(entries, prepare2);
    const slots = slotsOf(blocks2);
    return {
      answer: "parts",
      size: 0,
      between: "any",
      power: 1n,
      columns: slots,
      blocks: blocks2,
      odds: null,
      draw: (encoded2, next) => {
        const block = blockFrom(blocks2, next);
        return inSlots(slots, blocks2, block, blocks2[block].sampler.draw(encoded2[block], next));
      },
      law: null
    };
  },
  silence(entries, prepare2) {
    const [dropped, silent] = [entries.integer("dropped"), entries.integer("silent")];
    const inner = prepare2(entries.get("inner"), `${entries.place}.inner`);
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
      ratio(others.denominator * under.numerator, others.numerator * under.denominator)
    ];
    const raised2 = ratio(odds.numerator ** inner.power, odds.denominator ** inner.power);
    const last = inner.reports ?? 0;
    return {
      answer: inner.answer,
      size: inner.size,
      silence: true,
      between: "any",
      power: 1n,
      columns: [integers("report", last + 1)],
      odds: ratios.reduce(largest, raised2),
      draw: (encoded2, next) => {
        const report = inner.draw(encoded2 ?? 0, next);
        const instead = dummy(next);
        const none = below(next, encoded2 === null ? silent : dropped);
        if (none) return { report: [BigInt(last)] };
        return encoded2 === null ? instead : report;
      },
      law: null
    };
  },
  permanent(entries, prepare2) {
    const size2 = entries.count("size");
    const keep = entries.integer("keep");
    const memo = prepare2(entries.get("memo"), `${entries.place}.memo`);
    const { chances, levels } = memo;
    const rule = "must have a memo whose reports can be degraded, of as many values";
    entries.law((chances !== void 0 || levels !== void 0) && memo.size === size2, rule);
    const coin = entries.get("coin") === void 0 ? void 0 : entries.integer("coin");
    const matches = coin !== void 0 === (chances !== void 0);
    entries.law(matches, "must have a coin for bits alone");
    const inside = keep >= 1n && keep < RANGE && (coin ?? 1n) >= 1n && (coin ?? 1n) < RANGE;
    entries.law(inside, "must have 1 <= keep < 2^64 and 1 <= coin < 2^64");
    const odds = chances !== void 0 ? oddsOfBits(keep, coin ?? 0n, chances) : oddsOfLevels(entries, keep, levels);
    const degrade2 = (z, next) => {
      if (levels === void 0) {
        const count = 8 * z.bits.length;
        const [stays2, coins] = [keep, coin ?? 0n].map((t) => drawnBits(next, t, count));
        const of = (j) => (z.bits[j >> 3] >> BigInt(7 - (j & 7)) & 1n) === 1n;
        return { bits: packed(stays2.map((s, j) => j < size2 && (s ? of(j) : coins[j]))) };
      }
      const stays = below(next, keep);
      const fresh = levels.uniform(next);
      return stays ? z : fresh;
    };
    return {
      ...BY_INDEX,
      size: size2,
      columns: memo.columns,
      odds,
      memo,
      degrade: degrade2,
      draw: (index, next) => degrade2(memo.draw(index, next), next),
      law: null
    };
  }
};
function oddsOfBits(keep, coin, [own, other]) {
  const whole = RANGE * RANGE;
  const [high, low] = [own, other].map((bit) => keep * bit + (RANGE - keep) * coin);
  return ratio(high * (whole - low), low * (whole - high));
}
function oddsOfLevels(entries, keep, levels) {
  const { inside, outside, likelier } = (
    /** @type {Levels} */
    levels
  );
  const { numerator: high, denominator: low } = likelier;
  entries.law(high > low, "must have a memo whose reports speak for their values");
  const [all, total] = [inside + outside, inside * high + outside * low];
  const uniform2 = (RANGE - keep) * total;
  return ratio(keep * high * all + uniform2, keep * low * all + uniform2);
}
function partsOf(entries, key, prepare2) {
  const parts = entries.list("parts").map((part, i) => {
    const place = `${entries.place}.parts.${i}`;
    insist(isObject(part), "malformed", place, "must be an object");
    const { program } = part;
    insist(isObject(program), "malformed", place, "must have a program");
    const inner = new Entries(part, place);
    const name = key === "name" ? part.name : "";
    insist(typeof name === "string", "malformed", place, "must have a name");
    const times = key === "times" ? inner.count("times") : 1;
    return { name, times, program, sampler: prepare2(program, place) };
  });
  const runs = parts.reduce((sum, { times }) => sum + times, 0);
  const rule = "must have a part at least, and at most 10,000 reports";
  entries.law(parts.every(({ times }) => times >= 1) && runs >= 1 && runs <= 1e4, rule);
  return parts;
}
function combined(parts) {
  const columns = parts.flatMap(({ name, sampler }) => sampler.columns.map((column) => ({ ...column, name: `${name}.${column.name}` })));
  return { answer: "parts", size: 0, between: "any", power: 1n, columns, law: null };
}
var MOST_BLOCKS = 1e4;
function blocksOf(entries, prepare2) {
  const { place } = entries;
  const widths = entries.integers("draw");
  const programs = entries.list("programs").map((program, i) => {
    insist(isObject(program), "malformed", `${place}.programs.${i}`, "must be an object");
    return { program, sampler: prepare2(program, `${place}.programs.${i}`) };
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
    const each = program.sampler !== "each" || sampler.parts?.length === attributes.length && sampler.parts.every(({ name }, i) => name === attributes[i]);
    const plain = program.sampler !== "one_of" && program.sampler !== "repeated";
    entries.law(differ && each && plain, "must have blocks of different questions");
  }
  return listed.map((block, i) => ({ ...block, width: widths[i] }));
}
function slotsOf(blocks2) {
  const widest = [];
  for (const { sampler } of blocks2) {
    const dtypes = sampler.columns.flatMap(({ dtype, length }) => Array.from({ length }, () => dtype));
    dtypes.forEach((dtype, i) => {
      if (i >= widest.length || WIDTHS[dtype] > WIDTHS[widest[i]]) widest[i] = dtype;
    });
  }
  const one = widest.length === 1;
  return [integers("block", blocks2.length), ...widest.map((dtype, i) => ({ name: one ? "report" : `report_${i + 1}`, dtype, length: 1 }))];
}
function blockFrom(blocks2, next) {
  let end = 0n;
  return among(next, blocks2.slice(0, -1).map(({ width }) => end += width), 1);
}
function inSlots(slots, blocks2, block, drawn) {
  const { sampler } = blocks2[block];
  const flat = [BigInt(block), ...sampler.columns.flatMap(({ name }) => drawn[name])];
  return Object.fromEntries(slots.map(({ name }, i) => [name, [flat[i] ?? 0n]]));
}
function product(parts) {
  let [numerator, denominator] = [1n, 1n];
  for (const { sampler, times } of parts) {
    const exponent = sampler.power * BigInt(times);
    numerator *= (sampler.odds?.numerator ?? 1n) ** exponent;
    denominator *= (sampler.odds?.denominator ?? 1n) ** exponent;
  }
  return ratio(numerator, denominator);
}
function prefixed(prefix, drawn) {
  return Object.entries(drawn).map(([name, numbers]) => [`${prefix}.${name}`, numbers]);
}

// modules/labels.js
function direct(index, { size: size2, own, other }, next) {
  const drawn = Number(cell(next, other, BigInt(size2 - 1), own));
  if (drawn === size2 - 1) return index;
  return drawn < index ? drawn : drawn + 1;
}
function directEntries(entries, size2) {
  return {
    size: entries.count(size2),
    own: entries.integer("own"),
    other: entries.integer("other")
  };
}
function directLaw(entries, { size: size2, own, other }) {
  entries.law(size2 >= 2 && own >= 1n && other >= 1n, "own, other and size - 1 must be at least 1");
  const total = own + BigInt(size2 - 1) * other;
  entries.law(total <= RANGE, "own + (size - 1) other must be at most 2^64");
  return total;
}
var LABELS = {
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
        uniform: (next) => ({ report: [uniform(next, BigInt(widths.size))] })
      },
      law: () => ({
        kind: "names",
        same: ratio(widths.own, total),
        other: ratio(widths.other, total)
      })
    };
  },
  bits(entries) {
    const size2 = entries.count("size");
    const [keep, raised2] = [entries.integer("keep"), entries.integer("raised")];
    entries.law(
      size2 >= 2 && raised2 >= 1n && raised2 < keep && keep < RANGE,
      "must have 1 <= raised < keep < 2^64"
    );
    return {
      ...BY_INDEX,
      size: size2,
      columns: [bitColumn(size2)],
      odds: ratio(keep * (RANGE - raised2), raised2 * (RANGE - keep)),
      chances: [keep, raised2],
      draw: (index, next) => {
        const bits = drawnBits(next, raised2, 8 * Math.ceil(size2 / 8)).slice(0, size2);
        bits[index] = below(next, keep);
        return { bits: packed(bits) };
      },
      law: () => ({ kind: "bit", same: ratio(keep, RANGE), other: ratio(raised2, RANGE) })
    };
  },
  hash(entries) {
    const size2 = entries.count("size");
    const widths = directEntries(entries, "buckets");
    const family = entries.count("family");
    entries.law(family === 1 || family === 2, "must have the family 1 or 2");
    const functions = (family === 1 ? bySeed : overField)(entries, size2, widths.size);
    entries.law(size2 >= 2 && widths.size < 2 ** 16, "must have 2 <= buckets < 2^16");
    const total = directLaw(entries, widths);
    return {
      ...BY_INDEX,
      size: size2,
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
        }
      },
      law: functions.collision && hashLaw(widths, total, functions.collision)
    };
  },
  subset(entries) {
    const [size2, members] = [entries.count("size"), entries.count("members")];
    const include = entries.integer("include");
    const rule = "must have 1 <= members < size and 1 <= include < 2^64";
    entries.law(members >= 1 && members < size2 && include >= 1n && include < RANGE, rule);
    const [d, rest] = [BigInt(members), BigInt(size2 - members)];
    return {
      ...BY_INDEX,
      size: size2,
      columns: [bitColumn(size2)],
      odds: larger(include * rest, d * (RANGE - include)),
      draw: (index, next) => {
        const included = below(next, include);
        const bits = subset(next, size2 - 1, included ? members - 1 : members, 2 * members > size2);
        bits.push(index < size2 - 1 && bits[index]);
        bits[index] = included;
        return { bits: packed(bits) };
      },
      levels: {
        inside: d,
        outside: rest,
        likelier: ratio(include * rest, d * (RANGE - include)),
        uniform: (next) => ({ bits: packed(subset(next, size2, members, 2 * members > size2 + 1)) })
      },
      law: () => ({
        kind: "supports",
        same: ratio(include, RANGE),
        other: ratio(
          include * (d - 1n) + (RANGE - include) * d,
          RANGE * BigInt(size2 - 1)
        )
      })
    };
  },
  hadamard(entries) {
    const [size2, order] = [entries.count("size"), entries.count("order")];
    const agree = entries.integer("agree");
    const rule = "must have an order that is a power of two above size, and 1 <= agree < 2^64";
    const wide = BigInt(order);
    entries.law(size2 >= 2 && order > size2 && (wide & wide - 1n) === 0n, rule);
    entries.law(agree >= 1n && agree < RANGE, rule);
    return {
      ...BY_INDEX,
      size: size2,
      columns: [integers("report", order)],
      odds: larger(agree, RANGE - agree),
      draw: (index, next) => {
        const y = uniform(next, wide);
        const row = BigInt(index + 1);
        const keep = below(next, agree);
        return { report: [isEven(y & row) === keep ? y : y ^ row & -row] };
      },
      levels: {
        inside: 1n,
        outside: 1n,
        likelier: ratio(agree, RANGE - agree),
        uniform: (next) => ({ report: [uniform(next, wide)] })
      },
      law: () => ({ kind: "supports", same: ratio(agree, RANGE), other: ratio(1n, 2n) })
    };
  },
  table(entries) {
    const [size2, words] = [entries.count("size"), entries.count("words")];
    const rows = entries.matrix("numerators");
    const listed = entries.get("sensitive") === void 0 ? null : entries.integers("sensitive");
    entries.law(words >= 1 && words <= MOST_WORDS, SHAPE);
    const whole = 1n << BigInt(64 * words);
    entries.law(size2 >= 2 && rows.length === size2, "must have a list for each value");
    const reports = rows[0].length;
    for (const row of rows) {
      const total = row.reduce((sum, value) => sum + value, 0n);
      entries.law(
        row.length === reports && total === whole,
        "the numerators of each value must sum to 1"
      );
    }
    entries.law(
      listed === null || listed.length > 0 && listed.every((x) => x < BigInt(size2)),
      "sensitive must list values"
    );
    const sensitive = listed === null ? null : new Set(listed.map(Number));
    const ends = rows.map((row) => cumulative(row, whole));
    return {
      ...BY_INDEX,
      size: size2,
      columns: [integers("report", reports)],
      odds: tableOdds(entries, rows, sensitive),
      between: sensitive === null ? "any" : "sensitive",
      draw: (index, next) => ({ report: [BigInt(among(next, ends[index], words))] }),
      law: null
    };
  },
  projective(entries) {
    const [size2, blocks2] = [entries.count("size"), entries.count("blocks")];
    const include = entries.integer("include");
    const space = spaceOf(entries);
    const each = Math.ceil(size2 / blocks2);
    const points2 = BigInt(blocks2) * space.points;
    const rule = "must have blocks with room for all values, and 1 <= include < 2^64";
    entries.law(size2 >= 2 && blocks2 >= 1 && BigInt(each) <= space.points, rule);
    entries.law((blocks2 - 1) * each < size2 && points2 <= 1n << 25n, rule);
    entries.law(include >= 1n && include < RANGE, rule);
    const { orthogonal: s } = space;
    return {
      ...BY_INDEX,
      size: size2,
      columns: [integers("report", Number(points2))],
      odds: larger(include * (points2 - s), s * (RANGE - include)),
      draw: (index, next) => {
        const own = BigInt(Math.floor(index / each));
        const included = below(next, include);
        const place = uniform(next, points2 - s);
        const point = projectivePoint(space, BigInt(index % each), included, next);
        if (included || place < space.points - s) return { report: [own * space.points + point] };
        const beyond = place - (space.points - s);
        const block = beyond / space.points;
        const other = block >= own ? block + 1n : block;
        return { report: [other * space.points + beyond % space.points] };
      },
      levels: {
        inside: s,
        outside: points2 - s,
        likelier: ratio(include * (points2 - s), s * (RANGE - include)),
        uniform: (next) => ({ report: [uniform(next, points2)] })
      },
      // Values of other blocks share no report with the value, so one block alone has one chance.
      law: blocks2 > 1 ? null : () => ({
        kind: "supports",
        same: ratio(include, RANGE),
        // A report that another value prefers supports this one in c of its s points.
        other: ratio(
          include * space.common * (points2 - s) + (RANGE - include) * (s - space.common) * s,
          RANGE * s * (points2 - s)
        )
      })
    };
  },
  utility_direct(entries) {
    const [own, other] = [entries.integer("own"), entries.integer("other")];
    const { size: size2, members, ranks } = sensitiveEntries(entries);
    const total = namedTotal(entries, members, own, other);
    return {
      ...BY_INDEX,
      size: size2,
      columns: [integers("report", size2)],
      odds: ratio(own, other),
      between: members.length === size2 ? "any" : "sensitive",
      draw: (index, next) => ({ report: [BigInt(namedValue(index, next, members, ranks, own, other))] }),
      law: (index) => ({
        kind: "names",
        same: ratio(ranks.has(index) ? own : own - other, total),
        other: ratio(ranks.has(index) ? other : 0n, total)
      })
    };
  },
  utility_subset(entries) {
    const [own, other] = [entries.integer("own"), entries.integer("other")];
    const wanted = entries.count("members");
    const { size: size2, members, ranks } = sensitiveEntries(entries);
    namedTotal(entries, members, own, other);
    const last = members.length - 1;
    entries.law(
      wanted >= 1 && wanted <= Math.max(last, 1),
      "must have fewer members than sensitive values"
    );
    const d = BigInt(wanted);
    return {
      ...BY_INDEX,
      size: size2,
      columns: [bitColumn(size2)],
      odds: ratio(own + (d - 1n) * other, d * other),
      between: members.length === size2 ? "any" : "sensitive",
      draw: (index, next) => {
        const named = namedValue(index, next, members, ranks, own, other);
        const inside = subset(next, last, wanted - 1, 2 * (wanted - 1) > members.length);
        const rank = ranks.get(named);
        const bits = new Array(size2).fill(false);
        if (rank !== void 0) {
          inside.push(rank < last && inside[rank]);
          members.forEach((member, i) => {
            bits[member] = inside[i];
          });
        }
        bits[named] = true;
        return { bits: packed(bits) };
      },
      law: null
    };
  },
  utility_bits(entries) {
    const [keep, raised2] = [entries.integer("keep"), entries.integer("raised")];
    const dropped = entries.integer("dropped");
    const { size: size2, members, ranks } = sensitiveEntries(entries);
    const rule = "must have 1 <= raised < keep < 2^64 and 1 <= dropped <= 2^64";
    entries.law(raised2 >= 1n && raised2 < keep && keep < RANGE, rule);
    entries.law(dropped >= 1n && dropped <= RANGE, rule);
    let odds = members.length > 1 ? ratio(keep * (RANGE - raised2), raised2 * (RANGE - keep)) : ratio(1n, 1n);
    if (members.length < size2) {
      for (const [a, b] of [[keep, raised2], [RANGE - keep, RANGE - raised2]]) {
        odds = largest(larger(a * RANGE, b * dropped), odds);
      }
    }
    return {
      ...BY_INDEX,
      size: size2,
      columns: [bitColumn(size2)],
      odds,
      between: members.length === size2 ? "any" : "sensitive",
      draw: (index, next) => {
        const noise = drawnBits(next, raised2, 8 * Math.ceil(members.length / 8));
        const bits = new Array(size2).fill(false);
        members.forEach((member, i) => {
          bits[member] = noise[i];
        });
        bits[index] = below(next, ranks.has(index) ? keep : RANGE - dropped);
        return { bits: packed(bits) };
      },
      law: (index) => ({
        kind: "bit",
        same: ratio(ranks.has(index) ? keep : RANGE - dropped, RANGE),
        other: ratio(ranks.has(index) ? raised2 : 0n, RANGE)
      })
    };
  }
};
function sensitiveEntries(entries) {
  const size2 = entries.count("size");
  const members = entries.integers("sensitive").map(Number);
  const rule = "must list sensitive values in their order";
  const ordered = members.every((x, i) => x < size2 && (i === 0 || members[i - 1] < x));
  entries.law(size2 >= 2 && members.length >= 1 && ordered, rule);
  return { size: size2, members, ranks: new Map(members.map((x, i) => [x, i])) };
}
function spaceOf(entries) {
  const [q, t] = [entries.integer("prime"), entries.count("dimension")];
  entries.law(t >= 2 && t <= 26 && q < 1n << 26n && isPrime(q), "must have a prime, and t >= 2");
  return { q, t, points: points(q, t), orthogonal: points(q, t - 1), common: points(q, t - 2) };
}
function points(q, t) {
  return (q ** BigInt(t) - 1n) / (q - 1n);
}
function isPrime(number) {
  const n = Number(number);
  if (n < 2) return false;
  for (let d = 2; d * d <= n; d += 1) if (n % d === 0) return false;
  return true;
}
function projectivePoint({ q, t, orthogonal: s }, index, orthogonal, next) {
  const power = (k) => q ** BigInt(k);
  const free = (i) => {
    let r2 = 0;
    while (r2 + 1 < t && points(q, r2 + 1) <= i) r2 += 1;
    return r2;
  };
  const numberOf2 = (i) => i - points(q, free(i)) + power(free(i));
  const [v, place] = [numberOf2(index), free(index)];
  const w = orthogonal ? numberOf2(uniform(next, s)) : uniform(next, power(t - 1));
  let product2 = orthogonal ? 0n : 1n;
  let pending = !orthogonal;
  let [number, total] = [0n, 0n];
  for (let j = 0; j < t - 1; j += 1) {
    let digit = w / power(t - 2 - j) % q;
    const before = j < place;
    if (pending && before && digit > 0n) {
      product2 = digit;
      digit = 1n;
      pending = false;
    }
    if (before) total += digit * (v / power(j) % q);
    number += digit * power(before ? t - 1 - j : t - 2 - j);
  }
  number += ((product2 - total) % q + q) % q * power(t - 1 - place);
  let r = 0;
  while (r + 1 < t && power(r + 1) <= number) r += 1;
  return number - power(r) + points(q, r);
}
function isEven(bits) {
  let even = true;
  for (let left = bits; left > 0n; left &= left - 1n) even = !even;
  return even;
}
function namedTotal(entries, members, own, other) {
  const total = own + BigInt(members.length - 1) * other;
  entries.law(other >= 1n && own > other && total <= RANGE, "must have 1 <= other < own");
  return total;
}
function namedValue(index, next, members, ranks, own, other) {
  const drawn = Number(cell(next, other, BigInt(members.length), own - other));
  const rank = ranks.get(index);
  const named = rank !== void 0 && drawn >= rank ? drawn + 1 : drawn;
  return named < members.length ? members[named] : index;
}
function hashLaw({ own, other }, total, [together, pairs]) {
  const supports = together * own + (pairs - together) * other;
  return () => ({
    kind: "supports",
    same: ratio(own, total),
    other: ratio(supports, pairs * total)
  });
}
function overField(entries, size2, buckets) {
  const prime = entries.count("prime");
  entries.law(prime >= size2 && prime >= 2 && prime < 2 ** 27, "must have size <= prime < 2^27");
  const [p, g] = [BigInt(prime), BigInt(buckets)];
  const [full, rest] = [p / (g || 1n), p % (g || 1n)];
  const together = rest * (full + 1n) * full + (g - rest) * full * (full - 1n);
  return {
    columns: [integers("multiplier", prime - 1), integers("shift", prime)],
    collision: [together, p * (p - 1n)],
    draw: (index, next) => {
      const [multiplier, shift] = [uniform(next, p - 1n), uniform(next, p)];
      const x = BigInt(index);
      const bucket = ((multiplier + 1n) * (x * x * x % p) + shift) % p % g;
      return { columns: { multiplier: [multiplier], shift: [shift] }, bucket: Number(bucket) };
    }
  };
}
function bySeed(entries, _, buckets) {
  const seeds = entries.count("seeds");
  entries.law(seeds >= 1 && seeds < 2 ** 32, "must have 1 <= seeds < 2^32");
  return {
    columns: [integers("seed", seeds)],
    collision: null,
    draw: (index, next) => {
      const seed = uniform(next, BigInt(seeds));
      const key = mix(Math.imul(Number(seed), 2654435761) + 2135587861);
      const hashed = mix(key ^ Math.imul(index, 2246822519)) >>> 16;
      return { columns: { seed: [seed] }, bucket: hashed * buckets >>> 16 };
    }
  };
}
function mix(word) {
  let h = word >>> 0;
  h = Math.imul(h ^ h >>> 16, 2146121005) >>> 0;
  h = Math.imul(h ^ h >>> 15, 2221713035) >>> 0;
  return (h ^ h >>> 16) >>> 0;
}

// modules/numbers.js
var NUMBERS = {
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
      law: null
    };
  },
  noise(entries) {
    const [steps, reach] = [entries.count("steps"), entries.count("reach")];
    const fall = entries.integer("fall");
    const byIndex = entries.data.answer === "index";
    const size2 = byIndex ? entries.count("size") : steps + 1;
    const digits = entries.list("digits").map((_, i, all) => thresholdOf(entries, all[i]));
    const rest = thresholdOf(entries, entries.get("rest"));
    const [n, last] = [BigInt(steps), BigInt(steps) + 2n * BigInt(reach)];
    entries.law(size2 === steps + 1, "must have size = steps + 1");
    entries.law(steps >= 1 && fall >= 1n && fall < RANGE, "must have 1 <= fall < 2^64");
    entries.law(last < 1n << 23n, "must have at most 2^23 reports");
    entries.law(isGeometric(fall, digits, rest), "must have the digits of its fall");
    const sum = (point, moved) => {
      const report = point + moved + BigInt(reach);
      return { report: [report < 0n ? 0n : report > last ? last : report] };
    };
    const noise = (next) => geometric(next, digits, rest) - geometric(next, digits, rest);
    const stated = entries.data.odds;
    const near = isObject(stated) && stated.between === "neighbours";
    return {
      ...byIndex ? { ...BY_INDEX, size: size2 } : BY_POSITION,
      columns: [integers("report", Number(last) + 1)],
      odds: ratio(RANGE, fall),
      between: near ? "neighbours" : "any",
      power: near ? 1n : n,
      steps: near ? steps : 1,
      draw: (encoded2, next) => {
        const moved = noise(next);
        return sum(BigInt(byIndex ? encoded2 : rounded(encoded2, steps, next)), moved);
      },
      reports: Number(last) + 1,
      dummy: (next) => {
        const point = uniform(next, n + 1n);
        return sum(point, noise(next));
      },
      dummyOdds: () => {
        const sums = (RANGE ** (n + 1n) - fall ** (n + 1n)) / (RANGE - fall);
        return [ratio((n + 1n) * RANGE ** n, sums), ratio(sums, (n + 1n) * fall ** n)];
      },
      law: null
    };
  },
  exponential(entries) {
    const [size2, words] = [entries.count("size"), entries.count("words")];
    const { height, width, places } = placesOf(entries);
    const weights = entries.matrix("weights");
    const classes = [height, width].map((length, axis) => {
      const key = axis === 0 ? "row_classes" : "column_classes";
      return entries.get(key) === void 0 ? null : { length, matrix: entries.matrix(key) };
    });
    entries.law(words >= 1 && words <= MOST_WORDS && places.length === size2 && size2 >= 2, SHAPE);
    const whole = 1n << BigInt(64 * words);
    const classOf = (axis, i, j) => Number(classes[axis]?.matrix[i]?.[j] ?? Math.abs(i - j));
    const weight = (a, b) => {
      const found = weights[classOf(0, Math.floor(a / width), Math.floor(b / width))]?.[classOf(1, a % width, b % width)];
      entries.law(found !== void 0, "must have a weight for each class");
      return found;
    };
    const masses = (x) => {
      const own = places.map((place) => weight(places[x], place));
      const total = own.reduce((sum, value) => sum + value, 0n);
      entries.law(total > 0n, "must have weights");
      const found = own.map((value, z) => z === x ? 0n : whole * value / total);
      found[x] = whole - found.reduce((sum, value) => sum + value, 0n);
      return found;
    };
    const rows = places.map((_, x) => masses(x));
    entries.law(rows.every((row) => row.every((mass) => mass > 0n)), "must have positive masses");
    const pairs = neighbours(places, width);
    const furthest = tableOdds(entries, rows, null);
    return {
      ...BY_INDEX,
      size: size2,
      columns: [integers("report", size2)],
      odds: pairs.length > 0 ? largestOfPairs(rows, pairs) : furthest,
      between: pairs.length > 0 ? "neighbours" : "any",
      furthest,
      draw: (index, next) => {
        const ends = cumulative(rows[index], whole);
        return { report: [BigInt(among(next, ends, words))] };
      },
      law: null
    };
  },
  planar(entries) {
    const [size2, words] = [entries.count("size"), entries.count("words")];
    const { height, width, places } = placesOf(entries);
    const quadrant = entries.matrix("quadrant");
    const reports = entries.get("reports") === void 0 ? null : entries.integers("reports");
    const cells = height * width;
    entries.law(height >= 2 && width >= 2 && places.length === size2 && size2 >= 2, SHAPE);
    entries.law(words >= 1 && words <= MOST_WORDS, SHAPE);
    entries.law(quadrant.length === height && quadrant.every((row) => row.length === width), SHAPE);
    entries.law(quadrant.every((row) => row.every((mass) => mass > 0n)), SHAPE);
    const inside = reports === null || reports.length === cells && reports.every((y) => y < BigInt(size2));
    entries.law(inside, "must have a report for each cell");
    const whole = 1n << BigInt(64 * words);
    const unfolded = (half) => Array.from({ length: 2 * half - 1 }, (_, i) => Math.abs(i - half + 1));
    const masses = unfolded(height).flatMap((i) => unfolded(width).map((j) => quadrant[i][j]));
    entries.law(masses.reduce((sum, mass) => sum + mass, 0n) === whole, "must sum to 1");
    const ends = cumulative(masses, whole);
    return {
      ...BY_INDEX,
      size: size2,
      columns: [integers("report", reports === null ? cells : size2)],
      odds: planarOdds(quadrant),
      between: "neighbours",
      furthest: cells * size2 > MOST_PAIRS ? shiftedOdds(entries, quadrant, places) : furthestOdds(quadrant, places, reports),
      draw: (index, next) => {
        const moved = among(next, ends, words);
        const down = Math.floor(moved / (2 * width - 1)) - (height - 1);
        const right = moved % (2 * width - 1) - (width - 1);
        const row = limited(Math.floor(places[index] / width) + down, height - 1);
        const place = row * width + limited(places[index] % width + right, width - 1);
        return { report: [reports === null ? BigInt(place) : reports[place]] };
      },
      law: null
    };
  },
  gaussian(entries) {
    const steps = entries.integers("steps").map(Number);
    const [beyond, group] = [entries.count("beyond"), entries.count("group")];
    const words = entries.count("words");
    const half = entries.integers("masses");
    const byIndex = entries.data.answer === "index";
    const size2 = byIndex ? entries.count("size") : 0;
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
    const onAxes = (place) => place.length === steps.length && place.every((at, i) => at <= BigInt(steps[i]));
    const fits = places === null || places.length === size2 && size2 >= 2 && places.every(onAxes);
    entries.law(fits, "must have places on its axes");
    const masses = [...sides.slice().reverse(), ...half];
    const ends = cumulative(masses, whole);
    const shifts = places === null ? [steps] : largestShifts(places.map((at) => at.map(Number)));
    const most = steps.map((n) => n + 2 * beyond);
    const names = byIndex ? steps.map((_, i) => `axis${i}`) : ["report"];
    return {
      ...byIndex ? { ...BY_INDEX, size: size2 } : BY_POSITION,
      columns: names.map((name, i) => integers(name, Math.ceil((most[i] + 1) / group))),
      odds: null,
      checkDelta: (data, place) => checkDelta(data, place, { masses, whole, shifts, byIndex }),
      unchecked: steps.length > 2,
      draw: (encoded2, next) => {
        const at = places === null ? [rounded(encoded2, steps[0], next)] : places[encoded2].map(Number);
        return Object.fromEntries(names.map((name, i) => {
          const noise = among(next, ends, words) - reach;
          const value = limited(at[i] + noise + beyond, most[i]);
          return [name, [BigInt(Math.floor(value / group))]];
        }));
      },
      law: null
    };
  }
};
var MOST_PAIRS = 2 ** 20;
function placesOf(entries) {
  const [height, width, ...more] = entries.integers("shape").map(Number);
  const two = width !== void 0 && more.length === 0;
  insist(two, "malformed", `${entries.place}.shape`, "must be two numbers");
  entries.law(height >= 1 && width >= 1 && height * width <= 2 ** 16, SHAPE);
  const cells = height * width;
  const places = entries.get("places") === void 0 ? Array.from({ length: cells }, (_, i) => i) : entries.integers("places").map(Number);
  const ordered = places.every((place, i) => place < cells && (i === 0 || places[i - 1] < place));
  entries.law(ordered, "must have places in their order");
  return { height, width, places };
}
function neighbours(places, width) {
  const values = new Map(places.map((place, x) => [place, x]));
  const pairs = [];
  places.forEach((place, x) => {
    const right = (place + 1) % width === 0 ? void 0 : values.get(place + 1);
    const under = values.get(place + width);
    for (const y of [right, under]) if (y !== void 0) pairs.push([x, y]);
  });
  return pairs;
}
function largestOfPairs(rows, pairs) {
  let found = ratio(1n, 1n);
  for (const [a, b] of pairs) {
    rows[a].forEach((mass, y) => {
      found = largest(larger(mass, rows[b][y]), found);
    });
  }
  return found;
}
function planarTables(inner) {
  const [height, width] = [inner.length, inner[0].length];
  const down = (table) => {
    const sums = table.map((row) => row.slice());
    for (let i = height - 2; i >= 0; i -= 1) {
      sums[i].forEach((_, j) => {
        sums[i][j] += sums[i + 1][j];
      });
    }
    return sums;
  };
  const right = (table) => table.map((row) => {
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
function planarOdds(inner) {
  let found = ratio(1n, 1n);
  for (const table of planarTables(inner).seen) {
    table.forEach((row, i) => row.forEach((mass, j) => {
      for (const next of [table[i + 1]?.[j], row[j + 1]]) {
        if (next !== void 0) found = largest(larger(mass, next), found);
      }
    }));
  }
  return found;
}
function furthestOdds(inner, places, reports) {
  const [height, width] = [inner.length, inner[0].length];
  const { along, across, corner } = planarTables(inner);
  const mass = (cell2, place) => {
    const [row, column] = [Math.floor(cell2 / width), cell2 % width];
    const [end, side] = [row % (height - 1) === 0, column % (width - 1) === 0];
    const table = end ? side ? corner : along : side ? across : inner;
    return table[Math.abs(row - Math.floor(place / width))][Math.abs(column - place % width)];
  };
  const cells = /* @__PURE__ */ new Map();
  for (let cell2 = 0; cell2 < height * width; cell2 += 1) {
    const report = reports === null ? BigInt(cell2) : reports[cell2];
    const merged = cells.get(report) ?? [];
    merged.push(cell2);
    cells.set(report, merged);
  }
  let found = ratio(1n, 1n);
  for (const merged of cells.values()) {
    const masses = places.map((place) => merged.reduce((sum, at) => sum + mass(at, place), 0n));
    const high = masses.reduce((a, b) => a > b ? a : b);
    found = largest(ratio(high, masses.reduce((a, b) => a < b ? a : b)), found);
  }
  return found;
}
function shiftedOdds(entries, inner, places) {
  const width = inner[0].length;
  const shifts = largestShifts(places.map((at) => [Math.floor(at / width), at % width]));
  let [worst, found] = [-1, ratio(1n, 1n)];
  for (const table of planarTables(inner).seen) {
    const [last, end] = [table.length - 1, table[0].length - 1];
    entries.law(
      table.every((row, i) => row.every((mass, j) => mass >= (table[i + 1]?.[j] ?? 0n) && mass >= (row[j + 1] ?? 0n))),
      "must have masses that fall with the distance, where there are many cells"
    );
    const nats = table.map((row) => row.map((mass) => mass < 1n << 1000n ? Math.log(Number(mass)) : logarithm(ratio(mass, 1n))));
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
function limited(value, last) {
  return Math.min(Math.max(value, 0), last);
}
function checkDelta(data, place, { masses, whole, shifts, byIndex }) {
  const most = ratioOf(data.odds_at_most, `${place}.odds_at_most`);
  const allowed = ratioOf(data.delta_at_most, `${place}.delta_at_most`);
  const rule = "must have the delta of its integers";
  if (byIndex) insist(data.delta === null, "odds_differ", place, rule);
  const isConcave = masses.every((mass, j) => mass * mass >= (masses[j - 1] ?? 0n) * (masses[j + 1] ?? 0n));
  insist(isConcave, "not_a_law", place, "must have masses that fall ever faster");
  let worst = ratio(0n, 1n);
  for (const shift of shifts) {
    if (shift.length > 2) return allowed;
    const found = deltaOfShift(masses, whole, shift, most);
    insist(!exceeds(found, allowed), "odds_exceed", place, "must have at most delta_at_most");
    if (!byIndex) {
      const stated = ratioOf(data.delta, `${place}.delta`, 0n);
      const same = stated.numerator * found.denominator === found.numerator * stated.denominator;
      insist(same, "odds_differ", place, rule);
    }
    worst = largest(found, worst);
  }
  return worst;
}
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
      const j = low + high >> 1;
      if (own * masses[j] > other * (masses[j + b] ?? 0n)) high = j;
      else low = j + 1;
    }
    excess += own * from[low] - other * from[Math.min(low + b, last)];
  });
  return ratio(excess, most.denominator * whole ** BigInt(shift.length));
}
function largestShifts(places) {
  const axes = places[0]?.length ?? 0;
  if (axes > 2) return [new Array(axes).fill(0)];
  const ends = /* @__PURE__ */ new Map();
  for (const [row, column = 0] of places) {
    const [low, high] = ends.get(row) ?? [column, column];
    ends.set(row, [Math.min(low, column), Math.max(high, column)]);
  }
  const widest = /* @__PURE__ */ new Map();
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
var BY_POSITION = { answer: "position", size: 0, between: "any", power: 1n };
function rounded(position, steps, next) {
  const s = position * steps;
  const point = Math.min(Math.floor(s), steps - 1);
  const threshold = BigInt(Math.trunc(Math.min((s - point) * 2 ** 64, 2 ** 64 - 2048)));
  const up = below(next, threshold);
  if (s >= steps) return steps;
  return up ? point + 1 : point;
}
function thresholdOf(entries, words) {
  const rule = "must be lists of four words";
  insist(Array.isArray(words), "malformed", entries.place, rule);
  const found = words.map((word) => entries.whole(word, "digits"));
  entries.law(found.length === 4 && found.every((word) => word < RANGE), rule);
  return found;
}
function geometric(next, digits, rest) {
  let total = 0n;
  digits.forEach((digit, i) => {
    if (below(next, ...digit)) total += 1n << BigInt(i);
  });
  while (below(next, ...rest)) total += 1n << BigInt(digits.length);
  return total;
}
function isGeometric(fall, digits, rest) {
  const one = 1n << 256n;
  const near = (a, b, width) => a - b <= width && b - a <= width;
  const whole = (words) => words.reduce((sum, word) => sum << 64n | word, 0n);
  let power = fall << 192n;
  for (const digit of digits) {
    if (!near(whole(digit) * (one + power), one * power, 1n << 320n)) return false;
    power = power * power >> 256n;
  }
  return digits.length <= 40 && near(whole(rest), power, 1n << 64n);
}

// modules/programs.js
var SAMPLERS = { ...LABELS, ...NUMBERS, ...COMBINED };
var PREPARED = /* @__PURE__ */ new WeakMap();
function prepare(program, place = "program") {
  insist(isObject(program), "malformed", place, "must be a program");
  const known = PREPARED.get(program);
  if (known !== void 0) return known;
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
function checkColumns({ data, place }, sampler) {
  const rule = "must have the columns of its sampler";
  const { columns } = data;
  const same = Array.isArray(columns) && columns.length === sampler.columns.length;
  insist(same, "columns_differ", place, rule);
  sampler.columns.forEach((column, i) => {
    const given2 = columns[i];
    const equal = isObject(given2) && given2.name === column.name && given2.dtype === column.dtype && given2.length === column.length;
    insist(equal, "columns_differ", place, rule);
  });
}
function checkOdds({ data, place }, sampler) {
  const { odds, between, power } = sampler;
  const rule = "must be the odds of its integers";
  if (odds === null) {
    insist(data.odds === null, "odds_differ", place, rule);
    if (sampler.checkDelta) sampler.delta = sampler.checkDelta(data, place);
    return;
  }
  const stated = ratioOf(data.odds, `${place}.odds`);
  const given2 = (
    /** @type {Json} */
    data.odds
  );
  const same = stated.numerator * odds.denominator === odds.numerator * stated.denominator;
  insist(same && given2.between === between, "odds_differ", place, rule);
  insist(new Entries(given2, place).integer("power") === power, "odds_differ", place, rule);
  const most = ratioOf(data.odds_at_most, `${place}.odds_at_most`);
  insist(!exceeds(odds, most), "odds_exceed", place, "must have odds of at most odds_at_most");
}
function sample(program, encoded2, next = systemWords()) {
  const sampler = prepare(program);
  const rule = "must be an answer that the program takes";
  insist(takes(sampler, encoded2), "bad_answer", "bad_answer", rule);
  return record(
    /** @type {Program} */
    program,
    sampler.draw(encoded2, next)
  );
}
function degrade(program, memo, next = systemWords()) {
  return record(
    /** @type {Program} */
    program,
    degraded(program, memo, next)
  );
}
function degraded(program, memo, next) {
  const sampler = prepare(program);
  const { columns } = (
    /** @type {Program} */
    program
  );
  const right = sampler.degrade !== void 0 && memo.length === recordLength(
    /** @type {Program} */
    program
  );
  insist(right, "bad_answer", "memo", "must be the record of a permanent report");
  const kept = {};
  let at = 0;
  for (const { name, dtype, length } of columns) {
    kept[name] = Array.from({ length }, (_, i) => {
      const bytes = memo.slice(at + i * WIDTHS[dtype], at + (i + 1) * WIDTHS[dtype]);
      return bytes.reduceRight((number, byte) => number << 8n | BigInt(byte), 0n);
    });
    at += length * WIDTHS[dtype];
  }
  const possible = sampler.columns.every(({ name, limit }) => limit === void 0 || kept[name].every((number) => number < BigInt(limit)));
  insist(possible, "bad_answer", "memo", "must be a report that the permanent report can be");
  const { degrade: once } = (
    /** @type {Required<Sampler>} */
    sampler
  );
  return once(kept, next);
}
function takes(sampler, encoded2) {
  if (sampler.blocks !== void 0) {
    return Array.isArray(encoded2) && encoded2.length === sampler.blocks.length && sampler.blocks.every((block, i) => takes(block.sampler, encoded2[i]));
  }
  if (sampler.parts !== void 0) {
    return Array.isArray(encoded2) && encoded2.length === sampler.parts.length && sampler.parts.every((part, i) => takes(part.sampler, encoded2[i]));
  }
  if (encoded2 === null) return sampler.silence ?? false;
  if (sampler.answer === "position") {
    return typeof encoded2 === "number" && encoded2 >= 0 && encoded2 <= 1;
  }
  return Number.isSafeInteger(encoded2) && Number(encoded2) >= 0 && Number(encoded2) < sampler.size;
}
function blocks(program) {
  const { blocks: found } = prepare(program);
  insist(found !== void 0, "malformed", "program", "must be of blocks of questions");
  return found;
}

// modules/surveys.js
var NO_SURVEY = "must be what a collector serves as study.json, and the address gave something else";
var FORMAT = 1;
var MOST_ODDS = 22027;
var SLACK = 1 + 1e-9;
async function readSurvey(served, expected = null) {
  const are = ArrayBuffer.isView(served) || String(served) === "[object ArrayBuffer]";
  const remedy = "must be the bytes that were served: pass await response.arrayBuffer()";
  insist(are, "malformed", "survey", remedy);
  const bytes = new Uint8Array(served);
  if (expected !== null) {
    const digest = String(expected).replace(/\s/g, "").toLowerCase();
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
async function surveyDigest(served) {
  return hexadecimal(await sha256(new Uint8Array(served)));
}
function checkSurvey(data) {
  insist(isObject(data), "malformed", "survey", "must be an object");
  insist(data.format !== void 0, "malformed", "survey", NO_SURVEY);
  insist(data.format === FORMAT, "malformed", "survey.format", `must be ${FORMAT}`);
  const digest = typeof data.study === "string" && /^[0-9a-f]{64}$/.test(data.study);
  insist(digest, "malformed", "survey.study", "must be a digest of 64 digits");
  const layout = typeof data.layout === "string" && /^[0-9a-f]{64}$/.test(data.layout);
  insist(layout, "malformed", "survey.layout", "must be a digest of 64 digits");
  const { languages, access, contact } = data;
  const tagged = Array.isArray(languages) && languages.length > 0 && languages.every((tag) => typeof tag === "string") && new Set(languages).size === languages.length;
  insist(tagged, "malformed", "survey.languages", "must be different texts");
  checkText(data.title, languages, "survey.title");
  checkText(data.introduction, languages, "survey.introduction");
  checkNumber(data.epsilon, "survey.epsilon");
  const known = access === "open" || access === "invited" || access === "tokens";
  insist(known, "malformed", "survey.access", "must be open, invited or tokens");
  insist(typeof contact === "string", "malformed", "survey.contact", "must be a text");
  const weak = data.weak_protection === void 0 || data.weak_protection === true;
  insist(weak, "malformed", "survey.weak_protection", "must be true, or left out");
  for (const key of ["opens", "closes"]) {
    const moment = data[key];
    const is = moment === null || typeof moment === "string" && Number.isFinite(Date.parse(moment));
    insist(is, "malformed", `survey.${key}`, "must be a moment or null");
  }
  const { questions, public: columns } = data;
  const some = Array.isArray(questions) && questions.length > 0 && Array.isArray(columns);
  insist(some, "malformed", "survey.questions", "must be lists, with a question at least");
  const names = /* @__PURE__ */ new Set();
  for (const asked of [...questions, ...columns]) {
    checkAsked(asked, languages);
    insist(!names.has(asked.name), "malformed", `survey.${asked.name}`, "must be asked once");
    names.add(asked.name);
  }
  questions.forEach((question) => checkQuestion(question, data.program !== void 0));
  if (data.program !== void 0) checkBlocks(data.program, questions);
  checkRepeat(data.repeat, questions, data.program);
  checkTokens(data);
  for (const { name, domain } of columns) {
    const place = `survey.public.${name}.domain`;
    const kinds = ["categorical", "integers", "dates"];
    insist(kinds.includes(domain.kind), "malformed", place, "must be of a public column");
  }
  checkEpsilon(
    /** @type {Survey} */
    /** @type {unknown} */
    data
  );
  return (
    /** @type {Survey} */
    /** @type {unknown} */
    frozen(data)
  );
}
function checkText(text, languages, place) {
  const is = isObject(text) && languages.every((tag) => typeof text[tag] === "string");
  insist(is, "malformed", place, "must have a text in each language");
}
function checkNumber(value, place) {
  const is = typeof value === "number" && Number.isFinite(value) && value > 0;
  insist(is, "malformed", place, "must be a number above 0");
}
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
    return Array.isArray(texts) && texts.every((text) => typeof text === "string") && texts.length === wanted;
  });
  insist(shown, "malformed", `${place}.answers`, "must have a text for each label");
}
function checkDomain(domain, place) {
  const numeric = (...keys) => keys.every((key) => typeof domain[key] === "number" && Number.isFinite(domain[key]));
  const whole = (...keys) => keys.every((key) => Number.isSafeInteger(domain[key]));
  const { kind } = domain;
  const rule = "must be a domain that this module knows";
  if (kind === "categorical") {
    const { values } = domain;
    const labels = Array.isArray(values) && values.every((value) => typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value));
    insist(labels && new Set(values).size === values.length, "malformed", place, rule);
  } else if (kind === "integers") {
    insist(whole("low", "high"), "malformed", place, rule);
  } else if (kind === "interval") {
    const clips = domain.clip === void 0 || typeof domain.clip === "boolean";
    insist(numeric("low", "high") && whole("bins") && clips, "malformed", place, rule);
    insist(Number(domain.low) < Number(domain.high), "malformed", place, rule);
  } else if (kind === "grid") {
    const { without = [] } = domain;
    const cells = Array.isArray(without) && without.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((part) => Number.isInteger(part)));
    insist(whole("rows", "columns") && numeric("side") && cells, "malformed", place, rule);
  } else {
    const unit = typeof domain.unit === "string" && Object.hasOwn(LAST_DATE, domain.unit);
    insist(kind === "dates" && unit, "malformed", place, rule);
  }
  const found = size(
    /** @type {Domain} */
    /** @type {unknown} */
    domain
  );
  insist(found >= 2 && found <= 2 ** 26, "malformed", place, "must have 2 to 2^26 values");
  return found;
}
function checkQuestion(question, drawn) {
  const { name, domain, silence, program, delta } = question;
  const place = `survey.${name}`;
  insist(typeof silence === "boolean", "malformed", `${place}.silence`, "must be true or false");
  checkNumber(question.epsilon, `${place}.epsilon`);
  if (delta !== null) checkNumber(delta, `${place}.delta`);
  const asks = domain.kind !== "dates";
  insist(asks, "malformed", `${place}.domain`, "must be a domain of questions");
  if (drawn) {
    insist(program === void 0, "malformed", place, "must have no program beside that of all");
    return;
  }
  const one = program?.sampler !== "each" && program?.sampler !== "one_of";
  insist(one, "malformed", place, "must have a program of one question");
  const sampler = prepare(program, place);
  checkFits(sampler, question, place);
  checkDeltaOf(sampler, delta, place);
}
var KEY = /^[g-z0-9_-][A-Za-z0-9_-]{340}[Qw]$/;
function checkTokens({ access, tokens, program }) {
  const place = "survey.tokens";
  const goes = access === "tokens" === (tokens !== void 0);
  insist(goes, "malformed", place, "must go with access");
  if (tokens === void 0) return;
  insist(isObject(tokens), "malformed", place, "must be an object");
  const { issuer, keys, wait } = tokens;
  const known = typeof issuer === "string" && /^https?:\/\/[^/]+$/.test(issuer) && Number.isSafeInteger(wait) && Number(wait) >= 0;
  insist(known, "malformed", place, "must have an address and seconds to wait");
  const count = program === void 0 ? 1 : prepare(program, "survey.program").blocks?.length;
  const whole = Array.isArray(keys) && keys.length === count && keys.every((key) => typeof key === "string" && KEY.test(key));
  insist(whole, "malformed", `${place}.keys`, "must be a key for each block of questions");
}
function checkRepeat(repeat, questions, drawn) {
  const programs = drawn === void 0 ? questions.map(({ program }) => (
    /** @type {Json} */
    program
  )) : blocks(drawn).map(({ program }) => program);
  const place = "survey.repeat";
  const all = repeat !== void 0;
  const same = programs.every((program) => prepare(program).memo !== void 0 === all);
  insist(same, "malformed", place, "must go with permanent reports of all questions");
  if (!all) return;
  const alone = drawn === void 0 || blocks(drawn).every(({ attributes }) => attributes.length === 1);
  insist(alone, "malformed", place, "must go with blocks of one question");
  insist(isObject(repeat), "malformed", place, "must be an object");
  const { round, rounds, values, epsilon, draw } = repeat;
  const named = drawn === void 0 ? draw === void 0 : typeof draw === "string" && /^[0-9a-f]{64}$/.test(draw);
  insist(named, "malformed", `${place}.draw`, "must be a digest where questions are drawn");
  const whole = [round, rounds, values].every((n) => Number.isSafeInteger(n) && Number(n) >= 1);
  insist(whole && Number(round) <= Number(rounds), "malformed", place, "must be of one round");
  checkNumber(epsilon, `${place}.epsilon`);
  const spent = programs.map((program) => natsOfRounds(program, Number(values)));
  const total = drawn === void 0 ? spent.reduce((sum, one) => sum + one, 0) : Math.max(...spent);
  const rule = "must be the epsilon of all permanent reports";
  insist(total <= Number(epsilon) * SLACK, "odds_exceed", `${place}.epsilon`, rule);
}
function checkDeltaOf(sampler, delta, place) {
  const found = deltaOf(sampler);
  const small = found <= MOST_DELTA && !sampler.unchecked && !sampler.parts?.some((part) => part.sampler.unchecked);
  insist(small, "unprotected", place, "must have a small delta that can be checked");
  const told = Number(found) / Number(RANGE) <= (delta ?? 0) * SLACK;
  insist(told, "odds_exceed", `${place}.delta`, "must be the delta of the integers");
}
function checkBlocks(program, questions) {
  const [place, { blocks: blocks2 }] = ["survey.program", prepare(program, "survey.program")];
  insist(blocks2 !== void 0, "malformed", place, "must be of blocks of questions");
  const names = new Map(questions.map((question) => [question.name, question]));
  const held = new Set(blocks2.flatMap(({ attributes }) => attributes));
  const same = held.size === names.size && [...held].every((name) => names.has(name));
  insist(same, "malformed", place, "must be of the questions of the survey");
  for (const { attributes, sampler } of blocks2) {
    const of = attributes.map((name) => (
      /** @type {Question} */
      names.get(name)
    ));
    checkFitsBlock(sampler, of, place);
    for (const { delta } of of) checkDeltaOf(sampler, delta, place);
  }
}
function checkFitsBlock(sampler, questions, place) {
  if (sampler.parts) {
    sampler.parts.forEach((part, i) => checkFits(part.sampler, questions[i], place));
  } else if (questions.length === 1) {
    checkFits(sampler, questions[0], place);
  } else {
    const values = questions.reduce((product2, one) => product2 * valuesOf(one), 1);
    const fits = sampler.answer === "index" && sampler.size === values;
    insist(fits, "malformed", place, "must have a program for its values");
  }
}
function partOf(block, name) {
  return block.sampler.parts?.find((part) => part.name === name) ?? block;
}
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
function deltaOf(sampler) {
  if (sampler.blocks) {
    return sampler.blocks.reduce((most, block) => {
      const delta = deltaOf(block.sampler);
      return delta > most ? delta : most;
    }, 0n);
  }
  if (sampler.parts) {
    return sampler.parts.reduce((sum, part) => sum + BigInt(part.times) * deltaOf(part.sampler), 0n);
  }
  const { numerator, denominator } = sampler.delta ?? ratio(0n, 1n);
  return (numerator * RANGE + denominator - 1n) / denominator;
}
function epsilonOf({ program }) {
  return natsOf(
    prepare(program),
    /** @type {Json} */
    program
  );
}
function natsOf({ odds, power, steps, furthest, parts, blocks: blocks2 }, program) {
  if (blocks2) return Math.max(...blocks2.map((block) => natsOf(block.sampler, block.program)));
  if (parts) {
    return parts.reduce((sum, part) => sum + part.times * natsOf(part.sampler, part.program), 0);
  }
  if (odds === null) return logarithm(ratioOf(program.odds_at_most, "program"));
  if (furthest) return logarithm(furthest);
  return logarithm(odds) * Number(power) * (steps ?? 1);
}
function natsOfRounds({ memo }, values) {
  const sampler = prepare(memo);
  return Math.min(values, sampler.size) * natsOf(
    sampler,
    /** @type {Json} */
    memo
  );
}
function epsilonOfAll({ questions, program, repeat }, { name, epsilon }) {
  if (repeat === void 0) return epsilon;
  return Math.max(...programsOf({ questions, program }, name).map((one) => natsOfRounds(one, repeat.values)));
}
function checkEpsilon({ questions, program, epsilon, repeat, weak_protection: weak }) {
  const rule = "must be the epsilon of the odds";
  let total = program === void 0 ? 0 : natsOf(prepare(program), program);
  for (const question of questions) {
    const { name, epsilon: stated } = question;
    const place = `survey.${name}.epsilon`;
    const found = Math.max(...programsOf({ questions, program }, name).map((one) => natsOf(prepare(one), one)));
    insist(found <= stated * SLACK + 1e-12, "odds_exceed", place, rule);
    const ofAll = repeat === void 0 ? found : Math.max(found, epsilonOfAll({ questions, program, repeat }, question));
    const few = weak === true || ofAll <= Math.log(MOST_ODDS) * SLACK;
    insist(few, "unprotected", place, `must have odds of at most ${MOST_ODDS} of any two answers`);
    if (program === void 0) total += stated;
  }
  insist(total <= epsilon * SLACK, "odds_exceed", "survey.epsilon", rule);
}
function programsOf({ questions, program }, name) {
  if (program === void 0) {
    return questions.flatMap((one) => one.name === name && one.program ? [one.program] : []);
  }
  const holding = blocks(program).filter(({ attributes }) => attributes.includes(name));
  return [...new Set(holding.map((block) => partOf(block, name).program))];
}
function frozen(value) {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
}

// modules/submissions.js
var LARGEST_BATCH = 1e4;
function encode(question, answer) {
  return encodedFor(prepare(question.program), question, answer);
}
function encodedFor(sampler, question, answer) {
  if (sampler.parts) {
    return sampler.parts.map((part) => encodedFor(part.sampler, question, answer));
  }
  if (sampler.answer === "position") return positionOf(question, answer);
  const index = indexOf(question, answer);
  return sampler.silence && answer === null ? null : index;
}
function randomize(question, answer, memo, next = systemWords()) {
  const encoded2 = encode(question, answer);
  return prepare(question.program).memo === void 0 ? sample(question.program, encoded2, next) : degrade(question.program, needed(question.name, memo), next);
}
function drawBlock(program, next = systemWords()) {
  return blockFrom(blocks(program), next);
}
function nameOfDraw({ study, repeat }) {
  return repeat?.draw ?? study;
}
async function blockOfCode(survey, code) {
  const hash = await hashOfCode("warner block", { study: nameOfDraw(survey) }, code);
  return drawBlock(survey.program, listedWords([new DataView(hash.buffer).getBigUint64(0)]));
}
function blockOf(survey, submission) {
  const [{ dtype }] = prepare(survey.program).columns;
  const { bytes } = segments(survey, submission).slice(-1)[0];
  return bytes.slice(0, WIDTHS[dtype]).reduceRight((number, byte) => number * 256 + byte, 0);
}
function randomizeBlock(survey, block, answers, memos, next = systemWords()) {
  const { columns } = prepare(survey.program);
  const all = blocks(survey.program);
  insist(
    Number.isInteger(block) && block >= 0 && block < all.length,
    "bad_answer",
    "block",
    "must be one of the blocks"
  );
  const { attributes, program, sampler } = all[block];
  const rule = "is of no question that this person was asked";
  checkIsObject(answers);
  for (const name of Object.keys(answers)) {
    insist(attributes.includes(name), "bad_answer", name, rule);
  }
  const asked = attributes.map((name) => (
    /** @type {Question} */
    survey.questions.find((question) => question.name === name)
  ));
  const encoded2 = encodedBlock(sampler, asked, asked.map((question) => given(question, answers)));
  const drawn = sampler.memo === void 0 ? sampler.draw(encoded2, next) : degraded(program, needed(attributes[0], memos?.[attributes[0]]), next);
  const slots = inSlots([...columns], all, block, drawn);
  return record(
    /** @type {Program} */
    survey.program,
    slots
  );
}
function encodedBlock(sampler, asked, answers) {
  if (sampler.parts) {
    return sampler.parts.map((part, i) => encodedFor(part.sampler, asked[i], answers[i]));
  }
  if (asked.length === 1) return encodedFor(sampler, asked[0], answers[0]);
  return asked.reduce((index, question, i) => index * valuesOf(question) + indexOf(question, answers[i]), 0);
}
async function seal(survey, person) {
  const { answers, block, public: columns = {}, code, token, memos, id, words } = person;
  const unknown = Object.keys(person).find((name) => ![...OF_PERSON, "id", "words"].includes(name));
  const takes2 = `is unknown to seal, which takes ${OF_PERSON.join(", ")}`;
  insist(unknown === void 0, "malformed", unknown ?? "", takes2);
  const next = words ?? systemWords();
  const invited = survey.access !== "open";
  const shown = publicIndices(survey, columns).map(int32);
  if (survey.program === void 0) checkNames(survey, answers);
  const records = survey.program === void 0 ? survey.questions.map((question) => randomize(question, given(question, answers), memos?.[question.name], next)) : [randomizeBlock(survey, block ?? -1, answers, memos, next)];
  const first = survey.access === "tokens" ? token : id ?? (invited ? await invitationId(survey, code ?? "") : crypto.getRandomValues(new Uint8Array(ID_LENGTH)));
  const length = firstLength(survey);
  insist(first?.length === length, "code", "id or token", `must have ${length} bytes`);
  if (invited && survey.program !== void 0) {
    const same = await blockOfCode(survey, code ?? "") === block;
    insist(same, "code", "block", "must be that of the invitation code");
  }
  return joined([first, ...shown, ...records]);
}
var OF_PERSON = ["answers", "block", "public", "code", "token", "memos"];
var ID_LENGTH = 16;
var TOKEN_LENGTH = 288;
function firstLength({ access }) {
  return access === "tokens" ? TOKEN_LENGTH : ID_LENGTH;
}
function checkIsObject(answers) {
  const rule = "must be an object of questions and their answers";
  insist(typeof answers === "object" && answers !== null, "bad_answer", "answers", rule);
}
function checkNames({ questions }, answers) {
  checkIsObject(answers);
  for (const name of Object.keys(answers)) {
    const known = questions.some((question) => question.name === name);
    insist(known, "bad_answer", name, "is no question of the survey");
  }
}
function given({ name, silence }, answers) {
  const rule = `has no answer${silence ? ": null says that the person gave none" : ""}`;
  insist(answers[name] !== void 0, "bad_answer", name, rule);
  return answers[name];
}
function publicIndices(survey, columns) {
  const names = survey.public.map(({ name }) => name);
  const has = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
  for (const name of Object.keys(columns)) {
    insist(names.includes(name), "bad_answer", name, `is no public column of the survey: ${has}`);
  }
  return survey.public.map((column) => {
    const { name } = column;
    const missing = columns[name] === void 0 || columns[name] === null;
    const remedy = `pass it in public, as { public: { ${JSON.stringify(name)}: ... } }`;
    insist(!missing, "bad_answer", name, `is a public column and has no value: ${remedy}`);
    return indexOf(column, columns[name]);
  });
}
function needed(name, memo) {
  const rule = "needs the permanent report on its answer, as memos in seal and as memo in randomize. Draw it once for each answer, and keep it: sample(program.memo, encode({ ...question, program }, answer))";
  if (memo === void 0) throw new Refusal("bad_answer", name, rule);
  return memo;
}
function reportText(survey, name, record2) {
  const asked = survey.questions.findIndex((question) => question.name === name);
  insist(asked >= 0, "malformed", name, "must be a question of the survey");
  const place = survey.program === void 0 ? asked : 0;
  const { length } = reportsOf(survey)[place];
  insist(record2.length === length, "malformed", name, `must have a record of ${length} bytes`);
  return `wr1-${survey.layout.slice(0, 16)}-${place + 1}-${hexadecimal(record2)}`;
}
function reportsOf({ questions, program }) {
  const all = program === void 0 ? questions : [{ name: "", program }];
  return all.map((one) => ({ name: one.name, length: recordLength(
    /** @type {Program} */
    one.program
  ) }));
}
function submissionLength(survey) {
  return reportsOf(survey).reduce(
    (sum, { length }) => sum + length,
    firstLength(survey) + 4 * survey.public.length
  );
}
function body(survey, submissions) {
  const length = submissionLength(survey);
  const some = submissions.length >= 1 && submissions.length <= LARGEST_BATCH;
  insist(some, "malformed", "submissions", `must be 1 to ${LARGEST_BATCH}`);
  const whole = submissions.every((submission) => submission.length === length);
  insist(whole, "malformed", "submissions", `must have ${length} bytes each`);
  const magic = new TextEncoder().encode(survey.access === "tokens" ? "WRNT" : "WRN1");
  return joined([magic, unhex(survey.layout), ...submissions]);
}
var CODE = /^[2-9A-HJKMNP-TV-Z]{16}$/;
function plainCode(text) {
  const plain = text.replace(/[\s-]/g, "").toUpperCase();
  return CODE.test(plain) ? plain : null;
}
async function invitationId(survey, code) {
  return (await hashOfCode("warner invitation", survey, code)).slice(0, ID_LENGTH);
}
function hashOfCode(use, { study }, code) {
  const plain = plainCode(code);
  insist(plain !== null, "code", "code", "must be 16 letters and digits, as in the invitation");
  return sha256(new TextEncoder().encode(`${use}
${study}
${plain}`));
}
function segments(survey, submission) {
  const lengths = [
    ["id", "", firstLength(survey)],
    ...survey.public.map(({ name }) => (
      /** @type {[Segment["kind"], string, number]} */
      ["public", name, 4]
    )),
    ...reportsOf(survey).map(({ name, length }) => (
      /** @type {[Segment["kind"], string, number]} */
      ["report", name, length]
    ))
  ];
  let start = 0;
  return lengths.map(([kind, name, length]) => {
    const bytes = submission.slice(start, start + length);
    start += length;
    return { kind, name, start: start - length, bytes };
  });
}

// modules/tokens.js
var PREFIX = 32;
var SALT = 48;
function ascii(text) {
  return new TextEncoder().encode(text);
}
function numberOf(bytes) {
  return bytes.reduce((number, byte) => number << 8n | BigInt(byte), 0n);
}
function bytesOf(number, length) {
  return unhex(number.toString(16).padStart(2 * length, "0"));
}
async function sha384(bytes) {
  const subtle = globalThis.crypto?.subtle;
  insist(subtle, "insecure", "page", "must be loaded over HTTPS or from this machine");
  return new Uint8Array(await subtle.digest("SHA-384", new Uint8Array(bytes)));
}
async function encoded(message, salt, length) {
  const digest = await sha384(joined([new Uint8Array(8), await sha384(message), salt]));
  const room = length - digest.length - 1;
  const padded = new Uint8Array(room);
  padded[room - salt.length - 1] = 1;
  padded.set(salt, room - salt.length);
  for (let i = 0; i * digest.length < room; i += 1) {
    const mask = await sha384(joined([digest, new Uint8Array([0, 0, 0, i])]));
    mask.slice(0, room - i * digest.length).forEach((byte, j) => {
      padded[i * digest.length + j] ^= byte;
    });
  }
  padded[0] &= 127;
  return numberOf(joined([padded, digest, new Uint8Array([188])]));
}
function raised(base, modulus) {
  let power = base;
  for (let i = 0; i < 16; i += 1) power = power * power % modulus;
  return power * base % modulus;
}
function inverse(number, modulus) {
  let [a, b, x, y] = [number, modulus, 1n, 0n];
  while (b > 0n) [a, b, x, y] = [b, a % b, y, x - a / b * y];
  return (x % modulus + modulus) % modulus;
}
function bytesOfKey(key) {
  const letters = atob(`${key.replaceAll("-", "+").replaceAll("_", "/")}==`);
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}
function keyOf(survey, block = 0) {
  insist(survey.tokens, "malformed", "survey.access", "must be tokens");
  return bytesOfKey(survey.tokens.keys[block]);
}
function drawBlinding(survey, block) {
  const key = keyOf(survey, block);
  const modulus = numberOf(key);
  const drawn = new Uint8Array(PREFIX + SALT + key.length);
  let factor = 0n;
  while (factor === 0n || factor >= modulus) {
    crypto.getRandomValues(drawn);
    factor = numberOf(drawn.slice(PREFIX + SALT));
  }
  return drawn;
}
function signedNumber(key, message, drawn) {
  const [prefix, salt] = [drawn.slice(0, PREFIX), drawn.slice(PREFIX, PREFIX + SALT)];
  return encoded(joined([prefix, message]), salt, key.length);
}
async function blind(key, message, drawn) {
  const modulus = numberOf(key);
  const cover = raised(numberOf(drawn.slice(PREFIX + SALT)), modulus);
  return bytesOf(await signedNumber(key, message, drawn) * cover % modulus, key.length);
}
async function finalize(key, message, drawn, signed) {
  const modulus = numberOf(key);
  const factor = numberOf(drawn.slice(PREFIX + SALT));
  const signature = numberOf(signed) * inverse(factor, modulus) % modulus;
  const right = raised(signature, modulus) === await signedNumber(key, message, drawn);
  insist(right, "malformed", "token", "must be signed with the key that everybody has");
  return bytesOf(signature, key.length);
}
function messageOf({ study }) {
  return joined([ascii("warner token\n"), unhex(study)]);
}
async function tokenRequest(survey, code, drawn, block) {
  const plain = plainCode(code);
  insist(plain !== null, "code", "code", "must be 16 letters and digits, as in the invitation");
  const covered = await blind(keyOf(survey, block), messageOf(survey), drawn);
  return joined([ascii("WRNB"), unhex(survey.layout), ascii(plain), covered]);
}
async function tokenOf(survey, drawn, signed, block) {
  const signature = await finalize(
    keyOf(survey, block),
    messageOf(survey),
    drawn,
    unhex(signed)
  );
  return joined([drawn.slice(0, PREFIX), signature]);
}

// modules/promises.js
var STRONG_ODDS = 19;
function probabilities(question, index = 0) {
  const { law, odds } = prepare(question.program);
  if (law === null || odds === null) return null;
  const { kind, same, other } = law(index);
  let of = 100;
  while (of < 1e6 && [same, other].some((chance) => isAllOrNone(outOf(chance, of), of))) {
    of *= 10;
  }
  return {
    kind,
    of,
    same: outOf(same, of),
    other: outOf(other, of),
    exactlySame: same,
    exactlyOther: other,
    odds
  };
}
function outOf({ numerator, denominator }, people) {
  return Number((2n * BigInt(people) * numerator + denominator) / (2n * denominator));
}
function isAllOrNone(count, people) {
  return count === 0 || count === people;
}
function promisesOf(survey) {
  const { questions, public: columns, epsilon } = survey;
  const levels = ["strong", "weak", "none"];
  const levelOf = (nats, delta) => {
    if (nats > Math.log(MOST_ODDS) * SLACK) return 2;
    return nats > Math.log(STRONG_ODDS) * SLACK || delta !== null ? 1 : 0;
  };
  const found = new Set(questions.map((question) => levelOf(epsilonOfAll(survey, question), question.delta)));
  const least = Math.max(...found);
  const together = levelOf(survey.repeat?.epsilon ?? epsilon, null);
  const isSensitive = ({ name }) => programsOf(survey, name).some((program) => prepare(program).between === "sensitive");
  return [
    ...survey.repeat !== void 0 ? ["rounds"] : [],
    ...levels.filter((_, i) => found.has(i) && (i > 0 || least === 0)).reverse(),
    ...together > least ? [together === 2 ? "together_hardly" : "together"] : [],
    ...questions.some(isSensitive) ? ["sensitive"] : [],
    ...survey.program !== void 0 ? ["drawn"] : [],
    ...columns.length > 0 ? ["public"] : []
  ];
}
export {
  FORMAT,
  MOST_ODDS,
  Refusal,
  STRONG_ODDS,
  blockOf,
  blockOfCode,
  blocks,
  body,
  checkNames,
  checkSurvey,
  degrade,
  drawBlinding,
  drawBlock,
  encode,
  epsilonOf,
  given,
  hexadecimal,
  indexOf,
  invitationId,
  listedWords,
  nameOfDraw,
  outOf,
  parse,
  plainCode,
  positionOf,
  prepare,
  probabilities,
  programsOf,
  promisesOf,
  publicIndices,
  randomize,
  randomizeBlock,
  readSurvey,
  reportText,
  sample,
  seal,
  segments,
  size,
  submissionLength,
  surveyDigest,
  systemWords,
  tokenOf,
  tokenRequest
};
