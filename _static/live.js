(() => {
"use strict";
// The live page: randomised response in the browser, with the integers of the library.
//
// The upper half is the law and needs no page; tests/docs run it with node. The lower half shows it.
// The page loads this file as a plain script, so that it also runs from a folder: its build drops
// the line of exports.

const BITS = 256n;                      // binary digits after the point
const SCALE = 1n << BITS;
const RANGE = 1n << 64n;

/** A double as an exact fixed-point number: the floor of x 2^256. */
function fixed(x) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0);
  const power = Number((bits >> 52n) & 2047n);
  const digits = (bits & ((1n << 52n) - 1n)) | (power ? 1n << 52n : 0n);
  const shift = BITS + BigInt((power || 1) - 1075);
  return shift >= 0n ? digits << shift : digits >> -shift;
}

/** exp(x) 2^256 for 0 <= x <= 60, by its series; the error is some units of the last digit. */
function exponential(x) {
  const argument = fixed(x);
  let term = SCALE;
  let sum = SCALE;
  for (let i = 1n; term > 0n; i += 1n) {
    term = ((term * argument) >> BITS) / i;
    sum += term;
  }
  return sum;
}

/**
 * The widths of the cells of a 64-bit number: of the true answer, and of each other answer.
 *
 *     other = floor(2^64 / (e + size - 1)),   same = floor(other e),   e = exp(epsilon)
 *
 * A number beyond all cells is drawn again. So same / other is at most e, in exact arithmetic.
 */
function widths(epsilon, size) {
  const e = exponential(epsilon);
  const other = (RANGE * SCALE) / (e + BigInt(size - 1) * SCALE);
  return { same: (other * e) >> BITS, other };
}

/** The report of the answer 0..size-1 for one 64-bit number; -1 where it must be drawn again. */
function reportOf(answer, size, { same, other }, number) {
  const others = BigInt(size - 1) * other;
  if (number >= others + same) return -1;
  if (number >= others) return answer;
  const wrong = Number(number / other);
  return wrong + (wrong >= answer ? 1 : 0);
}

/** A function that gives 64-bit numbers of the browser's cryptographic generator. */
function randomNumbers() {
  const numbers = new BigUint64Array(1024);
  let left = 0;
  return () => {
    if (left === 0) {
      crypto.getRandomValues(numbers);
      left = numbers.length;
    }
    left -= 1;
    return numbers[left];
  };
}

/** The report of an answer. */
function randomize(answer, size, law, next) {
  let report = -1;
  while (report < 0) report = reportOf(answer, size, law, next());
  return report;
}

/** The probabilities of the true answer and of each other answer, as they are sampled. */
function probabilities(size, { same, other }) {
  const total = same + BigInt(size - 1) * other;
  const share = (width) => Number((width << 60n) / total) / 2 ** 60;
  return { same: share(same), other: share(other) };
}

/**
 * The unbiased estimate of each share, and a 95 % interval.
 *
 *     estimate = (w - other) / (same - other),   w the share of reports
 *
 * The interval of w is Wilson's, which holds near 0 and 1 too, carried over and cut to [0, 1]. Where
 * the estimate lies outside [0, 1], the interval is moved with it to the nearest end.
 */
function estimate(counts, law) {
  const { same, other } = probabilities(counts.length, law);
  const people = counts.reduce((sum, count) => sum + count, 0);
  const z = 1.959963984540054;
  const share = (w) => (w - other) / (same - other);
  const inside = (x) => Math.min(Math.max(x, 0), 1);
  return counts.map((count) => {
    const w = count / people;
    const middle = (w + (z * z) / (2 * people)) / (1 + (z * z) / people);
    const half = (z / (1 + (z * z) / people))
      * Math.sqrt((w * (1 - w)) / people + (z * z) / (4 * people * people));
    const moved = inside(share(w)) - share(w);
    const [low, high] = [middle - half, middle + half].map((limit) => inside(share(limit) + moved));
    return { estimate: share(w), low, high };
  });
}

/** n people as counts of each answer: shares times n, rounded so that they sum to n. */
function crowdOf(shares, people) {
  let before = 0;
  let sum = 0;
  return shares.map((share) => {
    sum += share;
    const count = Math.round(sum * people) - before;
    before += count;
    return count;
  });
}

// ---------------------------------------------------------------------------------------------
// The page.

const QUESTIONS = {
  two: { labels: ["yes", "no"], shares: [0.3, 0.7] },
  four: { labels: ["never", "sometimes", "often", "daily"], shares: [0.5, 0.25, 0.15, 0.1] },
};

