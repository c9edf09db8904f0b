//! Surveys: how they are read and checked, and how the answers of a person are sealed.

use crate::draws::Draws;
use crate::programs::{random, require, Program, Ratio, Refusal, Words};
use num_bigint::BigUint;
use ring::digest::{digest, SHA256};
use serde_json::{json, Map, Value};
use std::collections::HashSet;

const MOST_ODDS: u64 = 22027; // of any two answers, unless the survey says that its protection is weak

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    let pairs = (0..digits.len() / 2).map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16));
    pairs.map(|byte| byte.unwrap_or(0)).collect()
}

/// A question or a public column. `data` holds all of it, also the texts to show.
pub struct Asked {
    pub name: String,
    pub silence: bool, // whether null, for no answer, is an answer
    pub data: Value,
    program: Option<Program>, // of a question, where none are drawn
    size: u64,                // values, without silence
    epsilon: f64,
}

/// A survey document that was read and checked. `data` holds all of it, also the texts to show.
pub struct Survey {
    pub study: String,
    pub layout: String,
    pub invited: bool,
    pub questions: Vec<Asked>,
    pub public: Vec<Asked>,
    /// On how many answers to a question a device reports at most; `None` where there are no rounds.
    pub values: Option<u64>,
    pub data: Value,
    pub(crate) draws: Option<Draws>, // where each person is asked one block of the questions
    pub(crate) draw: String,         // the name under which a device keeps the block
}

/// Who answers a survey once: an entry for every question that is asked, see `Device::asked`, and for every
/// public column.
#[derive(Default)]
pub struct Person {
    pub answers: Map<String, Value>,
    pub public: Map<String, Value>,
    pub code: String, // the invitation code, where the survey asks for one
}

fn malformed(holds: bool, place: &str, rule: &'static str) -> Result<(), Refusal> {
    require(holds, "malformed", &format!("survey.{place}"), rule)
}

fn text_of<'a>(data: &'a Value, key: &str, rule: &'static str) -> Result<&'a str, Refusal> {
    malformed(data[key].is_string(), key, rule)?;
    Ok(data[key].as_str().unwrap_or(""))
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|d| matches!(d, b'0'..=b'9' | b'a'..=b'f'))
}

fn positive(value: &Value, place: &str) -> Result<f64, Refusal> {
    let number = value.as_f64().unwrap_or(0.0);
    malformed(number > 0.0, place, "must be a number above 0")?;
    Ok(number)
}

fn check_text(value: &Value, languages: &[&str], place: &str) -> Result<(), Refusal> {
    let all = languages.iter().all(|tag| value[*tag].is_string());
    malformed(all, place, "must have a text in each language")
}

/// An integer between -2^53 and 2^53, also one that is written as a double.
fn whole(value: &Value) -> Option<i64> {
    let number = value.as_f64()?;
    let safe = number.trunc() == number && number.abs() < (1u64 << 53) as f64;
    if safe {
        Some(number as i64)
    } else {
        None
    }
}

fn pair(value: &Value) -> Option<(i64, i64)> {
    match value.as_array()?.as_slice() {
        [row, column] => Some((whole(row)?, whole(column)?)),
        _ => None,
    }
}

/// A moment as the collector writes it, such as 2026-01-01T08:00:00+01:00.
fn is_moment(text: &str) -> bool {
    let pattern = b"0000-00-00T00:00:00";
    text.len() > pattern.len()
        && text.bytes().zip(pattern).all(|(c, p)| if *p == b'0' { c.is_ascii_digit() } else { c == *p })
}

