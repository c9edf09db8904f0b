// Samplers of places on a line or in a plane. docs/device_programs.md defines them, with the checks
// in the order in which they stand.

import {
  BY_INDEX, cumulative, exceeds, integers, isObject, larger, largest, logarithm, MOST_WORDS,
  ratio, ratioOf, SHAPE, tableOdds,
} from "./entries.js";
import { among, below, RANGE, uniform } from "./random.js";
import { insist } from "./refusals.js";

/**
 * @import { Entries } from "./entries.js"
 * @import { Json, Ratio, Sampler, Words } from "./types.js"
 */

/**
 * @typedef {object} Noise of one axis or more, independent and alike.
 * @property {readonly bigint[]} masses
 * @property {bigint} whole their sum.
 * @property {readonly (readonly number[])[]} shifts the differences of the most distant values.
 * @property {boolean} byIndex whether the program leaves the delta out.
 */

/** @type {Readonly<Record<string, (entries: Entries) => Sampler>>} */
export const NUMBERS = {
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
};

const MOST_PAIRS = 2 ** 20; // of a cell and a value that are compared; more would take seconds

/**
 * A shape, and the cell of each value in it.
 *
 * @param {Entries} entries
 */
function placesOf(entries) {
  const [height, width, ...more] = entries.integers("shape").map(Number);
  const two = width !== undefined && more.length === 0;
  insist(two, "malformed", `${entries.place}.shape`, "must be two numbers");
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
  if (byIndex) insist(data.delta === null, "odds_differ", place, rule);
  const isConcave = masses.every((mass, j) => (
    mass * mass >= (masses[j - 1] ?? 0n) * (masses[j + 1] ?? 0n)));
  insist(isConcave, "not_a_law", place, "must have masses that fall ever faster");
  let worst = ratio(0n, 1n);
  for (const shift of shifts) {
    if (shift.length > 2) return allowed; // a survey has no such program
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
  insist(Array.isArray(words), "malformed", entries.place, rule);
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
