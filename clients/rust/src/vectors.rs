//! The known answers of tests/vectors.

use crate::draws::Draws;
use crate::programs::{Program, Refusal};
use crate::survey::{hex, index_in, size_of, unhex, Person, Survey};
use serde_json::{json, Value};
use std::collections::HashSet;

const SAMPLERS: [&str; 6] = ["direct", "bits", "hash", "subset", "hadamard", "permanent"];

fn vectors(name: &str) -> Vec<Value> {
    let path = format!("{}/../../tests/vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    file["cases"].as_array().unwrap().clone()
}

/// What `act` returns with these words, and how many it took.
fn listed<T>(words: &Value, act: impl Fn(&mut dyn FnMut() -> u64) -> T) -> (T, usize) {
    let mut used = 0;
    let mut next = || {
        used += 1;
        u64::from_str_radix(&words[used - 1].as_str().expect("words are used up")[2..], 16).unwrap()
    };
    let found = act(&mut next);
    (found, used)
}

fn code<T>(result: Result<T, Refusal>) -> &'static str {
    result.err().map_or("", |refusal| refusal.code)
}

/// Whether the client has all samplers of a program.
fn knows(program: &Value) -> bool {
    let name = program["sampler"].as_str().unwrap_or("");
    SAMPLERS.contains(&name) && (name != "permanent" || knows(&program["memo"]))
}

#[test]
fn samplers() {
    let mut judged = HashSet::new();
    for case in vectors("samplers.json") {
        let read = Program::read(&case["program"]);
        if !knows(&case["program"]) {
            assert_eq!(code(read), "unknown_sampler", "{}", case["name"]);
            continue;
        }
        let program = read.unwrap();
        judged.insert(case["program"]["sampler"].to_string());
        for draw in case["draws"].as_array().unwrap() {
            let index = draw["encoded"].as_u64().unwrap();
            let (record, used) = listed(&draw["words"], |next| program.draw(index, next));
            assert_eq!(hex(&record), draw["record"], "{}", case["name"]);
            assert_eq!(used as u64, draw["used"], "{}", case["name"]);
        }
    }
    assert_eq!(judged.len(), SAMPLERS.len());
}

#[test]
fn draws() {
    let mut judged = 0;
    for case in vectors("samplers.json").iter().filter(|case| case["program"]["sampler"] == "one_of") {
        if !case["program"]["programs"].as_array().unwrap().iter().all(knows) {
            continue;
        }
        let draws = Draws::read(&case["program"], "program").unwrap();
        for draw in case["draws"].as_array().unwrap() {
            let (record, used) = listed(&draw["words"], |next| {
                let block = draws.drawn(next());
                let index = draw["encoded"][block].as_u64().unwrap();
                draws.record(block, &draws.program(block).draw(index, next))
            });
            assert_eq!(hex(&record), draw["record"], "{}", case["name"]);
            assert_eq!(used as u64, draw["used"], "{}", case["name"]);
        }
        judged += 1;
    }
    assert_eq!(judged, 2);
}

#[test]
fn programs() {
    for case in vectors("programs.json") {
        let mut expected = case["error"].as_str().unwrap_or("");
        let program = &case["program"];
        if program.is_object() && expected != "unknown_format" && !knows(program) {
            expected = "unknown_sampler";
        }
        assert_eq!(code(Program::read(program)), expected, "{}", case["name"]);
    }
}

#[test]
fn encodings() {
    for case in vectors("encodings.json") {
        size_of(&case["domain"], "question").unwrap();
        for answer in case["answers"].as_array().unwrap() {
            let index = index_in(&case["domain"], &answer["answer"]);
            assert_eq!(json!(index), answer["index"], "{}: {}", case["name"], answer["answer"]);
        }
    }
}

fn edited(served: &Value, case: &Value) -> Value {
    let mut document: Value = serde_json::from_str(served.as_str().unwrap()).unwrap();
    for edit in case["edits"].as_array().into_iter().flatten() {
        let mut at = &mut document;
        for key in edit[0].as_array().unwrap() {
            at = match key.as_u64() {
                Some(place) => &mut at[place as usize],
                None => &mut at[key.as_str().unwrap()],
            };
        }
        *at = edit[1].clone();
    }
    document
}

#[test]
fn surveys() {
    for file in ["finite.json", "rounds.json", "draws.json", "drawn_rounds.json"] {
        let cases = vectors(file);
        let (served, digest) = (&cases[0]["served"], cases[0]["sha256"].as_str());
        let bytes = served.as_str().unwrap().as_bytes();
        let survey = Survey::read(bytes, digest).unwrap();
        assert_eq!(code(Survey::read(&[bytes, b" "].concat(), digest)), "altered");
        assert_eq!(code(Survey::read(&[bytes, b"{}"].concat(), None)), "malformed");
        for case in &cases[1..] {
            if case["error"].is_string() {
                assert_eq!(
                    code(Survey::check(edited(served, case))),
                    case["error"],
                    "{file} {}",
                    case["name"]
                );
                continue;
            }
            let map = |key: &str| case[key].as_object().unwrap().clone();
            let text = case["code"].as_str().unwrap().to_string();
            let mut person =
                Person { answers: map("answers"), public: map("public"), code: text.clone() };
            let drawn = survey.draws.as_ref().map(|draws| survey.block_of_code(draws, &text).unwrap());
            assert_eq!(json!(drawn), case["block"], "{file} {text}");
            let block = drawn.unwrap_or(0);
            let memo = |name: &str| unhex(case["memos"][name].as_str().unwrap_or(""));
            let memos: Vec<_> = survey.asked(block).iter().map(|q| memo(&q.name)).collect();
            let (body, used) = listed(&case["words"], |next| survey.seal(&person, block, &memos, next));
            assert_eq!(hex(&body.unwrap()), case["body"], "{file} {text}");
            assert_eq!(used as u64, case["used"]);
            person.code = "ABCD-0000".to_string();
            assert_eq!(code(survey.seal(&person, block, &memos, &mut || 0)), "code");
            person.answers.remove(&survey.asked(block)[0].name);
            assert_eq!(code(survey.seal(&person, block, &memos, &mut || 0)), "bad_answer");
        }
    }
}

/// What the other surveys ask for is refused by name, and never answered in part.
#[test]
fn surveys_of_other_samplers() {
    for file in ["studies.json"] {
        let cases = vectors(file);
        let served = &cases[0]["served"];
        for case in &cases {
            let found = code(Survey::check(edited(served, case)));
            let named = ["unknown_sampler", "unknown_domain"].contains(&found);
            assert!(named || found == case["error"], "{file} {}: {found}", case["name"]);
        }
    }
}
