// What holds for any survey: every altered integer is refused, answers are encoded or refused, bytes
// are in range, and nothing of a person is kept or told.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import * as warner from "../../src/warner/browser/warner.js";

const read = (name) => (
  JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url), "utf8")).cases);
const refused = (code) => (error) => error instanceof warner.Refusal && error.code === code;
const [{ served }] = read("studies.json");
const survey = warner.checkSurvey(JSON.parse(served));
const question = (name) => survey.questions.find((asked) => asked.name === name);
const [smokes, drinks, hours, place] = ["smokes", "drinks", "hours", "place"].map(question);

const STATED = ["columns", "odds", "odds_at_most", "delta", "delta_at_most"];

/** The paths of all integers that a program samples with. */
function integers(entry, path = []) {
  if (typeof entry === "object" && entry !== null) {
    return Object.entries(entry).flatMap(([key, part]) => (
      STATED.includes(key) ? [] : integers(part, [...path, key])));
  }
  const number = typeof entry === "number" || (typeof entry === "string" && entry.startsWith("0x"));
  return number ? [path] : [];
}

const written = (value) => (value < 1n << 53n ? Number(value) : `0x${value.toString(16)}`);

/** A program with one integer moved. */
function moved(program, path, by) {
  const copy = structuredClone(program);
  const at = path.slice(0, -1).reduce((part, key) => part[key], copy);
  at[path.at(-1)] = written(BigInt(at[path.at(-1)]) + by);
  return copy;
}

// Entries that say what is drawn, and not how likely: a moved one makes another lawful program.
const FREE = new Set([
  "reach", "size", "seeds", "prime", "members", "cells", "width", "group", "beyond", "places",
  "reports", "blocks", "digits", "rest", "family", "order", "dimension", "buckets", "sensitive",
  "weights", "steps", "shape", "times", "row_classes", "column_classes",
]);

test("an integer of a program that is moved by one is refused with its stated odds", () => {
  let count = 0;
  for (const { name, program } of read("samplers.json")) {
    for (const path of integers(program)) {
      if (path.some((key) => FREE.has(key))) continue;
      // Nobody drops a bit where all values are sensitive.
      if (name === "utility_bits, all sensitive" && path[0] === "dropped") continue;
      for (const by of [1n, -1n]) {
        const changed = moved(program, path, by);
        assert.throws(() => warner.prepare(changed), warner.Refusal, `${name}: ${path} ${by}`);
        count += 1;
      }
    }
  }
  assert.ok(count > 150);
});

test("entries that say how a report is drawn are refused where they break the law of the sampler", () => {
  const far = 1n << 70n;
  for (const { name, program } of read("samplers.json")) {
    for (const path of integers(program)) {
      if (path.includes("weights")) continue; // a longer weight can be a lawful one
      if (name === "utility_bits, all sensitive" && path[0] === "dropped") continue;
      const changed = moved(program, path, far);
      assert.throws(() => warner.prepare(changed), warner.Refusal, `${name}: ${path}`);
    }
  }
});

/** The paths of all parts of JSON data. */
function paths(entry, path = []) {
  if (typeof entry !== "object" || entry === null) return [path];
  return [path, ...Object.entries(entry).flatMap(([key, part]) => paths(part, [...path, key]))];
}

test("a document with any entry replaced is read, or refused by name", () => {
  const document = JSON.parse(served);
  const others = [null, [], {}, "", -1, 1.5, true, "0x10000000000000000", [null], 2 ** 53, "__proto__"];
  let refusals = 0;
  for (const [i, path] of paths(document).entries()) {
    // Each entry gets another replacement, so that all of them meet all kinds of entries.
    if (path.length === 0 || i % 3 > 0) continue;
    const copy = structuredClone(document);
    const at = path.slice(0, -1).reduce((part, key) => part[key], copy);
    at[path.at(-1)] = others[i % others.length];
    try {
      warner.checkSurvey(copy);
    } catch (error) {
      assert.ok(error instanceof warner.Refusal, `${path}: ${error.stack}`);
      refusals += 1;
    }
  }
  assert.ok(refusals > 100);
});

