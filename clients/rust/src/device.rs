//! The installation of one person: what is kept until it was sent, permanent reports, and the connection.

use crate::draws::Draws;
use crate::programs::{random, require, system_word, Program, Refusal};
use crate::survey::{hex, Asked, Person, Survey};
use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey, AES_256_GCM};
use ring::{digest, hmac};
use serde_json::Value;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What ends a call: a refusal by name, a file that cannot be kept, or no connection.
#[derive(Debug)]
pub enum Error {
    Refused(Refusal),
    Kept(io::Error),
    Unavailable,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::Refused(refusal) => refusal.fmt(f),
            Error::Kept(error) => error.fmt(f),
            Error::Unavailable => write!(f, "the collector gives no survey"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(refusal)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Kept(error)
    }
}

/// The installation of one person.
pub struct Device {
    url: String,
    folder: PathBuf,
    key: [u8; 32],
    agent: ureq::Agent,
}

/// Whether nobody on the way can read or change what is sent.
fn is_safe(url: &str) -> bool {
    let host = url.strip_prefix("http://").map(|rest| rest.split('/').next().unwrap_or(""));
    let name = host.map(|host| match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|d| d.is_ascii_digit()) => name,
        _ => host,
    });
    url.starts_with("https://") || matches!(name, Some("localhost" | "127.0.0.1" | "[::1]"))
}

const NONCE: usize = 12;
const TAG: usize = 16;

impl Device {
    /// The device that keeps in a folder what it sends to the collector at an address.
    ///
    /// The address must be of HTTPS, or of this machine. The key has bytes of the operating system's random
    /// generator, and belongs in the platform's key store: it hides permanent reports in copies of the folder.
    pub fn open(url: &str, folder: &Path, key: [u8; 32]) -> Result<Device, Error> {
        require(is_safe(url), "insecure", "address", "must begin with https://")?;
        fs::create_dir_all(folder)?;
        let agent = ureq::AgentBuilder::new().timeout(Duration::from_secs(30)).redirects(0).build();
        let url = format!("{}/", url.trim_end_matches('/'));
        Ok(Device { url, folder: folder.to_path_buf(), key, agent })
    }

    /// Asks the collector for its survey. `expected` is as that of `Survey::read`.
    pub fn survey(&self, expected: Option<&str>) -> Result<Survey, Error> {
        let reply = self.agent.get(&format!("{}study.json", self.url)).call();
        let reply = reply.ok().filter(|reply| reply.status() == 200).ok_or(Error::Unavailable)?;
        let mut served = Vec::new();
        let read = reply.into_reader().take(1 << 26).read_to_end(&mut served);
        read.map_err(|_| Error::Unavailable)?;
        Ok(Survey::read(&served, expected)?)
    }

