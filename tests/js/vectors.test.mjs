// The known answers of tests/vectors: what Python makes and refuses, warner.js makes and refuses.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import * as warner from "../../src/warner/browser/warner.js";

const read = (name) => (
  JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url), "utf8")).cases);

const refused = (code) => (error) => error instanceof warner.Refusal && error.code === code;
const bytes = (text) => new TextEncoder().encode(text);

for (const { name, program, draws } of read("samplers.json")) {
  test(`samplers: ${name}`, () => {
    for (const { encoded, words, record, used } of draws) {
      const next = warner.listedWords(words.map(BigInt));
      assert.equal(warner.hexadecimal(warner.sample(program, encoded, next)), record);
      assert.equal(next.used(), used);
      if (program.sampler === "permanent") { // the same in two steps, as devices that keep the first
        const again = warner.listedWords(words.map(BigInt));
        const memo = warner.sample(program.memo, encoded, again);
        assert.equal(warner.hexadecimal(warner.degrade(program, memo, again)), record);
        assert.throws(() => warner.degrade(program, new Uint8Array(99)), refused("bad_answer"));
        assert.throws(() => warner.degrade(program.memo, memo), refused("bad_answer"));
      }
      const short = warner.listedWords(words.slice(0, used - 1).map(BigInt));
      if (used > 0) assert.throws(() => warner.sample(program, encoded, short), refused("words"));
    }
  });
}

/** A document with entries set at paths. */
function edited(document, edits) {
  const copy = structuredClone(document);
  for (const [path, value] of edits) {
    const last = path.at(-1);
    const at = path.slice(0, -1).reduce((part, key) => part[key], copy);
    at[last] = value;
  }
  return copy;
}

const [whole, ...altered] = read("studies.json");

test("studies: as served", async () => {
  const served = bytes(whole.served);
  assert.equal(await warner.surveyDigest(served), whole.sha256);
  const survey = await warner.readSurvey(served, whole.sha256);
  assert.deepEqual(survey.questions.map(({ name }) => name), [
    "smokes", "drinks", "hours", "place", "steps", "fit",
  ]);
  assert.throws(() => { survey.questions[0].epsilon = 9; }, TypeError);
});

test("studies: one changed byte is another survey", async () => {
  const served = bytes(whole.served.replace("Do you smoke?", "Do you smoke!"));
  await assert.rejects(warner.readSurvey(served, whole.sha256), refused("altered"));
  await warner.readSurvey(served);
});

test("studies: no JSON, and no UTF-8", async () => {
  for (const served of [bytes("{"), new Uint8Array([0xff]), bytes("[]"), bytes("null")]) {
    await assert.rejects(warner.readSurvey(served), refused("malformed"));
  }
});

for (const { name, edits, error } of altered) {
  test(`studies: ${name}`, () => {
    const document = edited(JSON.parse(whole.served), edits);
    assert.throws(() => warner.checkSurvey(document), refused(error));
  });
}

for (const [i, kept] of read("submissions.json").entries()) {
  test(`submissions: person ${i + 1}`, async () => {
    const survey = await warner.readSurvey(bytes(whole.served), whole.sha256);
    const words = warner.listedWords(kept.words.map(BigInt));
    const { answers, public: columns, code } = kept;
    const sealed = await warner.seal(survey, { answers, public: columns, code, words });
    assert.equal(warner.hexadecimal(sealed), kept.submission);
    assert.equal(words.used(), kept.used);
    assert.equal(sealed.length, warner.submissionLength(survey));
    assert.equal(warner.hexadecimal(warner.body(survey, [sealed])), kept.body);
    const parts = warner.segments(survey, sealed).map((part) => warner.hexadecimal(part.bytes));
    assert.equal(parts[0], kept.id);
    assert.deepEqual(parts.slice(1 + survey.public.length), kept.records);
    assert.equal(parts.join(""), kept.submission);
  });
}

/** The permanent reports of a case, by their questions. */
function asMemos(memos) {
  return memos && Object.fromEntries(
    Object.entries(memos).map(([question, memo]) => [question, Buffer.from(memo, "hex")]));
}

