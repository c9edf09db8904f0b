// The device of one person in a program of Node.js: the answers are randomised once, and sent until they arrive.
//
//     import { send } from "warner-survey/node";
//     await send({ theme: "dark" }, { collector: "https://survey.example.org", folder: "kept" });
//
// The folder keeps two things between the runs of a program: the bytes of a round, so that a person counts once
// in it, and with rounds the permanent report on each answer. It tells which answers were reported.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Refusal, body, checkNames, encode, programsOf, readSurvey, sample, seal } from "../warner.js";

const TIMEOUT = 30_000; // milliseconds
const LATER = [408, 425, 429]; // refusals of this moment

function keep(file, content) {
  writeFileSync(`${file}.new`, content, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

function questionOf(survey, name) {
  const [program] = programsOf(survey, name);
  return { ...survey.questions.find((one) => one.name === name), program };
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
      throw new Error(`${name}: has a new answer more than values in [repeat] allows, so nothing is sent.`);
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
  const [file, memosFile] = [`${survey.study}.body`, "memos.json"].map((name) => join(folder, name));
  if (existsSync(file)) return file; // each round is a study of its own
  const { memos, kept } = survey.repeat ? memosOf(survey, answers, memosFile) : {};
  const bytes = body(survey, [await seal(survey, { ...settings, answers, memos })]);
  if (existsSync(file)) return file; // another call came first, with permanent reports of its own
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (kept) keep(memosFile, JSON.stringify(kept)); // before anything is sent
  keep(file, bytes);
  return file;
}

/**
 * Sends the answers of one person in this round, once. Call it at every start of the program.
 *
 * @param {object} answers by the names of the questions.
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
