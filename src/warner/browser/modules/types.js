// The types that modules share; nothing of this file runs.

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
 * @property {number} [limit] what each of them is below; a program does not state it.
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
 * @property {"open" | "invited" | "tokens"} access
 * @property {Tokens} [tokens] where people exchange their codes for tokens.
 * @property {string} contact
 * @property {string | null} opens
 * @property {string | null} closes
 * @property {true} [weak_protection] where reports may tell more than odds of 22,027.
 * @property {Repeat} [repeat] where the same people are asked in several rounds.
 *
 * @typedef {object} Tokens
 * @property {string} issuer the address that signs tokens.
 * @property {readonly string[]} keys of the issuer, one for each block of questions.
 * @property {number} wait the most seconds that a report waits on the device before it is sent.
 *
 * @typedef {object} Repeat devices keep permanent reports, and degrade them in each round.
 * @property {number} round this one, from 1.
 * @property {number} rounds how many there are.
 * @property {number} values on how many different values of a question a device reports at most.
 * @property {number} epsilon of all reports for ever, of people whose answers change alike.
 * @property {string} [draw] where a device draws one question for all rounds: the name under which
 *   it keeps the draw, 64 hexadecimal digits, the same in all rounds.
 *
 * @typedef {Readonly<SurveyDocument>} Survey a survey document that was read and checked; frozen.
 */

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

/**
 * @typedef {number | null | readonly Encoded[]} Encoded an index, a position in [0, 1], null for no
 *   answer of a program of numbers, or one of these for each part of a program.
 */

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
 * @typedef {object} Segment bytes of a submission that mean something.
 * @property {"id" | "public" | "report"} kind
 * @property {string} name the public column or the question; "" for the id and for a block.
 * @property {number} start
 * @property {Uint8Array} bytes
 */

/** @typedef {(program: unknown, place?: string) => Sampler} Prepare reads and checks a program. */

export {};