for (const file of ["finite.json", "rounds.json"]) {
  const [small, ...cases] = read(file);
  for (const { name, code, answers, public: columns, memos, words, used, body, edits, error } of cases) {
    test(`${file}: ${name ?? code}`, async () => {
      if (error) {
        const document = edited(JSON.parse(small.served), edits);
        assert.throws(() => warner.checkSurvey(document), refused(error));
        return;
      }
      const survey = await warner.readSurvey(bytes(small.served), small.sha256);
      const next = warner.listedWords(words.map(BigInt));
      const person = { answers, public: columns, code, memos: asMemos(memos), words: next };
      const sealed = await warner.seal(survey, person);
      assert.equal(warner.hexadecimal(warner.body(survey, [sealed])), body);
      assert.equal(next.used(), used);
      // A memo of an old answer beside an answer that is wrong, or not there, is not sent.
      const [question] = Object.keys(answers);
      for (const wrong of [{ ...answers, [question]: "no such answer" }, {}, null]) {
        await assert.rejects(warner.seal(survey, { ...person, answers: wrong }), refused("bad_answer"));
      }
    });
  }
}

for (const file of ["draws.json", "drawn_rounds.json"]) {
  const [drawn, ...cases] = read(file);
  for (const { name, code, block, answers, public: columns, memos, words, used, body, edits, error } of cases) {
    test(`${file}: ${name ?? code}`, async () => {
      if (error) {
        const document = edited(JSON.parse(drawn.served), edits);
        assert.throws(() => warner.checkSurvey(document), refused(error));
        return;
      }
      const survey = await warner.readSurvey(bytes(drawn.served), drawn.sha256);
      assert.equal(await warner.blockOfCode(survey, code), block);
      const found = warner.blocks(survey.program);
      assert.deepEqual(Object.keys(answers).sort(), [...found[block].attributes].sort());
      const next = warner.listedWords(words.map(BigInt));
      const person = { answers, block, public: columns, code, memos: asMemos(memos) };
      const sealed = await warner.seal(survey, { ...person, words: next });
      assert.equal(warner.hexadecimal(warner.body(survey, [sealed])), body);
      assert.equal(next.used(), used);
      assert.equal(sealed.length, warner.submissionLength(survey));
      assert.equal(warner.blockOf(survey, sealed), block);
      const other = (block + 1) % found.length;
      await assert.rejects(warner.seal(survey, { ...person, block: other }), refused("bad_answer"));
      const { attributes, program } = found[other];
      const theirs = { smokes: "nie", drinks: 1, fit: true, place: [0, 0] };
      const named = Object.fromEntries(attributes.map((one) => [one, theirs[one]]));
      const kept = memos && { [attributes[0]]: warner.sample(program.memo, 0) };
      await assert.rejects(
        warner.seal(survey, { answers: named, block: other, public: columns, code, memos: kept }),
        refused("code"),
      );
    });
  }
}

