// The known answers of tests/vectors: what Python makes and refuses, warner.js makes and refuses.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

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

test("rounds.json: a program in Node.js keeps its permanent reports in a file, as the guide says", async () => {
  // Rejects lines that draw another permanent report in the next round, or at the next start.
  const guide = readFileSync(new URL("../../docs/guides/collecting.md", import.meta.url), "utf8");
  const [, text] = guide.match(/```js\n(.*?memosOf.*?)```/s);
  const module = new URL("../../src/warner/browser/warner.js", import.meta.url).href;
  const folder = mkdtempSync(join(tmpdir(), "warner-"));
  const [{ served }] = read("rounds.json");
  const survey = { ...JSON.parse(served), access: "open", public: [] };
  const answers = { smokes: "nie", drinks: 3, place: [1, 1], hours: 4.5, fit: true };
  const [before, { fetch }] = [process.cwd(), globalThis];
  process.chdir(folder);
  try {
    const memos = [];
    let round = 0;
    globalThis.fetch = async (url) => {
      assert.equal(String(url), "https://survey.example.org/study.json");
      const study = String(round).padStart(64, "0"); // each round is a study of its own
      const repeat = { ...survey.repeat, round: Math.min(round, 3) };
      return new Response(JSON.stringify({ ...survey, study, repeat }));
    };
    const bodies = new Set();
    for (round of [1, 2, 3]) {
      writeFileSync(`round${round}.mjs`, text.replace('"warner-survey"', JSON.stringify(module)));
      const { bodyOfRound } = await import(pathToFileURL(join(folder, `round${round}.mjs`)).href);
      const sent = await bodyOfRound("https://survey.example.org", answers);
      assert.equal(sent.length, 36 + warner.submissionLength(survey));
      // Rejects a person who counts twice because the program started twice in the round.
      const again = ["https://survey.example.org/", "https://survey.example.org"];
      for (const one of await Promise.all(again.map((address) => bodyOfRound(address, answers)))) {
        assert.deepEqual(one, sent);
      }
      bodies.add(sent.toString("hex"));
      memos.push(readFileSync("memos.json", "utf8"));
      const wrong = { ...answers, smokes: "no answer of it" };
      await assert.rejects(bodyOfRound("https://survey.example.org", wrong), { code: "bad_answer", place: "smokes" });
      await assert.rejects(bodyOfRound("https://survey.example.org", { ...answers, zoom: 1 }), {
        message: "zoom: is no question of the survey.",
      });
    }
    assert.equal(bodies.size, 3);
    assert.deepEqual(memos, [memos[0], memos[0], memos[0]]);
    round = 4; // two calls at once, of which neither has the bytes
    const { bodyOfRound } = await import(pathToFileURL(join(folder, "round3.mjs")).href);
    const both = await Promise.all([1, 2].map(() => bodyOfRound("https://survey.example.org", answers)));
    assert.deepEqual(both[0], both[1]);
    const others = survey.questions.find(({ name }) => name === "smokes").domain.values;
    assert.ok(others.length > survey.repeat.values);
    const all = others.map((smokes) => () => bodyOfRound("https://survey.example.org", { ...answers, smokes }));
    await assert.rejects(async () => {
      for (const one of all) {
        round += 1;
        await one();
      }
    }, /smokes: has a new answer more than values/);
  } finally {
    process.chdir(before);
    globalThis.fetch = fetch;
    rmSync(folder, { recursive: true });
  }
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
