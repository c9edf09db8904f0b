/** The format of survey documents that this module reads. */
export declare const FORMAT = 1;
/**
 * The largest odds of any two answers, also the most distant ones, that this module accepts where a
 * survey does not say that its protection is weak: a little above exp(10). A report may be at most
 * this many times as likely under one answer as under another.
 */
export declare const MOST_ODDS = 22027;
/**
 * Odds up to which a page may say that nobody can be sure of an answer. Who held two answers to be
 * equally likely is then at most 95 % sure of one of them.
 */
export declare const STRONG_ODDS = 19;
export type Words = () => bigint;
export type Answer = string | number | boolean | bigint | readonly number[] | null;
export type Text = Readonly<Record<string, string>>;
export type Ratio = {
    readonly numerator: bigint;
    readonly denominator: bigint;
};
export type Json = {
    readonly [key: string]: unknown;
};
export type Categorical = {
    kind: "categorical";
    values: readonly (string | number | boolean)[];
};
export type Integers = {
    kind: "integers";
    low: number;
    high: number;
};
export type Interval = {
    kind: "interval";
    low: number;
    high: number;
    bins: number;
    clip?: boolean;
};
export type Grid = {
    kind: "grid";
    rows: number;
    columns: number;
    side: number;
    without?: readonly (readonly [number, number])[];
};
export type Dates = {
    kind: "dates";
    unit: "day" | "week" | "month";
};
export type Domain = Categorical | Integers | Interval | Grid | Dates;
export type Asked = {
    name: string;
    label: Text;
    help: Text;
    domain: Domain;
    /**
     * the texts of labels, by language.
     */
    answers: Readonly<Record<string, readonly string[]>>;
    /**
     * of a number, such as "km".
     */
    unit: string;
};
export type Column = {
    name: string;
    dtype: "|u1" | "<u2" | "<u4" | "<u8";
    /**
     * how many numbers of this type a report has.
     */
    length: number;
};
export type Program = Json & {
    readonly sampler: string;
    readonly columns: readonly Column[];
};
export type Randomised = {
    /**
     * whether a person may give no answer, which is then randomised too.
     */
    silence: boolean;
    epsilon: number;
    delta: number | null;
    /**
     * missing where the survey has one for all questions.
     */
    program?: Program;
};
export type Question = Asked & Randomised;
export type SurveyDocument = {
    format: number;
    /**
     * the digest of the study, 64 hexadecimal digits.
     */
    study: string;
    /**
     * the digest with the order of columns and questions, 64 digits.
     */
    layout: string;
    title: Text;
    introduction: Text;
    languages: readonly string[];
    epsilon: number;
    questions: readonly Question[];
    /**
     * where each person is asked one block of the questions: which one is
     * drawn, and how the answers to it are randomised.
     */
    program?: Program;
    public: readonly Asked[];
    access: "open" | "invited";
    contact: string;
    opens: string | null;
    closes: string | null;
    /**
     * where reports may tell more than odds of 22,027.
     */
    weak_protection?: true;
    /**
     * where the same people are asked in several rounds.
     */
    repeat?: Repeat;
};
export type Repeat = {
    /**
     * this one, from 1.
     */
    round: number;
    /**
     * how many there are.
     */
    rounds: number;
    /**
     * on how many different values of a question a device reports at most.
     */
    values: number;
    /**
     * of all reports for ever, of people whose answers change alike.
     */
    epsilon: number;
};
export type Survey = Readonly<SurveyDocument>;
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
export declare class Refusal extends Error {
    code: string;
    place: string;
    /**
     * @param {string} code
     * @param {string} place the question or the key that is refused.
     * @param {string} rule
     */
    constructor(code: string, place: string, rule: string);
}
/**
 * Words of the browser's cryptographic generator. A word is overwritten when it is handed out.
 *
 * @returns {Words}
 */