/// Checks a domain, and returns how many values it has.
pub(crate) fn size_of(domain: &Value, place: &str) -> Result<u64, Refusal> {
    const RULE: &str = "must be a domain that this client knows";
    let kind = domain["kind"].as_str().unwrap_or("");
    require(kind != "dates", "unknown_domain", place, "has dates, which this client does not know")?;
    let size = match kind {
        "categorical" => domain["values"].as_array().and_then(|values| {
            let label = |v: &Value| v.is_string() || v.is_boolean() || whole(v).is_some();
            let seen: HashSet<String> = values.iter().map(Value::to_string).collect();
            let right = values.iter().all(label) && seen.len() == values.len();
            if right {
                Some(values.len() as f64)
            } else {
                None
            }
        }),
        "integers" => whole(&domain["low"])
            .and_then(|low| whole(&domain["high"]).map(|high| high as f64 - low as f64 + 1.0)),
        "interval" => whole(&domain["bins"]).map(|bins| bins as f64).filter(|_| {
            let clip = domain.get("clip").map_or(true, Value::is_boolean);
            clip && match (domain["low"].as_f64(), domain["high"].as_f64()) {
                (Some(low), Some(high)) => low < high,
                _ => false,
            }
        }),
        "grid" => whole(&domain["rows"]).and_then(|rows| {
            let columns = whole(&domain["columns"])?;
            Some(rows as f64 * columns as f64 - left_out(domain)?.len() as f64)
        }),
        _ => None,
    };
    require(size.is_some(), "malformed", place, RULE)?;
    let size = size.unwrap_or(0.0);
    let few = (2.0..=f64::from(1 << 26)).contains(&size);
    require(few, "malformed", place, "must have 2 to 2^26 values")?;
    Ok(size as u64)
}

/// The cells of a grid that are no values, by row * columns + column.
fn left_out(domain: &Value) -> Option<Vec<i64>> {
    let columns = whole(&domain["columns"])?;
    match domain.get("without") {
        None => Some(Vec::new()),
        Some(cells) => {
            cells.as_array()?.iter().map(|cell| pair(cell).map(|(r, c)| r * columns + c)).collect()
        }
    }
}

/// The index of an answer, without silence.
pub(crate) fn index_in(domain: &Value, answer: &Value) -> Option<u64> {
    match domain["kind"].as_str()? {
        "categorical" => {
            let same = |value: &Value| {
                value == answer || (whole(value).is_some() && whole(value) == whole(answer))
            };
            domain["values"].as_array()?.iter().position(same).map(|place| place as u64)
        }
        "integers" => {
            let (low, high) = (whole(&domain["low"])?, whole(&domain["high"])?);
            whole(answer)
                .filter(|number| (low..=high).contains(number))
                .map(|number| (number - low) as u64)
        }
        "interval" => {
            let (low, high) = (domain["low"].as_f64()?, domain["high"].as_f64()?);
            let (bins, mut number) = (whole(&domain["bins"])? as f64, answer.as_f64()?);
            if domain["clip"] == true {
                number = number.max(low).min(high);
            }
            let share = (number - low) / (high - low);
            let inside = low <= number && number <= high;
            if inside {
                Some((share * bins).min(bins - 1.0) as u64)
            } else {
                None
            }
        }
        "grid" => {
            let (row, column) = pair(answer)?;
            let (rows, columns) = (whole(&domain["rows"])?, whole(&domain["columns"])?);
            let inside = (0..rows).contains(&row) && (0..columns).contains(&column);
            let (place, without) = (row * columns + column, left_out(domain)?);
            let before = without.iter().filter(|other| **other < place).count() as i64;
            if inside && !without.contains(&place) {
                Some((place - before) as u64)
            } else {
                None
            }
        }
        _ => None,
    }
}

impl Asked {
    fn read(data: &Value, languages: &[&str]) -> Result<Asked, Refusal> {
        let name = data["name"].as_str().unwrap_or("").to_string();
        malformed(!name.is_empty(), "questions", "must be objects with names")?;
        check_text(&data["label"], languages, &name)?;
        check_text(&data["help"], languages, &name)?;
        malformed(data["unit"].is_string(), &name, "must have a unit, or an empty text")?;
        let size = size_of(&data["domain"], &format!("survey.{name}.domain"))?;
        let labels = data["domain"]["values"].as_array().map_or(0, Vec::len);
        let shown = languages.iter().all(|tag| {
            let texts = data["answers"][*tag].as_array();
            texts.map_or(false, |texts| texts.len() == labels && texts.iter().all(Value::is_string))
        });
        malformed(shown, &name, "must have a text for each label")?;
        Ok(Asked { name, silence: false, data: data.clone(), program: None, size, epsilon: 0.0 })
    }

