//! Device programs: their laws, their odds and their samplers, by docs/device_programs.md.

use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Map, Value};
use std::fmt;

/// Why a survey, an answer or a person is refused. No message holds an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: &'static str,
    pub place: String,
    pub rule: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}: {}.", self.code, self.place, self.rule)
    }
}

impl std::error::Error for Refusal {}

pub(crate) fn require(
    holds: bool,
    code: &'static str,
    place: &str,
    rule: &'static str,
) -> Result<(), Refusal> {
    let place = place.to_string();
    if holds {
        Ok(())
    } else {
        Err(Refusal { code, place, rule })
    }
}

/// Bytes of the operating system's random generator.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the operating system gives randomness");
    bytes
}

/// Uniform integers of 64 bits. Tests list them; whatever is sent is drawn by `system_word`.
pub(crate) type Words<'a> = dyn FnMut() -> u64 + 'a;

pub(crate) fn system_word() -> u64 {
    u64::from_le_bytes(random())
}

fn below(next: &mut Words, threshold: u64) -> bool {
    next() < threshold
}

fn uniform(next: &mut Words, bound: u64) -> u64 {
    if bound == 1 {
        return 0;
    }
    let width = ((1u128 << 64) / u128::from(bound)) as u64;
    loop {
        let found = next() / width;
        if found < bound {
            return found;
        }
    }
}

/// min(u / width, count) of a word u below count width + last.
fn cell(next: &mut Words, width: u64, count: u64, last: u64) -> u64 {
    let total = u128::from(count) * u128::from(width) + u128::from(last);
    loop {
        let u = next();
        if u128::from(u) < total {
            return (u / width).min(count);
        }
    }
}

fn drawn_bits(next: &mut Words, threshold: u64, count: usize) -> Vec<bool> {
    (0..count).map(|_| below(next, threshold)).collect()
}

/// A uniform subset of 0..total-1 by Floyd's algorithm; with `complement`, what is not in it is drawn.
fn members(next: &mut Words, total: u64, members: u64, complement: bool) -> Vec<bool> {
    let count = if complement { total - members } else { members };
    let mut chosen = vec![false; total as usize];
    for top in total - count..total {
        let drawn = uniform(next, top + 1) as usize;
        let enters = if chosen[drawn] { top as usize } else { drawn };
        chosen[enters] = true;
    }
    chosen.into_iter().map(|one| one != complement).collect()
}

/// The bytes of bits: the first one is the highest bit of the first byte.
fn packed(ones: &[bool]) -> Vec<u8> {
    let mut record = vec![0; (ones.len() + 7) / 8];
    for (i, _) in ones.iter().enumerate().filter(|(_, one)| **one) {
        record[i / 8] |= 128 >> (i % 8);
    }
    record
}

/// A column of a report.
pub(crate) struct Column {
    name: &'static str,
    pub width: usize, // of a number, in bytes
    length: usize,
}

/// A column of the integers 0..m-1.
pub(crate) fn numbers(name: &'static str, m: u64) -> Column {
    let width = [1, 2, 4].into_iter().find(|bytes| m <= 1 << (8 * bytes)).unwrap_or(8);
    Column { name, width, length: 1 }
}

fn bit_column(size: u64) -> Column {
    Column { name: "bits", width: 1, length: ((size + 7) / 8) as usize }
}

impl Column {
    pub fn dtype(width: usize) -> &'static str {
        ["", "|u1", "<u2", "", "<u4", "", "", "", "<u8"][width]
    }

    pub fn append(&self, record: &mut Vec<u8>, number: u64) {
        record.extend_from_slice(&number.to_le_bytes()[..self.width]);
    }
}

/// A ratio of likelihoods.
#[derive(Debug, Clone)]
pub(crate) struct Ratio(pub BigUint, pub BigUint);

impl Ratio {
    pub fn exceeds(&self, other: &Ratio) -> bool {
        &self.0 * &other.1 > &other.0 * &self.1
    }