export declare function systemWords(): Words;
/**
 * Words from a list, for tests. `used()` says how many were taken.
 *
 * @param {readonly bigint[]} words
 * @returns {Words & { used: () => number }}
 */
export declare function listedWords(words: readonly bigint[]): Words & {
    used: () => number;
};
/**
 * Bytes as hexadecimal digits.
 *
 * @param {Uint8Array} bytes
 */
export declare function hexadecimal(bytes: Uint8Array): string;
/**
 * How many values a domain has, without silence.
 *
 * @param {Domain} domain
 * @returns {number}
 */
export declare function size(domain: Domain): number;
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
export declare function indexOf(question: Asked & {
    readonly silence?: boolean;
}, answer: Answer): number;
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
export declare function positionOf(question: Question, answer: Answer): number | null;
/**
 * The answer in a text that a person typed, as Python reads it from a file; undefined for none.
 *
 * @param {Asked} question
 * @param {string} text
 * @returns {Answer | undefined}
 */
export declare function parse({ domain }: Asked, text: string): Answer | undefined;
export type Drawn = Record<string, bigint[]>;
export type Law = {
    /**
     * whether the report names the value, has its bit
     * set, or supports it.
     */
    kind: "names" | "bit" | "supports";
    same: Ratio;
    other: Ratio;
};
export type Sampler = {
    /**
     * how answers are encoded.
     */
    answer: "index" | "position" | "parts";
    /**
     * how many indices there are; 0 for positions and parts.
     */
    size: number;
    /**
     * whether null, for no answer, is an encoded answer too.
     */
    silence?: boolean;
    columns: readonly Column[];
    /**
     * null where a report can rule a value out, with approximate privacy.
     */
    odds: Ratio | null;
    between: string;
    power: bigint;
    /**
     * of approximate privacy.
     */
    checkDelta?: (data: Json, place: string) => Ratio;
    /**
     * whether the delta is not computed here, so no survey may have it.
     */
    unchecked?: boolean;
    /**
     * of odds of neighbours on a line, those between its ends.
     */
    steps?: number;
    /**
     * of other odds of neighbours, the largest of any two values: no chain
     * of neighbours may join two values, and two axes are longer than one.
     */
    furthest?: Ratio;
    /**
     * of approximate privacy, as the integers have it.
     */
    delta?: Ratio;
    parts?: readonly Part[];
    /**
     * of questions, of which a person answers one.
     */
    blocks?: readonly Block[];
    draw: (encoded: any, next: Words) => Drawn;
    /**
     * how many different reports there are, where there are dummies.
     */
    reports?: number;
    /**
     * a report that depends on no answer.
     */
    dummy?: (next: Words) => Drawn;
    /**
     * the largest ratio of a person's report to a dummy's,
     * and of a dummy's to a person's.
     */
    dummyOdds?: () => [Ratio, Ratio];
    /**
     * null where no such sentence makes sense.
     */
    law: ((encoded: number) => Law) | null;
    /**
     * of reports with two likelihoods, which can be degraded.
     */
    levels?: Levels;
    /**
     * of bits: 2^64 times the chances of a 1.
     */
    chances?: readonly [bigint, bigint];
    /**
     * of the report that is drawn once and kept.
     */
    memo?: Sampler;
    /**
     * one round of it.
     */
    degrade?: (memo: Drawn, next: Words) => Drawn;
};
export type Levels = {
    /**
     * of inside + outside reports, up to a factor, those that support it.
     */
    inside: bigint;
    outside: bigint;
    /**
     * the likelihood of one that supports the value to that of another.
     */
    likelier: Ratio;
    uniform: (next: Words) => Drawn;
};
export type Part = {
    name: string;
    times: number;
    program: Json;
    sampler: Sampler;
};
export type Block = {
    /**
     * the names of the questions.
     */
    attributes: readonly string[];
    /**
     * of 2^64: the odds.
     */
    width: bigint;
    /**
     * of the answers to them together.
     */
    program: Json;
    sampler: Sampler;
};
export type Direct = {
    size: number;
    own: bigint;
    other: bigint;
};
export type Noise = {
    masses: readonly bigint[];
    /**
     * their sum.
     */
    whole: bigint;
    /**
     * the differences of the most distant values.
     */
    shifts: readonly (readonly number[])[];
    /**
     * whether the program leaves the delta out.
     */
    byIndex: boolean;
};
export type Space = {
    q: bigint;
    t: number;
    /**
     * how many there are.
     */
    points: bigint;
    /**
     * how many are orthogonal to a point.
     */
    orthogonal: bigint;
    /**
     * how many are orthogonal to two points.
     */
    common: bigint;
};
export type Functions = {
    columns: Column[];
    /**
     * the chance that two values share a bucket, as a
     * numerator and a denominator, where it is the same for all pairs.
     */
    collision: [bigint, bigint] | null;
    draw: (index: number, next: Words) => {
        columns: Drawn;
        bucket: number;
    };
};
/**
 * The sampler of a program, read and checked.
 *
 * @param {unknown} program
 * @param {string} [place] the name of the question, for refusals.
 * @returns {Sampler}
 */