    fn read_question(&mut self, drawn: bool, weak: bool) -> Result<(), Refusal> {
        let silence = self.data["silence"].as_bool();
        malformed(silence.is_some(), &self.name, "must say whether silence is an answer")?;
        self.silence = silence.unwrap_or(false);
        self.epsilon = positive(&self.data["epsilon"], &self.name)?;
        if !self.data["delta"].is_null() {
            positive(&self.data["delta"], &self.name)?;
        }
        if drawn {
            let none = self.data.get("program").is_none();
            return malformed(none, &self.name, "must have no program beside that of all");
        }
        let program = Program::read_at(&self.data["program"], &format!("survey.{}", self.name))?;
        malformed(program.size == self.values(), &self.name, "must have a program for its values")?;
        self.check_program(&program, weak)?;
        self.program = Some(program);
        Ok(())
    }

    /// How many answers it has, silence among them.
    fn values(&self) -> u64 {
        self.size + u64::from(self.silence)
    }

    /// Refuses a program that spends more on a question than it states, or protects too little.
    fn check_program(&self, program: &Program, weak: bool) -> Result<(), Refusal> {
        let place = format!("survey.{}", self.name);
        let (odds, most) = (program.odds(), Ratio(BigUint::from(MOST_ODDS), BigUint::from(1u64)));
        let stated = odds.nats() <= self.epsilon * (1.0 + 1e-9) + 1e-12;
        require(stated, "odds_exceed", &place, "must have the epsilon of the odds")?;
        let rule = "must have odds of at most 22027 of any two answers";
        require(weak || !odds.exceeds(&most), "unprotected", &place, rule)
    }

    /// The number of an answer: a text, true or false, a number, a cell [row, column], or null for none.
    pub fn index(&self, answer: &Value) -> Result<u64, Refusal> {
        if answer.is_null() {
            require(self.silence, "bad_answer", &self.name, "needs an answer")?;
            return Ok(self.size);
        }
        let found = index_in(&self.data["domain"], answer);
        require(found.is_some(), "bad_answer", &self.name, "must be one of the values of the question")?;
        Ok(found.unwrap_or(0))
    }
}

/// The indices of the answers to what is asked. Other answers of the survey are not read.
fn indices(asked: &[&Asked], all: &[Asked], answers: &Map<String, Value>) -> Result<Vec<u64>, Refusal> {
    for name in answers.keys() {
        let is = all.iter().any(|q| q.name == *name);
        require(is, "bad_answer", name, "is no question of the survey")?;
    }
    let index = |q: &&Asked| {
        let answer = answers.get(&q.name);
        require(answer.is_some(), "bad_answer", &q.name, "needs an answer, or null for none")?;
        q.index(answer.unwrap_or(&Value::Null))
    };
    asked.iter().map(index).collect()
}

impl Survey {
    /// Reads and checks a survey as it was served.
    ///
    /// `expected` is the SHA-256 that its bytes must have, by another way than the bytes.
    pub fn read(served: &[u8], expected: Option<&str>) -> Result<Survey, Refusal> {
        let own = hex(digest(&SHA256, served).as_ref());
        let same = expected.map_or(true, |expected| expected.to_lowercase() == own);
        require(same, "altered", "survey", "must have its digest")?;
        let data = serde_json::from_slice::<Value>(served).unwrap_or(Value::Null);
        Survey::check(data)
    }