    fn larger(self) -> Ratio {
        if self.0 < self.1 {
            Ratio(self.1, self.0)
        } else {
            self
        }
    }

    /// The epsilon of these odds, which are at least 1.
    pub fn nats(&self) -> f64 {
        let double = |number: &BigUint| number.to_f64().unwrap_or(f64::INFINITY);
        (double(&(&self.0 - &self.1)) / double(&self.1)).ln_1p()
    }
}

fn big(number: u64) -> BigUint {
    BigUint::from(number)
}

/// 2^64 less a word.
fn rest(word: u64) -> BigUint {
    (BigUint::one() << 64) - big(word)
}

/// Reads the entries of one object, and refuses it where one is left that nobody reads.
pub(crate) struct Entries<'a> {
    pub data: &'a Map<String, Value>,
    pub place: &'a str,
    pub read: Vec<&'static str>,
}

const RULE: &str = "must be a number below 2^53, or a hexadecimal text";

impl<'a> Entries<'a> {
    fn get(&mut self, key: &'static str) -> Option<&'a Value> {
        self.read.push(key);
        self.data.get(key)
    }

    pub fn integer(&mut self, key: &'static str) -> Result<BigUint, Refusal> {
        let safe = big(1 << 53);
        let found = match self.get(key) {
            Some(Value::String(text)) => text
                .strip_prefix("0x")
                .filter(|digits| !digits.starts_with('0'))
                .filter(|digits| digits.bytes().all(|d| matches!(d, b'0'..=b'9' | b'a'..=b'f')))
                .and_then(|digits| BigUint::parse_bytes(digits.as_bytes(), 16))
                .filter(|number| *number >= safe),
            Some(Value::Number(number)) => number.as_u64().map(big).filter(|number| *number < safe),
            _ => None,
        };
        require(found.is_some(), "malformed", &format!("{}.{key}", self.place), RULE)?;
        Ok(found.unwrap_or_default())
    }

    /// A number of values, bits or columns.
    fn count(&mut self, key: &'static str) -> Result<u64, Refusal> {
        let found = self.integer(key)?.to_u64().filter(|number| *number < 1 << 53);
        require(found.is_some(), "malformed", &format!("{}.{key}", self.place), "must be below 2^53")?;
        Ok(found.unwrap_or_default())
    }

    fn ratio(&mut self, key: &'static str) -> Result<(Entries<'a>, Ratio), Refusal> {
        let place = self.place;
        let data = self.get(key).and_then(Value::as_object);
        require(data.is_some(), "malformed", place, "must have its odds, as fractions")?;
        let mut fraction = Entries { data: data.unwrap_or(self.data), place, read: vec![] };
        let ratio = Ratio(fraction.integer("numerator")?, fraction.integer("denominator")?);
        let positive = !ratio.0.is_zero() && !ratio.1.is_zero();
        require(positive, "malformed", place, "must have positive fractions")?;
        Ok((fraction, ratio))
    }

    fn law(&self, holds: bool, rule: &'static str) -> Result<(), Refusal> {
        require(holds, "not_a_law", self.place, rule)
    }

    /// An integer of a law that is one of 1..2^64-1.
    fn word(&self, number: &BigUint) -> Result<u64, Refusal> {
        let word = number.to_u64().unwrap_or(0);
        self.law(word > 0, "must have integers of 1 to 2^64 - 1")?;
        Ok(word)
    }
}

/// Randomised response among values 0..size-1.
struct Widths {
    size: u64,
    own: u64,
    other: u64,
}

impl Widths {
    fn check(e: &Entries, size: u64, own: &BigUint, other: &BigUint) -> Result<Widths, Refusal> {
        e.law(size >= 2, "must have two values or more")?;
        let widths = Widths { size, own: e.word(own)?, other: e.word(other)? };
        let total = own + big(size - 1) * other;
        e.law(total <= rest(0), "own + (size - 1) other must be at most 2^64")?;
        Ok(widths)
    }