    /// Sends the answers of this person, once: they are randomised at the first call, and kept; a later
    /// call sends the same bytes, whatever answers it has, until they have arrived.
    ///
    /// The outcome is "sent"; "unavailable", "busy" or "not-open", after which the caller tries again later;
    /// "spent", where the code was used; "closed", "not-invited", "other-study" or "rejected".
    pub fn send(&self, survey: &Survey, person: &Person) -> Result<&'static str, Error> {
        let mut name = format!("outbox-{}", survey.study);
        if survey.invited {
            name += &format!("-{}", hex(&survey.hash_of_code("warner note", &person.code)?));
        }
        let path = self.folder.join(name);
        let body = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let block = self.block(survey, &person.code)?;
                survey.given(person, block)?; // a mistake ends before anything is asked or kept
                if survey.invited {
                    let outcome = self.post("spent", &survey.head(&person.code)?);
                    if outcome != "unspent" {
                        return Ok(outcome);
                    }
                }
                let memos = self.memos(survey, person, block)?;
                self.keep(&path, survey.seal(person, block, &memos, &mut system_word)?)?
            }
            read => read?,
        };
        if body.is_empty() {
            return Ok("sent"); // its bytes are no longer kept: they could show which report is of this device
        }
        let outcome = self.post("reports", &body);
        if outcome == "sent" {
            fs::rename(self.written(&[])?, &path)?;
            self.flushed()?;
        }
        Ok(outcome)
    }

    /// The questions that this person is asked: all, or those of the block that was drawn, once.
    pub fn asked<'a>(&self, survey: &'a Survey, code: &str) -> Result<Vec<&'a Asked>, Error> {
        Ok(survey.asked(self.block(survey, code)?))
    }

    /// It is drawn before anything is asked, and kept: who draws again makes the draw depend on an answer.
    fn block(&self, survey: &Survey, code: &str) -> Result<usize, Error> {
        let draws = match &survey.draws {
            None => return Ok(0),
            Some(draws) if survey.invited => return Ok(survey.block_of_code(draws, code)?),
            Some(draws) => draws,
        };
        self.kept_block(survey, draws, draws.drawn(system_word()))
    }

    /// The block that was drawn before under the same name; else this one, which is then kept.
    fn kept_block(&self, survey: &Survey, draws: &Draws, block: usize) -> Result<usize, Error> {
        let path = self.folder.join(format!("block-{}", survey.draw));
        let kept = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.keep(&path, block.to_string().into_bytes())?
            }
            read => read?,
        };
        let block = String::from_utf8(kept).ok().and_then(|text| text.parse().ok());
        let block = block.filter(|block| *block < draws.blocks.len());
        require(block.is_some(), "memo_altered", "block", "must be one of the blocks")?;
        Ok(block.unwrap_or(0))
    }

    /// Sends bytes once. Only the collector's own reply counts: what a portal of a network says does not.
    fn post(&self, address: &str, body: &[u8]) -> &'static str {
        let request = self.agent.post(&format!("{}{address}", self.url));
        let reply = match request.set("Content-Type", "application/octet-stream").send_bytes(body) {
            Ok(reply) | Err(ureq::Error::Status(_, reply)) => reply,
            Err(ureq::Error::Transport(_)) => return "unavailable",
        };
        let status = reply.status();
        let said = serde_json::from_reader(reply.into_reader().take(1 << 16)).unwrap_or(Value::Null);
        match (address, status, said["error"].as_str()) {
            ("spent", 200, _) if said["spent"] == 0 => "unspent",
            ("spent", 200, _) if said["spent"] == 1 => "spent",
            ("reports", 202, _) if said["accepted"] == 1 => "sent",
            (_, 408 | 429, _) => "busy",
            (_, 400..=499, Some("closed")) => "closed",
            (_, 400..=499, Some("not_open")) => "not-open",
            (_, 400..=499, Some("not_invited")) => "not-invited",
            (_, 400..=499, Some("other_study")) => "other-study",
            (_, 400..=499, Some(_)) => "rejected",
            _ => "busy",
        }
    }

    /// Writes a file that must not exist, and returns what is kept under its name: these bytes, or those of
    /// another process that came first. They are on disk when it returns.
    fn keep(&self, path: &Path, content: Vec<u8>) -> io::Result<Vec<u8>> {
        let temporary = self.written(&content)?;
        let linked = fs::hard_link(&temporary, path);
        fs::remove_file(temporary)?;
        match linked {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => fs::read(path),
            Err(error) => Err(error),
            Ok(()) => self.flushed().map(|()| content),
        }
    }

    fn written(&self, content: &[u8]) -> io::Result<PathBuf> {
        let path = self.folder.join(format!("new-{}", hex(&random::<16>())));
        let mut file = private().open(&path)?;
        file.write_all(content)?;
        file.sync_all()?;
        Ok(path)
    }

    fn flushed(&self) -> io::Result<()> {
        if cfg!(unix) {
            File::open(&self.folder)?.sync_all()
        } else {
            Ok(())
        }
    }

    /// The permanent reports on a person's answers: those that are kept, and for other answers new ones,
    /// which are kept before it returns. All of them, or none where one has no room.
    fn memos(&self, survey: &Survey, person: &Person, block: usize) -> Result<Vec<Vec<u8>>, Error> {
        if survey.values.is_none() {
            return Ok(Vec::new());
        }
        if let Some(draws) = &survey.draws {
            let same = self.kept_block(survey, draws, block)? == block;
            let rule = "asks another question than that of all rounds on this device";
            require(same, "memo_other", "code", rule)?;
        }
        let (indices, _) = survey.given(person, block)?;
        let asked: Vec<_> = survey.asked(block).into_iter().zip(survey.programs(block)).collect();
        for ((question, program), index) in asked.iter().zip(&indices) {
            self.memo(survey, question, program, *index, false)?;
        }
        let memo = |((question, program), index): (&(&Asked, &Program), &u64)| {
            self.memo(survey, question, program, *index, true)
        };
        asked.iter().zip(&indices).map(memo).collect()
    }

    /// The permanent report on one answer. They lie in numbered places, one for each answer that a device
    /// may report on, so that no two processes draw one more than the study allows.
    ///
    /// A place holds a code of the answer that nobody can tell without the key, and the sealed report. The
    /// question, and not the round, names it: the next round finds it.
    fn memo(
        &self,
        survey: &Survey,
        q: &Asked,
        program: &Program,
        index: u64,
        draws: bool,
    ) -> Result<Vec<u8>, Error> {
        let named = Value::from(vec![
            Value::from(q.name.clone()),
            q.data["domain"].clone(),
            program.data["memo"].clone(),
        ]);
        let text = format!("warner memo question\n{named}");
        let series = hex(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
        let code = self.coded("value", &format!("{series}\n{index}"));
        let key = UnboundKey::new(&AES_256_GCM, self.coded("box", "").as_ref()).expect("has 32 bytes");
        let key = LessSafeKey::new(key);
        let bound = [series.as_bytes(), code.as_ref()].concat();
        let sealed_at = code.as_ref().len() + NONCE;
        let refused = |rule| Refusal { code: "memo_altered", place: q.name.clone(), rule };
        for place in 0..survey.most(program) {
            let path = self.folder.join(format!("memo-{series}-{place}"));
            let kept = match fs::read(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound && !draws => return Ok(Vec::new()),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let iv = random::<NONCE>();
                    let mut record = program.memo().map_or_else(Vec::new, |memo| memo.sample(index));
                    let nonce = Nonce::assume_unique_for_key(iv);
                    key.seal_in_place_append_tag(nonce, Aad::from(&bound), &mut record)
                        .map_err(|_| refused("has a permanent report that cannot be sealed"))?;
                    self.keep(&path, [code.as_ref(), &iv, &record].concat())?
                }
                read => read?,
            };
            if kept.len() != sealed_at + program.length() + TAG {
                return Err(refused("has a permanent report that was cut").into());
            }
            if kept.starts_with(code.as_ref()) {
                let iv = Nonce::try_assume_unique_for_key(&kept[sealed_at - NONCE..sealed_at]);
                let mut sealed = kept[sealed_at..].to_vec();
                let opened = iv.and_then(|iv| key.open_in_place(iv, Aad::from(&bound), &mut sealed));
                let opened = opened.map(|record| record.to_vec());
                return Ok(opened.map_err(|_| refused("has a permanent report that was altered"))?);
            }
        }
        let rule = "has as many different answers as this device may report on";
        Err(Refusal { code: "memo_full", place: q.name.clone(), rule }.into())
    }

    fn coded(&self, what: &str, text: &str) -> hmac::Tag {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.key);
        hmac::sign(&key, format!("warner memo {what}\n{text}").as_bytes())
    }
}

/// A new file that only this user can read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