    pub(crate) fn check(data: Value) -> Result<Survey, Refusal> {
        malformed(data["format"] == json!(1), "format", "must be 1")?;
        let study = text_of(&data, "study", "must be a digest")?.to_string();
        let layout = text_of(&data, "layout", "must be a digest")?.to_string();
        malformed(is_digest(&study) && is_digest(&layout), "study", "must have digests of 64 digits")?;
        let access = text_of(&data, "access", "must be open or invited")?;
        malformed(access == "open" || access == "invited", "access", "must be open or invited")?;
        let invited = access == "invited";
        let draw = study.clone();
        text_of(&data, "contact", "must be a text")?;
        let weak = data.get("weak_protection");
        let true_or_missing = weak.map_or(true, |weak| weak == true);
        malformed(true_or_missing, "weak_protection", "must be true, or left out")?;
        let weak = weak.is_some();
        for key in ["opens", "closes"] {
            let is = data[key].as_str().map_or(data[key].is_null(), is_moment);
            malformed(is, key, "must be a moment or null")?;
        }
        let listed = data["languages"].as_array().cloned().unwrap_or_default();
        let languages: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
        let different = languages.iter().collect::<HashSet<_>>().len() == listed.len();
        malformed(different && !listed.is_empty(), "languages", "must be different texts")?;
        check_text(&data["title"], &languages, "title")?;
        check_text(&data["introduction"], &languages, "introduction")?;
        let drawn = data.get("program").is_some();
        let lists = data["questions"].is_array() && data["public"].is_array();
        malformed(lists, "questions", "must be lists, with a question at least")?;
        let read = |key: &str| -> Result<Vec<Asked>, Refusal> {
            let all = data[key].as_array().into_iter().flatten();
            all.map(|asked| Asked::read(asked, &languages)).collect()
        };
        let (mut questions, public) = (read("questions")?, read("public")?);
        malformed(!questions.is_empty(), "questions", "must have a question at least")?;
        let names: HashSet<&str> = questions.iter().chain(&public).map(|q| q.name.as_str()).collect();
        malformed(names.len() == questions.len() + public.len(), "questions", "must be asked once")?;
        for column in &public {
            let kind = column.data["domain"]["kind"].as_str().unwrap_or("");
            let is = ["categorical", "integers"].contains(&kind);
            malformed(is, &column.name, "must be of a public column")?;
        }
        for question in &mut questions {
            question.read_question(drawn, weak)?;
        }
        let mut total: f64 = questions.iter().map(|q| q.epsilon).sum();
        let draws =
            data.get("program").map(|program| Draws::read(program, "survey.program")).transpose()?;
        let mut survey =
            Survey { study, layout, invited, questions, public, values: None, data, draws, draw };
        if let Some(draws) = &survey.draws {
            total = survey.check_blocks(draws, weak)?;
        }
        survey.check_repeat()?;
        let stated = positive(&survey.data["epsilon"], "epsilon")? * (1.0 + 1e-9);
        require(total <= stated, "odds_exceed", "survey.epsilon", "must be the epsilon of the odds")?;
        Ok(survey)
    }

    /// The epsilon of the block that spends most.
    fn check_blocks(&self, draws: &Draws, weak: bool) -> Result<f64, Refusal> {
        let (mut held, mut most) = (HashSet::new(), 0.0f64);
        for (i, block) in draws.blocks.iter().enumerate() {
            let (program, asked) = (draws.program(i), self.asked(i));
            let rule = "must be of the questions of the survey";
            malformed(asked.len() == block.names.len(), "program", rule)?;
            let values = asked.iter().map(|q| q.values() as f64).product::<f64>();
            malformed(values == program.size as f64, "program", "must have a program for its values")?;
            asked.iter().try_for_each(|q| q.check_program(program, weak))?;
            held.extend(&block.names);
            most = most.max(program.odds().nats());
        }
        malformed(
            held.len() == self.questions.len(),
            "program",
            "must be of the questions of the survey",
        )?;
        Ok(most)
    }

    /// A survey has permanent reports and says its rounds, or it has neither.
    fn check_repeat(&mut self) -> Result<(), Refusal> {
        let repeat = self.data.get("repeat");
        let count = self.draws.as_ref().map_or(1, |draws| draws.blocks.len());
        let programs: Vec<&Program> = (0..count).flat_map(|block| self.programs(block)).collect();
        let same = programs.iter().all(|program| program.memo().is_some() == repeat.is_some());
        malformed(same, "repeat", "must go with permanent reports of all questions")?;
        let repeat = match repeat {
            Some(repeat) => repeat,
            None => return Ok(()),
        };
        let alone = self.draws.is_none() || (0..count).all(|block| self.asked(block).len() == 1);
        malformed(alone, "repeat", "must go with blocks of one question")?;
        let draw = repeat["draw"].as_str().filter(|draw| is_digest(draw)).map(str::to_string);
        let named =
            draw.is_some() == self.draws.is_some() && (draw.is_some() || repeat.get("draw").is_none());
        malformed(named, "repeat", "must name what a device draws for all rounds, if anything")?;
        let [round, rounds, values] =
            ["round", "rounds", "values"].map(|key| whole(&repeat[key]).unwrap_or(0));
        malformed(1 <= round && round <= rounds && values >= 1, "repeat", "must be of one round")?;
        let epsilon = positive(&repeat["epsilon"], "repeat.epsilon")?;
        let nats = programs.iter().map(|program| {
            let most = program.size.min(values as u64) as f64;
            most * program.memo().map_or(0.0, |memo| memo.odds().nats())
        });
        let total: f64 = match self.draws {
            None => nats.sum(),
            Some(_) => nats.fold(0.0, f64::max), // a device reports on one question alone
        };
        let rule = "must be the epsilon of all permanent reports";
        require(total <= epsilon * (1.0 + 1e-9), "odds_exceed", "survey.repeat.epsilon", rule)?;
        self.values = Some(values as u64);
        self.draw = draw.unwrap_or_else(|| self.study.clone());
        Ok(())
    }