test("every report is within its columns", () => {
  const next = warner.systemWords();
  for (const { program, draws } of read("samplers.json")) {
    const { columns } = program;
    for (const { encoded } of draws.slice(0, 5)) {
      const record = warner.sample(program, encoded, next);
      const widths = { "|u1": 1, "<u2": 2, "<u4": 4 };
      const length = columns.reduce((sum, column) => sum + widths[column.dtype] * column.length, 0);
      assert.equal(record.length, length);
    }
  }
});

test("answers that no question has are refused and not told", async () => {
  const wrong = [
    [smokes, "cafe\u0301"], // the same letters, composed in another way
    [smokes, "\ud800"], [smokes, "Nie"], [smokes, 1], [smokes, true], [smokes, ""], [smokes, null],
    [question("fit"), 1], [question("fit"), "true"],
    [drinks, 21], [drinks, -1], [drinks, 1.5], [drinks, Number.NaN], [drinks, "7"], [drinks, 2 ** 60],
    [hours, Number.NaN], [hours, Infinity], [hours, "12"], [question("steps"), 11],
    [place, [0, 1]], [place, [3, 0]], [place, [0, 2]], [place, [0]], [place, [0.5, 0]], [place, 3],
    [place, null], [question("steps"), null],
  ];
  const messages = new Map(); // of each question one, which lists the answers that it takes
  for (const [asked, answer] of wrong) {
    assert.throws(() => warner.encode(asked, answer), (error) => {
      assert.ok(refused("bad_answer")(error));
      const told = String(answer);
      const rest = error.message.replace(/must be one of .*/, "");
      if (answer !== null) messages.set(asked.name, (messages.get(asked.name) ?? new Set()).add(error.message));
      return told.length < 2 || !rest.includes(told);
    });
  }
  for (const [name, said] of messages) assert.equal(said.size, 1, `${name}: ${[...said]}`);
});

test("answers are encoded as Python encodes them", () => {
  const cases = [
    [smokes, "caf\u00e9", 1], [question("fit"), false, 1], [drinks, 20, 20], [drinks, null, 21],
    [hours, 0, 0], [hours, 60, 1], [hours, 90, 1], [hours, -5, 0], [hours, 12.5, 12.5 / 60],
    [hours, null, null], [place, [0, 0], 0], [place, [1, 0], 1], [place, [2, 1], 4],
  ];
  for (const [asked, answer, expected] of cases) {
    assert.equal(warner.encode(asked, answer), expected);
  }
  assert.deepEqual(warner.encode(question("steps"), -10), [0]);
  assert.equal(warner.indexOf(hours, 59.999), 11);
  // True counts as 1 where integers and booleans stand side by side, as in Python.
  const mixed = { name: "mixed", domain: { kind: "categorical", values: [1, false] } };
  assert.deepEqual([true, 0, 1].map((answer) => warner.indexOf(mixed, answer)), [0, 1, 0]);
});

test("typed answers are read as Python reads them from a file", () => {
  const cases = [
    [smokes, "café", "café"], [smokes, "cafe", undefined], [question("fit"), "TRUE", true],
    [drinks, "7", 7], [drinks, "7.0", undefined], [drinks, " 7", undefined], [hours, "1e1", 10],
    [hours, ".5", 0.5], [hours, "1,5", undefined], [hours, "0x10", undefined],
  ];
  for (const [asked, text, expected] of cases) assert.equal(warner.parse(asked, text), expected);
  assert.deepEqual(warner.parse(place, "2, 1"), [2, 1]);
  assert.deepEqual(warner.parse(place, "[2,1]"), [2, 1]);
  assert.equal(warner.parse(place, "[2,1"), undefined);
});

test("dates are the units of the calendar", () => {
  const at = (unit, text) => {
    try {
      return warner.indexOf({ name: "visit", domain: { kind: "dates", unit } }, text);
    } catch {
      return -1;
    }
  };
  assert.equal(at("day", "0001-01-01"), 0);
  assert.equal(at("day", "9999-12-31"), 3652058);
  assert.equal(at("week", "9999-12-31"), 521722);
  assert.equal(at("month", "9999-12-31"), 119987);
  assert.equal(at("week", "2024-W22"), at("week", "2024-06-02"));
  assert.equal(at("week", "2020-W53"), at("week", "2021-01-03"));
  assert.equal(at("month", "2024-05"), at("month", "2024-05-31"));
  for (const text of ["2023-02-29", "2024-13-01", "0000-01-01", "2024-1-1", "2021-W53", "9999-W53", ""]) {
    assert.equal(at("week", text), -1, text);
  }
  for (const text of ["2024-00", "2024-13", "2024"]) assert.equal(at("month", text), -1, text);
  assert.equal(at("day", "2024-05"), -1);
});