    fn draw(&self, index: u64, next: &mut Words) -> u64 {
        let drawn = cell(next, self.other, self.size - 1, self.own);
        if drawn == self.size - 1 {
            return index;
        }
        if drawn < index {
            drawn
        } else {
            drawn + 1
        }
    }
}

/// The functions of local hashing.
enum Functions {
    BySeed { seeds: u64 },
    OverField { prime: u64 },
}

fn mix(mut h: u32) -> u32 {
    h = (h ^ (h >> 16)).wrapping_mul(0x7feb_352d);
    h = (h ^ (h >> 15)).wrapping_mul(0x846c_a68b);
    h ^ (h >> 16)
}

impl Functions {
    fn columns(&self) -> Vec<Column> {
        match *self {
            Functions::BySeed { seeds } => vec![numbers("seed", seeds)],
            Functions::OverField { prime } => {
                vec![numbers("multiplier", prime - 1), numbers("shift", prime)]
            }
        }
    }

    /// A function as it is sent, and the bucket of a value by it.
    fn draw(&self, index: u64, buckets: u64, next: &mut Words) -> (Vec<u8>, u64) {
        let (mut record, columns) = (Vec::new(), self.columns());
        match *self {
            Functions::BySeed { seeds } => {
                let seed = uniform(next, seeds);
                columns[0].append(&mut record, seed);
                let key = mix((seed as u32).wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15));
                let hashed = mix(key ^ (index as u32).wrapping_mul(0x85eb_ca77)) >> 16;
                (record, (u64::from(hashed) * buckets) >> 16)
            }
            Functions::OverField { prime } => {
                let (multiplier, shift) = (uniform(next, prime - 1), uniform(next, prime));
                columns[0].append(&mut record, multiplier);
                columns[1].append(&mut record, shift);
                let cube = index * index % prime * index % prime;
                (record, ((multiplier + 1) * cube + shift) % prime % buckets)
            }
        }
    }
}

enum Sampler {
    Direct(Widths),
    Bits { keep: u64, raised: u64 },
    Hash { functions: Functions, widths: Widths },
    Subset { members: u64, include: u64 },
    Hadamard { order: u64, agree: u64 },
    Permanent { memo: Box<Program>, keep: u64, coin: Option<u64> },
}

/// A device program whose integers were read and checked. It takes an index below `size`.
pub struct Program {
    pub size: u64,
    pub(crate) data: Value,
    sampler: Sampler,
}

impl Program {
    /// Checks a device program: its law, its columns and its odds.
    pub fn read(value: &Value) -> Result<Program, Refusal> {
        Program::read_at(value, "program")
    }

    pub(crate) fn read_at(value: &Value, place: &str) -> Result<Program, Refusal> {
        let data = value.as_object();
        require(data.is_some(), "malformed", place, "must be a program")?;
        let empty = Map::new();
        let data = data.unwrap_or(&empty);
        let format = data.get("format").and_then(Value::as_u64);
        require(format == Some(1), "unknown_format", place, "must have the format 1")?;
        let mut e = Entries { data, place, read: vec!["format", "sampler", "answer", "columns"] };
        let name = data.get("sampler").and_then(Value::as_str).unwrap_or("");
        let known = ["direct", "bits", "hash", "subset", "hadamard", "permanent"].contains(&name);
        require(known, "unknown_sampler", place, "must name a sampler that this client knows")?;
        let integers = Integers::read(&mut e, name)?;
        let (mut fraction, stated) = e.ratio("odds")?;
        let power = fraction.integer("power")?;
        let (_, most) = e.ratio("odds_at_most")?;
        let index = data.get("answer").and_then(Value::as_str) == Some("index");
        require(index, "malformed", place, "must have its kind of answers")?;
        let strange = data.keys().any(|key| !e.read.contains(&key.as_str()));
        require(!strange, "malformed", place, "must have the entries of its sampler")?;
        let program =
            Program { size: integers.size, data: value.clone(), sampler: integers.sampler(&e)? };
        let columns = program.columns_are(data.get("columns"));
        require(columns, "columns_differ", place, "must have the columns of its sampler")?;
        let odds = program.odds();
        let same = !stated.exceeds(&odds) && !odds.exceeds(&stated) && power.is_one();
        let between = fraction.data.get("between").and_then(Value::as_str) == Some("any");
        require(same && between, "odds_differ", place, "must be the odds of its integers")?;
        let rule = "must have odds of at most odds_at_most";
        require(!stated.exceeds(&most), "odds_exceed", place, rule)?;
        Ok(program)
    }