export declare function prepare(program: unknown, place?: string): Sampler;
/**
 * Read and check a survey document.
 *
 * @param {Uint8Array | ArrayBuffer} served the bytes as they were served.
 * @param {string | null} [expected] the SHA-256 that they must have, 64 hexadecimal digits.
 * @returns {Promise<Survey>}
 * @throws {Refusal}
 */
export declare function readSurvey(served: Uint8Array | ArrayBuffer, expected?: string | null): Promise<Survey>;
/**
 * The SHA-256 of a served survey, in hexadecimal digits, as the survey page shows it.
 *
 * @param {Uint8Array | ArrayBuffer} served
 */
export declare function surveyDigest(served: Uint8Array | ArrayBuffer): Promise<string>;
/**
 * Check a survey document that was parsed.
 *
 * @param {unknown} data
 * @returns {Survey}
 * @throws {Refusal}
 */
export declare function checkSurvey(data: unknown): Survey;
/**
 * The epsilon of a question in nats, from the odds of its integers: that of the two values that its
 * reports tell apart best, beside the delta of approximate privacy.
 *
 * @param {Question} question
 * @returns {number}
 */
export declare function epsilonOf({ program }: Question): number;
/**
 * The programs that may randomise a question: its own, or those of the blocks that hold it.
 *
 * @param {Pick<Survey, "questions" | "program">} survey
 * @param {string} name of the question.
 * @returns {Json[]}
 */
export declare function programsOf({ questions, program }: Pick<Survey, "questions" | "program">, name: string): Json[];
/**
 * The record of one report of an encoded answer: what leaves the device for one question.
 *
 * @param {unknown} program
 * @param {Encoded} encoded
 * @param {Words} [next]
 * @returns {Uint8Array}
 */
export declare function sample(program: unknown, encoded: Encoded, next?: Words): Uint8Array;
/**
 * The record of one round, from the record of a permanent report, which a device draws by
 * `sample(program.memo, encoded)` once for each value, and keeps.
 *
 * @param {unknown} program a program `permanent`.
 * @param {Uint8Array} memo
 * @param {Words} [next]
 * @returns {Uint8Array}
 */
export declare function degrade(program: unknown, memo: Uint8Array, next?: Words): Uint8Array;
export type Encoded = number | null | readonly Encoded[];
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
export declare function encode(question: Question, answer: Answer): Encoded;
/**
 * Randomise the answer to one question. Each call draws anew: seal a submission once, and send the
 * same bytes again where a reply is lost.
 *
 * @param {Question} question
 * @param {Answer} answer
 * @param {Words} [next]
 * @returns {Uint8Array} the record of the report.
 */
export declare function randomize(question: Question, answer: Answer, next?: Words): Uint8Array;
/**
 * The blocks of a program `one_of`: the questions that one person answers together.
 *
 * @param {unknown} program
 * @returns {readonly Block[]}
 */
