// What a person is told about the protection, from the integers alone.

import { prepare } from "./programs.js";
import { MOST_ODDS, SLACK, epsilonOfAll, programsOf } from "./surveys.js";

/**
 * @import { Chances, Question, Ratio, Survey } from "./types.js"
 */

/**
 * Odds up to which a page may say that nobody can be sure of an answer. Who held two answers to be
 * equally likely is then at most 95 % sure of one of them.
 */
export const STRONG_ODDS = 19;

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
 * First `rounds`: what follows is of all rounds together. Then how well answers are hidden:
 * `strong`: nobody can be sure what somebody answered. `weak`: of some answers somebody can be more
 * than 95 % sure. `none`: of some answers almost certain. Then what has to be added: `together`:
 * all answers together can tell more than each one; `together_hardly`: nearly everything;
 * `sensitive`: only some answers are protected; `drawn`: which questions somebody is asked is not;
 * `public`: nor are public columns.
 *
 * @param {Survey} survey
 * @returns {string[]}
 */
export function promisesOf(survey) {
  const { questions, public: columns, epsilon } = survey;
  const levels = ["strong", "weak", "none"];
  const levelOf = (/** @type {number} */ nats, /** @type {number | null} */ delta) => {
    if (nats > Math.log(MOST_ODDS) * SLACK) return 2;
    return nats > Math.log(STRONG_ODDS) * SLACK || delta !== null ? 1 : 0;
  };
  /** @type {Set<number>} */
  const found = new Set(questions.map((question) => (
    levelOf(epsilonOfAll(survey, question), question.delta))));
  const least = Math.max(...found);
  const together = levelOf(survey.repeat?.epsilon ?? epsilon, null);
  const isSensitive = (/** @type {Question} */ { name }) => (
    programsOf(survey, name).some((program) => prepare(program).between === "sensitive"));
  return [
    ...(survey.repeat !== undefined ? ["rounds"] : []),
    ...levels.filter((_, i) => found.has(i) && (i > 0 || least === 0)).reverse(),
    ...(together > least ? [together === 2 ? "together_hardly" : "together"] : []),
    ...(questions.some(isSensitive) ? ["sensitive"] : []),
    ...(survey.program !== undefined ? ["drawn"] : []),
    ...(columns.length > 0 ? ["public"] : []),
  ];
}