    /// The record of one report on the answer with this index.
    pub fn sample(&self, index: u64) -> Vec<u8> {
        self.draw(index, &mut system_word)
    }

    /// The program of the report that is drawn once and kept.
    pub fn memo(&self) -> Option<&Program> {
        match &self.sampler {
            Sampler::Permanent { memo, .. } => Some(memo),
            _ => None,
        }
    }

    fn columns(&self) -> Vec<Column> {
        match &self.sampler {
            Sampler::Direct(_) => vec![numbers("report", self.size)],
            Sampler::Bits { .. } | Sampler::Subset { .. } => vec![bit_column(self.size)],
            Sampler::Hash { functions, widths } => {
                let mut columns = functions.columns();
                columns.push(numbers("bucket", widths.size));
                columns
            }
            Sampler::Hadamard { order, .. } => vec![numbers("report", *order)],
            Sampler::Permanent { memo, .. } => memo.columns(),
        }
    }

    fn columns_are(&self, value: Option<&Value>) -> bool {
        let (columns, listed) = (self.columns(), value.and_then(Value::as_array));
        listed.map_or(false, |listed| {
            listed.len() == columns.len()
                && columns.iter().zip(listed).all(|(column, given)| {
                    let dtype = Column::dtype(column.width);
                    given["name"] == column.name
                        && given["dtype"] == dtype
                        && given["length"] == column.length
                })
        })
    }

    /// The bytes of each number of a record.
    pub(crate) fn widths(&self) -> Vec<usize> {
        self.columns().iter().flat_map(|column| vec![column.width; column.length]).collect()
    }

    /// The bytes of a record.
    pub(crate) fn length(&self) -> usize {
        self.widths().iter().sum()
    }

    pub(crate) fn odds(&self) -> Ratio {
        match &self.sampler {
            Sampler::Bits { keep, raised } => {
                Ratio(big(*keep) * rest(*raised), big(*raised) * rest(*keep))
            }
            Sampler::Permanent { memo, keep, coin } => memo.odds_of_rounds(*keep, *coin),
            _ => self.levels().2.larger(),
        }
    }

    /// Of inside + outside reports, up to a factor, those that support a value, and how much likelier
    /// such a report is than another one.
    fn levels(&self) -> (u64, u64, Ratio) {
        match &self.sampler {
            Sampler::Direct(w) => (1, w.size - 1, Ratio(big(w.own), big(w.other))),
            Sampler::Hash { widths: w, .. } => (1, w.size - 1, Ratio(big(w.own), big(w.other))),
            Sampler::Subset { members, include } => {
                let outside = self.size - members;
                let likelier = Ratio(big(*include) * outside, big(*members) * rest(*include));
                (*members, outside, likelier)
            }
            Sampler::Hadamard { agree, .. } => (1, 1, Ratio(big(*agree), rest(*agree))),
            Sampler::Bits { .. } | Sampler::Permanent { .. } => unreachable!("has no levels"),
        }
    }