export declare function blocks(program: unknown): readonly Block[];
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
export declare function drawBlock(program: unknown, next?: Words): number;
/**
 * The block that an invited person is asked: the same on every device. Its word is
 *
 *     the first 8 bytes of SHA-256("warner block\n" study "\n" code), the highest byte first
 *
 * @param {Survey} survey
 * @param {string} code as it is printed, or without hyphens.
 * @returns {Promise<number>} the block, from 0.
 */
export declare function blockOfCode(survey: Survey, code: string): Promise<number>;
/**
 * The block that a submission is about, which is sent as it is.
 *
 * @param {Survey} survey
 * @param {Uint8Array} submission
 * @returns {number} from 0.
 */
export declare function blockOf(survey: Survey, submission: Uint8Array): number;
/**
 * Randomise the answers to the block that was drawn.
 *
 * @param {Survey} survey
 * @param {number} block what `drawBlock` returned.
 * @param {Readonly<Record<string, Answer>>} answers by the names of the block's questions.
 * @param {Words} [next]
 * @returns {Uint8Array} the record of the report.
 */
export declare function randomizeBlock(survey: Survey, block: number, answers: Readonly<Record<string, Answer>>, next?: Words): Uint8Array;
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
export declare function seal(survey: Survey, person: {
    answers: Readonly<Record<string, Answer>>;
    block?: number;
    public?: Readonly<Record<string, Answer>>;
    code?: string;
    memos?: Readonly<Record<string, Uint8Array>>;
    id?: Uint8Array;
    words?: Words;
}): Promise<Uint8Array>;
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
export declare function reportText(survey: Survey, name: string, record: Uint8Array): string;
/**
 * How many bytes each submission of a survey has.
 *
 * @param {Survey} survey
 */
export declare function submissionLength(survey: Survey): number;
/**
 * The body of a request with submissions of a survey.
 *
 * @param {Survey} survey
 * @param {readonly Uint8Array[]} submissions 1 to 10,000 of them.
 * @returns {Uint8Array}
 */
export declare function body(survey: Survey, submissions: readonly Uint8Array[]): Uint8Array;
/**
 * An invitation code without the hyphens and spaces between its groups, in capital letters.
 *
 * @param {string} text
 * @returns {string | null} null for what is no code.
 */
export declare function plainCode(text: string): string | null;
/**
 * The id of a submission by an invited person.
 *
 *     the first 16 bytes of SHA-256("warner invitation\n" study "\n" code)
 *
 * @param {Survey} survey
 * @param {string} code as it is printed, or without hyphens.
 * @returns {Promise<Uint8Array>}
 */
export declare function invitationId(survey: Survey, code: string): Promise<Uint8Array>;
export type Chances = {
    kind: "names" | "bit" | "supports";
    /**
     * 100, or more where a count would be rounded to none or to all.
     */
    of: number;
    /**
     * of `of` people with the value, how many send such a report.
     */
    same: number;
    /**
     * of `of` people with another value.
     */
    other: number;
    /**
     * the exact chance.
     */
    exactlySame: Ratio;
    exactlyOther: Ratio;
    /**
     * how many times as likely a report can be under one value as under another.
     */
    odds: Ratio;
};
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
export declare function probabilities(question: {
    readonly program?: unknown;
}, index?: number): Chances | null;
/**
 * A chance as a number of people, rounded to the nearest.
 *
 * @param {Ratio} chance
 * @param {number} people
 */
export declare function outOf({ numerator, denominator }: Ratio, people: number): number;
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
export declare function promisesOf(survey: Survey): string[];
export type Segment = {
    kind: "id" | "public" | "report";
    /**
     * the public column or the question; "" for the id and for a block.
     */
    name: string;
    start: number;
    bytes: Uint8Array;
};
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
export declare function segments(survey: Survey, submission: Uint8Array): Segment[];