test("the sentence of odds has the chances of the integers", () => {
  const { of, same, other, kind } = warner.probabilities(smokes);
  assert.deepEqual([of, same, other, kind], [100, 58, 21, "names"]); // e / (e + 2), 1 / (e + 2)
  assert.equal(warner.probabilities(hours), null);
  assert.ok(Math.abs(warner.epsilonOf(smokes) - 1) < 1e-9);
  assert.ok(Math.abs(warner.epsilonOf(question("steps")) - 1) < 1e-9);
  const rare = structuredClone(read("samplers.json")[0].program);
  Object.assign(rare, { own: `0x${(2n ** 63n).toString(16)}`, other: `0x${(2n ** 54n).toString(16)}` });
  rare.odds = { numerator: 512, denominator: 1, between: "any", power: 1 };
  rare.odds_at_most = { numerator: 512, denominator: 1 };
  const told = warner.probabilities({ ...smokes, program: rare });
  assert.deepEqual([told.of, told.same, told.other], [1000, 998, 2]); // never 100 and 0 of 100
});

test("all answers and all codes are asked for", async () => {
  const { answers, public: columns, code } = read("submissions.json")[0];
  const { fit: _, ...fewer } = answers;
  await assert.rejects(warner.seal(survey, { answers: fewer, public: columns, code }), refused("bad_answer"));
  await assert.rejects(warner.seal(survey, { answers, code }), refused("bad_answer"));
  await assert.rejects(warner.seal(survey, { answers, public: columns }), refused("code"));
  await assert.rejects(warner.seal(survey, { answers, public: columns, code: "ABCD" }), refused("code"));
  await assert.rejects(
    warner.seal(survey, { answers, public: columns, id: new Uint8Array(8) }), refused("code"),
  );
  assert.throws(() => warner.body(survey, []), refused("malformed"));
  assert.throws(() => warner.body(survey, [new Uint8Array(3)]), refused("malformed"));
  assert.equal(warner.plainCode(" abcd-efgh jkmn-pqrs "), "ABCDEFGHJKMNPQRS");
  assert.equal(warner.plainCode("ABCD-EFGH-JKMN-PQRO"), null);
});

test("a refusal names what is wrong and what to do", async () => {
  const { answers, public: columns, code } = read("submissions.json")[0];
  const says = (person, message) => assert.rejects(warner.seal(survey, person), { message });
  const person = { answers, public: columns, code };
  await says(
    { answers, code, publik: columns },
    "publik: is unknown to seal, which takes answers, block, public, code, token, memos.",
  );
  await says({ ...person, answers: { ...answers, wine: 1 } }, "wine: is no question of the survey.");
  await says({ ...person, public: { ...columns, extra: 1 } }, /^extra: is no public column of the survey: it has /);
  const [name] = Object.keys(columns);
  await says(
    { answers, code }, `${name}: is a public column and has no value: pass it in public, as { public: { "${name}": ... } }.`,
  );
  const bytes = new TextEncoder().encode(served);
  for (const wrong of [JSON.parse(served), served, undefined]) {
    await assert.rejects(warner.readSurvey(wrong), {
      message: "survey: must be the bytes that were served: pass await response.arrayBuffer().",
    });
  }
  await assert.rejects(warner.readSurvey(bytes, "abc"), {
    code: "altered", message: "digest: must be the 64 hexadecimal digits that the survey page shows.",
  });
  for (const other of ["<!doctype html>", '{"error": "not_found"}']) {
    await assert.rejects(warner.readSurvey(new TextEncoder().encode(other)), {
      code: "malformed",
      message: "survey: must be what a collector serves as study.json, and the address gave something else.",
    });
  }
  const digest = await warner.surveyDigest(bytes);
  await warner.readSurvey(bytes, digest.replace(/(.{4})/g, "$1 ")); // as the page shows it
  await warner.readSurvey(bytes.buffer, digest);
});