    /// The odds of one round of a report of this program.
    fn odds_of_rounds(&self, keep: u64, coin: Option<u64>) -> Ratio {
        if let (Sampler::Bits { keep: own, raised }, Some(coin)) = (&self.sampler, coin) {
            let whole = BigUint::one() << 128;
            let chance = |bit: u64| big(keep) * bit + rest(keep) * coin;
            let (high, low) = (chance(*own), chance(*raised));
            return Ratio(&high * (&whole - &low), &low * (&whole - &high));
        }
        let (inside, outside, Ratio(high, low)) = self.levels();
        let uniform = rest(keep) * (&high * inside + &low * outside);
        let of = |likelihood: &BigUint| big(keep) * likelihood * (inside + outside) + &uniform;
        Ratio(of(&high), of(&low))
    }

    pub(crate) fn draw(&self, index: u64, next: &mut Words) -> Vec<u8> {
        let mut record = Vec::new();
        match &self.sampler {
            Sampler::Direct(widths) => self.columns()[0].append(&mut record, widths.draw(index, next)),
            Sampler::Bits { keep, raised } => {
                let mut ones = drawn_bits(next, *raised, 8 * self.length());
                ones.truncate(self.size as usize);
                ones[index as usize] = below(next, *keep);
                record = packed(&ones);
            }
            Sampler::Hash { functions, widths } => {
                let (function, bucket) = functions.draw(index, widths.size, next);
                record = function;
                numbers("bucket", widths.size).append(&mut record, widths.draw(bucket, next));
            }
            Sampler::Subset { members: d, include } => {
                let included = below(next, *include);
                let mut chosen =
                    members(next, self.size - 1, d - u64::from(included), 2 * d > self.size);
                let stood = chosen.get(index as usize).copied().unwrap_or(false);
                chosen.push(stood); // the last value stood in the place of the person's
                chosen[index as usize] = included;
                record = packed(&chosen);
            }
            Sampler::Hadamard { order, agree } => {
                let (y, row) = (uniform(next, *order), index + 1);
                let agrees = (y & row).count_ones() % 2 == 0;
                let flipped = if below(next, *agree) == agrees { 0 } else { row & row.wrapping_neg() };
                self.columns()[0].append(&mut record, y ^ flipped);
            }
            Sampler::Permanent { memo, .. } => {
                let kept = memo.draw(index, next);
                record = self.degrade(&kept, next);
            }
        }
        record
    }

    /// A uniform report.
    fn fresh(&self, next: &mut Words) -> Vec<u8> {
        let mut record = Vec::new();
        match &self.sampler {
            Sampler::Direct(_) => self.columns()[0].append(&mut record, uniform(next, self.size)),
            Sampler::Hash { functions, widths } => {
                record = functions.draw(0, widths.size, next).0;
                numbers("bucket", widths.size).append(&mut record, uniform(next, widths.size));
            }
            Sampler::Subset { members: d, .. } => {
                record = packed(&members(next, self.size, *d, 2 * d > self.size + 1));
            }
            Sampler::Hadamard { order, .. } => {
                self.columns()[0].append(&mut record, uniform(next, *order));
            }
            Sampler::Bits { .. } | Sampler::Permanent { .. } => unreachable!("is not kept as a whole"),
        }
        record
    }

    /// One round of a permanent report.
    pub(crate) fn degrade(&self, kept: &[u8], next: &mut Words) -> Vec<u8> {
        match &self.sampler {
            Sampler::Permanent { keep, coin: Some(coin), .. } => {
                let stays = drawn_bits(next, *keep, 8 * kept.len());
                let mut ones = drawn_bits(next, *coin, 8 * kept.len());
                for (j, _) in stays.iter().enumerate().filter(|(_, stays)| **stays) {
                    ones[j] = kept[j / 8] >> (7 - j % 8) & 1 == 1;
                }
                ones.truncate(self.size as usize);
                packed(&ones)
            }
            Sampler::Permanent { memo, keep, coin: None } => {
                let stays = below(next, *keep);
                let fresh = memo.fresh(next); // in any case, so that the words do not tell whether it stays
                if stays {
                    kept.to_vec()
                } else {
                    fresh
                }
            }
            _ => unreachable!("is not permanent"),
        }
    }
}