for (const file of ["rounds.json", "drawn_rounds.json"]) {
  test(`${file}: a program that keeps its permanent reports seals every round`, async () => {
    const [{ served }] = read(file);
    const survey = warner.checkSurvey({ ...JSON.parse(served), access: "open" });
    const all = { smokes: "nie", drinks: 3, place: [1, 1], hours: 4.5, fit: true };
    const block = survey.program && warner.drawBlock(survey.program);
    const asked = survey.program ? warner.blocks(survey.program)[block].attributes : Object.keys(all);
    const of = (value) => Object.fromEntries(asked.map((name) => [name, value(name)]));
    const memos = of((name) => { // as the README of the package says
      const question = survey.questions.find((one) => one.name === name);
      const [program] = warner.programsOf(survey, name);
      return warner.sample(program.memo, warner.encode({ ...question, program }, all[name]));
    });
    const person = { answers: of((name) => all[name]), block, memos, public: { ward: "north" } };
    const sealed = await warner.seal(survey, person);
    assert.equal(sealed.length, warner.submissionLength(survey));
  });

  test(`${file}: no report of several rounds is drawn without the permanent report`, () => {
    // Rejects `randomize` and `randomizeBlock` drawing another permanent report in each round.
    const [{ served }] = read(file);
    const survey = warner.checkSurvey({ ...JSON.parse(served), access: "open" });
    const block = survey.program && warner.blocks(survey.program).findIndex(({ attributes }) => attributes[0] === "smokes");
    const [program] = warner.programsOf(survey, "smokes");
    const question = { ...survey.questions.find(({ name }) => name === "smokes"), program };
    const memo = warner.sample(program.memo, warner.encode(question, "nie"));
    const words = new BigUint64Array(64).map((_, i) => BigInt(i) << 58n);
    const next = () => warner.listedWords(words);
    const needs = {
      code: "bad_answer", place: "smokes",
      message: "smokes: needs the permanent report on its answer, as memos in seal and as memo in randomize. "
        + "Draw it once for each answer, and keep it: sample(program.memo, encode({ ...question, program }, answer)).",
    };
    assert.throws(() => warner.randomize(question, "nie"), needs);
    const once = warner.hexadecimal(warner.degrade(program, memo, next()));
    assert.equal(warner.hexadecimal(warner.randomize(question, "nie", memo, next())), once);
    assert.throws(() => warner.randomize(question, "no such answer", memo), refused("bad_answer"));
    if (survey.program === undefined) return;
    assert.throws(() => warner.randomizeBlock(survey, block, { smokes: "nie" }), needs);
    const whole = warner.randomizeBlock(survey, block, { smokes: "nie" }, { smokes: memo }, next());
    assert.ok(warner.hexadecimal(whole).includes(once));
  });
}

const WARNED = []; // what the device for Node.js writes to the console

/** The device for Node.js, in a folder of its own, against a collector with `reply(body)` and `text()`. */
async function withDevice(text, reply, act) {
  const module = new URL("../../src/warner/browser/node/device.js", import.meta.url).href;
  const folder = mkdtempSync(join(tmpdir(), "warner-"));
  const [before, { fetch }, { warn }] = [process.cwd(), globalThis, console];
  process.chdir(folder);
  console.warn = (text) => WARNED.push(text);
  globalThis.fetch = async (url, request) => {
    if (request.method === undefined) {
      assert.equal(String(url), "https://survey.example.org/study.json");
      return text();
    }
    assert.equal(`${request.method} ${url}`, "POST https://survey.example.org/reports");
    assert.deepEqual(request.headers, { "Content-Type": "application/octet-stream" });
    return reply(request.body);
  };
  let starts = 0;
  try {
    await act(async () => { // the program starts
      starts += 1;
      const { send } = await import(`${module}?start=${starts}`);
      return (collector, answers, more) => send(answers, { collector, folder: "kept", ...more });
    });
  } finally {
    process.chdir(before);
    globalThis.fetch = fetch;
    console.warn = warn;
    rmSync(folder, { recursive: true });
  }
}

const ROUNDS = { ...JSON.parse(read("rounds.json")[0].served), access: "open", public: [] };
const OF_ROUNDS = { smokes: "nie", drinks: 3, place: [1, 1], hours: 4.5, fit: true };
const HERE = "https://survey.example.org";

/** What the device for Node.js keeps of permanent reports. */
function memosKept() {
  return readdirSync("kept").filter((name) => name.endsWith(".memo")).sort().map((name) => (
    [name, readFileSync(join("kept", name), "utf8")]));
}

/** The survey of a round, which is a study of its own. */
function surveyOf(round) {
  const repeat = { ...ROUNDS.repeat, round: Math.min(round, 3) };
  return new Response(JSON.stringify({ ...ROUNDS, study: String(round).padStart(64, "0"), repeat }));
}