test("a refused answer names the answers that the question takes", () => {
  const says = (domain, answer, message) => assert.throws(
    () => warner.indexOf({ name: "x", domain, silence: false }, answer), { message: `x: ${message}.` },
  );
  says({ kind: "categorical", values: ["off", "on"] }, "On", 'must be one of "off", "on"');
  const many = { kind: "categorical", values: Array.from({ length: 20 }, (_, i) => i) };
  says(many, 99, "must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, or one of 8 more values");
  says({ kind: "integers", low: 8, high: 32 }, 7, "must be a whole number from 8 to 32");
  const interval = { kind: "interval", low: 0, high: 2.5, bins: 4 };
  says(interval, 3, "must be a number from 0 to 2.5");
  says({ ...interval, clip: true }, "3", "must be a number");
  says({ kind: "grid", rows: 2, columns: 3 }, [2, 0], "must be a cell [row, column], counted from 0, of 2 rows and 3 columns");
  says({ kind: "dates", unit: "week" }, "2024", 'must be a week, such as "2024-W22"');
});

test("each seal has an id of its own, and equal answers differ in their reports", async () => {
  const open = warner.checkSurvey({ ...JSON.parse(served), access: "open" });
  const { answers, public: columns } = read("submissions.json")[0];
  const sealed = await Promise.all(Array.from({ length: 20 }, () => (
    warner.seal(open, { answers, public: columns }))));
  const part = (kind) => new Set(sealed.map((submission) => (
    warner.segments(open, submission).filter((one) => one.kind === kind)
      .map(({ bytes }) => warner.hexadecimal(bytes)).join())));
  assert.equal(part("id").size, 20);
  assert.equal(part("public").size, 1);
  assert.ok(part("report").size > 10);
});

test("words are of the cryptographic generator, and a word that was used is overwritten", () => {
  const real = crypto.getRandomValues;
  const filled = [];
  crypto.getRandomValues = (array) => {
    filled.push(array);
    return real.call(crypto, array);
  };
  try {
    const next = warner.systemWords();
    for (let i = 0; i < 64; i += 1) assert.ok(next() < 2n ** 64n);
  } finally {
    crypto.getRandomValues = real;
  }
  assert.equal(filled.length, 1);
  assert.ok(filled[0].every((word) => word === 0n));
});

test("the module has one variable that grows: the programs that were checked, by their objects", () => {
  const folder = new URL("../../src/warner/browser/modules/", import.meta.url);
  const text = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), "utf8")).join("\n");
  assert.doesNotMatch(text, /^(export )?(let|var) /m);
  const made = text.match(/^(export )?const \w+ = new .*$/gm);
  assert.deepEqual(made, ["const PREPARED = new WeakMap();"]);
});

test("the module holds no exponential, no Math.random, and sends nothing", () => {
  const text = readFileSync(new URL("../../src/warner/browser/warner.js", import.meta.url), "utf8");
  for (const word of ["Math.exp", "Math.random", "fetch(", "XMLHttpRequest", "localStorage", "eval("]) {
    assert.ok(!text.includes(word), word);
  }
});

test("the live page of the documentation draws as the module does", async () => {
  const live = await import("../../docs/live/live.mjs");
  const { program } = read("samplers.json").find(({ name }) => name === "direct, six values");
  const widths = { same: BigInt(program.own), other: BigInt(program.other) };
  const words = Array.from(crypto.getRandomValues(new BigUint64Array(300)));
  const edges = [0n, widths.other, 5n * widths.other, 5n * widths.other + widths.same, 2n ** 64n];
  words.push(...edges.flatMap((edge) => [edge - 1n, edge]).filter((u) => u >= 0n && u < 2n ** 64n));
  for (const word of words) {
    for (let x = 0; x < 6; x += 1) {
      const report = live.reportOf(x, 6, widths, word);
      const next = warner.listedWords([word]);
      if (report < 0) assert.throws(() => warner.sample(program, x, next), refused("words"));
      else assert.equal(warner.sample(program, x, next)[0], report);
    }
  }
});

test("the text of a report says its study and its question", () => {
  const place = survey.questions.indexOf(drinks);
  const record = warner.randomize(drinks, 1);
  const text = warner.reportText(survey, "drinks", record);
  const start = `wr1-${survey.layout.slice(0, 16)}-${place + 1}-`;
  assert.equal(text, start + warner.hexadecimal(record));
  assert.throws(() => warner.reportText(survey, "none", record), refused("malformed"));
  const longer = new Uint8Array(record.length + 1);
  assert.throws(() => warner.reportText(survey, "drinks", longer), refused("malformed"));
});
