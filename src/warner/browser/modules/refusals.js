// Why a survey, an answer or a submission is refused.

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
export function insist(condition, code, place, rule) {
  if (!condition) throw new Refusal(code, place, rule);
}