test("rounds.json: a program in Node.js keeps its permanent reports in a folder", async () => {
  // Rejects lines that draw another permanent report in the next round, or at the next start.
  let [round, sent] = [0, []];
  const lost = (body) => { // no reply comes
    sent.push(Buffer.from(body).toString("hex"));
    throw new TypeError("fetch failed");
  };
  await withDevice(() => surveyOf(round), lost, async (start) => {
    const [bodies, memos] = [new Set(), []];
    for (round of [1, 2, 3]) {
      const send = await start();
      sent = [];
      assert.equal(await send(HERE, OF_ROUNDS), "unavailable");
      assert.equal(sent[0].length, 2 * (36 + warner.submissionLength(ROUNDS)));
      // Rejects a person who counts twice because the program started twice in the round.
      await Promise.all([`${HERE}/`, HERE].map((address) => send(address, OF_ROUNDS)));
      assert.deepEqual(sent, [sent[0], sent[0], sent[0]]);
      bodies.add(sent[0]);
      memos.push(memosKept());
      const wrong = { ...OF_ROUNDS, smokes: "no answer of it" };
      await assert.rejects(send(HERE, wrong), { code: "bad_answer", place: "smokes" });
      await assert.rejects(send(HERE, { ...OF_ROUNDS, zoom: 1 }), { message: "zoom: is no question of the survey." });
      assert.equal(sent.length, 3);
    }
    assert.equal(bodies.size, 3);
    assert.equal(memos[0].length, 5);
    assert.deepEqual(memos, [memos[0], memos[0], memos[0]]);
    round = 4; // two calls at once, of which neither has the bytes
    sent = [];
    const send = await start();
    await Promise.all([1, 2].map(() => send(HERE, OF_ROUNDS)));
    assert.deepEqual(sent, [sent[0], sent[0]]);
    const others = ROUNDS.questions.find(({ name }) => name === "smokes").domain.values;
    assert.ok(others.length > ROUNDS.repeat.values);
    await assert.rejects(async () => {
      for (const smokes of others) {
        round += 1;
        await send(HERE, { ...OF_ROUNDS, smokes });
      }
    }, { code: "memo_full", place: "smokes" });
  });
});