function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function shape(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** A bar of the estimate, the interval as a line, and the truth as a thick mark. */
function bar({ estimate: value, low, high }, truth) {
  const x = (share) => 200 * Math.min(Math.max(share, 0), 1);
  const picture = shape("svg", { viewBox: "0 0 200 20", "aria-hidden": "true", class: "live-bar" });
  picture.append(
    shape("rect", { x: 0, y: 4, width: x(value), height: 12, class: "live-estimate" }),
    shape("path", {
      d: `M${x(low)} 10H${x(high)}M${x(low)} 6V14M${x(high)} 6V14`, class: "live-interval",
    }),
    shape("path", { d: `M${x(truth)} 1V19`, class: "live-truth" }),
  );
  return picture;
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const people = (share) => Math.round(100 * share);

/** The sentences on what one report says. */
function odds(labels, law) {
  const { same, other } = probabilities(labels.length, law);
  const ratio = same / other;
  const times = ratio < 100 ? ratio.toFixed(ratio < 10 ? 2 : 0) : Math.round(ratio).toLocaleString("en");
  const first = labels.length === 2
    ? `Of 100 people who answered yes, ${people(same)} send yes. `
      + `Of 100 who answered no, ${people(other)} send yes.`
    : `Of 100 people who answered often, ${people(same)} send often. `
      + `Of 100 who answered never, ${people(other)} send often.`;
  return [
    first,
    `A report is ${times} times as likely from a person with this answer as from any other person.`,
    `Suppose that you held ${labels.length === 2 ? "both" : "all four"} answers for equally likely. `
      + `After one report, the answer that it names is ${people(same)} % likely for you.`,
  ];
}

function start(root) {
  const find = (name) => root.querySelector(`[data-live="${name}"]`);
  const next = randomNumbers();
  let question = QUESTIONS.two;
  let law = null;

  function showCrowd() {
    const n = Number(find("people").value);
    const answers = crowdOf(question.shares, n);
    const size = question.labels.length;
    const counts = new Array(size).fill(0);
    answers.forEach((count, answer) => {
      for (let i = 0; i < count; i += 1) counts[randomize(answer, size, law, next)] += 1;
    });
    const rows = estimate(counts, law).map((found, i) => {
      const row = element("tr");
      row.append(
        element("th", question.labels[i], { scope: "row" }),
        element("td", percent(question.shares[i])),
        element("td", percent(counts[i] / n)),
        element("td", percent(found.estimate)),
        element("td", `${percent(found.low)} to ${percent(found.high)}`),
        element("td"),
      );
      row.lastChild.append(bar(found, question.shares[i]));
      return row;
    });
    find("crowd").replaceChildren(...rows);
  }

  function showReports() {
    const size = question.labels.length;
    const answer = Number(find("answer").value);
    const items = Array.from({ length: 20 }, () => {
      const report = randomize(answer, size, law, next);
      return element("li", question.labels[report], report === answer ? { class: "live-same" } : {});
    });
    find("reports").replaceChildren(...items);
  }

  function showLaw() {
    const epsilon = Number(find("epsilon").value);
    law = widths(epsilon, question.labels.length);
    find("value").textContent = epsilon.toFixed(1);
    find("epsilon").setAttribute("aria-valuetext", `epsilon ${epsilon.toFixed(1)}`);
    find("odds").replaceChildren(...odds(question.labels, law).map((text) => element("p", text)));
    find("integers").textContent = `The device compares a 64-bit number with these integers: `
      + `${law.same} of 18446744073709551616 for the true answer, ${law.other} for each other answer.`;
    showReports();
    showCrowd();
  }

  function ask() {
    question = QUESTIONS[root.querySelector("input[name=live-question]:checked").value];
    find("answer").replaceChildren(...question.labels.map((label, i) => element("option", label, { value: i })));
    showLaw();
  }

  root.querySelectorAll("input[name=live-question]").forEach((choice) => choice.addEventListener("change", ask));
  find("epsilon").addEventListener("input", showLaw);
  find("people").addEventListener("change", showCrowd);
  find("answer").addEventListener("change", showReports);
  find("again").addEventListener("click", showReports);
  find("crowd-again").addEventListener("click", showCrowd);
  root.hidden = false;
  document.getElementById("live-fallback").hidden = true;
  ask();
}

if (typeof document !== "undefined") start(document.getElementById("live"));

})();
