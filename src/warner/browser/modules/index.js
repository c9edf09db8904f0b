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

export {
  FORMAT, MOST_ODDS, readSurvey, surveyDigest, checkSurvey, epsilonOf, programsOf,
} from "./surveys.js";
export {
  encode, randomize, drawBlock, nameOfDraw, blockOfCode, blockOf, randomizeBlock, seal, reportText,
  submissionLength, body, plainCode, invitationId, segments, checkNames, given, publicIndices,
} from "./submissions.js";
export { drawBlinding, tokenOf, tokenRequest } from "./tokens.js";
export { STRONG_ODDS, probabilities, outOf, promisesOf } from "./promises.js";
export { prepare, sample, degrade, blocks } from "./programs.js";
export { size, indexOf, positionOf, parse } from "./domains.js";
export { hexadecimal } from "./bytes.js";
export { systemWords, listedWords } from "./random.js";
export { Refusal } from "./refusals.js";
export * from "./types.js";