test("rounds.json: processes with one folder send one report of a round, of permanent reports that are kept", async () => {
  // Rejects a device that looks for its file, draws, and writes: another process has drawn and sent meanwhile.
  const [processes, rounds] = [4, 20];
  const [sent, waiting] = [new Map(), []];
  const server = createServer(async (request, reply) => {
    if (request.method === "GET") {
      waiting.push(reply);
      if (waiting.length < processes) return; // all of them read the round in one moment
      const round = sent.size + 1;
      sent.set(round, new Set());
      for (const one of waiting.splice(0)) one.end(Buffer.from(await surveyOf(round).arrayBuffer()));
    } else {
      const body = Buffer.concat(await request.toArray()).toString("hex");
      sent.get(sent.size).add(body);
      reply.writeHead(503).end(); // and each sends what it has
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const folder = mkdtempSync(join(tmpdir(), "warner-"));
  try {
    const device = new URL("../../src/warner/browser/node/device.js", import.meta.url).href;
    const collector = `http://127.0.0.1:${server.address().port}`;
    const program = `
      import { send } from ${JSON.stringify(device)};
      console.warn = () => {};
      for (let round = 0; round < ${rounds}; round += 1) {
        await send(${JSON.stringify(OF_ROUNDS)}, { collector: "${collector}", folder: "kept" });
      }`;
    const run = () => promisify(execFile)("node", ["--input-type=module", "-e", program], { cwd: folder });
    await Promise.all(Array.from({ length: processes }, run));
    assert.deepEqual([...sent.values()].map((bodies) => bodies.size), Array(rounds).fill(1));
    const kept = readdirSync(join(folder, "kept"));
    assert.equal(kept.filter((name) => name.endsWith(".body")).length, rounds);
    assert.equal(kept.length, rounds + 5); // with a permanent report on each of the five answers, and no draft
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
});

test("rounds.json: the device for Node.js says what became of a report, and sends no counted one again", async () => {
  // Rejects lines that take the page of a proxy for a reply, give a lost report up, forget a counted one, or say "sent"
  // of answers that they drop.
  const refusal = (status, error) => () => Response.json({ error, message: "Words." }, { status });
  const page = (status) => () => new Response("<!doctype html>", { status });
  let [text, reply, sent] = [() => surveyOf(1), null, []];
  const collector = (body) => {
    sent.push(Buffer.from(body).toString("hex"));
    return reply();
  };
  await withDevice(() => text(), collector, async (start) => {
    const send = await start();
    const lost = () => { throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } }); };
    const outcomes = [
      [lost, "unavailable", "ECONNREFUSED"],
      [page(502), "busy", "502"], [page(200), "busy", "200"], [page(403), "busy", "403"],
      [refusal(503, "unavailable"), "busy", "503"], [refusal(429, "too_many"), "busy", "429"],
      [refusal(408, "slow"), "busy", "408"], [refusal(425, "not_open"), "not-open", "not_open"],
      [refusal(410, "closed"), "closed", "closed"], [refusal(409, "other_study"), "other-study", "other_study"],
      [refusal(403, "not_invited"), "not-invited", "not_invited"], [refusal(400, "malformed"), "rejected", "malformed"],
    ];
    const logged = [];
    const log = (message, reason) => logged.push([message, reason]);
    for (const [answer, outcome, reason] of outcomes) {
      reply = answer;
      WARNED.length = 0;
      assert.equal(await send(HERE, OF_ROUNDS), outcome);
      assert.equal(WARNED.length, 1); // rejects "busy" for ever, and no word of why
      assert.ok(WARNED[0].startsWith(`${outcome}: ${HERE}/reports: ${reason === reason.toUpperCase() ? reason : "Words."}`));
      assert.equal(await send(HERE, OF_ROUNDS, { log }), outcome);
      assert.deepEqual(logged.splice(0), [[WARNED[0], reason]]); // and the console has nothing more
      assert.equal(WARNED.length, 1);
    }
    reply = () => Response.json({ accepted: 1 }, { status: 202 });
    assert.equal(await send(HERE, OF_ROUNDS), "sent");
    assert.deepEqual(new Set(sent).size, 1);
    assert.equal(sent.length, 2 * outcomes.length + 1);
    reply = null; // it is asked no more in this round
    for (const again of [send, await start()]) assert.equal(await again(HERE, { ...OF_ROUNDS, drinks: 4 }), "already");
    assert.equal(sent.length, 2 * outcomes.length + 1);
    for (const [served, outcome] of [[lost, "unavailable"], [page(502), "busy"]]) {
      text = served;
      assert.equal(await send(HERE, OF_ROUNDS), outcome);
    }
  });
});

test("rounds.json: the device for Node.js refuses what no later call can mend, and keeps nothing then", async () => {
  // Rejects "busy" for ever of an address without a survey, and permanent reports of a person who answered too little.
  let text = () => surveyOf(1);
  await withDevice(() => text(), () => assert.fail("sent"), async (start) => {
    const send = await start();
    const { smokes, ...fewer } = OF_ROUNDS;
    await assert.rejects(send(HERE, fewer), { code: "bad_answer", place: "smokes" });
    await assert.rejects(send(HERE, OF_ROUNDS, { pubic: {} }), /pubic: is unknown to send of Node.js, which takes/);
    await assert.rejects(send(HERE, OF_ROUNDS, { digest: "0".repeat(64) }), { code: "altered", place: "survey" });
    await assert.rejects(send("survey.example.org", OF_ROUNDS), /collector: must be the web address of the survey/);
    text = () => new Response("", { status: 404 });
    await assert.rejects(send(HERE, OF_ROUNDS), /survey.example.org.study.json does not exist \(404\)/);
    assert.ok(!existsSync("kept"));
    const { send: bare } = await import("../../src/warner/browser/node/device.js");
    await assert.rejects(bare(OF_ROUNDS, { collector: HERE }), /folder: must be the name of a folder/);
  });
});

test("drawn_rounds.json: the device for Node.js draws once which questions it reports in all rounds", async () => {
  // Rejects a device that draws again in the next round, and so spends the whole budget on a second question.
  const drawn = { ...JSON.parse(read("drawn_rounds.json")[0].served), access: "open", public: [] };
  const { hours, ...answers } = OF_ROUNDS;
  let [round, blocks] = [0, []];
  const text = () => new Response(JSON.stringify({
    ...drawn, study: String(round).padStart(64, "0"), repeat: { ...drawn.repeat, round: Math.min(round, 3) },
  }));
  const lost = (body) => {
    blocks.push(warner.blockOf(warner.checkSurvey(drawn), new Uint8Array(body).slice(36)));
    throw new TypeError("fetch failed");
  };
  await withDevice(text, lost, async (start) => {
    for (round of [1, 2, 3, 4, 5, 6]) assert.equal(await (await start())(HERE, answers), "unavailable");
    assert.deepEqual(new Set(blocks).size, 1);
    assert.equal(blocks.length, 6);
    const { attributes } = warner.blocks(drawn.program)[blocks[0]];
    const indices = attributes.map((name) => {
      const question = drawn.questions.find((one) => one.name === name);
      return warner.encode({ ...question, program: warner.programsOf(drawn, name)[0] }, answers[name]);
    });
    assert.deepEqual(memosKept().map(([, memo]) => Number(memo.split(" ")[0])), indices);
    const { send } = await import("../../src/warner/browser/node/device.js");
    await assert.rejects(
      send(answers, { collector: HERE, folder: "kept", block: 1 }), { code: "malformed", place: "block" },
    );
    const { smokes, ...fewer } = answers;
    for (let device = 0; device < 20; device += 1) { // also where the draw is of other questions
      await assert.rejects(
        send(fewer, { collector: HERE, folder: `kept-${device}` }),
        { code: "bad_answer", place: "smokes", message: /has no answer/ },
      );
    }
  });
});

test("rounds.json: no permanent report has a number that its mechanism never draws", async () => {
  // Rejects a program that seals a kept report on the 77th of three values.
  const [{ served }] = read("rounds.json");
  const survey = warner.checkSurvey({ ...JSON.parse(served), access: "open" });
  let refused = 0;
  for (const { name, program } of survey.questions.filter((one) => one.program.memo.sampler === "direct")) {
    const { size } = program.memo;
    for (const report of [0, size - 1]) warner.degrade(program, Uint8Array.of(report));
    for (const report of [size, 77, 255]) {
      assert.throws(
        () => warner.degrade(program, Uint8Array.of(report)),
        (error) => error.code === "bad_answer" && error.place === "memo", name,
      );
      refused += 1;
    }
  }
  assert.ok(refused > 0);
});

test("draws: by the odds, with one word, and before any answer", () => {
  const { program } = JSON.parse(read("draws.json")[0].served);
  const found = warner.blocks(program);
  let end = 0n;
  found.forEach(({ width }, block) => {
    const edges = [[end, block], [end + width - 1n, block]];
    end += width;
    for (const [word, expected] of edges) {
      const next = warner.listedWords([word]);
      assert.equal(warner.drawBlock(program, next), expected);
      assert.equal(next.used(), 1);
    }
  });
  assert.equal(end, 1n << 64n);
});

for (const { name, program, error } of read("programs.json")) {
  test(`programs: ${name}`, () => {
    if (error === null) warner.prepare(program);
    else assert.throws(() => warner.prepare(program), refused(error));
  });
}

for (const { name, domain, answers } of read("encodings.json")) {
  test(`encodings: ${name}`, () => {
    const silence = domain.kind === "optional";
    const question = { name: "question", domain: silence ? domain.domain : domain, silence };
    for (const { answer, index, position, error } of answers) {
      if (error) {
        assert.throws(() => warner.indexOf(question, answer), refused(error), String(answer));
      } else {
        assert.equal(warner.indexOf(question, answer), index);
        // Python's -0.0 and 0 are one position.
        const found = position === undefined ? position : warner.positionOf(question, answer);
        assert.ok(found === position);
      }
    }
  });
}
