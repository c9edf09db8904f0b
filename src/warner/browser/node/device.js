// The device of one person in a program of Node.js: the answers are randomised once, and sent until they arrive.
//
//     import { send } from "warner-survey/node";
//     await send({ theme: "dark" }, { collector: "https://survey.example.org", folder: "kept" });
//
// The folder keeps between the runs of a program: the bytes of a round, so that a person counts once in it; with
// rounds the permanent report on each answer; and where questions are drawn, which of them this person is asked in
// all rounds. It tells which answers were reported.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  Refusal, blockOfCode, blocks, body, checkNames, drawBlock, encode, nameOfDraw, programsOf, readSurvey, sample, seal,
} from "../warner.js";

const TIMEOUT = 30_000; // milliseconds
const LATER = [408, 425, 429]; // refusals of this moment

function keep(file, content) {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, content, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

function questionOf(survey, name) {
  const [program] = programsOf(survey, name);
  return { ...survey.questions.find((one) => one.name === name), program };
}

/** Which block of questions this person is asked: drawn once, before any answer is looked at, and kept for all rounds. */
async function blockOfPerson(survey, code, file) {
  const name = nameOfDraw(survey);
  const ofCode = code === undefined ? undefined : await blockOfCode(survey, code);
  const kept = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  if (kept[name] === undefined) {
    kept[name] = ofCode ?? drawBlock(survey.program);
    keep(file, JSON.stringify(kept));
  }
  if (ofCode !== undefined && ofCode !== kept[name]) {
    const rule = "asks another question than the one on which this device reports in all rounds";
    throw new Refusal("memo_other", "code", rule);
  }
  return kept[name];
}

/** The permanent reports on these answers, and all that are kept with them. */
function memosOf(survey, answers, file) {
  const kept = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const memos = {};
  for (const [name, answer] of Object.entries(answers)) {
    const question = questionOf(survey, name);
    const { memo } = question.program;
    const reports = kept[JSON.stringify([name, question.domain, memo])] ??= {}; // the same in all rounds
    const index = encode(question, answer);
    if (!(index in reports) && Object.keys(reports).length >= survey.repeat.values) {
      throw new Refusal("memo_full", name, "has a new answer more than values in [repeat] allows, so nothing is sent");
    }
    reports[index] ??= Buffer.from(sample(memo, index)).toString("hex"); // drawn once
    memos[name] = Buffer.from(reports[index], "hex");
  }
  return { memos, kept };
}

/** The reply to a request; null where none comes. An address where nothing is will never reply otherwise. */
async function replyOf(address, request) {
  const reply = await fetch(address, { ...request, signal: AbortSignal.timeout(TIMEOUT) }).catch(() => null);
  if (reply?.status === 404) {
    const rule = `${address} does not exist (404). Give the web address of the survey page, without /live or /reports`;
    throw new Refusal("not_found", "collector", rule);
  }
  return reply;
}

/** The file with the bytes of this round, which are the same at each call; null where no collector replies. */
async function fileOfRound(collector, folder, answers, settings) {
  const reply = await replyOf(new URL("study.json", collector));
  if (!reply?.ok) return null;
  const survey = await readSurvey(await reply.arrayBuffer());
  checkNames(survey, answers);
  for (const [name, answer] of Object.entries(answers)) encode(questionOf(survey, name), answer); // refuses a wrong one
  const [file, memosFile, drawFile] = [`${survey.study}.body`, "memos.json", "draw.json"].map((name) => join(folder, name));
  if (existsSync(file)) return file; // each round is a study of its own
  const block = survey.program && await blockOfPerson(survey, settings.code, drawFile);
  const names = survey.program ? blocks(survey.program)[block].attributes : Object.keys(answers);
  const asked = Object.fromEntries(names.map((name) => [name, answers[name]]));
  const { memos, kept } = survey.repeat ? memosOf(survey, asked, memosFile) : {};
  const bytes = body(survey, [await seal(survey, { ...settings, answers: asked, block, memos })]);
  if (existsSync(file)) return file; // another call came first, with permanent reports of its own
  if (kept) keep(memosFile, JSON.stringify(kept)); // before anything is sent
  keep(file, bytes);
  return file;
}

/**
 * Sends the answers of one person in this round, once. Call it at every start of the program.
 *
 * @param {object} answers by the names of all questions. Where questions are drawn, only those of this person's draw
 *   are reported.
 * @param {object} settings
 * @param {string} settings.collector the web address of the survey.
 * @param {string} settings.folder what is kept of this person, and of no other. It must outlast updates of the program.
 * @returns {Promise<string>} "sent", "later", or why the answers are not counted, such as "closed".
 */
export async function send(answers, { collector, folder, ...settings } = {}) {
  if (!/^https?:\/\/[^/]/i.test(collector)) {
    const rule = 'must be the web address of the survey, such as "https://survey.example.org"';
    throw new Refusal("malformed", "collector", rule);
  }
  if (typeof folder !== "string" || folder === "") {
    throw new Refusal("malformed", "folder", 'must be the name of a folder for this person alone, such as "kept"');
  }
  if ("block" in settings) {
    throw new Refusal("malformed", "block", "is drawn by send, and kept in the folder");
  }
  const address = collector.replace(/\/?$/, "/");
  const file = await fileOfRound(address, folder, answers, settings);
  if (file === null) return "later";
  const bytes = readFileSync(file);
  if (bytes.length === 0) return "sent"; // by an earlier call
  const reply = await replyOf(new URL("reports", address), {
    method: "POST", body: bytes, headers: { "Content-Type": "application/octet-stream" },
  }); // without a reply it is perhaps counted, and the same bytes count once
  const said = await reply?.json().catch(() => null); // a proxy replies with a page of its own
  if (reply?.status === 202 && said?.accepted === 1) {
    keep(file, ""); // nothing is sent again in this round, and no file tells which report is of this device
    return "sent";
  }
  const isFinal = reply?.status >= 400 && reply.status < 500 && !LATER.includes(reply.status);
  if (!isFinal || !said?.error) return "later";
  console.warn(said.message); // it repeats nothing of the answers
  return said.error;
}