    /// On how many answers to a question a device reports.
    pub(crate) fn most(&self, program: &Program) -> u64 {
        self.values.unwrap_or(0).min(program.size)
    }

    /// The programs of the reports on a block, or on all questions where nothing is drawn.
    pub(crate) fn programs(&self, block: usize) -> Vec<&Program> {
        match &self.draws {
            None => self.questions.iter().filter_map(|q| q.program.as_ref()).collect(),
            Some(draws) => vec![draws.program(block)],
        }
    }

    /// The questions of a block, or all where nothing is drawn.
    pub(crate) fn asked(&self, block: usize) -> Vec<&Asked> {
        match &self.draws {
            None => self.questions.iter().collect(),
            Some(draws) => {
                let names = draws.blocks[block].names.iter();
                names.filter_map(|name| self.questions.iter().find(|q| q.name == *name)).collect()
            }
        }
    }

    /// The block that an invited person is asked, the same on every device.
    pub(crate) fn block_of_code(&self, draws: &Draws, code: &str) -> Result<usize, Refusal> {
        let hash = self.hash_of_code(&format!("warner block\n{}", self.draw), code)?;
        Ok(draws.drawn(hash.iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte))))
    }

    /// The index of each answer and of each public answer of a person.
    pub(crate) fn given(&self, person: &Person, block: usize) -> Result<(Vec<u64>, Vec<u64>), Refusal> {
        let answers = indices(&self.asked(block), &self.questions, &person.answers)?;
        let columns: Vec<&Asked> = self.public.iter().collect();
        Ok((answers, indices(&columns, &self.public, &person.public)?))
    }

    /// The body that leaves the device. `block` is what was drawn, and `memos` are the permanent reports on
    /// what is asked, where there are rounds.
    pub(crate) fn seal(
        &self,
        person: &Person,
        block: usize,
        memos: &[Vec<u8>],
        next: &mut Words,
    ) -> Result<Vec<u8>, Refusal> {
        let (mut answers, public) = self.given(person, block)?;
        let mut body = self.head(&person.code)?;
        for index in public {
            body.extend_from_slice(&(index as u32).to_le_bytes());
        }
        if self.draws.is_some() {
            let both = self.asked(block).into_iter().zip(answers);
            answers = vec![both.fold(0, |joint, (q, index)| joint * q.values() + index)];
        }
        for (i, program) in self.programs(block).into_iter().enumerate() {
            let report = match self.values {
                None => program.draw(answers[i], next),
                Some(_) => program.degrade(&memos[i], next),
            };
            body.extend(match &self.draws {
                None => report,
                Some(draws) => draws.record(block, &report),
            });
        }
        Ok(body)
    }

    /// The body as far as the id, which no answer has a part in.
    pub(crate) fn head(&self, code: &str) -> Result<Vec<u8>, Refusal> {
        let id = if self.invited {
            self.hash_of_code(&format!("warner invitation\n{}", self.study), code)?
        } else {
            random()
        };
        Ok([b"WRN1", unhex(&self.layout).as_slice(), &id].concat())
    }

    pub(crate) fn hash_of_code(&self, what: &str, code: &str) -> Result<[u8; 16], Refusal> {
        let plain: String = code.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
        let plain = plain.to_uppercase();
        let right =
            plain.len() == 16 && plain.bytes().all(|c| b"23456789ABCDEFGHJKMNPQRSTVWXYZ".contains(&c));
        require(right, "code", "code", "must be 16 letters and digits, as in the invitation")?;
        let hash = digest(&SHA256, format!("{what}\n{plain}").as_bytes());
        let mut first = [0; 16];
        first.copy_from_slice(&hash.as_ref()[..16]);
        Ok(first)
    }
}
