// The device of one person in a program of Node.js: the answers are randomised once, and sent until they arrive.
//
//     import { send } from "warner-survey/node";
//     await send({ theme: "dark" }, { collector: "https://survey.example.org", folder: "kept/anna" });
//
// The folder keeps between the runs of a program: the bytes of a round, so that a person counts once in it; with
// rounds the permanent report on each answer; and where questions are drawn, which of them this person is asked in
// all rounds. It tells which answers were reported.

import { createHash, randomUUID } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { refusalOf } from "../outbox.js";
import {
  Refusal, blockOfCode, blocks, body, checkNames, drawBlock, encode, given, nameOfDraw, programsOf, readSurvey, sample,
  seal,
} from "../warner.js";

const TIMEOUT = 30_000; // milliseconds
const SETTINGS = ["collector", "folder", "public", "code", "digest", "log"];

/** A whole file comes into being by one act, `renameSync` or `linkSync`, also where several processes write it. */
function keep(file, content, act = renameSync) {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}.new`;
  writeFileSync(draft, content, { mode: 0o600, flush: true });
  try {
    act(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** What a file holds; it is drawn by whichever process comes first, and nobody draws again. */
function keptOnce(file, draw) {
  if (!existsSync(file)) {
    try {
      keep(file, draw(), linkSync); // an error where the file is there, and a process that ends here leaves no lock
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
  }
  return readFileSync(file);
}

const drawnUnkept = (file, draw) => (existsSync(file) ? readFileSync(file) : draw());

function questionOf(survey, name) {
  const [program] = programsOf(survey, name);
  return { ...survey.questions.find((one) => one.name === name), program };
}

/** Which block of questions this person is asked: drawn once, before any answer is looked at, and kept for all rounds. */
async function blockOfPerson(survey, code, folder) {
  const ofCode = code === undefined ? undefined : await blockOfCode(survey, code);
  const draw = () => String(ofCode ?? drawBlock(survey.program));
  const kept = Number(keptOnce(join(folder, `${nameOfDraw(survey)}.draw`), draw));
  if (ofCode !== undefined && ofCode !== kept) {
    const rule = "asks another question than the one on which this device reports in all rounds";
    throw new Refusal("memo_other", "code", rule);
  }
  return kept;
}

/** The permanent report on an answer. A question has one file for each of the answers that a device may report on. */
function memoOf(survey, name, answer, folder, kept) {
  const question = questionOf(survey, name);
  const { domain, program: { memo } } = question;
  const index = encode(question, answer);
  const series = createHash("sha256").update(JSON.stringify([name, domain, memo])).digest("hex"); // the same in all rounds
  for (let i = 1; i <= survey.repeat.values; i += 1) {
    const draw = () => `${index} ${Buffer.from(sample(memo, index)).toString("hex")}`;
    const [of, report] = String(kept(join(folder, `${series}-${i}.memo`), draw)).split(" ");
    if (of === String(index)) return Buffer.from(report, "hex");
  }
  throw new Refusal("memo_full", name, "has one answer more than values in [repeat] allows, so nothing was sent");
}

/** The reply to a request; null where none comes. An address where nothing is will never reply otherwise. */
async function replyOf(address, request, log) {
  const reply = await fetch(address, { ...request, signal: AbortSignal.timeout(TIMEOUT) }).catch((error) => {
    const reason = error.cause?.code ?? error.message;
    log(`unavailable: ${address}: ${reason}`, reason);
    return null;
  });
  if (reply?.status === 404) {
    const rule = `${address} does not exist (404). Give the web address of the survey page, without /live or /reports`;
    throw new Refusal("not_found", "collector", rule);
  }
  return reply;
}

/** The file with the bytes of this round, which are the same at each call. */
async function fileOfRound(survey, folder, answers, settings) {
  checkNames(survey, answers);
  // Whatever is drawn: else a program without an answer would fail on some devices alone.
  for (const question of survey.questions) encode(questionOf(survey, question.name), given(question, answers));
  const file = join(folder, `${survey.study}.body`);
  if (existsSync(file)) return file; // each round is a study of its own
  const block = survey.program && await blockOfPerson(survey, settings.code, folder);
  const names = survey.program ? blocks(survey.program)[block].attributes : Object.keys(answers);
  const asked = Object.fromEntries(names.map((name) => [name, answers[name]]));
  const sealed = async (kept) => {
    const memos = survey.repeat && Object.fromEntries(
      names.map((name) => [name, memoOf(survey, name, asked[name], folder, kept)]),
    );
    return body(survey, [await seal(survey, { ...settings, answers: asked, block, memos })]);
  };
  await sealed(drawnUnkept); // refuses what is wrong before a permanent report takes the room of another
  const bytes = await sealed(keptOnce);
  keptOnce(file, () => bytes);
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
 * @param {(message: string, reason: string) => void} [settings.log] is told why no report was counted; else the console.
 * @returns {Promise<string>} "sent"; "already" where an earlier call has sent answers in this round, so that these were
 *   not sent; "unavailable", "busy" or "not-open", after which a later call goes on; or why the answers are not
 *   counted: "closed", "other-study", "spent", "not-invited" or "rejected".
 */
export async function send(answers, settings = {}) {
  for (const name of Object.keys(settings)) {
    if (SETTINGS.includes(name)) continue;
    throw new Refusal("malformed", name, `is unknown to send of Node.js, which takes ${SETTINGS.join(", ")}`);
  }
  const { collector, folder, digest, log = (message) => console.warn(message), ...person } = settings;
  if (!/^https?:\/\/[^/]/i.test(collector)) {
    const rule = 'must be the web address of the survey, such as "https://survey.example.org"';
    throw new Refusal("malformed", "collector", rule);
  }
  if (typeof folder !== "string" || folder === "") {
    throw new Refusal("malformed", "folder", 'must be the name of a folder for this person alone, such as "kept/anna"');
  }
  const address = collector.replace(/\/?$/, "/");
  const document = new URL("study.json", address);
  const served = await replyOf(document, {}, log);
  if (served === null) return "unavailable";
  if (!served.ok) {
    log(`busy: ${document}: ${served.status}`, String(served.status));
    return "busy";
  }
  const file = await fileOfRound(await readSurvey(await served.arrayBuffer(), digest), folder, answers, person);
  const bytes = readFileSync(file);
  if (bytes.length === 0) return "already";
  const reports = new URL("reports", address);
  const request = { method: "POST", body: bytes, headers: { "Content-Type": "application/octet-stream" } };
  const reply = await replyOf(reports, request, log);
  if (reply === null) return "unavailable"; // perhaps it is counted, and the same bytes count once
  const said = await reply.json().catch(() => null); // a proxy replies with a page of its own
  if (reply.status === 202 && said?.accepted === 1) {
    keep(file, ""); // nothing is sent again in this round, and no file tells which report is of this device
    return "sent";
  }
  const { outcome, reason } = refusalOf(reply.status, said);
  const why = reason === "" ? reply.status : said.message; // which repeats nothing of the answers
  log(`${outcome}: ${reports}: ${why}`, reason || String(reply.status));
  return outcome;
}
