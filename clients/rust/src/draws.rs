//! Surveys that ask each person one block of their questions, which is drawn: programs `one_of`.

use crate::programs::{numbers, require, Column, Entries, Program, Refusal};
use num_bigint::BigUint;
use num_traits::{One, Zero};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashSet};

pub(crate) struct Draws {
    odds: Vec<BigUint>, // of 2^64
    pub blocks: Vec<Block>,
    programs: Vec<Program>,
    widths: Vec<usize>, // of the numbers of a report, in bytes
}

pub(crate) struct Block {
    pub names: Vec<String>,
    program: usize,
}

const ENTRIES: [&str; 9] =
    ["format", "sampler", "answer", "columns", "odds", "odds_at_most", "draw", "blocks", "programs"];

impl Draws {
    pub fn read(value: &Value, place: &str) -> Result<Draws, Refusal> {
        if value["sampler"] != "one_of" {
            Program::read_at(value, place)?;
            require(false, "malformed", place, "must be of blocks of questions")?;
        }
        require(value["format"] == 1, "unknown_format", place, "must have the format 1")?;
        let data = value.as_object().cloned().unwrap_or_default();
        let known = data.keys().all(|key| ENTRIES.contains(&key.as_str()));
        require(known, "malformed", place, "must have the entries of its sampler")?;
        require(value["answer"] == "parts", "malformed", place, "must have its kind of answers")?;
        let list = |key: &str| -> Result<&Vec<Value>, Refusal> {
            let rule = "must have lists of odds, blocks and programs";
            let refused = || Refusal { code: "malformed", place: place.to_string(), rule };
            value[key].as_array().ok_or_else(refused)
        };
        let (widths, listed, programs) = (list("draw")?, list("blocks")?, list("programs")?);
        let integer = |value: &Value| -> Result<BigUint, Refusal> {
            let data = Map::from_iter([("number".to_string(), value.clone())]);
            Entries { data: &data, place, read: vec![] }.integer("number")
        };
        let odds = widths.iter().map(integer).collect::<Result<Vec<_>, _>>()?;
        let programs = programs
            .iter()
            .map(|program| Program::read_at(program, &format!("{place}.programs")))
            .collect::<Result<Vec<_>, _>>()?;
        let blocks = listed
            .iter()
            .map(|block| Block::read(block, programs.len(), place))
            .collect::<Result<Vec<_>, _>>()?;
        let law = |holds, rule| require(holds, "not_a_law", place, rule);
        let sets: HashSet<BTreeSet<&String>> = blocks.iter().map(|b| b.names.iter().collect()).collect();
        law(sets.len() == blocks.len(), "must have each block once")?;
        let used: HashSet<usize> = blocks.iter().map(|block| block.program).collect();
        let total: BigUint = odds.iter().sum();
        let counted = (2..=10_000).contains(&blocks.len()) && odds.len() == blocks.len();
        law(
            counted && used.len() == programs.len(),
            "must have 2 to 10,000 blocks, and their programs",
        )?;
        let positive = odds.iter().all(|width| !width.is_zero());
        law(positive && total == BigUint::one() << 64, "must have odds that sum to 2^64")?;
        let mut draws = Draws { odds, blocks, programs, widths: vec![] };
        for program in &draws.programs {
            for (slot, width) in program.widths().into_iter().enumerate() {
                if slot == draws.widths.len() {
                    draws.widths.push(0);
                }
                draws.widths[slot] = draws.widths[slot].max(width);
            }
        }
        let columns = draws.columns(&value["columns"]);
        require(columns, "columns_differ", place, "must have the columns of its sampler")?;
        let none = value["odds"].is_null() && value["odds_at_most"].is_null();
        require(none, "odds_differ", place, "must have no odds of its own")?;
        Ok(draws)
    }

    fn number(&self) -> Column {
        numbers("block", self.blocks.len() as u64)
    }

    /// Whether the columns are the block, and numbers of the widest type that a block needs there.
    fn columns(&self, value: &Value) -> bool {
        let listed = value.as_array().cloned().unwrap_or_default();
        let name = |slot: usize| match (slot, self.widths.len()) {
            (0, _) => "block".to_string(),
            (_, 1) => "report".to_string(),
            _ => format!("report_{slot}"),
        };
        let widths = [&[self.number().width], self.widths.as_slice()].concat();
        listed.len() == widths.len()
            && listed.iter().zip(widths).enumerate().all(|(slot, (given, width))| {
                given["name"] == name(slot)
                    && given["dtype"] == Column::dtype(width)
                    && given["length"] == 1
            })
    }

    pub fn program(&self, block: usize) -> &Program {
        &self.programs[self.blocks[block].program]
    }

    /// The block of one word, before any answer is known.
    pub fn drawn(&self, word: u64) -> usize {
        let mut end = BigUint::zero();
        let beyond = self.odds.iter().take_while(|width| {
            end += *width;
            end <= BigUint::from(word)
        });
        beyond.count()
    }

    /// The report on a block, from that of its program.
    pub fn record(&self, block: usize, drawn: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        self.number().append(&mut record, block as u64);
        let (mut at, own) = (0, self.program(block).widths());
        for (slot, width) in self.widths.iter().enumerate() {
            let taken = own.get(slot).copied().unwrap_or(0);
            record.extend_from_slice(&drawn[at..at + taken]);
            record.extend(vec![0; width - taken]);
            at += taken;
        }
        record
    }
}

impl Block {
    fn read(value: &Value, programs: usize, place: &str) -> Result<Block, Refusal> {
        let program = value["program"].as_u64().filter(|number| *number < 1 << 53);
        let listed = value["attributes"].as_array().cloned().unwrap_or_default();
        let names: Vec<String> = listed.iter().filter_map(Value::as_str).map(str::to_string).collect();
        let right = program.is_some() && names.len() == listed.len();
        require(right, "malformed", place, "must have blocks of questions, each with a program")?;
        let once = names.iter().collect::<HashSet<_>>().len() == names.len() && !names.is_empty();
        require(once, "not_a_law", place, "must have a question in each block, and none twice")?;
        let program = program.unwrap_or(0) as usize;
        require(program < programs, "not_a_law", place, "must have the programs of its blocks")?;
        Ok(Block { names, program })
    }
}