/// The entries of a sampler, before its law is checked.
struct Integers<'a> {
    name: &'a str,
    size: u64,
    counts: Vec<u64>,
    words: Vec<BigUint>,
    memo: Option<&'a Value>,
}

impl<'a> Integers<'a> {
    fn read(e: &mut Entries<'a>, name: &'a str) -> Result<Integers<'a>, Refusal> {
        let size = e.count("size")?;
        let (mut counts, mut words, mut memo) = (vec![], vec![], None);
        let keys: &[&'static str] = match name {
            "bits" => &["keep", "raised"],
            "subset" => {
                counts.push(e.count("members")?);
                &["include"]
            }
            "hadamard" => {
                counts.push(e.count("order")?);
                &["agree"]
            }
            "hash" => {
                counts = vec![e.count("buckets")?, e.count("family")?];
                counts.push(e.count(if counts[1] == 1 { "seeds" } else { "prime" })?);
                &["own", "other"]
            }
            "permanent" => {
                memo = e.get("memo");
                if e.data.contains_key("coin") {
                    &["keep", "coin"]
                } else {
                    &["keep"]
                }
            }
            _ => &["own", "other"],
        };
        for key in keys {
            words.push(e.integer(key)?);
        }
        Ok(Integers { name, size, counts, words, memo })
    }

    /// Checks the law.
    fn sampler(&self, e: &Entries) -> Result<Sampler, Refusal> {
        let (size, counts, words) = (self.size, &self.counts, &self.words);
        e.law(size >= 2, "must have two values or more")?;
        Ok(match self.name {
            "bits" => {
                let (keep, raised) = (e.word(&words[0])?, e.word(&words[1])?);
                e.law(raised < keep, "must have 1 <= raised < keep < 2^64")?;
                Sampler::Bits { keep, raised }
            }
            "hash" => {
                let (buckets, family, m) = (counts[0], counts[1], counts[2]);
                e.law((2..1 << 16).contains(&buckets), "must have 2 <= buckets < 2^16")?;
                e.law(family == 1 || family == 2, "must have the family 1 or 2")?;
                let functions = if family == 1 {
                    e.law((1..1 << 32).contains(&m), "must have 1 <= seeds < 2^32")?;
                    Functions::BySeed { seeds: m }
                } else {
                    e.law(m >= size && m < 1 << 27, "must have size <= prime < 2^27")?;
                    Functions::OverField { prime: m }
                };
                Sampler::Hash { functions, widths: Widths::check(e, buckets, &words[0], &words[1])? }
            }
            "subset" => {
                e.law(counts[0] >= 1 && counts[0] < size, "must have 1 <= members < size")?;
                Sampler::Subset { members: counts[0], include: e.word(&words[0])? }
            }
            "hadamard" => {
                let power = counts[0].is_power_of_two() && counts[0] > size;
                e.law(power, "must have an order that is a power of two above size")?;
                Sampler::Hadamard { order: counts[0], agree: e.word(&words[0])? }
            }
            "permanent" => {
                let place = format!("{}.memo", e.place);
                let memo = Program::read_at(self.memo.unwrap_or(&Value::Null), &place)?;
                let right = memo.memo().is_none() && memo.size == size;
                e.law(right, "must have a memo of as many values that can be degraded")?;
                let coin = words.get(1).map(|coin| e.word(coin)).transpose()?;
                let bits = matches!(memo.sampler, Sampler::Bits { .. });
                e.law(coin.is_some() == bits, "must have a coin for bits alone")?;
                let speaks = bits || {
                    let (_, _, likelier) = memo.levels();
                    likelier.0 > likelier.1
                };
                e.law(speaks, "must have a memo whose reports speak for their values")?;
                Sampler::Permanent { memo: Box::new(memo), keep: e.word(&words[0])?, coin }
            }
            _ => Sampler::Direct(Widths::check(e, size, &words[0], &words[1])?),
        })
    }
}
