//! Send the answers of one person to a collector, once:
//!
//!     send [--digest HEX] [--folder FOLDER] [--for SECONDS] URL < person.json
//!
//! person.json is {"answers": {..}, "public": {..}, "code": ".."}; the last two where the survey asks for
//! them. It repeats the same bytes until they have arrived or the time is over, and prints what became of
//! them. The folder belongs to one person; whoever calls again with it sends what is kept there.

use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;
use std::error::Error as AnyError;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use warner::{Device, Error, Person};

fn main() {
    match run() {
        Ok(outcome) => {
            println!("{outcome}");
            std::process::exit(i32::from(outcome != "sent"));
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
}

fn run() -> Result<&'static str, Box<dyn AnyError>> {
    let (mut url, mut digest, mut folder, mut limit) = (None, None, "warner".to_string(), 600);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--digest" => digest = Some(value()?),
            "--folder" => folder = value()?,
            "--for" => limit = value()?.parse()?,
            _ => url = Some(argument),
        }
    }
    let person = person()?;
    let key = key_of(Path::new(&folder))?;
    let device = Device::open(&url.ok_or("needs the URL of a collector")?, Path::new(&folder), key)?;
    let (mut survey, mut outcome) = (None, "unavailable");
    let (start, mut wait) = (Instant::now(), Duration::from_secs(2));
    loop {
        if survey.is_none() {
            survey = match device.survey(digest.as_deref()) {
                Err(Error::Unavailable) => None,
                read => Some(read?),
            };
        }
        if let Some(survey) = &survey {
            outcome = device.send(survey, &person)?;
        }
        let pause = spread(wait);
        let again = matches!(outcome, "unavailable" | "busy" | "not-open");
        if !again || start.elapsed() + pause > Duration::from_secs(limit) {
            return Ok(outcome);
        }
        std::thread::sleep(pause);
        wait = (2 * wait).min(Duration::from_secs(300));
    }
}

fn person() -> Result<Person, Box<dyn AnyError>> {
    let rule = "standard input must be JSON with answers, public and code";
    let read: Value = serde_json::from_reader(std::io::stdin()).map_err(|_| rule)?;
    let given = read.as_object().ok_or(rule)?;
    if given.keys().any(|key| !["answers", "public", "code"].contains(&key.as_str())) {
        return Err(rule.into());
    }
    let map =
        |key: &str| given.get(key).map_or(Some(Default::default()), |map| map.as_object().cloned());
    let code = given.get("code").map_or(Some(""), Value::as_str).ok_or(rule)?.to_string();
    Ok(Person { answers: map("answers").ok_or(rule)?, public: map("public").ok_or(rule)?, code })
}

/// The key of an installation, made once. A device with a key store keeps it there instead.
fn key_of(folder: &Path) -> Result<[u8; 32], Box<dyn AnyError>> {
    fs::create_dir_all(folder)?;
    let path = folder.join("key");
    match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        read => return Ok(read?.try_into().map_err(|_| "the key of the folder must have 32 bytes")?),
    }
    let key: [u8; 32] = random();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path)?;
    file.write_all(&key)?;
    file.sync_all()?;
    Ok(key)
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the operating system gives randomness");
    bytes
}

/// A wait, so that not all devices come back in one moment.
fn spread(wait: Duration) -> Duration {
    wait * 3 / 4 + wait / 2 * u32::from(u16::from_le_bytes(random())) / 65536
}
